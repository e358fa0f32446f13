"""Whether the published results of Kumar et al. 2026 come out of their public data, to the last printed digit. Pure.

Published are 126 weighted kappas with test, Spearman correlation and Fisher interval (`observed` convention; `experts`
is the median of three, `llm` is Gemini alone), and 42 interval alphas. Beside what was published stands what is proper:
kappa on the declared points, and the alpha of all three models.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from apps.annotation.kumar2026 import CROWD, EXPERTS, MODELS, KumarBlock, KumarStudy, dimension_of
from apps.annotation.kumar2026_folder import KumarError, KumarFolder
from apps.measures.aggregates import group_median
from apps.measures.arrays import FloatArray
from apps.measures.groups import group_statistics
from apps.measures.pairs import Convention, pair_statistics
from apps.measures.ranks import fisher_interval
from apps.measures.results import Result
from apps.measures.scale import OffScale, Scale
from apps.reliability.kumar2026_alphas import PUBLISHED_ALPHAS

PAIRS_FILE = "annotations/all_annotator_pairs_spearman_kappa.csv"
PAIRS = (*combinations(EXPERTS, 2), ("experts", CROWD), ("experts", "llm"), ("llm", CROWD))
PUBLISHED_MODELS = ("gpt", "claude")
THE_LLM = "gemini"

# Column -> decimals printed.
FIGURES = {
    "Spearman Correlation": 2,
    "Spearman P-value": 3,
    "Fisher CI Lower": 2,
    "Fisher CI Upper": 2,
    "Weighted Cohen's Kappa": 2,
    "Kappa Z-statistic": 3,
    "Kappa P-value": 3,
}
KAPPA = "Weighted Cohen's Kappa"
KAPPA_DECIMALS = FIGURES[KAPPA]
ALPHA_DECIMALS = 3

SCALES = {
    "empathetic-dialogues": Scale((1.0, 2.0, 3.0, 4.0, 5.0)),
    "epitome": Scale((0.0, 1.0, 2.0)),
    "perceived-empathy": Scale((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)),
    "lend-an-ear": Scale((1.0, 2.0, 3.0, 4.0, 5.0)),
}

PairKey = tuple[str, str, frozenset[str]]


@dataclass(frozen=True)
class KappaCheck:
    """One published kappa: `faults` are the figures of its row that do not come out."""

    framework: str
    dimension: str
    pair: tuple[str, str]
    observed: float
    scale: float
    faults: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the two conventions differ as printed."""
        return round(self.observed, KAPPA_DECIMALS) != round(self.scale, KAPPA_DECIMALS)

    def __str__(self) -> str:
        return f"{self.framework}/{self.dimension}, {self.pair[0]} with {self.pair[1]}"


@dataclass(frozen=True)
class AlphaCheck:
    """One published alpha; `all_models` is that of three models where `value` is that of the two published."""

    framework: str
    dimension: str
    group: str
    published: float
    value: float
    all_models: float | None = None

    @property
    def is_right(self) -> bool:
        return _agrees(self.value, self.published, ALPHA_DECIMALS)

    def __str__(self) -> str:
        return f"{self.framework}/{self.dimension}, {self.group}"


@dataclass(frozen=True)
class Check:
    """What came out. `problems` are sentences, one for each figure that did not."""

    kappas: tuple[KappaCheck, ...]
    alphas: tuple[AlphaCheck, ...]
    problems: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """Published figures that come out; a kappa counts with its test, its correlation and their interval."""
        kappas = sum(not kappa.faults for kappa in self.kappas)
        alphas = sum(alpha.is_right for alpha in self.alphas)
        return f"kappa {kappas}/{len(PUBLISHED_ALPHAS) * len(PAIRS)}, alpha {alphas}/{2 * len(PUBLISHED_ALPHAS)}"

    @property
    def differing(self) -> list[KappaCheck]:
        """Kappas that the two conventions print differently, the largest difference first."""
        differing = [kappa for kappa in self.kappas if kappa.differs]
        return sorted(differing, key=lambda kappa: -abs(kappa.observed - kappa.scale))


def check_study(folder: Path, study: KumarStudy) -> Check:
    """Recompute every published figure from the ratings of the folder.

    Raises KumarError where the table of published figures cannot be read or a value is off its scale.
    """
    published = published_pairs(folder, study)
    kappas: list[KappaCheck] = []
    alphas: list[AlphaCheck] = []
    problems: list[str] = []
    for framework, dimension in PUBLISHED_ALPHAS:
        scale = _Scale(study.blocks[framework], dimension)
        for pair in PAIRS:
            row = published.pop((framework, dimension, frozenset(pair)), None)
            if row is None:
                problems.append(f"{PAIRS_FILE} has no row for {framework}/{dimension}, {pair[0]} with {pair[1]}.")
            else:
                kappas.append(scale.check_pair(pair, row))
        alphas += scale.check_alphas()
    for framework, dimension, names in published:
        problems.append(f"{PAIRS_FILE} has a row too many: {framework}/{dimension}, {' with '.join(sorted(names))}.")
    problems += [f"{kappa}: {fault}" for kappa in kappas for fault in kappa.faults]
    problems += [
        f"{alpha}: published alpha {alpha.published:.3f}, found {alpha.value:.3f}"
        for alpha in alphas
        if not alpha.is_right
    ]
    return Check(tuple(kappas), tuple(alphas), tuple(problems))


