"""What the pages of scales and raters ask of the study as it is now: words, names and addresses, never a rating."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from apps.frameworks.models import Dimension
from apps.reliability.labels import ScaleLabel
from apps.reliability.matrix import TableKey
from apps.studies.models import Assignment, AssignmentState, Exclusion, Item, ItemRole, Rater, Study


@dataclass(frozen=True, slots=True)
class NamedItem:
    """Where the ratings of an item are read, and what its conversation is called."""

    pk: int
    name: str


def dimension_of(study: Study, key: TableKey) -> Dimension | None:
    """The scale with its framework and points, in the version that the block uses; None where it uses no such scale."""
    used = Dimension.objects.with_points().filter(
        slug=key.dimension,
        framework__slug=key.framework,
        framework__block_frameworks__block__study=study,
        framework__block_frameworks__block__slug=key.block,
    )
    return used.select_related("framework").first()


def items_named(study: Study, block: str, names: Iterable[str]) -> dict[str, NamedItem]:
    """Main items of a block by the id of their conversation; those that are there no more are left out. One query."""
    found = Item.objects.filter(
        block__study=study, block__slug=block, role=ItemRole.MAIN, conversation__external_id__in=list(names)
    ).select_related("conversation")
    return {item.conversation.external_id: NamedItem(item.pk, str(item.conversation)) for item in found}


def raters_named(study: Study, names: Sequence[str]) -> dict[str, Rater]:
    return {rater.name: rater for rater in study.raters.filter(name__in=names)}


def exclusions_of(rater: Rater) -> list[Exclusion]:
    """Those in force: first of the rater as a whole, then of single items."""
    found = Exclusion.objects.in_force().filter(rater=rater).select_related("item__conversation", "item__block")
    return sorted(found, key=lambda one: (one.item_id is not None, one.pk))


def excluded_raters(study: Study) -> set[str]:
    """Names of raters of whom nothing counts."""
    found = Exclusion.objects.in_force().filter(rater__study=study, item=None)
    return set(found.values_list("rater__name", flat=True))


@dataclass(frozen=True, slots=True)
class ScaleText:
    """A scale in the words of its framework. points: (value, label) in the order of the scale; examples: (point, text).

    is_builtin: the words are Accord's.
    """

    label: str
    framework: str
    language: str
    stem: str
    question: str
    guideline: str
    points: tuple[tuple[str, str], ...]
    examples: tuple[tuple[str, str], ...]
    is_builtin: bool = False


def is_rated_on_screen(study: Study, block: str) -> bool:
    """Whether somebody rated the block on screens of Accord, and so saw its words for the scales.

    Imported ratings belong to no assignment. Simulated raters count: they have no other source.
    """
    handed_in = Assignment.objects.filter(
        item__block__study=OuterRef("pk"), item__block__slug=block, state=AssignmentState.SUBMITTED
    )
    simulated = Rater.objects.filter(study=OuterRef("pk"), is_simulated=True)
    return Study.objects.filter(Exists(handed_in) | Exists(simulated), pk=study.pk).exists()


def text_of_dimension(dimension: Dimension) -> ScaleText:
    framework = dimension.framework
    return ScaleText(
        label=dimension.label,
        framework=framework.name,
        language=framework.language,
        stem=framework.stem,
        question=dimension.question,
        guideline=dimension.guideline,
        points=tuple((point.value_text, point.label) for point in dimension.points.all()),
        examples=tuple(dimension.labelled_examples()),
        is_builtin=framework.is_builtin,
    )


def text_of_label(scale: ScaleLabel) -> ScaleText:
    """What a snapshot kept of a scale that the study uses no more: no guideline and no examples."""
    return ScaleText(
        label=scale.dimension.label,
        framework=scale.framework.name,
        language=scale.framework.language,
        stem=scale.framework.stem,
        question=scale.dimension.question,
        guideline="",
        points=tuple((f"{point.value:g}", point.text) for point in scale.dimension.points),
        examples=(),
    )
