"""Which column of a ratings file means what; given, or guessed from the headers (docs/importing-ratings.md)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from apps.annotation.parsing.values import DimensionScale, Scales, plain
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


@dataclass(frozen=True)
class OpenQuestion:
    """Something the headers leave open: for somebody with a form, and as the command says it.

    `field` is the field that answers it: one of FIELDS, `dimension.KEY`, or `dimension` for any column of ratings.
    """

    text: str
    command: str
    field: str


class MappingQuestion(FileError):  # noqa: N818 - reads as what it is
    """What the headers leave open, one question at least. The message is the first of them as the command says it."""

    def __init__(self, *questions: OpenQuestion) -> None:
        super().__init__(questions[0].command)
        self.questions = tuple(OpenQuestion(on_one_line(one.text), one.command, one.field) for one in questions)


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


def suggested_fields(
    given: dict[str, str], columns: Sequence[str], scales: Scales, *, has_rater: bool
) -> dict[str, str]:
    """field -> column as far as it can be told where no whole mapping comes about: what a form begins with."""
    known = {name: column for name, column in given.items() if not column or column in columns}
    chosen = _guess_fields(known, columns, without=("rater",) if has_rater else ())
    named = {name: column for name, column in known.items() if "." in name}
    if any(named.values()) or {"dimension", "value"} <= chosen.keys():
        return chosen | {name: column for name, column in named.items() if column}
    fields = {name: column for name, column in chosen.items() if name not in LONG_ONLY}
    free = [column for column in columns if column not in {*fields.values(), *known.values()}]
    dimensions, _ = _guess_dimensions({column: column for column in free}, scales, named)
    return chosen | RatingMapping(dimensions=dimensions).as_dict()


def complete_mapping(
    given: dict[str, str], columns: Sequence[str], scales: Scales, *, has_rater: bool
) -> RatingMapping:
    """The mapping of a file with these columns: what is given, and guesses for the rest.

    A file is long if it has a column for the dimension and one for the value, else wide. Dimensions are guessed only
    where none is given, and so is evidence. `has_rater`: the rater is known without a column.
    Raises FileError, with the headers seen, where a column is missing or fields contradict each other, and
    MappingQuestion where a required field has no column or a column may mean several things.
    """
    _check_columns(given, columns)
    named = {name: column for name, column in given.items() if "." in name}
    if has_rater and given.get("rater"):
        raise FileError(f"The rater is given by name and by the column {given['rater']}; give one of them.")
    chosen = _guess_fields(given, columns, without=("rater",) if has_rater else ())
    is_long = not any(named.values()) and {"dimension", "value"} <= chosen.keys()
    asked: list[OpenQuestion] = []
    mapping = RatingMapping(chosen) if is_long else _wide(given, named, chosen, columns, scales, asked)
    asked += _missing(mapping, columns, has_rater=has_rater, has_ratings=is_long or mapping.is_wide or bool(asked))
    if asked:
        raise MappingQuestion(*asked)
    return mapping


def _check_columns(given: dict[str, str], columns: Sequence[str]) -> None:
    absent = [f"{column} (for {name})" for name, column in given.items() if column and column not in columns]
    if absent:
        word = "column" if len(absent) == 1 else "columns"
        raise FileError(f"The file has no {word} {', '.join(absent)}. Its headers are: {listed(columns)}.")


def _guess_fields(given: dict[str, str], columns: Sequence[str], *, without: Sequence[str]) -> dict[str, str]:
    taken = {column for column in given.values() if column}
    by_plain = {plain(column): column for column in reversed(columns) if column not in taken}
    chosen = {name: column for name, column in given.items() if column and "." not in name}
    for name, headers in GUESSED_HEADERS.items():
        if name in given or name in without:
            continue
        column = next((by_plain[plain(header)] for header in headers if plain(header) in by_plain), None)
        if column is not None and column not in chosen.values():
            chosen[name] = column
    return chosen


def _wide(
    given: dict[str, str],
    named: dict[str, str],
    chosen: dict[str, str],
    columns: Sequence[str],
    scales: Scales,
    asked: list[OpenQuestion],
) -> RatingMapping:
    """The mapping as far as it can be told; what it leaves open is added to `asked`."""
    fields = {name: column for name, column in chosen.items() if name not in LONG_ONLY}
    free = [column for column in columns if column not in {*fields.values(), *given.values()}]
    dimensions = _given_dimensions(named, "dimension.", scales)
    if not dimensions:
        dimensions, open_ones = _guess_dimensions({column: column for column in free}, scales, named)
        asked += open_ones
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
        guessed, open_ones = _guess_dimensions(about, scales, named, of="evidence")
        asked += open_ones
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


def _forbidden(named: dict[str, str], prefix: str, scales: Scales) -> set[str]:
    """The keys of the dimensions that are given as having no column."""
    names = {name.removeprefix(prefix) for name, column in named.items() if name.startswith(prefix) and not column}
    return {scales.find(name).key for name in names if scales.knows(name)}


def _guess_dimensions(
    names: dict[str, str], scales: Scales, named: dict[str, str], *, of: str = "dimension"
) -> tuple[dict[str, str], list[OpenQuestion]]:
    """key of a dimension -> column, and what is left open.

    names: column -> the part of its header that should name a dimension. named: the fields that are given, which may
    forbid a guess. `of`: dimension, or evidence.
    """
    forbidden = _forbidden(named, f"{of}.", scales)
    found: dict[str, list[tuple[bool, str]]] = {}
    asked: list[OpenQuestion] = []
    for column, name in names.items():
        lower = name.casefold()
        bare = [lower.removeprefix(prefix) for prefix in DIMENSION_PREFIXES if lower.startswith(prefix)]
        fitting = scales.named(name, *bare)
        if len(fitting) > 1 and any(one.key not in forbidden for one in fitting):
            asked.append(_which_dimension(column, fitting, scales, of))
        for dimension in fitting if len(fitting) == 1 and fitting[0].key not in forbidden else ():
            is_exact = name == dimension.key or dimension.is_called(name)
            found.setdefault(dimension.key, []).append((is_exact, column))
    guessed: dict[str, str] = {}
    for key, candidates in found.items():
        fit = [column for is_exact, column in candidates if is_exact] or [column for _, column in candidates]
        if len(fit) > 1:
            asked.append(_which_column(key, fit, scales, of))
        else:
            guessed[key] = fit[0]
    return guessed, asked


def _which_dimension(column: str, fitting: Sequence[DimensionScale], scales: Scales, of: str) -> OpenQuestion:
    """No key is chosen by its framework's place: a number would stand on the wrong scale."""
    several = (
        "a dimension of several frameworks" if len({one.framework for one in fitting}) > 1 else "several dimensions"
    )
    called = " or ".join(scales.called(one.key) for one in fitting)
    choices = " or ".join(f"--map {of}.{one.key}={column}" for one in fitting)
    return OpenQuestion(
        f"The column {column} may be {several}: {called}. Choose it for the one it is.",
        f"The column {column} may be {several}. Say which: {choices}.",
        f"{of}.{fitting[0].key}",
    )


