"""Which rows of agreement a view shows: by who is compared. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from apps.dashboard.agreement.query import GROUPS, Query
from apps.dashboard.agreement.tables import RETEST_COLUMNS
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import EXPERTS_MEDIAN
from apps.reliability.matrix import GROUP_NAMES, RaterKey


class Choice:
    """Whom a view shows: the raters of the chosen groups, in comparisons that a chosen rater takes part in.

    The experts' median is always there to be compared with.
    """

    def __init__(self, query: Query, raters: Iterable[RaterKey]) -> None:
        self._query = query
        self._group_of = {rater.name: GROUP_NAMES[rater.kind] for rater in raters if rater.kind is not None}
        self._groups_of_chosen = {self._group_of.get(name, "") for name in query.raters}

    def pair(self, a: str, b: str) -> bool:
        return self._in_groups(a) and self._in_groups(b) and self._names_one((a, b))

    def side(self, name: str) -> bool:
        """Whether somebody is compared with the experts' median. A crowd's mean goes with its workers."""
        if not self._in_groups(name):
            return False
        return not self._query.raters or name in self._query.raters or group_of(name, {}) in self._groups_of_chosen

    def group(self, name: str) -> bool:
        """Whether a group's own agreement is shown."""
        wanted = self._query.groups
        return (not wanted or name in wanted) and (not self._query.raters or name in self._groups_of_chosen)

    def rater(self, name: str) -> bool:
        """Whether a rater's agreement with themselves is shown."""
        return self._in_groups(name) and (not self._query.raters or name in self._query.raters)

    def rows(self, rows: Iterable[AgreementRow]) -> list[AgreementRow]:
        """The rows of the view, in their order; those on repeated items only where the view has them."""
        return [row for row in rows if self._row(row)]

    def _row(self, row: AgreementRow) -> bool:
        if row.b:
            return self.pair(row.a, row.b)
        if row.statistic in RETEST_COLUMNS:
            return self._query.repeats and self.rater(row.a)
        return self.group(row.a)

    def _in_groups(self, name: str) -> bool:
        wanted = self._query.groups
        return not wanted or name == EXPERTS_MEDIAN or group_of(name, self._group_of) in wanted

    def _names_one(self, names: Sequence[str]) -> bool:
        wanted = self._query.raters
        return not wanted or any(name in wanted for name in names)


def group_of(name: str, group_of_rater: Mapping[str, str]) -> str:
    """The group of a rater, of `experts:median` or of `experts-without-expert1:median`; empty for others."""
    if name in group_of_rater:
        return group_of_rater[name]
    return next((group for group in GROUPS if name.startswith((f"{group}:", f"{group}-without-"))), "")
