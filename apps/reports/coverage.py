"""What was rated by whom, counted from the ratings behind a report for the blocks and frameworks it shows. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from apps.reliability.matrix import Kind, RaterKey, RatingTable
from apps.reports.contents import ReportContent

KIND_NAMES = {
    Kind.EXPERT: ("expert", "experts"),
    Kind.LLM: ("language model", "language models"),
    Kind.CROWD: ("crowd worker", "crowd workers"),
    Kind.SELF: ("self-report", "self-reports"),
    Kind.REFERENCE: ("reference rating", "reference ratings"),
    Kind.BASELINE: ("baseline", "baselines"),
    None: ("rater", "raters"),
}


@dataclass(frozen=True, slots=True)
class Coverage:
    """One block (or a file of ratings, whose `block` is empty), counted over the frameworks that are shown.

    raters: those with a rating, in the order of kinds. items: how many there are; rated: how many have a rating, and
    names: which these are.
    ratings: how many values; repeats: how many second ratings beside them. by_rater: name -> which items they rated.
    """

    block: str
    raters: tuple[RaterKey, ...]
    items: int
    rated: int
    ratings: int
    repeats: int
    names: frozenset[str] = frozenset()
    by_rater: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def shares(self) -> "Shares | None":
        """How many items each rater rated; None where each of them rated every one that has a rating."""
        counts = {name: len(items) for name, items in self.by_rater.items()}
        return Shares.of(counts, self.rated, "conversation" if self.block else "item")


@dataclass(frozen=True, slots=True)
class Shares:
    """How many of the `rated` items each rater rated (by name), and what an item is called."""

    counts: Mapping[str, int]
    rated: int
    noun: str

    @classmethod
    def of(cls, counts: Mapping[str, int], rated: int, noun: str) -> "Shares | None":
        return cls(counts, rated, noun) if any(count != rated for count in counts.values()) else None

    def is_whole(self, names: list[str]) -> bool:
        """Whether each of these rated everything that is rated, which needs no number of its own."""
        return all(self.counts[name] == self.rated for name in names)

    def in_words(self, names: list[str]) -> str:
        """`10 conversations`, `24 conversations each` or, of different numbers, `10 to 24 conversations each`."""
        found = sorted({self.counts[name] for name in names})
        span = f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"
        return f"{span} {self.noun}{'' if found[-1] == 1 else 's'}{' each' if len(names) > 1 else ''}"

    def by_name(self, names: list[str]) -> str:
        """`claude, gpt; 24 conversations each` or, of different numbers, `claude: 24, gpt: 10 conversations`."""
        if len({self.counts[name] for name in names}) == 1:
            return f"{', '.join(names)}; {self.in_words(names)}"
        last = self.counts[names[-1]]
        counted = ", ".join(f"{name}: {self.counts[name]:,}" for name in names)
        return f"{counted} {self.noun}{'' if last == 1 else 's'}"


def coverage_of(content: ReportContent) -> list[Coverage]:
    """By block, in the order of the study."""
    options = content.options
    found: dict[str, list[RatingTable]] = {}
    for table in content.frozen.tables(block=options.block, framework=options.framework):
        found.setdefault(table.key.block, []).append(table)
    return [_coverage(block, tables) for block, tables in found.items()]


def _coverage(block: str, tables: Iterable[RatingTable]) -> Coverage:
    items: set[str] = set()
    rated: set[str] = set()
    raters: dict[str, RaterKey] = {}
    by_rater: dict[str, set[str]] = {}
    ratings = repeats = 0
    for table in tables:
        present = ~np.isnan(table.values)
        if table.repeats is not None:
            second = ~np.isnan(table.repeats)
            repeats += int(second.sum())
            present_anywhere = present | second
        else:
            present_anywhere = present
        ratings += int(present.sum())
        items.update(table.items)
        rated.update(table.items[place] for place in np.flatnonzero(present_anywhere.any(axis=1)))
        for place in np.flatnonzero(present_anywhere.any(axis=0)):
            rater = table.raters[place]
            raters[rater.name] = rater
            own = np.flatnonzero(present_anywhere[:, place])
            by_rater.setdefault(rater.name, set()).update(table.items[one] for one in own)
    ordered = tuple(sorted(raters.values(), key=lambda rater: rater.order))
    told = {name: frozenset(own) for name, own in by_rater.items()}
    return Coverage(block, ordered, len(items), len(rated), ratings, repeats, frozenset(rated), told)


def raters_in_words(raters: Iterable[RaterKey], shares: Shares | None = None) -> str:
    """`3 experts, 2 language models (claude, gpt) and 1 imported aggregate of crowd workers (crowd)`.

    With `shares` a group that did not rate everything says how many items: `3 experts and 2 language models (claude:
    24, gpt: 10 conversations)`.
    """
    groups: dict[tuple[Kind | None, bool], list[str]] = {}
    # Self-reports last: they are no people in a list of people.
    for rater in sorted(raters, key=lambda one: one.kind is Kind.SELF):
        groups.setdefault((rater.kind, rater.is_aggregate), []).append(rater.name)
    return listed(
        [_group_in_words(kind, names, is_aggregate, shares) for (kind, is_aggregate), names in groups.items()]
    )


# Names are told of models, aggregates and baselines, which are no persons, as far as a sentence can hold them.
_NAMED = {Kind.LLM, Kind.BASELINE, Kind.REFERENCE}
_MOST_NAMES = 8


def _group_in_words(kind: Kind | None, names: list[str], is_aggregate: bool, shares: Shares | None) -> str:
    one, several = KIND_NAMES[kind]
    shares = None if shares is None or shares.is_whole(names) else shares
    text = f"{len(names):,} {one if len(names) == 1 else several}"
    if kind is Kind.SELF and not is_aggregate:
        # An imported column of self-reports may hold those of many persons, each on an item of their own.
        each = f", {shares.in_words(names)}" if shares else ""
        return f"{several} ({'one rater' if len(names) == 1 else f'{len(names):,} raters'} in the data{each})"
    if is_aggregate:
        text = f"{len(names):,} imported {'aggregate' if len(names) == 1 else 'aggregates'} of {several}"
    if (is_aggregate or kind in _NAMED) and len(names) <= _MOST_NAMES:
        return f"{text} ({shares.by_name(names) if shares else ', '.join(names)})"
    return f"{text} ({shares.in_words(names)})" if shares else text


def listed(parts: list[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "nobody"
