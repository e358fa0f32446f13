"""Laying out a study: the study itself, its blocks and their items."""

from collections.abc import Mapping, Sequence

from django.db import transaction
from django.db.models import Max

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.corpus.models import Dataset
from apps.frameworks.models import Framework
from apps.studies.allocation import AllocationError, sample_items
from apps.studies.models import Block, BlockFramework, BlockGroup, Item, MemberRole, Membership, Study, StudyStatus

ITEMS_IN_ONE_INSERT = 5_000


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
    **settings: str | bool,
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
    actor: User | None = None,
) -> Block:
    """A block at the end of the study, its frameworks in the order given, and an item for each conversation.

    groups: kind of rater -> raters of that kind for each item (None: every rater rates every item); without any, the
    block only takes finished ratings. With `sample_size` the conversations are drawn by the study's seed; items keep
    the order of the dataset.
    Raises DesignError when the slug is taken, a framework comes twice, or there is nothing (or not enough) to rate.
    """
    if study.blocks.filter(slug=slug).exists():
        raise DesignError(f"the study {study.slug} has a block {slug} already")
    _check_frameworks(frameworks)
    conversations = _conversations(dataset, sample_size, study.seed)
    last = study.blocks.aggregate(last=Max("position"))["last"]
    block = Block.objects.create(
        study=study,
        slug=slug,
        title=title,
        position=0 if last is None else last + 1,
        dataset=dataset,
        sample_size=sample_size,
    )
    BlockGroup.objects.bulk_create(
        BlockGroup(block=block, kind=kind, overlap=overlap) for kind, overlap in (groups or {}).items()
    )
    BlockFramework.objects.bulk_create(
        BlockFramework(block=block, framework=framework, position=position)
        for position, framework in enumerate(frameworks)
    )
    Item.objects.bulk_create(
        (
            Item(block=block, conversation_id=conversation, position=position)
            for position, conversation in enumerate(conversations)
        ),
        batch_size=ITEMS_IN_ONE_INSERT,
    )
    AuditEntry.objects.create(
        actor=actor,
        action="block.add",
        subject=f"{study.slug}/{slug}",
        details={
            "dataset": dataset.slug,
            "frameworks": [f"{framework.slug} {framework.version}" for framework in frameworks],
            "items": len(conversations),
        },
    )
    return block


def _check_frameworks(frameworks: Sequence[Framework]) -> None:
    if not frameworks:
        raise DesignError("a block needs at least one framework")
    slugs = [framework.slug for framework in frameworks]
    for slug in slugs:
        if slugs.count(slug) > 1:
            raise DesignError(f"the framework {slug} comes twice in one block")


def _conversations(dataset: Dataset, size: int | None, seed: int) -> list[int]:
    """Primary keys of the whole dataset, or of a sample of `size`, in the order of the dataset."""
    keys = dict(dataset.conversations.order_by("position").values_list("external_id", "pk"))
    if not keys:
        raise DesignError(f"the dataset {dataset.slug} has no conversations")
    if size is None:
        return list(keys.values())
    # External ids, not primary keys: the same dataset imported elsewhere gives the same sample.
    try:
        return [keys[external_id] for external_id in sample_items(keys, size, seed)]
    except AllocationError as problem:
        raise DesignError(str(problem)) from problem
