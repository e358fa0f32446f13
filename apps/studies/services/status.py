"""A study's way: draft, active, closed and open again; and the switch that ends blindness."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.corpus.services.freezing import freeze_datasets, thaw_datasets
from apps.studies.models import Block, RaterKind, Study, StudyStatus
from apps.studies.services.coverage import GroupCoverage, coverage_of
from apps.studies.services.design import DesignError, refresh_items

DISCUSSION_ACTS = ("discussion.open", "discussion.close")
SEAL_ACTS = ("model_scores.seal", "model_scores.unseal")


class StatusError(ValueError):
    """The study cannot go there from where it is; the message says why."""


@dataclass(frozen=True, slots=True)
class OpenWork:
    """n_in_hand: items that somebody has taken and not handed in, once for each who has.
    n_lacking: items that have not all the ratings that were asked for, each counted once.
    lacking_by_kind: the same for each kind of rater they wait for; an item can wait for several.
    unstaffed: the kinds that are to rate and of which nobody is here, with the items that they are to rate.
    is_countable: how many ratings are to come is known. It is not where every rater of a kind rates and nobody is here.

    Imported and simulated raters are nobody here: they fill no place.
    """

    n_in_hand: int
    n_lacking: int
    lacking_by_kind: list[tuple[RaterKind, int]]
    unstaffed: list[tuple[RaterKind, int]]
    is_countable: bool


def activation_problems(study: Study) -> list[str]:
    """What has to be mended before raters can begin, a sentence each; none: it can be activated."""
    blocks = study.blocks.with_item_counts().annotate(
        n_frameworks=Count("block_frameworks", distinct=True), n_groups=Count("groups", distinct=True)
    )
    rows = list(blocks.order_by("position").values("title", "n_items", "n_frameworks", "n_groups"))
    if not rows:
        return [_("Nothing is rated yet: add a block.")]
    problems = [
        _("The block %(block)s has no items: choose other conversations.") % {"block": row["title"]}
        for row in rows
        if not row["n_items"]
    ]
    problems += [
        _("The block %(block)s has no framework: choose one.") % {"block": row["title"]}
        for row in rows
        if not row["n_frameworks"]
    ]
    if not any(row["n_groups"] for row in rows):
        problems.append(_("Nobody is asked to rate yet: say for at least one block which raters rate it."))
    return problems


@transaction.atomic
def activate(*, study: Study, by: User | None) -> Study:
    """Open a draft to its raters. Its datasets freeze; blocks whose datasets have changed are laid out anew.

    Raises StatusError where it is no draft or something is missing, with the first thing that is.
    """
    study = _locked(study, StudyStatus.DRAFT, _("Only a draft can be activated."))
    problems = activation_problems(study)
    if problems:
        raise StatusError(problems[0])
    freeze_datasets(dataset_ids=_datasets(study))
    refreshed = _refresh_blocks(study)
    _move(study, StudyStatus.ACTIVE, "study.activate", by, refreshed_blocks=refreshed)
    return study


@transaction.atomic
def return_to_draft(*, study: Study, by: User | None) -> Study:
    """Take back an activation as long as nobody has begun; datasets that no other begun study uses thaw.

    Raises StatusError where it is not active, a rater has taken an item or rated, or a model or baseline was set to.
    """
    study = _locked(study, StudyStatus.ACTIVE, _("Only an active study can go back to being a draft."))
    # Whoever is about to take an item holds their row: they are waited for, and then seen.
    list(study.raters.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    if study.has_begun():
        raise StatusError(_("Raters or models have begun. The study can be closed, but no longer be a draft."))
    _move(study, StudyStatus.DRAFT, "study.draft", by)
    used = Block.objects.exclude(study__status=StudyStatus.DRAFT).values_list("dataset", flat=True)
    thaw_datasets(dataset_ids=_datasets(study) - set(used))
    return study


@transaction.atomic
def close(*, study: Study, by: User | None) -> Study:
    """End rating; it can be opened again. What is unfinished stays as it is and counts nowhere.

    Raises StatusError where it is not active.
    """
    study = _locked(study, StudyStatus.ACTIVE, _("Only an active study can be closed."))
    work = open_work(study)
    _move(study, StudyStatus.CLOSED, "study.close", by, in_hand=work.n_in_hand, lacking=work.n_lacking)
    return study


@transaction.atomic
def reopen(*, study: Study, by: User | None) -> Study:
    """Let a closed study's raters go on. Raises StatusError where it is not closed or cannot be rated as it is."""
    study = _locked(study, StudyStatus.CLOSED, _("Only a closed study can be reopened."))
    problems = activation_problems(study)
    if problems:
        raise StatusError(problems[0])
    freeze_datasets(dataset_ids=_datasets(study))
    _move(study, StudyStatus.ACTIVE, "study.reopen", by)
    return study


