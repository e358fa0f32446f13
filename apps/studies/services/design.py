"""Laying out a study: the study itself, its blocks and their items."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.inserting import insert_rows
from apps.common.models import OPEN_STATES, AuditEntry
from apps.corpus.models import Dataset
from apps.corpus.services.freezing import freeze_datasets
from apps.frameworks.models import Framework
from apps.studies.allocation import AllocationError
from apps.studies.models import (
    Block,
    BlockFramework,
    BlockGroup,
    Item,
    ItemRole,
    MemberRole,
    Membership,
    Study,
    StudyStatus,
)
from apps.studies.selection import Choice, ChoiceError, checked_choice
from apps.studies.services.selecting import select_conversations

ITEM_COLUMNS = ("block_id", "conversation_id", "role", "position", "created_at", "updated_at")


class DesignError(ValueError):
    """The study cannot be laid out like this; the message says why."""


@transaction.atomic
def create_study(
    *,
    slug: str,
    title: str,
    owner: User | None,
    actor: User | None = None,
    status: StudyStatus = StudyStatus.DRAFT,
    seed: int = 2026,
    **settings: str | bool | int,
) -> Study:
    """A study and its owner. `settings` are further fields of `Study`, for example `instructions`.

    Raises DesignError when the slug is taken.
    """
    if Study.objects.filter(slug=slug).exists():
        raise DesignError(f"there is a study {slug} already")
    study = Study.objects.create(slug=slug, title=title, status=status, seed=seed, **settings)
    if owner is not None:
        Membership.objects.create(study=study, user=owner, role=MemberRole.OWNER)
    AuditEntry.objects.create(actor=actor or owner, action="study.create", subject=slug)
    return study


@transaction.atomic
def add_block(
    *,
    study: Study,
    slug: str,
    title: str,
    dataset: Dataset,
    frameworks: Sequence[Framework],
    groups: Mapping[str, int | None] | None = None,
    sample_size: int | None = None,
    metadata_filter: Choice | None = None,
    actor: User | None = None,
) -> Block:
    """A block at the end of the study, its frameworks in the order given, and an item for each conversation it takes.

    groups: kind of rater -> raters of that kind for each item (None: every rater rates every item); without any, the
    block only takes finished ratings. metadata_filter: see `studies.selection`; with `sample_size`, that many of the
    conversations that fit are drawn by the study's seed. Items keep the order of the dataset. In a study that is no
    draft the dataset is frozen.
    Raises DesignError when the slug is taken, a framework comes twice, or there is nothing (or not enough) to rate.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.blocks.filter(slug=slug).exists():
        raise DesignError(f"the study {study.slug} has a block {slug} already")
    _check_frameworks(frameworks)
    last = study.blocks.aggregate(last=Max("position"))["last"]
    block = Block.objects.create(
        study=study,
        slug=slug,
        title=title,
        position=0 if last is None else last + 1,
        dataset=dataset,
        sample_size=sample_size,
        metadata_filter=_choice(metadata_filter),
    )
    _set_groups(block, groups or {})
    _set_frameworks(block, frameworks)
    n_items = lay_items(block=block, seed=study.seed)
    if study.status != StudyStatus.DRAFT:
        freeze_datasets(dataset_ids=[dataset.pk])
    _remember("block.add", block, actor, _described(block, frameworks, groups or {}, n_items))
    return block


@transaction.atomic
def change_block(
    *,
    block: Block,
    slug: str,
    title: str,
    dataset: Dataset,
    frameworks: Sequence[Framework],
    groups: Mapping[str, int | None],
    sample_size: int | None = None,
    metadata_filter: Choice | None = None,
    by: User | None,
) -> Block:
    """Lay a block of a draft out anew: what it was, its items included, is replaced.

    Raises DesignError as `add_block` does, where the study is no draft, and where the block has begun.
    """
    study, block = _locked(block)
    _check_draft(study)
    _check_untouched(block)
    if study.blocks.exclude(pk=block.pk).filter(slug=slug).exists():
        raise DesignError(f"the study {study.slug} has a block {slug} already")
    _check_frameworks(frameworks)
    block.slug, block.title, block.dataset, block.sample_size = slug, title, dataset, sample_size
    block.metadata_filter = _choice(metadata_filter)
    block.save()
    _set_groups(block, groups)
    _set_frameworks(block, frameworks)
    n_items = lay_items(block=block, seed=study.seed)
    _remember("block.change", block, by, _described(block, frameworks, groups, n_items))
    return block


@transaction.atomic
def change_who_rates(*, block: Block, title: str, groups: Mapping[str, int | None], by: User | None) -> Block:
    """A block's title, and who rates in it. Both may change as long as the study is open; nobody's work is lost.

    Raises DesignError where the study is closed.
    """
    study, block = _locked(block)
    if study.status == StudyStatus.CLOSED:
        raise DesignError(_("The study is closed. Reopen it to change who rates."))
    block.title = title
    block.save(update_fields=["title", "updated_at"])
    _set_groups(block, groups)
    _remember("block.change", block, by, {"title": title, "groups": dict(groups)})
    return block


@transaction.atomic
def remove_block(*, block: Block, by: User | None) -> None:
    """Take a block out of a draft, with its items. Raises DesignError where the study is no draft or the block has
    begun.
    """
    study, block = _locked(block)
    _check_draft(study)
    _check_untouched(block)
    delete_block(block=block)
    _remember("block.remove", block, by, {"title": block.title})


