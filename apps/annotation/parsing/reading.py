"""A file of ratings, from rows to the answers of raters on items."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from apps.annotation.evidence import Quote
from apps.annotation.parsing.cells import RowCells
from apps.annotation.parsing.mapping import RatingMapping
from apps.annotation.parsing.values import Answer, DimensionScale, Scales
from apps.common.formulas import unescape_formula
from apps.corpus.parsing.cells import CellError
from apps.corpus.parsing.formats import Format
from apps.corpus.parsing.records import Findings, Notice, Problem
from apps.corpus.parsing.rows import Table
from apps.corpus.parsing.tables import Row

MAIN_ROLE = "main"
MAX_RATER_NAME = 80
SPREADSHEET_FORMATS = {Format.CSV, Format.TSV, Format.XLSX}

Result = TypeVar("Result")

ItemKey = tuple[str, str]
"""External id of the conversation, and the item's role."""


class RaterFacts(NamedTuple):
    """What a rater is. `kind` is one of the study's kinds."""

    kind: str
    is_aggregate: bool = False
    is_simulated: bool = False


@dataclass(frozen=True, slots=True)
class ParsedRating:
    """One rating of a file; `dimension` is its FRAMEWORK/SLUG. None for comment or evidence: the file does not tell."""

    row: int
    item: ItemKey
    rater: str
    dimension: str
    answer: Answer
    comment: str | None = None
    evidence: tuple[Quote, ...] | None = None


@dataclass(frozen=True)
class Expected:
    """What the study has: the block's scales and items, the raters by name, and the kinds there are.

    `kinds`: each kind, and what messages call it. `computed`: the raters whose ratings Accord makes itself, so that
    no file may.
    """

    block: str
    scales: Scales
    items: Mapping[ItemKey, object]
    raters: Mapping[str, RaterFacts]
    kinds: Mapping[str, str]
    computed: Collection[str] = ()


@dataclass(frozen=True)
class Told:
    """What the caller says about the file: whose ratings, of which kind, and whether an empty cell is no rating.

    `kind` is of every rater of the file, `new_kind` of those only who are new to the study. `asks_kind_later`: new
    raters of whom nobody says a kind are no problem yet, and listed.
    """

    rater: str = ""
    kind: str = ""
    is_aggregate: bool = False
    empty_is_missing: bool = False
    new_kind: str = ""
    asks_kind_later: bool = False


@dataclass
class ParsedFile:
    """What a file holds. A row with a problem gives no rating, not even from its good cells.

    `missing` cells were empty and told to be no rating, `repeated` ones said what an earlier one had said, and
    `other_blocks` rows belong to other blocks of the study. `bad_rows` have problems, a row of a wide file as many
    `bad_cells` as it has columns of values. `kindless` are the new raters of whom nothing says a kind.
    """

    ratings: list[ParsedRating] = field(default_factory=list)
    raters: dict[str, RaterFacts] = field(default_factory=dict)
    problems: Findings[Problem] = field(default_factory=Findings)
    notices: Findings[Notice] = field(default_factory=Findings)
    rows: int = 0
    missing: int = 0
    repeated: int = 0
    other_blocks: int = 0
    bad_rows: int = 0
    bad_cells: int = 0
    kindless: list[str] = field(default_factory=list)


def read_ratings(table: Table, mapping: RatingMapping, expected: Expected, told: Told) -> ParsedFile:
    """Everything the table holds, which is read once. Raises FileError where it cannot be read on."""
    reader = _RatingReader(mapping, expected, told, is_spreadsheet=table.format in SPREADSHEET_FORMATS)
    for row in table.rows:
        if isinstance(row, Notice):
            reader.found.notices.add(row)
        elif isinstance(row, Problem):
            reader.found.problems.add(row)
            reader.found.bad_rows += 1
        elif isinstance(row, Row):
            reader.found.rows += 1
            reader.read(RowCells(row, mapping, is_spreadsheet=reader.is_spreadsheet))
    return reader.finished()