@transaction.atomic
def set_discussion(*, study: Study, is_open: bool, by: User | None) -> Study:
    """Let raters see each other's ratings, or end that. What was seen stays seen; when it was open is remembered.

    Raises StatusError where it is so already.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.discussion_open == is_open:
        raise StatusError(_("Discussion is open already.") if is_open else _("Discussion is not open."))
    study.discussion_open = is_open
    study.save(update_fields=["discussion_open", "updated_at"])
    _remember(study, DISCUSSION_ACTS[0 if is_open else 1], by, status=study.status)
    return study


@transaction.atomic
def set_seal(*, study: Study, is_sealed: bool, by: User | None) -> Study:
    """Keep models' scores from everybody who rates, or no longer. What was seen stays seen; each turn is remembered.

    Raises StatusError where it is so already.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.model_scores_sealed == is_sealed:
        raise StatusError(_("The models' scores are sealed already.") if is_sealed else _("They are not sealed."))
    study.model_scores_sealed = is_sealed
    study.save(update_fields=["model_scores_sealed", "updated_at"])
    _remember(study, SEAL_ACTS[0 if is_sealed else 1], by, status=study.status, discussion_open=study.discussion_open)
    return study


def open_work(study: Study) -> OpenWork:
    """What closing the study would leave undone, in a few queries however large it is."""
    groups = coverage_of(study=study)
    asked: dict[int, list[GroupCoverage]] = {}
    by_kind: Counter[RaterKind] = Counter()
    unstaffed: Counter[RaterKind] = Counter()
    for group in groups:
        if not group.n_present:
            unstaffed[group.kind] += group.n_items
        by_kind[group.kind] += group.n_lacking
        if group.n_asked:
            asked.setdefault(group.block.pk, []).append(group)
    lacking = sum(of[0].n_items - len(set.intersection(*(group.complete for group in of))) for of in asked.values())
    return OpenWork(
        n_in_hand=sum(group.n_in_hand for group in groups),
        n_lacking=lacking,
        lacking_by_kind=[(kind, by_kind[kind]) for kind in RaterKind if by_kind[kind]],
        unstaffed=[(kind, unstaffed[kind]) for kind in RaterKind if unstaffed[kind]],
        is_countable=bool(asked),
    )


def discussion_history(study: Study) -> QuerySet[AuditEntry]:
    """When discussion was opened and closed, and by whom, the latest first."""
    acts = AuditEntry.objects.filter(action__in=DISCUSSION_ACTS, subject=study.slug)
    return acts.select_related("actor").order_by("-at", "-pk")


def last_seal(study: Study) -> AuditEntry | None:
    """Who sealed or unsealed the models' scores last, and when; None where nobody has."""
    acts = AuditEntry.objects.filter(action__in=SEAL_ACTS, subject=study.slug)
    return acts.select_related("actor").order_by("-pk").first()


def _locked(study: Study, status: StudyStatus, refusal: str) -> Study:
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status != status:
        raise StatusError(refusal)
    return study


def _datasets(study: Study) -> set[int]:
    return set(study.blocks.order_by().values_list("dataset", flat=True))


def _refresh_blocks(study: Study) -> list[str]:
    """Slugs of the blocks laid out anew. Those that have begun already stay as they are."""
    begun = set(study.blocks.begun().values_list("pk", flat=True))
    refreshed = []
    for block in study.blocks.select_related("dataset"):
        if block.pk in begun:
            continue
        try:
            if refresh_items(block=block, seed=study.seed):
                refreshed.append(block.slug)
        except DesignError as problem:
            raise StatusError(
                _("The block %(block)s: %(problem)s") % {"block": block.title, "problem": problem}
            ) from problem
    return refreshed


def _move(study: Study, status: StudyStatus, action: str, by: User | None, **details: Any) -> None:
    before, study.status = study.status, status
    study.save(update_fields=["status", "updated_at"])
    _remember(study, action, by, before=before, **details)


def _remember(study: Study, action: str, by: User | None, **details: Any) -> None:
    AuditEntry.objects.create(actor=by, action=action, subject=study.slug, details=details)