def _which_column(key: str, columns: Sequence[str], scales: Scales, of: str) -> OpenQuestion:
    choices = " or ".join(f"--map {of}.{key}={column}" for column in columns)
    both = "The columns " + " and ".join(columns)
    return OpenQuestion(
        f"{both} may both be {scales.called(key)}. Choose one.",
        f"{both} may both be {key}. Say which: {choices}.",
        f"{of}.{key}",
    )


def _evidence_name(column: str) -> str:
    """The part of an evidence header that names the dimension, "" for other headers."""
    lower = re.sub(r"[\s-]", "_", column.casefold())
    for prefix in EVIDENCE_PREFIXES:
        if lower.startswith(prefix):
            return column[len(prefix) :]
    for suffix in EVIDENCE_SUFFIXES:
        if lower.endswith(suffix):
            return column[: -len(suffix)]
    return ""


def _missing(
    mapping: RatingMapping, columns: Sequence[str], *, has_rater: bool, has_ratings: bool
) -> Iterator[OpenQuestion]:
    """What every file must have and this one has not. Ratings first: without them nothing else matters."""
    seen = f"The headers are: {listed(columns)}."
    if not has_ratings:
        yield OpenQuestion(
            "No column is known to hold ratings. Choose the column of one dimension at least.",
            "No column holds ratings: map dimension and value of a long file, or dimension.SLUG for each dimension of "
            f"a wide one. {seen}",
            "dimension",
        )
    if "item" not in mapping.columns:
        yield OpenQuestion(
            "Choose the column that holds the conversation’s id.",
            f"No column is mapped to the field item (the conversation's id). {seen}",
            "item",
        )
    if not has_rater and "rater" not in mapping.columns:
        yield OpenQuestion(
            "Whose ratings are these? Choose the column that says it, or give one rater’s name.",
            f"Whose ratings are these? Give the rater by name, or map the field rater. {seen}",
            "rater",
        )
