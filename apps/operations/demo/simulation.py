"""Simulated ratings for the demo study. Pure, seeded, and never to be mistaken for anybody's judgement.

Each conversation has a hidden quality, each simulated rater a leniency, a spread and a noise: a latent score is moved,
stretched, blurred and rounded to the nearest declared point. Kinds differ as in published studies: experts agree
fairly well, models are lenient and consistent, crowd workers noisy.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

QUALITY = {"poor": 0.18, "mixed": 0.5, "good": 0.82}
ITEM_SPREAD = 0.12
MISSING_SHARE = 0.02


@dataclass(frozen=True)
class SimulatedRater:
    """`leniency` moves every score, in shares of the scale; `noise` is the standard deviation of the blur."""

    name: str
    kind: str
    leniency: float
    noise: float


@dataclass(frozen=True)
class SimulatedScale:
    """`polarity` -1: good support scores low; 0: unrelated to quality."""

    key: str
    points: tuple[float, ...]
    polarity: int


RATERS = (
    SimulatedRater("expert1", "expert", -0.03, 0.10),
    SimulatedRater("expert2", "expert", 0.00, 0.11),
    SimulatedRater("expert3", "expert", 0.04, 0.12),
    SimulatedRater("model-a", "llm", 0.08, 0.09),
    SimulatedRater("model-b", "llm", 0.12, 0.16),
    *(SimulatedRater(f"crowd{number:03d}", "crowd", 0.05 * (number - 3), 0.24) for number in range(1, 6)),
)


def simulate(
    qualities: dict[str, str], scales: Iterable[SimulatedScale], raters: Iterable[SimulatedRater], seed: int
) -> Iterator[tuple[str, str, str, float]]:
    """Yield (conversation id, rater name, scale key, value), a small share missing at random.

    `qualities` maps conversation ids to a key of `QUALITY`. Every value depends on the seed and its own names only,
    so adding a rater or a scale leaves the others as they were.
    """
    raters = tuple(raters)
    for scale in scales:
        for conversation, quality in qualities.items():
            latent = _latent(quality, scale, random.Random(f"{seed}/{scale.key}/{conversation}"))  # noqa: S311
            for rater in raters:
                chance = random.Random(f"{seed}/{scale.key}/{conversation}/{rater.name}")  # noqa: S311
                if chance.random() >= MISSING_SHARE:
                    score = latent + rater.leniency * (scale.polarity or 1) + chance.gauss(0, rater.noise)
                    yield conversation, rater.name, scale.key, _nearest_point(score, scale.points)


def _latent(quality: str, scale: SimulatedScale, chance: random.Random) -> float:
    """The item's place on the scale, 0 to 1 and a little beyond."""
    if scale.polarity == 0:
        return chance.random()
    level = QUALITY[quality] if scale.polarity > 0 else 1 - QUALITY[quality]
    return level + chance.gauss(0, ITEM_SPREAD)


def _nearest_point(score: float, points: tuple[float, ...]) -> float:
    place = points[0] + score * (points[-1] - points[0])
    return min(points, key=lambda point: abs(point - place))
