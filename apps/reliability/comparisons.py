"""Which comparisons a report holds: rules on raters and groups, without a single number."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from apps.measures.aggregates import Aggregate
from apps.reliability.matrix import ALL_RATERS, GROUP_NAMES, KIND_ORDER, MIN_RATERS, Kind, RaterKey, Side

# A file of ratings may hold any number of raters; its pairs are written up to this many (contract).
MAX_RATERS_IN_FILE_PAIRS = 20


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides; `a` is the reference side."""

    a: Side
    b: Side


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """Raters whose agreement among each other is described: columns of the table."""

    name: str
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to compute from one table. `repeated` are the columns whose rater may have rated an item twice."""

    pairs: tuple[Pair, ...]
    groups: tuple[GroupMembers, ...]
    repeated: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A side with what the rules ask about it."""

    side: Side
    kind: Kind
    is_aggregate: bool

    @property
    def order(self) -> tuple[int, int, str]:
        """By kind; there the group, then the group without one, then the raters by name."""
        within = 2 if self.side.how is None else 0 if self.side.without is None else 1
        return (KIND_ORDER[self.kind], within, self.side.name)


def study_plan(raters: Sequence[RaterKey], *, all_pairs: bool = False, pool_models: bool = False) -> Plan:
    """The comparisons of a study's table (DESIGN.md, 6.3); every rater must have a kind.

    - Every pair of raters of the kinds expert, llm, self, reference and baseline, and of declared aggregates of any
      kind; crowd workers only with `all_pairs`.
    - Each of these with `experts:median`, with `crowd:mean`, and with `llms:median` if `pool_models`; these with each
      other. A rater of the group is compared with the group without them (`experts-without-expert1:median`); crowd
      workers always are.
    - An imported aggregate is never paired with raters of its own kind, or with a group of them: it may contain them.
    - A group needs two raters that are not aggregates, with and without the one left out. An imported aggregate
      stands for its group under its own name.
    """
    everyone = [_individual(column, rater) for column, rater in enumerate(raters)]
    groups = _groups(everyone, pool_models=pool_models)
    listed = [one for one in everyone if all_pairs or one.is_aggregate or one.kind is not Kind.CROWD]
    pairs = [_pair(a, b) for a, b in combinations(listed, 2) if not _may_contain(a, b)]
    pairs += [_pair(a, b) for a, b in combinations(groups, 2)]
    for group in groups:
        for one in everyone:
            if one.side.members[0] in group.side.members:
                pairs += _with_the_others(group, one)
            elif one in listed and not (one.is_aggregate and one.kind is group.kind):
                pairs.append(_pair(group, one))
    pairs.sort(key=lambda pair: (pair[0].order, pair[1].order))
    return Plan(
        pairs=tuple(Pair(a.side, b.side) for a, b in pairs),
        groups=_described_groups(everyone),
        repeated=tuple(range(len(raters))),
    )


def file_plan(raters: Sequence[RaterKey]) -> Plan:
    """The comparisons of a file of ratings: every pair up to 20 raters, and the group of all of them."""
    sides = [Side(rater.name, (column,)) for column, rater in enumerate(raters)]
    pairs = combinations(sides, 2) if len(sides) <= MAX_RATERS_IN_FILE_PAIRS else ()
    return Plan(
        pairs=tuple(Pair(a, b) for a, b in pairs),
        groups=(GroupMembers(ALL_RATERS, tuple(range(len(raters)))),),
        repeated=(),
    )


def _individual(column: int, rater: RaterKey) -> _Candidate:
    if rater.kind is None:
        raise ValueError(f"the kind of rater {rater.name} is not stated")
    return _Candidate(Side(rater.name, (column,)), rater.kind, rater.is_aggregate)


def _members(everyone: Sequence[_Candidate], kind: Kind) -> tuple[int, ...]:
    return tuple(one.side.members[0] for one in everyone if one.kind is kind and not one.is_aggregate)


def _groups(everyone: Sequence[_Candidate], *, pool_models: bool) -> list[_Candidate]:
    """The groups that take part under a value of their own."""
    wanted = [(Kind.EXPERT, Aggregate.MEDIAN), (Kind.CROWD, Aggregate.MEAN)]
    if pool_models:
        wanted.append((Kind.LLM, Aggregate.MEDIAN))
    groups = []
    for kind, how in wanted:
        members = _members(everyone, kind)
        if len(members) >= MIN_RATERS:
            groups.append(_Candidate(Side(f"{GROUP_NAMES[kind]}:{how}", members, how), kind, is_aggregate=False))
    return groups


def _with_the_others(group: _Candidate, one: _Candidate) -> list[tuple[_Candidate, _Candidate]]:
    """One member with the group without them, where enough others remain."""
    others = tuple(member for member in group.side.members if member != one.side.members[0])
    if len(others) < MIN_RATERS:
        return []
    name = f"{GROUP_NAMES[group.kind]}-without-{one.side.name}:{group.side.how}"
    side = Side(name, others, group.side.how, without=one.side.members[0])
    return [(_Candidate(side, group.kind, is_aggregate=False), one)]


def _may_contain(a: _Candidate, b: _Candidate) -> bool:
    return a.kind is b.kind and a.is_aggregate is not b.is_aggregate


def _pair(one: _Candidate, other: _Candidate) -> tuple[_Candidate, _Candidate]:
    return (one, other) if one.order <= other.order else (other, one)


def _described_groups(everyone: Sequence[_Candidate]) -> tuple[GroupMembers, ...]:
    """Kinds with two raters or more. A table of a single rater keeps its group, to say that one rater is too few."""
    groups = []
    for kind in Kind:
        members = _members(everyone, kind)
        if len(members) >= MIN_RATERS or (members and len(everyone) == 1):
            groups.append(GroupMembers(GROUP_NAMES[kind], members))
    return tuple(groups)
