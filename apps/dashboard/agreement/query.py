"""What an address of the agreement pages asks for: read from its parameters, checked, and written again. Pure.

Every view has one address: `Query.pairs` writes the parameters in one order, and leaves out what is as usual. Whatever
cannot be is left out, and named in a `Fault`: the view that is nearest is shown, and nothing is computed for it.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self
from urllib.parse import urlencode

from apps.measures.pairs import PAIR_STATISTICS, Convention
from apps.reliability.matrix import GROUP_NAMES
from apps.reliability.selection import DataSelection
from apps.studies.selection import FACTOR, LANGUAGE, META

DEFAULT_STATISTIC = "kappa_quadratic"
DEFAULT_THRESHOLD = 0.6
GROUPS = tuple(GROUP_NAMES.values())
SINGLE = ("block", "framework", "repeats", "excluded", "convention", "statistic", "threshold", "stars", "pairs", "page")
SEVERAL = ("group", "rater")
FLAGS = {"0": False, "1": True}
_THRESHOLD = re.compile(r"(0|1|0?\.\d{1,4}|1\.0{1,4})")
_PAGE = re.compile(r"[1-9]\d{0,5}")


class Pairs(StrEnum):
    """Which comparisons stand in the table: everybody with the experts' median, or each with each."""

    BENCHMARK = "benchmark"
    ALL = "all"


class Trouble(StrEnum):
    """What is wrong with a parameter."""

    UNKNOWN_NAME = "unknown name"
    UNKNOWN_VALUE = "unknown value"
    GIVEN_TWICE = "given twice"


class Expected(StrEnum):
    """What a number has to be."""

    SHARE = "a number from 0 to 1"
    COUNT = "a whole number from 1 on"


@dataclass(frozen=True, slots=True)
class Fault:
    """One parameter that could not be followed. `expected`: what would have been right, or the `Expected` of it."""

    parameter: str
    given: str
    trouble: Trouble
    expected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """What a study has to choose from.

    frameworks: those of each block. raters: names with their groups; of many crowd workers only the ones that the
    address names. traits: names of metadata with their values.
    """

    frameworks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    raters: Mapping[str, str] = field(default_factory=dict)
    traits: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def frameworks_of(self, block: str) -> list[str]:
        """Those of a block, or of every block."""
        blocks = [block] if block else list(self.frameworks)
        return list(dict.fromkeys(slug for one in blocks for slug in self.frameworks[one]))


@dataclass(frozen=True, slots=True)
class Query:
    """One view of a study's agreement.

    `selection` chooses among the ratings, so a snapshot belongs to it; the rest chooses among its figures. groups, in
    the order of GROUPS, and raters, sorted: empty for all. stars: whether figures carry those of their test.
    """

    block: str = ""
    framework: str = ""
    groups: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    selection: DataSelection = field(default_factory=DataSelection)
    repeats: bool = False
    convention: Convention = Convention.SCALE
    statistic: str = DEFAULT_STATISTIC
    threshold: float = DEFAULT_THRESHOLD
    stars: bool = True
    columns: Pairs = Pairs.BENCHMARK
    page: int = 1

    def pairs(self) -> list[tuple[str, str]]:
        """The parameters in their one order, without what is as usual."""
        usual = Query()
        single = [
            ("repeats", "1" if self.repeats else ""),
            ("excluded", "1" if self.selection.with_excluded else ""),
            ("convention", self.convention.value if self.convention is not usual.convention else ""),
            ("statistic", self.statistic if self.statistic != usual.statistic else ""),
            ("threshold", f"{self.threshold:g}" if self.threshold != usual.threshold else ""),
            ("stars", "" if self.stars else "0"),
            ("pairs", self.columns.value if self.columns is not usual.columns else ""),
            ("page", str(self.page) if self.page > 1 else ""),
        ]
        return [
            *((name, value) for name, value in (("block", self.block), ("framework", self.framework)) if value),
            *(("group", value) for value in self.groups),
            *(("rater", value) for value in self.raters),
            *((name, value) for name, values in self.selection.metadata for value in values),
            *((name, value) for name, value in single if value),
        ]

    def encoded(self) -> str:
        """The address behind `?`; empty for the usual view."""
        return urlencode(self.pairs())

    def but(self, **changes: object) -> Self:
        """The same view with something changed, from its first page on."""
        return replace(self, **{"page": 1, **changes})  # type: ignore[arg-type]

    def on_page(self, number: int) -> Self:
        return replace(self, page=number)

    def without(self, parameter: str, value: str = "") -> Self:
        """The view without one of its filters. `value`: which of several."""
        if parameter in ("block", "framework", "threshold", "statistic", "convention"):
            return self.but(**{parameter: getattr(Query(), parameter)})
        if parameter == "group":
            return self.but(groups=tuple(one for one in self.groups if one != value))
        if parameter == "rater":
            return self.but(raters=tuple(one for one in self.raters if one != value))
        if parameter == "repeats":
            return self.but(repeats=False)
        chosen = dict(self.selection.metadata)
        if parameter == "excluded":
            return self.but(selection=DataSelection.of(chosen))
        chosen[parameter] = tuple(one for one in chosen.get(parameter, ()) if one != value)
        return self.but(selection=DataSelection.of(chosen, with_excluded=self.selection.with_excluded))

    def filters(self) -> list[tuple[str, str]]:
        """What is chosen, as parameters; not how it is shown."""
        shown = {"page", "pairs", "statistic", "convention", "threshold", "stars"}
        return [(name, value) for name, value in self.pairs() if name not in shown]

    def cleared(self) -> Self:
        """Everything shown again, in the same way."""
        return self.but(block="", framework="", groups=(), raters=(), selection=DataSelection(), repeats=False)


