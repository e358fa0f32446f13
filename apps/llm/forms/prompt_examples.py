"""The examples of a prompt version, as they are chosen on its form: none, by lot, or by hand."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _

from apps.frameworks.models import Dimension, Framework
from apps.llm.answers import point_text
from apps.llm.examples import SLOTS, Slot
from apps.llm.services.example_choice import Candidates, Choices, pick_version_examples
from apps.llm.services.prompt_listing import SLOT_LABELS

# So many of the nearest stand in one list: with 21 scales there are 63 of them on the page.
MOST_CANDIDATES = 30
LONGEST_LABEL = 90

NO_EXAMPLES, BY_LOT, BY_HAND = "none", "lot", "hand"
MODES = [
    (NO_EXAMPLES, _("None")),
    (BY_LOT, _("By lot: for each scale, those nearest to its lowest point, its middle and its highest point")),
    (BY_HAND, _("By hand")),
]
NOTHING_OFFERED = Candidates((), {}, {})


class ScaleRow(NamedTuple):
    """The three choices of a scale."""

    dimension: Dimension
    fields: Sequence[forms.BoundField]
    n_candidates: int


class FrameworkRows(NamedTuple):
    framework: Framework
    rows: Sequence[ScaleRow]

    @property
    def n_chosen(self) -> int:
        return sum(bool(field.value()) for row in self.rows for field in row.fields)

    @property
    def has_errors(self) -> bool:
        return any(field.errors for row in self.rows for field in row.fields)

    @property
    def offered_rows(self) -> Sequence[ScaleRow]:
        """Every scale, also those without a conversation; none where no scale has one, since that is said once."""
        return self.rows if self.n_candidates else ()

    @property
    def n_candidates(self) -> int:
        return sum(row.n_candidates for row in self.rows)


def field_name(dimension_id: int, slot: str) -> str:
    return f"example-{dimension_id}-{slot}"


def choice_fields(candidates: Candidates, kept: Mapping[int, Mapping[Slot, int]]) -> dict[str, forms.ChoiceField]:
    """A list of conversations for each scale and slot. kept: dimension -> slot -> item that is chosen already."""
    fields: dict[str, forms.ChoiceField] = {}
    for dimension in candidates.dimensions:
        for slot in SLOTS:
            chosen = kept.get(dimension.pk, {}).get(slot)
            fields[field_name(dimension.pk, slot)] = forms.ChoiceField(
                label=SLOT_LABELS[slot],
                required=False,
                choices=_options(candidates, dimension, slot, chosen),
                initial=chosen,
            )
    return fields


def kept_in(data: QueryDict, candidates: Candidates) -> Choices:
    """What a form that was sent holds; what is no number is nothing."""
    return _choices(data, candidates.dimensions)


def chosen_in(cleaned: Mapping[str, Any], candidates: Candidates, frameworks: Iterable[Framework]) -> Choices:
    """What was chosen by hand for the scales of these frameworks."""
    wanted = {framework.pk for framework in frameworks}
    return _choices(cleaned, [one for one in candidates.dimensions if one.framework_id in wanted])


def drawn_for(candidates: Candidates, frameworks: Iterable[Framework], seed: int) -> Choices:
    """By lot, for the scales of these frameworks."""
    wanted = {framework.pk for framework in frameworks}
    dimensions = [one for one in candidates.dimensions if one.framework_id in wanted]
    return pick_version_examples(Candidates(dimensions, candidates.items, candidates.medians), seed)


def doubled(choices: Choices) -> list[str]:
    """The fields in which a conversation is chosen that the scale shows already."""
    return [
        field_name(dimension_id, slot)
        for dimension_id, slots in choices.items()
        for place, (slot, item) in enumerate(slots.items())
        if item in [*slots.values()][:place]
    ]


def with_choices(data: QueryDict, choices: Choices) -> QueryDict:
    """A form's data with examples by hand, and these in their fields."""
    filled = data.copy()
    for name in [name for name in filled if name.startswith("example-")]:
        del filled[name]
    filled["examples"] = BY_HAND
    for dimension_id, slots in choices.items():
        for slot, item in slots.items():
            filled[field_name(dimension_id, slot)] = str(item)
    return filled


def rows_of(form: forms.Form, candidates: Candidates, frameworks: Mapping[int, Framework]) -> list[FrameworkRows]:
    """The lists of the form, framework by framework."""
    groups: dict[int, list[ScaleRow]] = {}
    for dimension in candidates.dimensions:
        fields = [form[field_name(dimension.pk, slot)] for slot in SLOTS]
        row = ScaleRow(dimension, fields, len(candidates.of(dimension.pk)))
        groups.setdefault(dimension.framework_id, []).append(row)
    return [FrameworkRows(frameworks[framework], rows) for framework, rows in groups.items()]


def _choices(given: Mapping[str, Any], dimensions: Iterable[Dimension]) -> Choices:
    choices: Choices = {}
    for dimension in dimensions:
        for slot in SLOTS:
            item = str(given.get(field_name(dimension.pk, slot)) or "")
            if item.isascii() and item.isdigit() and len(item) < 19:
                choices.setdefault(dimension.pk, {})[slot] = int(item)
    return choices


def _options(candidates: Candidates, dimension: Dimension, slot: Slot, kept: int | None) -> list[tuple[str, str]]:
    """Nothing, and the nearest to what the slot stands for; with what is chosen already, wherever it lies."""
    medians = candidates.of(dimension.pk)
    points = dimension.scale_points
    anchor = {"low": min(points), "middle": (min(points) + max(points)) / 2, "high": max(points)}[slot]
    wanted = sorted(medians, key=lambda item: abs(medians[item] - anchor))[:MOST_CANDIDATES]
    if kept is not None and kept in medians and kept not in wanted:
        wanted.append(kept)
    return [("", __("no example")), *((str(item), _label(candidates, item, medians[item])) for item in wanted)]


def _label(candidates: Candidates, item: int, median: float) -> str:
    """The median, and which conversation it is: its own id first, since a narrow list shows only the beginning."""
    candidate = candidates.items[item]
    block, _slash, external_id = candidate.name.partition("/")
    title = f" {candidate.title}" if candidate.title else ""
    return f"{point_text(median)} · {external_id}{title}"[:LONGEST_LABEL] + f" ({block})"
