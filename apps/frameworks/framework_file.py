"""Framework files: YAML to a FrameworkSpec, with every problem at once, and back. The format: docs/frameworks.md."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, cast, get_args

import yaml

from apps.frameworks import yaml_tree
from apps.frameworks.scales import (
    NUMBER,
    DimensionSpec,
    FrameworkSpec,
    LevelName,
    PointSpec,
    PolarityName,
    folded,
)
from apps.frameworks.yaml_fields import Fields, quoted
from apps.frameworks.yaml_tree import Problem, Unreadable

MAX_POINTS = 101  # 0 to 100

SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
SLUG_RULE = "must be small letters and digits, parted by - or _"
RESERVED_SLUG = "upload"  # the page for loading a framework stands where a framework's page would
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
LANGUAGE_RULE = "must be a language tag such as en or pt-BR"
WEB_ADDRESS = re.compile(r"https?://[^\s/]+\S*")
WEB_ADDRESS_RULE = "must be an address that begins with https:// or http://"

FRAMEWORK_KEYS = ("slug", "name", "language", "citation", "url", "description", "stem", "dimensions")
DIMENSION_KEYS = (
    "slug",
    "label",
    "question",
    "guideline",
    "level",
    "polarity",
    "minimum",
    "maximum",
    "points",
    "examples",
    "source",
)
POINT_KEYS = ("value", "label")
EXAMPLE_KEYS = ("low", "middle", "high")


class FrameworkProblems(ValueError):  # noqa: N818 - reads as what happened
    """What is wrong with a framework file: `problems`, in the order of its lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.line or 0)
        super().__init__("\n".join(map(str, self.problems)))


def read_framework(data: bytes) -> FrameworkSpec:
    """The framework in a file's bytes (UTF-8). Raises FrameworkProblems."""
    if len(data) > yaml_tree.MAX_BYTES:
        raise FrameworkProblems([yaml_tree.TOO_LARGE])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = f"must be UTF-8 text; byte {error.start} (0x{data[error.start]:02x}) is not"
        raise FrameworkProblems([Problem("", data[: error.start].count(b"\n") + 1, wrong)]) from error
    return parse_framework(text)


def parse_framework(text: str) -> FrameworkSpec:
    """The framework that the YAML text describes. Raises FrameworkProblems with all that is wrong, field by field."""
    try:
        root = yaml_tree.read_tree(text)
    except Unreadable as error:
        raise FrameworkProblems([error.problem]) from error
    problems: list[Problem] = []
    spec = _framework(Fields(root, "", problems))
    if problems:
        raise FrameworkProblems(problems)
    return spec


def dump_framework(spec: FrameworkSpec) -> str:
    """YAML text from which `parse_framework` makes an equal spec."""
    content = {
        "slug": spec.slug,
        "name": spec.name,
        "language": spec.language,
        "citation": spec.citation,
        "url": spec.url,
        "description": spec.description,
        "stem": spec.stem,
        "dimensions": [_dimension_content(dimension) for dimension in spec.dimensions],
    }
    return str(yaml.dump(_without_blanks(content), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100))


# --- From the file ------------------------------------------------------------------------------------------------


def _framework(fields: Fields) -> FrameworkSpec:
    fields.refuse_others(FRAMEWORK_KEYS)
    entries = fields.mappings("dimensions", fewest=1, are_scales=True)
    dimensions = tuple(_dimension(entry) for entry in entries)
    _note_repeats(entries, "slug", [dimension.slug for dimension in dimensions])
    slug = fields.pattern("slug", SLUG, SLUG_RULE, longest=80)
    if slug == RESERVED_SLUG:
        fields.note("slug", f"must not be {RESERVED_SLUG}, which is the name of a page")
    return FrameworkSpec(
        slug=slug,
        name=fields.text("name", longest=200),
        language=fields.pattern("language", LANGUAGE, LANGUAGE_RULE, longest=35, required=False) or "en",
        citation=fields.text("citation"),
        url=fields.pattern("url", WEB_ADDRESS, WEB_ADDRESS_RULE, longest=200, required=False),
        description=fields.text("description", required=False),
        stem=fields.text("stem", required=False),
        dimensions=dimensions,
    )


