"""How raters use a scale: how often each declared point is given, by group and by rater."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.measures.arrays import FloatArray
from apps.measures.results import Reason, Result, undefined
from apps.measures.scale import TOLERANCE, Scale
from apps.reliability.matrix import GROUP_NAMES, Kind, RatingTable


@dataclass(frozen=True, slots=True)
class Distribution:
    """Ratings of one rater or group by declared point.

    points: q, ascending. counts: q. `n_between` of the counted ratings lay between points (a mean, or a median of an
    even number) and are counted at the nearest one; halfway, at the higher one. `kind` is None for a file of ratings.
    """

    name: str
    kind: Kind | None
    is_group: bool
    points: tuple[float, ...]
    counts: tuple[int, ...]
    n_between: int
    n_raters: int
    is_nominal: bool

    @property
    def n_ratings(self) -> int:
        return sum(self.counts)

    @property
    def shares(self) -> tuple[float, ...] | None:
        """Share of each point; None where there are no ratings."""
        return tuple(count / self.n_ratings for count in self.counts) if self.n_ratings else None

    @property
    def floor(self) -> Result:
        """Share of ratings at the lowest point."""
        return self._share_at(0)

    @property
    def ceiling(self) -> Result:
        """Share of ratings at the highest point."""
        return self._share_at(-1)

    @property
    def extremes(self) -> Result:
        """Share of ratings at the lowest or the highest point."""
        return self._share_at(0, -1)

    @property
    def middle(self) -> Result | None:
        """Share of ratings at the middle point; None where an even number of points has none."""
        return self._share_at(len(self.points) // 2) if len(self.points) % 2 else None

    def _share_at(self, *places: int) -> Result:
        n_raters, n_ratings = self.n_raters, self.n_ratings
        if self.is_nominal:
            return undefined(Reason.NOT_FOR_NOMINAL, n_raters=n_raters, n_ratings=n_ratings)
        if not n_ratings:
            return undefined(Reason.NO_RATINGS)
        share = sum(self.counts[place] for place in places) / n_ratings
        return Result(share, None, n_items=0, n_raters=n_raters, n_ratings=n_ratings)


def distribution_of(
    values: FloatArray, scale: Scale, *, name: str, kind: Kind | None = None, is_group: bool = False
) -> Distribution:
    """Of ratings (n,) or (n, m), NaN for missing. Raises OffScale for a value outside the scale."""
    scale.check(values)
    given = values[~np.isnan(values)]
    position = scale.position_of(given)
    # Rounding half up; np.rint would go to the even place, now up and now down.
    nearest = np.minimum(np.floor(position + 0.5), scale.q - 1).astype(np.int64)
    between = np.abs(position - np.rint(position)) > TOLERANCE
    rated = ~np.isnan(values)
    return Distribution(
        name=name,
        kind=kind,
        is_group=is_group,
        points=scale.points,
        counts=tuple(int(count) for count in np.bincount(nearest, minlength=scale.q)),
        n_between=int(between.sum()),
        n_raters=int(rated.any(axis=0).sum()) if rated.ndim == 2 else int(rated.any()),
        is_nominal=scale.is_nominal,
    )


def group_distributions(table: RatingTable) -> list[Distribution]:
    """Every kind's ratings pooled, in the order of the kinds; a declared aggregate stands for itself, not in its kind.

    A kind of a single rater is a group of one, under the group's name.
    """
    found = []
    for kind in Kind:
        members = [column for column, rater in enumerate(table.raters) if rater.kind is kind and not rater.is_aggregate]
        if members:
            values = table.values[:, members]
            found.append(distribution_of(values, table.scale, name=GROUP_NAMES[kind], kind=kind, is_group=True))
        aggregates = [column for column, rater in enumerate(table.raters) if rater.kind is kind and rater.is_aggregate]
        found += rater_distributions(table, aggregates)
    return found


def rater_distributions(table: RatingTable, columns: Sequence[int] | None = None) -> list[Distribution]:
    """One for each rater of the table, or of the columns named, in their order."""
    chosen = range(len(table.raters)) if columns is None else columns
    return [
        distribution_of(
            table.values[:, column], table.scale, name=table.raters[column].name, kind=table.raters[column].kind
        )
        for column in chosen
    ]
