"""Numbers and names as figures write them."""

import math
from collections.abc import Iterable, Sequence

from apps.measures.kappa import Convention
from apps.reliability.matrix import GROUP_NAMES

STATISTICS = {
    "kappa_unweighted": "Unweighted kappa",
    "kappa_linear": "Linear weighted kappa",
    "kappa_quadratic": "Quadratic weighted kappa",
    "percent_agreement": "Share of equal ratings",
    "within_one": "Share at most one point apart",
    "spearman": "Spearman correlation",
    "kendall_tau_b": "Kendall's tau-b",
    "mae": "Mean absolute difference",
    "bias": "Bias",
    "f1_weighted": "Weighted F1",
    "alpha_nominal": "Krippendorff's alpha (nominal)",
    "alpha_ordinal": "Krippendorff's alpha (ordinal)",
    "alpha_interval": "Krippendorff's alpha (interval)",
    "alpha_ratio": "Krippendorff's alpha (ratio)",
    "fleiss_kappa": "Fleiss' kappa",
    "conger_kappa": "Conger's kappa",
    "ac1": "Gwet's AC1",
    "ac2_linear": "Gwet's AC2 (linear)",
    "ac2_quadratic": "Gwet's AC2 (quadratic)",
    "brennan_prediger": "Brennan-Prediger coefficient",
    "icc_1_1": "ICC(1,1)",
    "icc_2_1": "ICC(2,1)",
    "icc_3_1": "ICC(3,1)",
    "icc_1_k": "ICC(1,k)",
    "icc_2_k": "ICC(2,k)",
    "icc_3_k": "ICC(3,k)",
}
WEIGHTED_KAPPAS = frozenset({"kappa_linear", "kappa_quadratic"})
GROUPS = {
    "experts": "Experts",
    "crowd": "Crowd",
    "llms": "Models",
    "selves": "Self-reports",
    "references": "References",
    "baselines": "Baselines",
    "all": "All raters",
    "experts:median": "Experts' median",
    "crowd:mean": "Crowd mean",
    "llms:median": "Models' median",
}
KIND_NAMES = {kind: GROUPS[name] for kind, name in GROUP_NAMES.items()}


def statistic_title(statistic: str, convention: str = "") -> str:
    """`Quadratic weighted kappa`, with the convention where it is not the default."""
    title = STATISTICS.get(statistic, statistic)
    observed = convention == Convention.OBSERVED and statistic in WEIGHTED_KAPPAS
    return f"{title}, observed categories" if observed else title


def number(value: float, decimals: int = 2) -> str:
    """A number as it is shown: no minus sign before a zero, and a true one elsewhere."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def interval(low: float | None, high: float | None) -> str:
    """`0.41 to 0.62`, or the words for none."""
    return "no interval" if low is None or high is None else f"{number(low)} to {number(high)}"


def number_beside(value: float, limit: float) -> str:
    """A number with as many decimals as it takes to see on which side of `limit` it lies: 0.598 beside 0.60."""
    decimals = next((some for some in (2, 3, 4, 5) if (round(value, some) >= limit) == (value >= limit)), 6)
    return number(value, decimals)


def percent(share: float) -> str:
    """Whole per cent; what is above nothing and below a half is not rounded to nothing."""
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 <= share < 1:
        return ">99 %"
    return f"{share * 100:.0f} %"


def point(value: float) -> str:
    """A point of a scale: `3`, `2.5`."""
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def counted(count: int, one: str, many: str = "") -> str:
    """`1 scale`, `3 scales`."""
    return f"{count} {one}" if count == 1 else f"{count} {many or one + 's'}"


def part_of(count: int, total: int, noun: str) -> str:
    """Of those that can be compared: `3 of 6 scales`, `all 6 scales`, `none of 6 scales`; a single one is said so."""
    if total == 1:
        return f"the one {noun} that can be compared" if count else f"no {noun} (1 can be compared)"
    if count in (0, total):
        return f"{'all' if count else 'none of'} {counted(total, noun)}"
    return f"{count} of {counted(total, noun)}"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def range_of_counts(counts: Iterable[int], noun: str = "item") -> str:
    """`50 items`, or `48 to 50 items`."""
    found = sorted(set(counts))
    if not found:
        return f"no {noun}s"
    return counted(found[0], noun) if len(found) == 1 else f"{found[0]} to {found[-1]} {noun}s"


def how_sure(has_intervals: bool, items: str, has_values: bool = True) -> str:
    """The end of a caption's first sentence: `; 95 % intervals over items; 50 items to a pair`, as far as it is so."""
    parts = ["95 % intervals over items"] if has_intervals else []
    return "".join(f"; {part}" for part in [*parts, items] if has_values)


def isolated(name: str) -> str:
    """A name that may run from right to left, kept from reordering what stands around it."""
    return name if name.isascii() else f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"


def group_label(name: str) -> str:
    """`crowd:mean` as `Crowd mean`; other names as they are."""
    return GROUPS.get(name, name)


def in_sentence(name: str) -> str:
    """A group or its value within a sentence: `the experts`, `the crowd mean`, `all raters`; a name as it is."""
    if name not in GROUPS:
        return isolated(name)
    label = GROUPS[name][0].lower() + GROUPS[name][1:]
    return label if name == "all" else f"the {label}"


# Widths of letters in a common sans serif, in parts of the font size; wide enough for the ones that are not listed.
_NARROW = dict.fromkeys("iljtfrI.,:;'|!()[] -", 0.33)
_WIDE = dict.fromkeys("mwMW@%\N{EM DASH}", 0.88)


def text_width(text: str, font: float) -> float:
    """Roughly how wide a text is, in the unit of `font`; rather too wide than too narrow."""
    return font * sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> float:
    if letter in _NARROW:
        return _NARROW[letter]
    if letter in _WIDE:
        return _WIDE[letter]
    if ord(letter) > 0x2E80:
        return 1.0
    return 0.7 if letter.isupper() else 0.56


def wrapped(text: str, font: float, room: float) -> list[str]:
    """The text in lines that fit, broken between words; a word that is too long has a line to itself.

    Nothing is cut off: who draws the lines may cut off what is too long all the same, by `limit_of`.
    """
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", font) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]


def limit_of(line: str, room: float) -> float:
    """The width at which a line of `wrapped` is to be cut off: none, unless it is one word that may be too long."""
    return 0 if " " in line else round(room, 1)


def steps_between(low: float, high: float, about: int = 6) -> list[float]:
    """Round numbers for an axis that spans `low` to `high`, in `about` as many steps."""
    rough = max(high - low, 1e-9) / about
    power = 10 ** math.floor(math.log10(rough))
    step = min((factor * power for factor in (1, 2, 5, 10)), key=lambda one: abs(one - rough))
    first = math.ceil(low / step - 1e-9)
    return [round(place * step, 10) for place in range(first, math.floor(high / step + 1e-9) + 1)]
