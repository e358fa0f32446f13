"""Choosing the conversations a prompt shows as examples: one low, one in the middle, one high. Pure."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

Slot = Literal["low", "middle", "high"]
SLOTS: tuple[Slot, ...] = get_args(Slot)


class ExampleError(ValueError):
    """A choice by hand that cannot be followed; the message names the conversation."""


class PickedExample(NamedTuple):
    slot: Slot
    item: str
    score: float


def pick_examples(
    medians: Mapping[str, float],
    points: Sequence[float],
    seed: int,
    overrides: Mapping[Slot, str] | None = None,
    preferred: Collection[str] = (),
) -> list[PickedExample]:
    """The examples for one ordered scale, low to high: at most one for each slot, never one conversation twice.

    medians: item -> median of the experts. points: the scale's, in its order, at least two. Only medians that are
    points count, as no score is rounded. Each belongs to the slot whose anchor it is nearest (the lowest point, the
    midpoint of the scale, the highest point; halfway to the midpoint counts as the middle), and the nearest of a slot
    is taken. Which of several that are equally near is decided by the seed and the item's name alone, so it does not
    depend on their order, or on the machine. A slot that no conversation belongs to has no example.

    preferred: items that win over others which are equally near, and over no nearer one: those that are shown for
    another scale anyway, so that fewer conversations are lost to the evaluation.

    overrides: slot -> item chosen by hand, whatever its median, if that is a point. Raises ExampleError for an item
    without such a median or in two slots, ValueError for fewer than two points.
    """
    if len(points) < 2:
        raise ValueError("A scale has at least two points.")
    chosen = dict(overrides or {})
    _check(chosen, medians, points)
    anchors = _anchors(points)
    free = {item: median for item, median in medians.items() if median in points and item not in chosen.values()}
    for slot in SLOTS:
        own = [item for item, median in free.items() if _slot(median, anchors) == slot]
        if slot not in chosen and own:
            chosen[slot] = min(
                own, key=lambda item: (abs(free[item] - anchors[slot]), item not in preferred, _lot(seed, item))
            )
    return [PickedExample(slot, chosen[slot], medians[chosen[slot]]) for slot in SLOTS if slot in chosen]


def _check(chosen: Mapping[Slot, str], medians: Mapping[str, float], points: Sequence[float]) -> None:
    for slot, item in chosen.items():
        if slot not in SLOTS:
            raise ExampleError(f"“{slot}” is not one of low, middle and high.")
        if medians.get(item) not in points:
            raise ExampleError(f"“{item}” cannot be the {slot} example: it has no expert median that is a point.")
        if [*chosen.values()].count(item) > 1:
            raise ExampleError(f"“{item}” is chosen for two examples.")


def _anchors(points: Sequence[float]) -> dict[Slot, float]:
    lowest, highest = min(points), max(points)
    return {"low": lowest, "middle": (lowest + highest) / 2, "high": highest}


def _slot(median: float, anchors: Mapping[Slot, float]) -> Slot:
    order: tuple[Slot, ...] = ("middle", "low", "high")
    return min(order, key=lambda slot: abs(median - anchors[slot]))


def _lot(seed: int, item: str) -> bytes:
    return hashlib.sha256(f"{seed} {item}".encode(errors="surrogatepass")).digest()
