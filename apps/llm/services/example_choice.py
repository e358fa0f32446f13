"""Which conversations may stand in a prompt as examples, and which are drawn by lot: from the experts' medians.

What it gives shows ratings: for whoever is not blind to them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from apps.corpus.models import SpeakerRole, Turn
from apps.frameworks.models import Dimension, Framework
from apps.llm.examples import Slot, pick_examples
from apps.llm.services.expert_scores import expert_values
from apps.studies.models import Item, ItemRole, Study

# dimension -> slot -> item
Choices = dict[int, dict[Slot, int]]


class Candidate(NamedTuple):
    """An item that may be shown. name: `block/external id`, the same on every machine."""

    item_id: int
    name: str
    title: str
    content_hash: str
    conversation_id: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may be shown for each scale of some frameworks.

    dimensions: in the order of frameworks and scales, with their points; those that are nominal have no low or high,
    and no examples. medians: dimension -> item -> the experts' median, a declared point, in the order of the study.
    """

    dimensions: Sequence[Dimension]
    items: Mapping[int, Candidate]
    medians: Mapping[int, Mapping[int, float]]

    def of(self, dimension_id: int) -> Mapping[int, float]:
        return self.medians.get(dimension_id, {})

    def conversations(self, choices: Mapping[int, Mapping[Slot, int]]) -> set[int]:
        """The conversations that are chosen."""
        return {self.items[item].conversation_id for slots in choices.values() for item in slots.values()}


def items_with_text(study: Study) -> QuerySet[Item]:
    """The main items of the study in which somebody says something, in its order."""
    said = Turn.objects.filter(conversation=OuterRef("conversation"), text__regex=r"\S").exclude(
        role=SpeakerRole.SYSTEM
    )
    items = Item.objects.filter(Exists(said), block__study=study, role=ItemRole.MAIN)
    return items.order_by("block__position", "position")


def candidates_of(*, study: Study, frameworks: Iterable[Framework]) -> Candidates:
    """The main items with text whose expert median is a point of the scale, a conversation once. Four queries."""
    dimensions = dimensions_of(frameworks)
    values = expert_values(study=study)
    items = {
        pk: Candidate(pk, f"{block}/{external_id}", title, content_hash, conversation_id)
        for pk, block, external_id, title, content_hash, conversation_id in items_with_text(study).values_list(
            "pk",
            "block__slug",
            "conversation__external_id",
            "conversation__title",
            "conversation__content_hash",
            "conversation_id",
        )
    }
    found: dict[int, dict[int, float]] = {}
    for (_block, dimension_id), scored in values.items():
        medians = found.setdefault(dimension_id, {})
        medians |= {item: _lower_median(given) for item, given in scored.items()}
    return Candidates(
        dimensions,
        items,
        {
            dimension.pk: _usable(items, found.get(dimension.pk, {}), dimension)
            for dimension in dimensions
            if not dimension.is_nominal
        },
    )


def dimensions_of(frameworks: Iterable[Framework]) -> list[Dimension]:
    """Their scales with points, in the order of the frameworks given and of the scales. Two queries."""
    order = [framework.pk for framework in frameworks]
    found = Dimension.objects.filter(framework__in=order).select_related("framework").with_points()
    return sorted(found, key=lambda dimension: order.index(dimension.framework_id))


def pick_version_examples(
    candidates: Candidates, seed: int, overrides: Mapping[int, Mapping[Slot, int]] | None = None
) -> Choices:
    """Examples for every scale, drawn by the seed; what is chosen by hand (dimension -> slot -> item) is kept.

    Of conversations that are equally near, one wins that is an example for another scale of the same framework
    already: whatever is shown is left out of the evaluation. Raises ExampleError for a choice that is no candidate.
    """
    by_hand = overrides or {}
    numbers = {candidate.name: pk for pk, candidate in candidates.items.items()}
    shown = _names_by_framework(candidates, by_hand)
    choices: Choices = {}
    for dimension in candidates.dimensions:
        if dimension.is_nominal:
            continue
        preferred = shown.setdefault(dimension.framework_id, set())
        picked = pick_examples(
            {candidates.items[item].name: median for item, median in candidates.of(dimension.pk).items()},
            dimension.scale_points,
            seed,
            overrides={slot: _name(candidates, item) for slot, item in by_hand.get(dimension.pk, {}).items()},
            preferred=preferred,
        )
        preferred |= {example.item for example in picked}
        if picked:
            choices[dimension.pk] = {example.slot: numbers[example.item] for example in picked}
    return choices


def _names_by_framework(candidates: Candidates, by_hand: Mapping[int, Mapping[Slot, int]]) -> dict[int, set[str]]:
    names: dict[int, set[str]] = {}
    for dimension in candidates.dimensions:
        chosen = by_hand.get(dimension.pk, {}).values()
        names.setdefault(dimension.framework_id, set()).update(_name(candidates, item) for item in chosen)
    return names


def _name(candidates: Candidates, item: int) -> str:
    """An item that is no candidate keeps its number, which no candidate has for a name."""
    return candidates.items[item].name if item in candidates.items else str(item)


def _usable(items: Mapping[int, Candidate], medians: Mapping[int, float], dimension: Dimension) -> dict[int, float]:
    """Those with text and a median that is a point, in the order of `items`, of equal conversations the first."""
    points = set(dimension.scale_points)
    seen: set[str] = set()
    usable: dict[int, float] = {}
    for pk, candidate in items.items():
        if medians.get(pk) in points and candidate.content_hash not in seen:
            seen.add(candidate.content_hash)
            usable[pk] = medians[pk]
    return usable


def _lower_median(values: Sequence[float]) -> float:
    """Of values in ascending order: always one that somebody gave."""
    return values[(len(values) - 1) // 2]
