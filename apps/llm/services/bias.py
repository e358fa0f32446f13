"""Checks for bias of a run: asked for as a job, computed from its answers, kept as plain values with their moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import OPEN_STATES, AuditEntry, Job
from apps.common.services.jobs import JobRefused, Outcome, Reporter, create_job
from apps.llm.bias import RESAMPLES, check_figures
from apps.llm.bias_figures import Figure
from apps.llm.models import BiasCheck, Run
from apps.llm.services.bias_answers import RunAnswers, answers_of

CHECK_TASK = "llm.check_bias"
# 2: the shift is tested.
FORMAT = 2


class BiasError(ValueError):
    """The checks cannot be made; the message says why."""


class ResultsError(ValueError):
    """What is kept of a check cannot be read by this version of Accord; one sentence."""


@dataclass(frozen=True)
class ScaleName:
    """A scale as its figures name it, and in words."""

    framework: str
    dimension: str
    framework_name: str
    label: str


@dataclass(frozen=True)
class CheckResults:
    """The results of a check as they were kept."""

    computed_at: datetime
    seed: int
    resamples: int
    n_items: int
    n_excluded: int
    is_excluded: bool
    scales: tuple[ScaleName, ...]
    figures: tuple[Figure, ...]

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Self:
        """Raises ResultsError."""
        if kept.get("format") != FORMAT:
            raise ResultsError(_("These results were kept by another version of Accord. Check once more."))
        try:
            return cls(
                computed_at=datetime.fromisoformat(kept["computed_at"]),
                seed=kept["seed"],
                resamples=kept["resamples"],
                n_items=kept["n_items"],
                n_excluded=kept["n_excluded"],
                is_excluded=kept["is_excluded"],
                scales=tuple(ScaleName(*names) for names in kept["scales"]),
                figures=tuple(Figure.from_dict(figure) for figure in kept["figures"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ResultsError(_("The results are damaged. Check once more.")) from error


def request_checks(*, run: Run, by: User) -> BiasCheck:
    """A check of the run with its job, which the caller starts. One that waits or is computed is that one.

    Raises BiasError for a run that is a check itself.
    """
    if run.is_check:
        raise BiasError(_("This run is a check itself: check the run that it asks again."))
    with transaction.atomic():
        # Of two clicks at once the second finds what the first has made.
        run = Run.objects.select_for_update(no_key=True, of=("self",)).select_related("study").get(pk=run.pk)
        waiting = run.bias_checks.filter(job__state__in=OPEN_STATES).select_related("job").first()
        if waiting is not None:
            return waiting
        job = create_job(
            kind=CHECK_TASK,
            task=CHECK_TASK,
            title=_("Check run %(run)s of %(study)s for bias") % {"run": run.pk, "study": run.study.title},
            owner=by,
            back_url=reverse("llm:run-checks", args=[run.study.slug, run.pk]),
        )
        AuditEntry.objects.create(
            actor=by, action="run.check", subject=run.study.slug, details={"run": run.pk, "job": job.pk}
        )
        return BiasCheck.objects.create(run=run, job=job)


def check_bias(job: Job, reporter: Reporter) -> Outcome:
    """The work of the job. Safe to run again: it only reads, and stores its results with its end."""
    check = BiasCheck.objects.select_related("run__study", "run__model_rater").get(job=job)
    run = check.run
    # What is answered from now on may not be in it.
    began = timezone.now()
    reporter.step(_("Reading answers and texts"))
    answers = answers_of(run)
    if not answers.n_items and not answers.is_excluded:
        raise JobRefused(_("Nothing of this run is answered yet, so there is nothing to check."))
    reporter.step(_("Computing figures"))
    figures = check_figures(answers.scales, seed=run.study.seed, resamples=RESAMPLES)
    outcome = Outcome(
        _("The run is checked."),
        {_("items"): answers.n_items, _("figures"): len(figures)},
        url=reverse("llm:run-checks", args=[run.study.slug, run.pk]),
    )
    with transaction.atomic():
        check.results = _plain(answers, figures, began, run.study.seed)
        check.save(update_fields=["results", "updated_at"])
        reporter.finish(outcome)
    return outcome


def _plain(answers: RunAnswers, figures: Sequence[Figure], at: datetime, seed: int) -> dict[str, Any]:
    named = zip(answers.scales, answers.labels, strict=True)
    return {
        "format": FORMAT,
        "computed_at": at.isoformat(),
        "seed": seed,
        "resamples": RESAMPLES,
        "n_items": answers.n_items,
        "n_excluded": answers.n_excluded,
        "is_excluded": answers.is_excluded,
        "scales": [[scale.framework, scale.dimension, name, label] for scale, (name, label) in named],
        "figures": [figure.as_dict() for figure in figures],
    }
