"""Which column of a ratings file means what; given, or guessed from the headers (docs/importing-ratings.md)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from apps.annotation.parsing.values import DimensionScale, Scales
from apps.corpus.parsing.cells import CellError
from apps.corpus.parsing.mapping import listed
from apps.corpus.parsing.records import FileError, on_one_line

# Headers that are taken for a field, most telling first; compared without case, spaces and signs.
GUESSED_HEADERS = {
    "item": (
        "item",
        "item id",
        "conversation",
        "conversation id",
        "conv id",
        "external id",
        "sp id",
        "OriginalDiscloserID",
        "id",
    ),
    "rater": ("rater", "rater id", "annotator", "annotator id", "user id", "worker id"),
    "dimension": ("dimension", "scale"),
    "value": ("value", "score", "rating"),
    "evidence": ("evidence", "quote"),
    "comment": ("comment", "comments"),
    "block": ("block",),
    "framework": ("framework",),
    "item_role": ("item_role",),
    "kind": ("kind", "rater kind"),
    "is_aggregate": ("is_aggregate",),
    "is_simulated": ("is_simulated",),
    "cannot_tell": ("cannot_tell",),
}
FIELDS = tuple(GUESSED_HEADERS)
LONG_ONLY = ("dimension", "value", "evidence", "comment", "framework", "cannot_tell")
NAMED_FIELDS = ("dimension", "evidence")
DIMENSION_PREFIXES = ("dimension.", "dimension_", "level_", "m_", "score_", "rating_")
EVIDENCE_PREFIXES = ("evidence.", "evidence_", "rationales_", "rationale_", "example_", "quote_")
EVIDENCE_SUFFIXES = ("_evidence", "_rationales", "_rationale", "_example", "_quote")


@dataclass(frozen=True)
class RatingMapping:
    """`columns`: field -> column. In a wide file also a column for each dimension, and for its evidence, by its key."""

    columns: dict[str, str] = field(default_factory=dict)
    dimensions: dict[str, str] = field(default_factory=dict)
    evidence: dict[str, str] = field(default_factory=dict)

    @property
    def is_wide(self) -> bool:
        return bool(self.dimensions)

    def used(self) -> set[str]:
        return {*self.columns.values(), *self.dimensions.values(), *self.evidence.values()}

    def as_dict(self) -> dict[str, str]:
        """field -> column, wide fields under their dotted names; for the log of imports."""
        dotted = {f"dimension.{key}": column for key, column in self.dimensions.items()}
        dotted |= {f"evidence.{key}": column for key, column in self.evidence.items()}
        return self.columns | dotted


class MappingQuestion(FileError):  # noqa: N818 - reads as what it is
    """What the headers leave open. `question` says it to somebody with a form; the message adds the option to give."""

    def __init__(self, question: str, hint: str) -> None:
        super().__init__(f"{question} {hint}")
        self.question = on_one_line(question)


def parse_maps(maps: Iterable[str]) -> dict[str, str]:
    """field -> column from texts `field=column`; a column of "" says that the field is not to be guessed.

    Raises FileError for a text of another form, an unknown field, or a field given twice.
    """
    given: dict[str, str] = {}
    for text in maps:
        name, sign, column = text.partition("=")
        name = name.strip()
        if not sign or not name:
            raise FileError(f"{text} is not of the form field=column.")
        prefix, dot, rest = name.partition(".")
        if name not in FIELDS and not (prefix in NAMED_FIELDS and dot and rest):
            raise FileError(
                f"{name} is not a field. Expected one of: {', '.join(FIELDS)}, dimension.SLUG, evidence.SLUG."
            )
        if name in given:
            raise FileError(f"The field {name} is given twice.")
        given[name] = column
    return given


def suggested_fields(given: dict[str, str], columns: Sequence[str], *, has_rater: bool) -> dict[str, str]:
    """field -> column as far as it can be told where no whole mapping comes about: what a form begins with."""
    known = {name: column for name, column in given.items() if not column or column in columns}
    dotted = {name: column for name, column in known.items() if "." in name and column}
    return _guess_fields(known, columns, without=("rater",) if has_rater else ()) | dotted


def complete_mapping(
    given: dict[str, str], columns: Sequence[str], scales: Scales, *, has_rater: bool
) -> RatingMapping:
    """The mapping of a file with these columns: what is given, and guesses for the rest.

    A file is long if it has a column for the dimension and one for the value, else wide. Dimensions are guessed only
    where none is given, and so is evidence. `has_rater`: the rater is known without a column.
    Raises FileError, with the headers seen, where a column is missing, fields contradict each other, or a required
    field has no column.
    """
    _check_columns(given, columns)
    named = {name: column for name, column in given.items() if "." in name}
    if has_rater and given.get("rater"):
        raise FileError(f"The rater is given by name and by the column {given['rater']}; give one of them.")
    chosen = _guess_fields(given, columns, without=("rater",) if has_rater else ())
    is_long = not any(named.values()) and {"dimension", "value"} <= chosen.keys()
    mapping = RatingMapping(chosen) if is_long else _wide(given, named, chosen, columns, scales)
    _check_required(mapping, columns, has_rater=has_rater)
    return mapping


def _check_columns(given: dict[str, str], columns: Sequence[str]) -> None:
    absent = [f"{column} (for {name})" for name, column in given.items() if column and column not in columns]
    if absent:
        word = "column" if len(absent) == 1 else "columns"
        raise FileError(f"The file has no {word} {', '.join(absent)}. Its headers are: {listed(columns)}.")


def _guess_fields(given: dict[str, str], columns: Sequence[str], *, without: Sequence[str]) -> dict[str, str]:
    taken = {column for column in given.values() if column}
    by_plain = {_plain(column): column for column in reversed(columns) if column not in taken}
    chosen = {name: column for name, column in given.items() if column and "." not in name}
    for name, headers in GUESSED_HEADERS.items():
        if name in given or name in without:
            continue
        column = next((by_plain[_plain(header)] for header in headers if _plain(header) in by_plain), None)
        if column is not None and column not in chosen.values():
            chosen[name] = column
    return chosen


def _wide(
    given: dict[str, str], named: dict[str, str], chosen: dict[str, str], columns: Sequence[str], scales: Scales
) -> RatingMapping:
    fields = {name: column for name, column in chosen.items() if name not in LONG_ONLY}
    free = [column for column in columns if column not in {*fields.values(), *given.values()}]
    dimensions = _given_dimensions(named, "dimension.", scales)
    if not dimensions:
        guessed = _guess_dimensions({column: column for column in free}, scales)
        dimensions = _less_forbidden(guessed, named, "dimension.", scales)
    contradicting = [name for name in LONG_ONLY if given.get(name)]
    if contradicting and dimensions:
        raise FileError(
            f"The field {', '.join(contradicting)} belongs to a long file, but this one has a column for each of "
            f"{listed(sorted(dimensions))}."
        )
    evidence = _given_dimensions(named, "evidence.", scales)
    if strays := sorted(evidence.keys() - dimensions.keys()):
        raise FileError(f"There is evidence but no column of values for {', '.join(strays)}.")
    if not evidence:
        about = {column: name for column in free if (name := _evidence_name(column))}
        guessed = _less_forbidden(_guess_dimensions(about, scales), named, "evidence.", scales)
        evidence = {key: column for key, column in guessed.items() if key in dimensions}
    return RatingMapping(fields, dimensions, evidence)


def _given_dimensions(named: dict[str, str], prefix: str, scales: Scales) -> dict[str, str]:
    dimensions: dict[str, str] = {}
    for name, column in named.items():
        if name.startswith(prefix) and column:
            try:
                key = scales.find(name.removeprefix(prefix)).key
            except CellError as fault:
                raise FileError(f"{name}: {fault}.") from None
            if dimensions.setdefault(key, column) != column:
                raise FileError(f"The columns {dimensions[key]} and {column} are both given for {prefix}{key}.")
    return dimensions


def _less_forbidden(guessed: dict[str, str], named: dict[str, str], prefix: str, scales: Scales) -> dict[str, str]:
    """The guesses, less those of fields given as having no column."""
    forbidden = {name.removeprefix(prefix) for name, column in named.items() if name.startswith(prefix) and not column}
    keys = {scales.find(name).key for name in forbidden if scales.knows(name)}
    return {key: column for key, column in guessed.items() if key not in keys}


def _guess_dimensions(names: dict[str, str], scales: Scales) -> dict[str, str]:
    """key of a dimension -> column. names: column -> the part of its header that should name a dimension."""
    found: dict[str, list[tuple[bool, str]]] = {}
    for column, name in names.items():
        if dimension := _dimension_named(name, column, scales):
            is_exact = name in (dimension.slug, dimension.key)
            found.setdefault(dimension.key, []).append((is_exact, column))
    guessed: dict[str, str] = {}
    for key, candidates in found.items():
        exact = [column for is_exact, column in candidates if is_exact]
        columns = exact or [column for _, column in candidates]
        if len(columns) > 1:
            choices = " or ".join(f"--map dimension.{key}={column}" for column in columns)
            raise MappingQuestion(f"The columns {' and '.join(columns)} may both be {key}.", f"Say which: {choices}.")
        guessed[key] = columns[0]
    return guessed


def _dimension_named(name: str, column: str, scales: Scales) -> DimensionScale | None:
    plain_names = {_plain(name)}
    lower = name.casefold()
    plain_names |= {_plain(lower.removeprefix(prefix)) for prefix in DIMENSION_PREFIXES if lower.startswith(prefix)}
    by_key = [one for one in scales.all if _plain(one.key) in plain_names]
    by_slug = by_key or [one for one in scales.all if _plain(one.slug) in plain_names]
    if len(by_slug) > 1:
        choices = " or ".join(f"--map dimension.{one.key}={column}" for one in by_slug)
        question = f"The column {column} may be a dimension of several frameworks."
        raise MappingQuestion(question, f"Say which: {choices}.")
    return by_slug[0] if by_slug else None


def _evidence_name(column: str) -> str:
    """The part of an evidence header that names the dimension, "" for other headers."""
    lower = column.casefold()
    for prefix in EVIDENCE_PREFIXES:
        if lower.startswith(prefix):
            return column[len(prefix) :]
    for suffix in EVIDENCE_SUFFIXES:
        if lower.endswith(suffix):
            return column[: -len(suffix)]
    return ""


def _check_required(mapping: RatingMapping, columns: Sequence[str], *, has_rater: bool) -> None:
    seen = f"The headers are: {listed(columns)}."
    if not mapping.is_wide and not {"dimension", "value"} <= mapping.columns.keys():
        raise FileError(
            "No column holds ratings: map dimension and value of a long file, or dimension.SLUG for each dimension of "
            f"a wide one. {seen}"
        )
    if "item" not in mapping.columns:
        raise FileError(f"No column is mapped to the field item (the conversation's id). {seen}")
    if not has_rater and "rater" not in mapping.columns:
        raise FileError(f"Whose ratings are these? Give the rater by name, or map the field rater. {seen}")


def _plain(header: str) -> str:
    return re.sub(r"[\W_]", "", header.casefold())
