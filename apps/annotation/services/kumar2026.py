"""The public data of Kumar et al. 2026 as one study, in one transaction. A second import changes nothing."""

from dataclasses import dataclass, field

from django.db import transaction

from apps.accounts.models import User
from apps.annotation.evidence import Quote
from apps.annotation.kumar2026 import KumarBlock, KumarDataset, KumarStudy
from apps.annotation.services.recording import Origin, RatingEntry, Tally, record_ratings
from apps.common.models import AuditEntry
from apps.corpus.models import Dataset
from apps.corpus.services.importing import ImportRefusedError, import_conversations
from apps.frameworks.models import Framework
from apps.frameworks.services.catalog import builtin_frameworks
from apps.frameworks.services.loading import load_framework
from apps.studies.models import Block, ItemRole, MemberRole, Membership, Rater, Study, StudyStatus
from apps.studies.services.design import add_block, create_study
from apps.studies.services.raters import NewRater, RaterConflict, ensure_raters

DATASET_PREFIX = "kumar-2026-"
SOURCE = (
    "Kumar et al. 2026, doi:10.1038/s42256-025-01169-6; public replication data, doi:10.5281/zenodo.17230987 "
    "(aakriti1kumar/replication-data-and-code-when-LLMs-reliable-empathic-communication)"
)
TITLE = "Kumar et al. 2026: empathic communication"
DESCRIPTION = (
    "The ratings published with Kumar et al. 2026: three experts, three language models and a crowd on four samples of "
    "50 conversations and 21 scales; the seekers' own ratings on six of them; and, in a block of their own, the single "
    "crowd annotators of the fourth sample."
)


class KumarConflict(ValueError):  # noqa: N818 - reads as what happened
    """What is stored under the study's names is something else. Nothing was changed."""


@dataclass
class KumarImport:
    """What the import did."""

    study: Study
    conversations: int = 0
    tally: Tally = field(default_factory=Tally)


@transaction.atomic
def import_kumar_study(
    *, data: KumarStudy, slug: str, owner: User | None = None, actor: User | None = None
) -> KumarImport:
    """Stores the datasets, the study with its blocks and raters, and every rating; or raises and stores nothing.

    The study is closed, and open to discussion, since everything in it is published. A study of that slug is
    completed; KumarConflict says where what it holds does not fit.
    """
    frameworks = {
        spec.slug: load_framework(spec=spec, builtin=True, actor=actor).framework
        for spec in builtin_frameworks()
        if spec.slug in {block.framework for block in data.blocks.values()}
    }
    study = _study(slug, owner, actor)
    done = KumarImport(study)
    datasets = {dataset.slug: _dataset(dataset, owner, actor, done) for dataset in data.datasets}
    raters = _raters(study, data, actor)
    for block_data in data.blocks.values():
        block = _block(study, block_data, datasets[block_data.dataset.slug], frameworks, actor)
        try:
            tally = record_ratings(entries=_entries(block, block_data, raters), origin=Origin.IMPORT, actor=actor)
        except RaterConflict as conflict:
            raise KumarConflict(str(conflict)) from None
        done.tally.created += tally.created
        done.tally.changed += tally.changed
        done.tally.unchanged += tally.unchanged
    if done.tally.created or done.tally.changed:
        AuditEntry.objects.create(
            actor=actor,
            action="ratings.import",
            subject=slug,
            details={"source": SOURCE, "created": done.tally.created, "changed": done.tally.changed},
        )
    return done


def _study(slug: str, owner: User | None, actor: User | None) -> Study:
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        return create_study(
            slug=slug,
            title=TITLE,
            owner=owner,
            actor=actor,
            status=StudyStatus.CLOSED,
            description=DESCRIPTION,
            discussion_open=True,
            model_scores_sealed=False,
        )
    if owner is not None:
        Membership.objects.get_or_create(study=study, user=owner, defaults={"role": MemberRole.OWNER})
    return study


def _dataset(data: KumarDataset, owner: User | None, actor: User | None, done: KumarImport) -> Dataset:
    slug = f"{DATASET_PREFIX}{data.slug}"
    dataset = Dataset.objects.filter(slug=slug).first() or Dataset(
        slug=slug, name=f"Kumar et al. 2026: {data.title}", source=SOURCE, licence=data.licence, owner=owner
    )
    try:
        result = import_conversations(dataset=dataset, found=data.conversations, actor=actor)
    except ImportRefusedError as refusal:
        conflict = refusal.result.conflicts.shown[0]
        raise KumarConflict(f"the dataset {slug}: {conflict.message}") from None
    done.conversations += result.added
    return Dataset.objects.get(slug=slug)


def _raters(study: Study, data: KumarStudy, actor: User | None) -> dict[str, Rater]:
    wanted = [
        NewRater(rater.kind, rater.name, rater.is_aggregate, source=rater.source or SOURCE)
        for rater in data.raters.values()
    ]
    try:
        return ensure_raters(study=study, raters=wanted, actor=actor)
    except RaterConflict as conflict:
        raise KumarConflict(str(conflict)) from None


def _block(
    study: Study, data: KumarBlock, dataset: Dataset, frameworks: dict[str, Framework], actor: User | None
) -> Block:
    """The block of that slug, made if it is new. Raises KumarConflict where it rates something else."""
    block = study.blocks.filter(slug=data.slug).first()
    if block is None:
        return add_block(
            study=study,
            slug=data.slug,
            title=data.title,
            dataset=dataset,
            frameworks=[frameworks[data.framework]],
            actor=actor,
        )
    if block.dataset_id != dataset.pk or list(block.frameworks.values_list("slug", flat=True)) != [data.framework]:
        raise KumarConflict(f"the study {study.slug} has a block {data.slug} of something else")
    return block


def _entries(block: Block, data: KumarBlock, raters: dict[str, Rater]) -> list[RatingEntry]:
    items = dict(block.items.filter(role=ItemRole.MAIN).values_list("conversation__external_id", "pk"))
    missing = [external_id for external_id in data.ids if external_id not in items]
    if missing:
        raise KumarConflict(f"the block {block.slug} lacks the conversation {missing[0]}")
    framework = block.frameworks.get()
    dimensions = dict(framework.dimensions.values_list("slug", "pk"))
    return [
        RatingEntry(
            item_id=items[external_id],
            rater_id=raters[name].pk,
            dimension_id=dimensions[dimension],
            value=value,
            evidence=_evidence(data, name, dimension, external_id),
            at=data.given_at.get(name, {}).get(external_id),
        )
        for name, values in data.raters.items()
        for dimension, of_items in values.items()
        for external_id, value in of_items.items()
    ]


def _evidence(data: KumarBlock, rater: str, dimension: str, external_id: str) -> list[Quote] | None:
    passages = data.evidence.get(rater, {}).get(dimension, {}).get(external_id)
    return None if passages is None else [Quote(passage) for passage in passages]