class _RatingReader:
    def __init__(self, mapping: RatingMapping, expected: Expected, told: Told, *, is_spreadsheet: bool) -> None:
        self.expected = expected
        self.told = told
        self.is_spreadsheet = is_spreadsheet
        self.found = ParsedFile()
        self._mapping = mapping
        self._wide = [
            (expected.scales.find(key), column, mapping.evidence.get(key)) for key, column in mapping.dimensions.items()
        ]
        self._first: dict[tuple[ItemKey, str, str], ParsedRating] = {}
        self._bad_rows: set[int] = set()
        self._kindless: set[str] = set()

    def read(self, cells: RowCells) -> None:
        if cells.has("block") and cells.text("block") != self.expected.block:
            self.found.other_blocks += 1
            return
        missing = self.found.missing
        ratings = list(self._ratings(cells))
        if cells.faults or cells.is_left_out:
            self.found.missing = missing
            self._bad_rows.add(cells.number)
            for problem in cells.faults:
                self.found.problems.add(problem)
            return
        for rating in ratings:
            self._keep(rating)

    def finished(self) -> ParsedFile:
        """What was found, with its problems by row: of two rows that contradict each other the first is found late."""
        self.found.problems.shown.sort(key=lambda problem: problem.row or 0)
        self.found.ratings = [one for one in self._first.values() if one.row not in self._bad_rows]
        self.found.bad_rows += len(self._bad_rows)
        self.found.bad_cells = len(self._bad_rows) * (len(self._wide) or 1)
        used = {one.rater for one in self.found.ratings}
        self.found.raters = {name: facts for name, facts in self.found.raters.items() if name in used}
        self.found.kindless = [name for name, facts in self.found.raters.items() if not facts.kind]
        return self.found

    def _ratings(self, cells: RowCells) -> Iterator[ParsedRating]:
        item = _checked(cells, "item", lambda: self._item(cells))
        rater = _checked(cells, "rater", lambda: self._rater(cells))
        read = self._wide_ratings if self._mapping.is_wide else self._long_ratings
        is_aggregate = rater is not None and self.found.raters[rater].is_aggregate
        for dimension, answer, comment, evidence in read(cells, is_aggregate):
            if item is not None and rater is not None:
                yield ParsedRating(cells.number, item, rater, dimension.key, answer, comment, evidence)

    def _wide_ratings(
        self, cells: RowCells, is_aggregate: bool
    ) -> Iterator[tuple[DimensionScale, Answer, None, tuple[Quote, ...] | None]]:
        for scale, column, evidence_column in self._wide:
            answer = self._answer(cells, scale, column, is_aggregate)
            if answer is not None:
                yield scale, answer, None, cells.quotes(evidence_column) if evidence_column else None

    def _long_ratings(
        self, cells: RowCells, is_aggregate: bool
    ) -> Iterator[tuple[DimensionScale, Answer, str | None, tuple[Quote, ...] | None]]:
        scale = _checked(cells, "dimension", lambda: self._dimension(cells))
        if scale is None:
            return
        answer = self._answer(cells, scale, cells.column("value"), is_aggregate)
        comment = cells.free_text("comment") if cells.has("comment") else None
        evidence = cells.quotes(cells.column("evidence")) if cells.has("evidence") else None
        if answer is not None:
            yield scale, answer, comment, evidence

    def _answer(self, cells: RowCells, scale: DimensionScale, column: str, is_aggregate: bool) -> Answer | None:
        """The cell's answer, None where it is missing or at fault."""
        text = cells.text_of(column).strip()
        cannot_tell = cells.flag("cannot_tell")
        if not text and cannot_tell:
            return Answer(None, cannot_tell=True)
        if not text and self.told.empty_is_missing:
            self.found.missing += 1
            return None
        try:
            answer = scale.read(text, from_aggregate=is_aggregate)
            if cannot_tell and answer.value is not None:
                raise CellError(f"is {answer.value:g} although the rater cannot tell; expected one of the two")
        except CellError as fault:
            cells.fault(column, fault)
            return None
        return answer

    def _item(self, cells: RowCells) -> ItemKey:
        role = cells.text("item_role") or MAIN_ROLE
        text = cells.text("item")
        # Unescaped first: exports escape every id that could run, so what looks escaped is.
        for item in (unescape_formula(text), text) if self.is_spreadsheet else (text,):
            if (item, role) in self.expected.items:
                return item, role
        if not text.strip():
            raise CellError("is empty; expected the id of a conversation")
        which = "" if role == MAIN_ROLE else f" in the role {role}"
        example = next(iter(self.expected.items), None)
        hint = f" such as {example[0]}" if example else ""
        raise CellError(f"{text} is no conversation of the block {self.expected.block}{which}; expected an id{hint}")

    def _dimension(self, cells: RowCells) -> DimensionScale:
        framework, name = cells.text("framework").strip(), cells.text("dimension").strip()
        return self.expected.scales.find(f"{framework}/{name}" if framework and name else name)

    def _rater(self, cells: RowCells) -> str:
        name = (self.told.rater or cells.free_text("rater")).strip()
        if not name:
            raise CellError("is empty; expected the name of a rater")
        if len(name) > MAX_RATER_NAME:
            raise CellError(f"has {len(name)} characters; a rater's name has at most {MAX_RATER_NAME}")
        if name in self.expected.computed:
            raise CellError(computed_here(name))
        facts = self._facts(name, cells)
        known = self.found.raters.get(name) or self.expected.raters.get(name)
        if known is not None and known != facts:
            here, elsewhere = _described(facts), _described(known)
            raise CellError(f"{name} is {here} here but {elsewhere} elsewhere; expected one and the same")
        self.found.raters[name] = facts
        return name

    def _facts(self, name: str, cells: RowCells) -> RaterFacts:
        """What the row says of its rater, else what the caller says, else what is known from elsewhere."""
        known = self.found.raters.get(name) or self.expected.raters.get(name) or RaterFacts("")
        kind = self._kind(cells.text("kind").strip() or self.told.kind) or known.kind or self.told.new_kind
        if not kind:
            self._note_kindless(name, cells)
        is_aggregate = cells.flag("is_aggregate")
        is_simulated = cells.flag("is_simulated")
        return RaterFacts(
            kind,
            self.told.is_aggregate or known.is_aggregate if is_aggregate is None else is_aggregate,
            known.is_simulated if is_simulated is None else is_simulated,
        )

    def _kind(self, text: str) -> str:
        """The kind a text names, as the study stores it; "" where there is none."""
        for kind, word in self.expected.kinds.items():
            if text.casefold() in (kind, word.casefold()):
                return kind
        if text:
            raise CellError(f"{text} is no kind of rater; expected one of {', '.join(self.expected.kinds.values())}")
        return ""

    def _note_kindless(self, name: str, cells: RowCells) -> None:
        """Said once for each name, in its first row; its other rows are left out without a word."""
        if self.told.asks_kind_later:
            return
        cells.is_left_out = True
        if name not in self._kindless:
            self._kindless.add(name)
            kinds = ", ".join(self.expected.kinds.values())
            raise CellError(f"{name} is new to the study; say of which kind: {kinds}")

    def _keep(self, rating: ParsedRating) -> None:
        first = self._first.setdefault((rating.item, rating.rater, rating.dimension), rating)
        if first is rating:
            return
        if (first.answer, first.comment, first.evidence) == (rating.answer, rating.comment, rating.evidence):
            self.found.repeated += 1
            return
        # Nobody can say which of the two is right, so neither is kept.
        for one, other in ((first, rating), (rating, first)):
            self._bad_rows.add(one.row)
            what = f"{one.item[0]} on {self.expected.scales.called(one.dimension)} by {one.rater}"
            message = (
                f"{what} is {_in_words(one.answer)} here but {_in_words(other.answer)} in row {other.row}; "
                "expected one value"
                if one.answer != other.answer
                else f"{what} has another comment or other evidence than in row {other.row}; expected one row"
            )
            self.found.problems.add(Problem(one.row, "", message))


def computed_here(name: str) -> str:
    """Why ratings of this rater are not taken from a file, without a full stop."""
    return f"{name} is a rater that Accord computes itself; expected the name of another rater"


def _checked(cells: RowCells, name: str, read: Callable[[], Result]) -> Result | None:
    """What `read` gives, or None and a problem of the row."""
    try:
        return read()
    except CellError as fault:
        cells.fault(cells.column(name), fault)
        return None


def _described(facts: RaterFacts) -> str:
    words = ["simulated"] if facts.is_simulated else []
    return " ".join([*words, facts.kind or "of no kind", *(["aggregate"] if facts.is_aggregate else [])])


def _in_words(answer: Answer) -> str:
    return "cannot tell" if answer.value is None else f"{answer.value:g}"