class _Scale:
    """The ratings on one scale, as columns (n,) in the order of the sample."""

    def __init__(self, block: KumarBlock, dimension: str) -> None:
        self.framework, self.dimension = block.framework, dimension
        self.scale = SCALES[block.framework]
        names = (*EXPERTS, *MODELS, CROWD)
        self.columns = {
            name: np.array([block.raters[name][dimension][conversation] for conversation in block.ids], np.float64)
            for name in names
        }
        for name, column in self.columns.items():
            try:
                self.scale.check(column)
            except OffScale as error:
                raise KumarError(f"{self.framework}/{dimension}, {name}: {error}.") from None
        self.columns["experts"] = group_median(self.table(EXPERTS))
        self.columns["llm"] = self.columns[THE_LLM]

    def table(self, names: Sequence[str]) -> FloatArray:
        return np.stack([self.columns[name] for name in names], axis=1)

    def check_pair(self, pair: tuple[str, str], row: dict[str, float]) -> KappaCheck:
        found = self._figures(pair)
        faults = tuple(
            f"published {name} {row[name]:.{decimals}f}, found {_shown(found[name], decimals)}"
            for name, decimals in FIGURES.items()
            if not _agrees(found[name], row[name], decimals)
        )
        proper = self._pair(pair, Convention.SCALE)["kappa_quadratic"].value
        observed = found[KAPPA]
        # Every published pair varies; a kappa that is undefined is a fault already.
        shown = [math.nan if value is None else value for value in (observed, proper)]
        return KappaCheck(self.framework, self.dimension, pair, shown[0], shown[1], faults)

    def check_alphas(self) -> Iterator[AlphaCheck]:
        experts, models = PUBLISHED_ALPHAS[self.framework, self.dimension]
        yield AlphaCheck(self.framework, self.dimension, "experts", experts, self._alpha(EXPERTS))
        yield AlphaCheck(
            self.framework,
            self.dimension,
            "llms",
            models,
            self._alpha(PUBLISHED_MODELS),
            all_models=self._alpha(tuple(MODELS)),
        )

    def _figures(self, pair: tuple[str, str]) -> dict[str, float | None]:
        results = self._pair(pair, Convention.OBSERVED)
        spearman, kappa = results["spearman"], results["kappa_quadratic"]
        interval = None if spearman.value is None else fisher_interval(spearman.value, spearman.n_items)
        low, high = interval or (None, None)
        values = [spearman.value, spearman.p_value, low, high, kappa.value, kappa.z, kappa.p_value]
        return dict(zip(FIGURES, values, strict=True))

    def _pair(self, pair: tuple[str, str], convention: Convention) -> dict[str, Result]:
        a, b = (self.columns[name] for name in pair)
        return pair_statistics(a, b, self.scale, convention=convention, statistics=("spearman", "kappa_quadratic"))

    def _alpha(self, names: Sequence[str]) -> float:
        result = group_statistics(self.table(names), self.scale, statistics=("alpha_interval",))["alpha_interval"]
        return math.nan if result.value is None else result.value


def _agrees(value: float | None, published: float, decimals: int) -> bool:
    """Whether a value prints as the published figure; a value just on the edge of two figures may print as either."""
    return value is not None and abs(value - published) <= 0.5 * 10**-decimals + 1e-9


def _shown(value: float | None, decimals: int) -> str:
    return "nothing" if value is None else f"{value:.{decimals}f}"


def published_pairs(folder: Path, study: KumarStudy) -> dict[PairKey, dict[str, float]]:
    """(framework, dimension, names of the pair) -> the figures of its row in the published table.

    Raises KumarError where the table cannot be read.
    """
    framework_of = {block.title: slug for slug, block in study.blocks.items() if slug in SCALES}
    published: dict[PairKey, dict[str, float]] = {}
    for number, row in KumarFolder(folder).numbered_rows(PAIRS_FILE).items():
        cells = {name: text.strip() for name, text in row.items()}
        absent = [name for name in ("Dataset", "Dimension", "Annotator Pair", *FIGURES) if name not in cells]
        if absent:
            raise KumarError(f"{PAIRS_FILE} has no column {', '.join(absent)}.")
        if cells["Dataset"] not in framework_of:
            raise KumarError(f"{PAIRS_FILE}, row {number}: the data set {cells['Dataset']} is not known.")
        pair = frozenset(re.findall(r"'(\w+)'", cells["Annotator Pair"]))
        key = (framework_of[cells["Dataset"]], dimension_of(cells["Dimension"]), pair)
        if key in published:
            raise KumarError(f"{PAIRS_FILE}, row {number}: the pair comes twice.")
        try:
            published[key] = {name: float(cells[name]) for name in FIGURES}
        except ValueError:
            raise KumarError(f"{PAIRS_FILE}, row {number}: a figure is no number.") from None
    return published