def parse(pairs: Iterable[tuple[str, str]], offer: Offer) -> tuple[Query, tuple[Fault, ...]]:
    """The view that the parameters ask for, and what of them could not be followed. Never raises."""
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    reader = _Reader(given, offer)
    query = reader.query()
    return query, tuple(reader.faults)


class _Reader:
    """Reads the parameters one by one, and keeps what it could not follow."""

    def __init__(self, given: Mapping[str, list[str]], offer: Offer) -> None:
        self._given = given
        self._offer = offer
        self.faults: list[Fault] = []

    def query(self) -> Query:
        block = self._one_of("block", self._offer.frameworks)
        query = Query(
            block=block,
            framework=self._one_of("framework", self._offer.frameworks_of(block)),
            groups=self._several("group", GROUPS),
            raters=tuple(sorted(self._several("rater", self._offer.raters))),
            selection=DataSelection.of(self._metadata(), with_excluded=self._flag("excluded")),
            repeats=self._flag("repeats"),
            convention=Convention(self._one_of("convention", list(Convention)) or Convention.SCALE),
            statistic=self._one_of("statistic", PAIR_STATISTICS) or DEFAULT_STATISTIC,
            threshold=self._number("threshold", _THRESHOLD, Expected.SHARE, DEFAULT_THRESHOLD),
            stars=self._flag("stars", usual=True),
            columns=Pairs(self._one_of("pairs", list(Pairs)) or Pairs.BENCHMARK),
            page=int(self._number("page", _PAGE, Expected.COUNT, 1)),
        )
        for name in self._given:
            if name not in (*SINGLE, *SEVERAL) and name not in self._offer.traits:
                known = tuple(self._offer.traits) if _is_trait(name) else (*SINGLE, *SEVERAL, *self._offer.traits)
                self.faults.append(Fault(name, ", ".join(self._given[name]), Trouble.UNKNOWN_NAME, known))
        return query

    def _single(self, name: str) -> str:
        """The value, where there is one; of several the first."""
        values = [value for value in self._given.get(name, []) if value]
        if len(set(values)) > 1:
            self.faults.append(Fault(name, ", ".join(values), Trouble.GIVEN_TWICE))
        return values[0] if values else ""

    def _one_of(self, name: str, known: Collection[str]) -> str:
        value = self._single(name)
        if not value or value in known:
            return value
        self._refuse(name, value, known)
        return ""

    def _several(self, name: str, known: Collection[str]) -> tuple[str, ...]:
        """Those that are known, in their order."""
        values = {value for value in self._given.get(name, []) if value}
        for value in sorted(values - set(known)):
            self._refuse(name, value, known)
        return tuple(value for value in known if value in values)

    def _flag(self, name: str, *, usual: bool = False) -> bool:
        value = self._single(name)
        if value and value not in FLAGS:
            self._refuse(name, value, ("1", "0"))
        return FLAGS.get(value, usual)

    def _number(self, name: str, pattern: re.Pattern[str], expected: Expected, usual: float) -> float:
        value = self._single(name)
        if not value:
            return usual
        if pattern.fullmatch(value) is None:
            self._refuse(name, value, (expected,))
            return usual
        return float(value)

    def _metadata(self) -> dict[str, list[str]]:
        """An empty value is one: it stands for conversations without the name."""
        chosen = {}
        for name, known in self._offer.traits.items():
            values = self._given.get(name, [])
            for value in dict.fromkeys(values):
                if value not in known:
                    self._refuse(name, value, known)
            chosen[name] = [value for value in values if value in known]
        return chosen

    def _refuse(self, name: str, value: str, expected: Iterable[str]) -> None:
        self.faults.append(Fault(name, value, Trouble.UNKNOWN_VALUE, tuple(expected)))


def _is_trait(name: str) -> bool:
    return name.startswith((META, FACTOR)) or name == LANGUAGE
