"""Names of scales, frameworks and raters for figures, and the symbol that each rater has in all of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from apps.reliability.benchmarks import CROWD_MEAN
from apps.reliability.labels import ScaleLabel
from apps.reliability.matrix import GROUP_NAMES, Kind, RaterKey, TableKey
from apps.reports.figures.symbols import Symbol, symbol_of, symbols_of
from apps.reports.figures.words import group_label

NO_NAME = "one scale"
KIND_OF_GROUP = {name: kind for kind, name in GROUP_NAMES.items()}


@dataclass(frozen=True)
class FigureLabels:
    """What figures call things. What is not listed is called by its slug or name.

    symbols: by name of a rater or group. points: labels of a scale's points by value. scale_links: an address for each
    scale, for the table beside a figure.
    """

    scales: Mapping[TableKey, str] = field(default_factory=dict)
    frameworks: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, str] = field(default_factory=dict)
    points: Mapping[TableKey, Mapping[float, str]] = field(default_factory=dict)
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    scale_links: Mapping[TableKey, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        scales: Iterable[ScaleLabel],
        raters: Sequence[RaterKey],
        scale_links: Mapping[TableKey, str] | None = None,
    ) -> Self:
        """`raters`: everybody in the study, also those who are not shown, so that symbols do not change."""
        scales = list(scales)
        return cls(
            scales={one.key: one.dimension.label for one in scales},
            frameworks={one.framework.slug: one.framework.name for one in scales},
            blocks={one.block.slug: one.block.title for one in scales},
            points={one.key: {point.value: point.text for point in one.dimension.points} for one in scales},
            symbols=rater_symbols(raters),
            kinds={rater.name: rater.kind for rater in raters if rater.kind is not None},
            scale_links=scale_links or {},
        )

    def scale(self, key: TableKey) -> str:
        """Of a file of ratings the only scale may have no name."""
        return self.scales.get(key) or key.dimension or NO_NAME

    def place(self, key: TableKey) -> str:
        """The framework of a scale, and its block where the framework is used in several."""
        return self.framework(key.block, key.framework)

    def framework(self, block: str, framework: str) -> str:
        """A framework by name, with the title of its block where it is used in several."""
        name = self.frameworks.get(framework) or framework
        if framework not in self._in_several_blocks:
            return name
        return self.block(block) if self.block(block).startswith(name) else f"{name}, {self.block(block)}"

    def block(self, block: str) -> str:
        return self.blocks.get(block) or block

    def rater(self, name: str) -> str:
        """The name of a rater as it is, of a group in words."""
        return name if name in self.kinds else group_label(name)

    def kind(self, name: str) -> Kind | None:
        return self.kinds.get(name) or KIND_OF_GROUP.get(name.partition(":")[0].partition("-without-")[0])

    def symbol(self, name: str) -> Symbol:
        return self.symbols.get(name) or symbol_of(self.kind(name))

    def point(self, key: TableKey, value: float) -> str:
        """The words of a point, empty where it has none."""
        return self.points.get(key, {}).get(value, "")

    def link(self, key: TableKey) -> str:
        return self.scale_links.get(key, "")

    @cached_property
    def _in_several_blocks(self) -> set[str]:
        places = {(key.block, key.framework) for key in self.scales}
        counts = Counter(framework for _, framework in places)
        return {framework for framework, count in counts.items() if count > 1}


def rater_symbols(raters: Iterable[RaterKey]) -> dict[str, Symbol]:
    """A symbol for everybody; crowd workers, who are many, share one, which their mean has too."""
    listed = sorted(raters, key=lambda rater: rater.order)
    workers = {rater.name for rater in listed if rater.kind is Kind.CROWD and not rater.is_aggregate}
    apart: list[tuple[str, Kind | None]] = [(rater.name, rater.kind) for rater in listed if rater.name not in workers]
    found = symbols_of([*apart, (CROWD_MEAN, Kind.CROWD)] if workers else apart)
    return found | dict.fromkeys(workers, found[CROWD_MEAN]) if workers else found
