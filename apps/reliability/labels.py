"""What a report says of blocks and scales in words, kept beside the figures so that it needs no live row."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from apps.reliability.matrix import TableKey


@dataclass(frozen=True, slots=True)
class PointLabel:
    """A declared point; `text` is empty where the scale does not label it."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class DimensionLabel:
    """A scale of a framework, its points in the order of the scale. `polarity` is `+`, `-` or `none`."""

    slug: str
    label: str
    question: str
    level: str
    polarity: str
    points: tuple[PointLabel, ...]


@dataclass(frozen=True, slots=True)
class FrameworkLabel:
    """One version of a framework. `language` is a BCP 47 tag; `stem` are words that all its questions share."""

    slug: str
    version: int
    name: str
    citation: str
    url: str
    language: str
    stem: str
    dimensions: tuple[DimensionLabel, ...]


@dataclass(frozen=True, slots=True)
class BlockLabel:
    """A block with its dataset's name, source and licence, and its frameworks as (slug, version)."""

    slug: str
    title: str
    dataset: str
    source: str
    licence: str
    frameworks: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ScaleLabel:
    """A scale where it is used: its block, its framework and itself."""

    block: BlockLabel
    framework: FrameworkLabel
    dimension: DimensionLabel

    @property
    def key(self) -> TableKey:
        return TableKey(self.block.slug, self.framework.slug, self.dimension.slug)


@dataclass(frozen=True, slots=True)
class Labels:
    """The blocks of a study in their order, and the frameworks they use."""

    blocks: tuple[BlockLabel, ...]
    frameworks: tuple[FrameworkLabel, ...]

    def scales(self) -> list[ScaleLabel]:
        """Every scale of every block, in the order of the study; also those nobody rated on."""
        known = {(one.slug, one.version): one for one in self.frameworks}
        return [
            ScaleLabel(block, known[used], dimension)
            for block in self.blocks
            for used in block.frameworks
            for dimension in known[used].dimensions
        ]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        return cls(
            tuple(_block(one) for one in stored["blocks"]), tuple(_framework(one) for one in stored["frameworks"])
        )


def _block(stored: Mapping[str, Any]) -> BlockLabel:
    used = tuple((slug, version) for slug, version in stored["frameworks"])
    return BlockLabel(**{**stored, "frameworks": used})


def _framework(stored: Mapping[str, Any]) -> FrameworkLabel:
    return FrameworkLabel(**{**stored, "dimensions": tuple(_dimension(one) for one in stored["dimensions"])})


def _dimension(stored: Mapping[str, Any]) -> DimensionLabel:
    return DimensionLabel(**{**stored, "points": tuple(PointLabel(**one) for one in stored["points"])})
