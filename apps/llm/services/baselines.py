"""Raters that need no network: asked for as a job, computed in one transaction, and computed again without harm."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import Max
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from apps.accounts.models import User
from apps.annotation.models import Rating
from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.common.models import AuditEntry, Job
from apps.common.services.jobs import JobRefused, Outcome, Reporter, create_job
from apps.llm.models import Baseline, BaselineRule
from apps.llm.services.baseline_scales import LeftOut, ScaleRatings, constant_ratings, lexical_ratings
from apps.studies.models import Assignment, Exclusion, Rater, RaterKind, Study, StudyStatus
from apps.studies.services.raters import NewRater, RaterConflict, ensure_raters

BASELINE_TASK = "llm.compute_baseline"

# Stands with the rater wherever it is named.
SOURCES: Mapping[str, str] = {
    BaselineRule.CONSTANT: gettext_noop(
        "A baseline computed by Accord, not a model: the experts' most frequent point of each scale, for every item."
    ),
    BaselineRule.LEXICAL: gettext_noop(
        "A baseline computed by Accord, not a model: a point from counts of English words and questions."
    ),
}
TITLES: Mapping[str, str] = {
    BaselineRule.CONSTANT: gettext_noop("Compute the constant baseline of %(study)s"),
    BaselineRule.LEXICAL: gettext_noop("Compute the lexical baseline of %(study)s"),
}
RULES: Mapping[str, Callable[[Study], Iterator[ScaleRatings]]] = {
    BaselineRule.CONSTANT: constant_ratings,
    BaselineRule.LEXICAL: lexical_ratings,
}


class BaselineError(ValueError):
    """The baseline cannot be computed; the message says why."""


def request_baseline(*, study: Study, rule: str, by: User) -> Baseline:
    """The baseline with a job that computes it (again); the caller starts the job. One under way is that one.

    Raises BaselineError while the study is a draft, where `rule` is none, or where another rater has its name.
    """
    if rule not in RULES:
        raise BaselineError(_("Rule: expected one of %(known)s.") % {"known": ", ".join(RULES)})
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if study.status == StudyStatus.DRAFT:
            raise BaselineError(_("The study is a draft. Activate it before a baseline rates in it."))
        known = Baseline.objects.filter(study=study, rule=rule).select_related("job", "rater").first()
        if known is not None and known.job is not None and known.job.is_open:
            return known
        baseline = known or Baseline(study=study, rule=rule, rater=_rater(study, rule, by))
        baseline.job = create_job(
            kind=BASELINE_TASK,
            task=BASELINE_TASK,
            title=_(TITLES[rule]) % {"study": study.title},
            owner=by,
            back_url=reverse("llm:baselines", args=[study.slug]),
            # How many ratings changed would tell an admin who rates in the study about the experts'.
            is_private=True,
        )
        baseline.save()
        AuditEntry.objects.create(
            actor=by, action="baseline.request", subject=study.slug, details={"rule": rule, "job": baseline.job.pk}
        )
        return baseline


def compute_baseline(job: Job, reporter: Reporter) -> Outcome:
    """The work of the job: every rating of the baseline is stored anew, or nothing (JobRefused).

    A rating that the rule no longer gives becomes "cannot tell", which no statistic counts: ratings are never deleted.
    """
    baseline = Baseline.objects.select_related("study").get(job=job)
    # What experts say from now on may not be in it.
    began = timezone.now()
    reporter.step(_("Reading ratings and texts"))
    scales = []
    for number, scale in enumerate(RULES[baseline.rule](baseline.study), start=1):
        scales.append(scale)
        reporter.advance(number)
    reporter.step(_("Storing ratings"))
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=baseline.study_id)
        _refuse_if_not_allowed(study, job.owner)
        given = list(_entries(baseline, scales))
        taken_back = list(_taken_back(baseline, given))
        record_ratings(entries=[*given, *taken_back], origin=Origin.MODEL)
        baseline.computed_at = began
        baseline.details = [scale.details for scale in scales]
        baseline.save(update_fields=["computed_at", "details", "updated_at"])
        outcome = _outcome(study, len(given), len(taken_back), scales)
        reporter.finish(outcome)
    return outcome


def experts_changed_at(study: Study) -> datetime | None:
    """When the experts' finished ratings last changed: by a rating, by work handed in, or by an exclusion."""
    experts = {"rater__study": study, "rater__kind": RaterKind.EXPERT, "rater__is_aggregate": False}
    rated = Rating.objects.finished().filter(**experts).aggregate(at=Max("updated_at"))["at"]
    handed_in = Assignment.objects.filter(**experts).aggregate(at=Max("finished_at"))["at"]
    excluded = Exclusion.objects.filter(**experts).aggregate(made=Max("created_at"), taken_back=Max("reverted_at"))
    times = [at for at in (rated, handed_in, *excluded.values()) if at is not None]
    return max(times, default=None)


def _rater(study: Study, rule: str, by: User) -> Rater:
    """The rater named as the rule. Raises BaselineError where the name is taken, or has ratings from elsewhere."""
    wanted = NewRater(RaterKind.BASELINE, name=rule, source=SOURCES[rule])
    try:
        rater = ensure_raters(study=study, raters=[wanted], actor=by)[rule]
    except RaterConflict as conflict:
        raise BaselineError(_in_a_sentence(conflict)) from None
    if rater.ratings.exists():
        text = _("The study has a rater %(name)s already, whose ratings were not computed here.")
        raise BaselineError(text % {"name": rule})
    return rater


def _in_a_sentence(problem: Exception) -> str:
    text = str(problem)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _entries(baseline: Baseline, scales: list[ScaleRatings]) -> Iterator[RatingEntry]:
    for scale in scales:
        for item_id, value in scale.values.items():
            remark = scale.remarks.get(item_id, "")
            yield RatingEntry(item_id, baseline.rater_id, scale.dimension_id, value, comment=remark)


def _taken_back(baseline: Baseline, given: list[RatingEntry]) -> Iterator[RatingEntry]:
    """What stands as a rating of the baseline and is none of those given now."""
    now_given = {entry.key for entry in given}
    standing = Rating.objects.filter(rater=baseline.rater_id, value__isnull=False).order_by()
    for key in standing.values_list("item_id", "rater_id", "dimension_id"):
        if key not in now_given:
            yield RatingEntry(*key, None, cannot_tell=True, comment=_("The rule no longer rates this."))


def _refuse_if_not_allowed(study: Study, user: User) -> None:
    user.refresh_from_db(fields=["is_active", "role"])
    if study.status == StudyStatus.DRAFT:
        raise JobRefused(_("The study is a draft again. Nothing was stored."))
    if not user.is_active or not study.is_managed_by(user):
        raise JobRefused(_("You no longer manage the study. Nothing was stored."))


def _outcome(study: Study, n_given: int, n_taken_back: int, scales: list[ScaleRatings]) -> Outcome:
    text = ngettext("%(count)s rating is stored.", "%(count)s ratings are stored.", n_given)
    message = text % {"count": f"{n_given:,}"}
    left_out = sum("left_out" in scale.details for scale in scales)
    counts = {_("ratings"): n_given, _("scales"): len(scales) - left_out}
    if left_out:
        counts[_("scales left out")] = left_out
    if n_taken_back:
        counts[_("ratings taken back")] = n_taken_back
    if left_out == len(scales) and all(one.details["left_out"] == LeftOut.NO_EXPERTS for one in scales):
        message = _("No expert has rated a main item yet, so there is nothing to repeat. Compute it again later.")
    return Outcome(message, counts, url=reverse("llm:baselines", args=[study.slug]))
