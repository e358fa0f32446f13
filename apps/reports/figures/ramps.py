"""Colours for values: in steps, so that the page's own colours serve, and below zero in a hue of their own."""

import math

from apps.reports.figures.palettes import Palette

# Statistics that have a true zero: agreement no better than chance, or no correlation.
WITH_ZERO = frozenset({"kappa_unweighted", "kappa_linear", "kappa_quadratic", "spearman", "kendall_tau_b"})


def step_of(value: float, steps: int) -> int:
    """0 for a value in the first of `steps` equal parts of 0 to 1, and so on; 1 belongs to the last."""
    return max(0, min(steps - 1, math.floor(value * steps + 1e-9)))


def fill_of(value: float, palette: Palette) -> tuple[str, str]:
    """The colours of a cell and of the text in it, for a value of at most 1.

    Five steps from 0 to 1; below zero three steps of a fifth each, the last open, in the other hue.
    """
    if value < 0:
        step = min(len(palette.negative_ramp) - 1, math.floor(-value * len(palette.ramp) - 1e-9))
        step = max(0, step)
        return palette.negative_ramp[step], palette.ink if step < palette.negative_ink_steps else palette.on_ramp
    step = step_of(value, len(palette.ramp))
    return palette.ramp[step], palette.ink if step < palette.ink_steps else palette.on_ramp
