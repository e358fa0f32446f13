"""The models of a study as reports name them, each with its runs, and the checks of these as they are now."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.llm.model_accounts import AccountedRun, CheckedRun, ModelAccount
from apps.llm.models import ModelRater, PromptExample, Run, RunState
from apps.llm.services.bias_state import latest_results
from apps.studies.models import Rater, RaterKind, Study

# As many runs as a line names.
MOST_RUNS = 5


def accounts_of(study: Study) -> list[ModelAccount]:
    """By name of the rater; without the runs that never started. Three queries."""
    runs: dict[int, list[AccountedRun]] = {}
    for run in Run.objects.filter(study=study, checks=None).exclude(started_at=None).order_by("pk"):
        told = AccountedRun(run.pk, run.state, run.started_at, run.finished_at)
        runs.setdefault(run.model_rater_id, []).append(told)
    found = ModelRater.objects.filter(rater__study=study).select_related("rater", "version__prompt")
    examples = _examples(study)
    return [
        ModelAccount(
            rater=one.rater.name,
            provider=one.provider,
            base_url=one.base_url,
            model=one.model,
            response_format=one.response_format,
            parameters=one.parameters,
            samples=one.samples,
            prompt=one.version.prompt.name,
            prompt_version=one.version.number,
            asks_for=one.version.use,
            cannot_tell=one.version.cannot_tell,
            content_hash=one.content_hash,
            runs=tuple(runs.get(one.pk, ())),
            examples=tuple(sorted(tuple(sorted(places)) for places in examples.get(one.version_id, {}).values())),
        )
        for one in found.order_by("rater__name")
    ]


def _examples(study: Study) -> dict[int, dict[int, set[tuple[str, str]]]]:
    """version -> conversation that it shows -> where it is in the study: (block, conversation). One query."""
    found: dict[int, dict[int, set[tuple[str, str]]]] = {}
    shown = PromptExample.objects.filter(
        version__prompt__study=study, item__conversation__items__block__study=study
    ).values_list(
        "version_id",
        "item__conversation_id",
        "item__conversation__items__block__slug",
        "item__conversation__external_id",
    )
    for version, conversation, block, name in shown.order_by().distinct():
        found.setdefault(version, {}).setdefault(conversation, set()).add((block, name))
    return found


def checked_runs(study: Study) -> list[CheckedRun]:
    """The latest results of each run that was checked, by rater and run. Two queries."""
    runs = Run.objects.filter(study=study, checks=None).select_related("model_rater__rater")
    known = {run.pk: run for run in runs.order_by("model_rater__rater__name", "pk")}
    results = latest_results(known.values())
    return [
        CheckedRun(
            run=pk,
            rater=run.model_rater.rater.name,
            computed_at=results[pk].computed_at,
            seed=results[pk].seed,
            resamples=results[pk].resamples,
            n_items=results[pk].n_items,
            figures=results[pk].figures,
            scales={(one.framework, one.dimension): (one.framework_name, one.label) for one in results[pk].scales},
        )
        for pk, run in known.items()
        if pk in results
    ]


def asked_with(rater: Rater | None) -> tuple[str, list[Run]]:
    """How the rater was asked, in a line, and the latest of its runs, the last first.

    ("", []) where Accord never asked it. Two queries at most.
    """
    if rater is None or rater.kind != RaterKind.LLM:
        return "", []
    one = ModelRater.objects.filter(rater=rater).select_related("version__prompt").first()
    if one is None:
        return "", []
    parts = [
        _("asked with prompt %(prompt)s") % {"prompt": one.version},
        _("model %(model)s") % {"model": one.model},
        ngettext("%(n)d sample", "%(n)d samples", one.samples) % {"n": one.samples},
    ]
    runs = Run.objects.filter(model_rater=one, checks=None).exclude(state=RunState.READY).order_by("-pk")
    return ", ".join(parts), list(runs[:MOST_RUNS])