def _dimension(fields: Fields) -> DimensionSpec:
    fields.refuse_others(DIMENSION_KEYS)
    level = fields.choice("level", get_args(LevelName), default="ordinal")
    examples = _examples(fields)
    return DimensionSpec(
        slug=fields.pattern("slug", SLUG, SLUG_RULE, longest=80),
        label=fields.text("label", longest=200),
        question=fields.text("question"),
        guideline=fields.text("guideline"),
        points=_points(fields, level),
        level=cast(LevelName, level),
        polarity=_polarity(fields, level),
        example_low=examples["low"],
        example_middle=examples["middle"],
        example_high=examples["high"],
        source=fields.text("source", required=False),
    )


def _examples(fields: Fields) -> dict[str, str]:
    examples = fields.mapping("examples")
    if examples is None:
        return dict.fromkeys(EXAMPLE_KEYS, "")
    examples.refuse_others(EXAMPLE_KEYS)
    return {key: examples.text(key, required=False) for key in EXAMPLE_KEYS}


def _polarity(fields: Fields, level: str) -> PolarityName:
    """Names have no good end, so a nominal scale has no polarity; an ordinal one must say: nobody should guess it."""
    polarity = fields.choice("polarity", get_args(PolarityName), default=None if level == "ordinal" else "none")
    if level == "nominal" and polarity in ("+", "-"):
        fields.note("polarity", "must be none (or left out) on a nominal scale")
    return cast(PolarityName, polarity)


def _points(fields: Fields, level: str) -> tuple[PointSpec, ...]:
    entries = fields.mappings("points", fewest=2)
    values = [entry.number("value", required=True) for entry in entries]
    labels = [entry.text("label", required=level == "nominal", longest=200) for entry in entries]
    for entry in entries:
        entry.refuse_others(POINT_KEYS)
    if len(entries) > MAX_POINTS:
        fields.note("points", f"must list at most {MAX_POINTS} points; there are {len(entries)}")
    _note_disorder(entries, values)
    _note_repeats(entries, "label", [folded(label) for label in labels])
    _note_misleading_labels(entries, values, labels)
    _note_wrong_ends(fields, values)
    return tuple(PointSpec(value or 0.0, label) for value, label in zip(values, labels, strict=True))


def _note_disorder(entries: list[Fields], values: list[float | None]) -> None:
    for entry, (before, value) in zip(entries[1:], pairwise(values), strict=False):
        if before is not None and value is not None and value <= before:
            entry.note("value", f"must be greater than the point before it, {before:g}; it is {value:g}")


def _note_misleading_labels(entries: list[Fields], values: list[float | None], labels: list[str]) -> None:
    """A label that is the number of another point would make a cell of text ambiguous."""
    for entry, value, label in zip(entries, values, labels, strict=True):
        if value is not None and NUMBER.fullmatch(label) and float(label) != value:
            entry.note("label", f"is a number, {quoted(label)}, other than the point's value, {value:g}")


def _note_wrong_ends(fields: Fields, values: list[float | None]) -> None:
    for key, end in (("minimum", 0), ("maximum", -1)):
        stated = fields.number(key, required=False)
        if stated is not None and values and values[end] is not None and stated != values[end]:
            which = "first" if key == "minimum" else "last"
            fields.note(key, f"must be the {which} point, {values[end]:g}; it is {stated:g}")


def _note_repeats(entries: Sequence[Fields], key: str, values: Sequence[str]) -> None:
    seen: set[str] = set()
    for entry, value in zip(entries, values, strict=True):
        if value and value in seen:
            entry.note(key, f"is used before: {quoted(value)}")
        seen.add(value)


# --- To the file --------------------------------------------------------------------------------------------------


class _PointContent(dict[str, Any]):
    """A point, which the file shows on one line."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(
    _PointContent,
    lambda dumper, point: dumper.represent_mapping("tag:yaml.org,2002:map", point, flow_style=True),
)


def _dimension_content(dimension: DimensionSpec) -> dict[str, Any]:
    examples = {
        "low": dimension.example_low,
        "middle": dimension.example_middle,
        "high": dimension.example_high,
    }
    return _without_blanks(
        {
            "slug": dimension.slug,
            "label": dimension.label,
            "question": dimension.question,
            "guideline": dimension.guideline,
            "level": dimension.level,
            "polarity": dimension.polarity,
            "points": [_point_content(point) for point in dimension.points],
            "examples": _without_blanks(examples),
            "source": dimension.source,
        }
    )


def _point_content(point: PointSpec) -> _PointContent:
    value = int(point.value) if point.value.is_integer() else point.value
    return _PointContent(_without_blanks({"value": value, "label": point.label}))


def _without_blanks(content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if value not in ("", {})}
