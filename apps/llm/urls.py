"""Language models of a study, beneath `/studies/`."""

from django.urls import path

from apps.llm.views import (
    asking_again,
    baselines,
    calls,
    checks,
    home,
    making_runs,
    prompt_preview,
    prompts,
    run_acts,
    runs,
    seal,
)

app_name = "llm"
urlpatterns = [
    path("<slug:slug>/llm/", home.home, name="home"),
    path("<slug:slug>/llm/prompts/new/", prompts.prompt_new, name="prompt-new"),
    path("<slug:slug>/llm/prompts/preview/", prompt_preview.prompt_preview, name="prompt-preview"),
    path("<slug:slug>/llm/prompts/<int:pk>/", prompts.prompt_version, name="prompt-version"),
    path("<slug:slug>/llm/prompts/<int:pk>/edit/", prompts.prompt_edit, name="prompt-edit"),
    path("<slug:slug>/llm/prompts/<int:pk>/delete/", prompts.prompt_delete, name="prompt-delete"),
    path("<slug:slug>/llm/prompts/<int:pk>/diff/<int:other_pk>/", prompts.prompt_diff, name="prompt-diff"),
    path("<slug:slug>/llm/baselines/", baselines.baselines, name="baselines"),
    path("<slug:slug>/llm/seal/", seal.seal, name="seal"),
    path("<slug:slug>/llm/runs/new/", making_runs.run_new, name="run-new"),
    path("<slug:slug>/llm/runs/<int:pk>/", runs.run, name="run"),
    path("<slug:slug>/llm/runs/<int:pk>/start/", run_acts.run_start, name="run-start"),
    path("<slug:slug>/llm/runs/<int:pk>/pause/", run_acts.run_pause, name="run-pause"),
    path("<slug:slug>/llm/runs/<int:pk>/resume/", run_acts.run_resume, name="run-resume"),
    path("<slug:slug>/llm/runs/<int:pk>/cancel/", run_acts.run_cancel, name="run-cancel"),
    path("<slug:slug>/llm/runs/<int:pk>/retry/", run_acts.run_retry, name="run-retry"),
    path("<slug:slug>/llm/runs/<int:pk>/budget/", run_acts.run_budget, name="run-budget"),
    path("<slug:slug>/llm/runs/<int:pk>/calls/", calls.calls, name="calls"),
    path("<slug:slug>/llm/runs/<int:pk>/calls.jsonl", calls.calls_file, name="calls-file"),
    path("<slug:slug>/llm/runs/<int:pk>/calls/<int:call_pk>/", calls.call, name="call"),
    path("<slug:slug>/llm/runs/<int:pk>/calls/<int:call_pk>/texts/", calls.call_texts, name="call-texts"),
    path("<slug:slug>/llm/runs/<int:pk>/checks/", checks.run_checks, name="run-checks"),
    path("<slug:slug>/llm/runs/<int:pk>/reversed/", asking_again.run_reversed, name="run-reversed"),
]
