"""How fast agreement is computed: the full analysis of the Kumar study, and up to a million items.

    python benchmarks/agreement.py [--quick]

Times are of computing alone, the best of a few runs, on ratings already in memory. The loops it is compared with are
the obvious ones: redraw the items, call the library, a thousand times. They are run on fewer resamples and scaled up.
`--quick` runs the loops on fewer resamples still; the sizes stay.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import krippendorff
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from apps.annotation.kumar2026 import read_study  # noqa: E402
from apps.measures.groups import group_statistics, pattern_statistics  # noqa: E402
from apps.measures.pairs import Convention, pair_statistics  # noqa: E402
from apps.measures.patterns import patterns_of  # noqa: E402
from apps.measures.resampling import CHUNK_CELLS  # noqa: E402
from apps.measures.scale import Scale  # noqa: E402
from apps.reliability.kumar2026_alphas import PUBLISHED_ALPHAS  # noqa: E402
from apps.reliability.kumar2026_check import SCALES  # noqa: E402

RESAMPLES = 1000
SEED = 20_260_101
MILLION = 1_000_000
SIZES = (1_000, 100_000, MILLION)
RUNS = 5
EXPERTS = ("expert1", "expert2", "expert3")
MODELS = ("gpt", "claude")
RATERS = (*EXPERTS, *MODELS, "gemini", "crowd")

SYNTHETIC = ((3, 1, 5), (3, 0, 2), (9, 1, 7), (6, 1, 5))  # dimensions, first and last point of each block


@dataclass(frozen=True)
class Dimension:
    """One scale of the study: each rater's values (n,), aligned by item."""

    scale: Scale
    raters: dict[str, np.ndarray]

    def group(self, names: tuple[str, ...]) -> np.ndarray:
        return np.column_stack([self.raters[name] for name in names])

    def pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The six published pairs: of the experts, and of their median, the published model and the crowd."""
        median = np.median(self.group(EXPERTS), axis=1)
        columns = [self.raters[name] for name in EXPERTS]
        return [*combinations(columns, 2), *combinations([median, self.raters["gemini"], self.raters["crowd"]], 2)]


def read_kumar(folder: Path) -> list[Dimension]:
    """The 21 dimensions of the public replication folder."""
    blocks = read_study(folder).blocks
    return [
        Dimension(
            SCALES[framework],
            {
                rater: np.array([blocks[framework].raters[rater][dimension][item] for item in blocks[framework].ids])
                for rater in RATERS
            },
        )
        for framework, dimension in PUBLISHED_ALPHAS
    ]


def make_up() -> list[Dimension]:
    """Simulated ratings of the same shape: 21 dimensions of 50 items, three experts, models, a mean of a crowd."""
    rng = np.random.default_rng(SEED)
    study = []
    for dimensions, low, high in SYNTHETIC:
        for _ in range(dimensions):
            level = rng.integers(low, high + 1, size=50)
            noisy = {name: np.clip(level + rng.integers(-1, 2, size=50), low, high) for name in (*RATERS, "worker")}
            raters = {name: values.astype(float) for name, values in noisy.items()}
            raters["crowd"] = (raters["crowd"] + raters.pop("worker")) / 2
            study.append(Dimension(Scale(tuple(range(low, high + 1))), raters))
    return study


def load_study() -> tuple[list[Dimension], str]:
    """The study and where it is from."""
    folder = Path(os.environ.get("ACCORD_TEST_DATA", ROOT.parent / "shared" / "data")) / "kumar2026"
    if folder.is_dir():
        return read_kumar(folder), "the public ratings of Kumar et al. 2026"
    return make_up(), f"SIMULATED ratings of the same shape (no public data at {folder})"


def best_of(work: Callable[[], object]) -> float:
    """Seconds of the fastest of a few runs, after one that warms up."""
    work()
    return min(seconds(work) for _ in range(RUNS))


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def groups_of(study: list[Dimension]) -> list[tuple[np.ndarray, Scale]]:
    return [(dimension.group(names), dimension.scale) for names in (EXPERTS, MODELS) for dimension in study]


def our_alphas(study: list[Dimension]) -> None:
    for values, scale in groups_of(study):
        group_statistics(values, scale, resamples=RESAMPLES, seed=SEED, statistics=["alpha_interval"])


def our_kappas(study: list[Dimension], convention: Convention) -> None:
    for dimension in study:
        for a, b in dimension.pairs():
            pair_statistics(
                a,
                b,
                dimension.scale,
                convention=convention,
                resamples=RESAMPLES,
                seed=SEED,
                statistics=["kappa_quadratic"],
            )


def loop_over_krippendorff(study: list[Dimension], resamples: int) -> None:
    rng = np.random.default_rng(SEED)
    for values, scale in groups_of(study):
        for _ in range(resamples):
            drawn = values[rng.integers(0, len(values), len(values))]
            if np.ptp(drawn) > 0:  # the library raises without variation
                krippendorff.alpha(drawn.T, value_domain=list(scale.points), level_of_measurement="interval")


def loop_over_pairs(study: list[Dimension], resamples: int) -> None:
    """Quadratic kappa of scikit-learn on the categories of each pair (values times 100, as integers)."""
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(SEED)
    for dimension in study:
        for a, b in dimension.pairs():
            first, second = np.rint(a * 100).astype(int), np.rint(b * 100).astype(int)
            for _ in range(resamples):
                drawn = rng.integers(0, len(first), len(first))
                cohen_kappa_score(first[drawn], second[drawn], weights="quadratic")


def simulated(items: int) -> np.ndarray:
    """Simulated ratings (items, 3) on five points, one in twenty missing."""
    rng = np.random.default_rng(SEED)
    values = np.clip(rng.integers(1, 6, size=(items, 1)) + rng.integers(-1, 2, size=(items, 3)), 1, 5).astype(float)
    values[rng.random(values.shape) < 0.05] = np.nan
    return values


def report_study(quick: bool) -> dict[str, float | None]:
    """Print the analysis of the study and what it is compared with."""
    study, origin = load_study()
    n_pairs = sum(len(dimension.pairs()) for dimension in study)
    print(f"Data: {origin}: {len(study)} dimensions, {n_pairs} kappas, {len(groups_of(study))} alphas")
    print(f"Each with a percentile interval from {RESAMPLES:,} resamples of items.\n")
    alphas = best_of(lambda: our_alphas(study))
    kappas = best_of(lambda: our_kappas(study, Convention.SCALE))
    observed = best_of(lambda: our_kappas(study, Convention.OBSERVED))
    line("what", "seconds")
    line("42 alphas", alphas)
    line("126 kappas, convention scale", kappas)
    line("126 kappas, convention observed", observed)
    line("full analysis (alphas + the slower kappas)", alphas + max(kappas, observed))
    library = loop(loop_over_krippendorff, study, 5 if quick else 50, "krippendorff")
    line("  times as fast", library / alphas)
    figures: dict[str, float | None] = {
        "paper_seconds": alphas + max(kappas, observed),
        "ratio_vs_krippendorff": library / alphas,
        "ratio_vs_pair_loop": None,
    }
    try:
        pairs = loop(loop_over_pairs, study, 2 if quick else 20, "scikit-learn, per pair")
    except ImportError:
        print("ratio_vs_pair_loop is null: scikit-learn is not installed (requirements-dev.txt)")
        return figures
    line("  times as fast, convention observed (as in the loop)", pairs / observed)
    figures["ratio_vs_pair_loop"] = pairs / observed
    return figures


def loop(work: Callable[[list[Dimension], int], None], study: list[Dimension], resamples: int, name: str) -> float:
    """Seconds of a loop for RESAMPLES resamples, measured on fewer."""
    work(study, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # resamples without variation
        took = seconds(lambda: work(study, resamples)) * RESAMPLES / resamples
    line(f"loop over {name} ({resamples} resamples, scaled to {RESAMPLES:,})", took)
    return took


def report_sizes() -> float | None:
    """Print the times by number of items; the seconds of a million items, encoding and resampling together."""
    scale = Scale((1, 2, 3, 4, 5))
    print(f"\nOne alpha with {RESAMPLES:,} resamples, 3 raters, 5 points, simulated, 5 % missing:")
    print(f"{'items':>12} {'patterns':>10} {'encoding s':>12} {'alpha s':>10} {'all s':>10}")
    totals: dict[int, float] = {}
    for items in SIZES:
        values = simulated(items)
        patterns = patterns_of(values, scale)
        encoding = best_of(lambda values=values: patterns_of(values, scale))
        rest = best_of(
            lambda patterns=patterns: pattern_statistics(
                patterns, scale, resamples=RESAMPLES, seed=SEED, statistics=["alpha_interval"]
            ),
        )
        totals[items] = encoding + rest
        print(f"{items:>12,} {len(patterns.counts):>10,} {encoding:>12.4f} {rest:>10.4f} {totals[items]:>10.4f}")
    report_hard_cases()
    if MILLION not in totals:
        print(f"seconds_1m is null: the largest size run was {max(SIZES):,} items")
    return totals.get(MILLION)


def report_hard_cases() -> None:
    """Print what patterns help little with: every group statistic at once, many raters, fine values."""
    rng = np.random.default_rng(SEED)
    five = Scale((1, 2, 3, 4, 5))
    crowd = np.clip(rng.integers(1, 6, size=(50, 1)) + rng.integers(-1, 2, size=(50, 116)), 1, 5).astype(float)
    crowd[rng.random(crowd.shape) < 0.96] = np.nan
    wide = np.clip(rng.integers(1, 6, size=(6_800, 1)) + rng.integers(-1, 2, size=(6_800, 7)), 1, 5).astype(float)
    fine = np.clip(rng.uniform(1, 5, size=(5_000, 1)) + rng.normal(0, 0.5, size=(5_000, 3)), 1, 5).round(2)
    cases = {"50 items x 116 raters, 4 % filled": crowd, "6,800 items x 7 raters": wide, "5,000 x 3, decimals": fine}
    print(f"\nAll 17 group statistics with {RESAMPLES:,} resamples (weights in chunks of {CHUNK_CELLS * 8 >> 20} MiB):")
    for name, values in cases.items():
        line(name, seconds(lambda values=values: group_statistics(values, five, resamples=RESAMPLES, seed=SEED)))


def line(name: str, value: float | str) -> None:
    print(f"{name:<70} {value if isinstance(value, str) else format(value, '.3f'):>10}")


def warn_if_busy() -> None:
    """Say so when other work takes the processor: every time below is then too long."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        print(f"Note: the machine is busy (load {load:.1f} on {cores} cores); times are longer than they need be.\n")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under a minute: the loops run on fewer resamples")
    quick = parser.parse_args(arguments).quick
    warn_if_busy()
    figures = report_study(quick)
    figures["seconds_1m"] = report_sizes()
    print(json.dumps({key: None if value is None else round(value, 4) for key, value in figures.items()}))


if __name__ == "__main__":
    main()