@transaction.atomic
def move_block(*, block: Block, step: Literal[-1, 1], by: User | None) -> None:
    """Let a block of a draft change places with the one before or after it; at the end of the row nothing happens.

    Raises DesignError where the study is no draft.
    """
    study, block = _locked(block)
    _check_draft(study)
    blocks = list(study.blocks.order_by("position"))
    here = blocks.index(block)
    there = here + step
    if not 0 <= there < len(blocks):
        return
    other = blocks[there]
    mine, theirs, free = block.position, other.position, blocks[-1].position + 1
    # One place is held by one block at any moment.
    for moved, position in ((block, free), (other, mine), (block, theirs)):
        Block.objects.filter(pk=moved.pk).update(position=position)
    _remember("block.move", block, by, {"from": mine, "to": theirs})


def lay_items(*, block: Block, seed: int) -> int:
    """Give a block that nobody has begun the items of what it takes now, in place of those it has. Returns how many.

    Raises DesignError where nothing fits, or too little for the sample.
    """
    selection = _selected(block, seed)
    _delete_items(block)
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    rows = ((block.pk, key, ItemRole.MAIN.value, place, now, now) for place, key in enumerate(selection))
    insert_rows(Item, ITEM_COLUMNS, rows)
    return len(selection)


def refresh_items(*, block: Block, seed: int) -> bool:
    """Lay the items anew where the block takes others by now; whether it does. Raises DesignError as `lay_items`."""
    laid = list(block.items.order_by("position").values_list("conversation", flat=True))
    if laid == _selected(block, seed):
        return False
    lay_items(block=block, seed=seed)
    return True


def delete_block(*, block: Block) -> None:
    """Delete a block that nobody has begun, with everything that is part of it."""
    # Files of ratings on their way into the block; the relation is that of annotation.RatingUpload.
    if block.rating_uploads.filter(job__state__in=OPEN_STATES).exists():
        raise DesignError(_("A file of ratings is being read into the block %(block)s.") % {"block": block.title})
    _delete_items(block)
    for part in (block.rating_uploads, block.block_frameworks, block.groups):
        part.all().delete()
    Block.objects.filter(pk=block.pk).delete()


def _delete_items(block: Block) -> None:
    # Django would fetch every item to look for what belongs to it. Nothing does, and the database would refuse.
    items = block.items.all()
    items._raw_delete(items.db)


def _selected(block: Block, seed: int) -> list[int]:
    try:
        selection = select_conversations(
            dataset=block.dataset, choice=block.metadata_filter, sample_size=block.sample_size, seed=seed
        )
    except AllocationError as problem:
        raise DesignError(str(problem)) from problem
    if not selection.n_conversations:
        raise DesignError(f"the dataset {block.dataset.slug} has no conversations")
    if not selection.keys:
        raise DesignError(_("No conversation of the dataset fits the choice."))
    return selection.keys


def _choice(choice: Choice | None) -> dict[str, list[str]]:
    try:
        return checked_choice(choice or {})
    except ChoiceError as problem:
        raise DesignError(str(problem)) from problem


def _check_frameworks(frameworks: Sequence[Framework]) -> None:
    if not frameworks:
        raise DesignError("a block needs at least one framework")
    slugs = [framework.slug for framework in frameworks]
    for slug in slugs:
        if slugs.count(slug) > 1:
            raise DesignError(f"the framework {slug} comes twice in one block")


def _check_draft(study: Study) -> None:
    if study.status != StudyStatus.DRAFT:
        raise DesignError(_("What is rated can only change while the study is a draft."))


def _check_untouched(block: Block) -> None:
    if Block.objects.begun().filter(pk=block.pk).exists():
        text = _("The block %(block)s has ratings already, or models were asked about it or shown it: its items stay.")
        raise DesignError(text % {"block": block.title})


def _locked(block: Block) -> tuple[Study, Block]:
    """The study's row is what changes of a design wait for."""
    study = Study.objects.select_for_update().get(pk=block.study_id)
    return study, study.blocks.select_related("dataset").get(pk=block.pk)


def _set_groups(block: Block, groups: Mapping[str, int | None]) -> None:
    # Rows that stay are changed, not replaced: raters who want a place wait for their locks.
    block.groups.exclude(kind__in=groups).delete()
    BlockGroup.objects.bulk_create(
        (BlockGroup(block=block, kind=kind, overlap=overlap) for kind, overlap in groups.items()),
        update_conflicts=True,
        unique_fields=["block", "kind"],
        update_fields=["overlap", "updated_at"],
    )


def _set_frameworks(block: Block, frameworks: Sequence[Framework]) -> None:
    block.block_frameworks.all().delete()
    BlockFramework.objects.bulk_create(
        BlockFramework(block=block, framework=framework, position=position)
        for position, framework in enumerate(frameworks)
    )


def _described(
    block: Block, frameworks: Sequence[Framework], groups: Mapping[str, int | None], n_items: int
) -> dict[str, Any]:
    return {
        "dataset": block.dataset.slug,
        "frameworks": [f"{framework.slug} {framework.version}" for framework in frameworks],
        "groups": dict(groups),
        "sample_size": block.sample_size,
        "metadata_filter": block.metadata_filter,
        "items": n_items,
    }


def _remember(action: str, block: Block, by: User | None, details: dict[str, Any]) -> None:
    subject = f"{block.study.slug}/{block.slug}"
    AuditEntry.objects.create(actor=by, action=action, subject=subject, details=details)
