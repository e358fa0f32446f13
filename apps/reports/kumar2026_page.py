"""The figures of Kumar et al. 2026 drawn twice: from what was published, and from the imported study.

`page` is docs/kumar-2026.md, written anew by `python manage.py draw_kumar2026`: its numbers are never typed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from apps.annotation.kumar2026 import EXPERTS
from apps.reliability.agreement import AgreementRow
from apps.reliability.benchmarks import (
    BenchmarkSide,
    Estimate,
    ExpertPair,
    FrameworkBenchmark,
    GroupAlpha,
    ScaleBenchmark,
    frameworks_of,
    group_alphas,
    scale_benchmarks,
)
from apps.reliability.kumar2026_alphas import PUBLISHED_ALPHAS
from apps.reliability.kumar2026_check import KAPPA, PAIRS, THE_LLM, PairKey
from apps.reliability.matrix import Kind, RaterKey, TableKey
from apps.reports.figures.alphas import alpha_figure
from apps.reports.figures.benchmark import benchmark_figure, framework_figure
from apps.reports.figures.figure import Figure
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import PAPER

Published = Mapping[PairKey, Mapping[str, float]]

P_VALUE = "Kappa P-value"
SHOWN = (*EXPERTS, "crowd", "claude", THE_LLM, "gpt")
# What the published table calls a side, and how the imported study does.
NAMES = {"experts": "experts:median", "llm": THE_LLM}
SIDES = (("crowd", Kind.CROWD, "crowd"), (THE_LLM, Kind.LLM, "llm"))
HEADS = {"experts": "experts", "llm": "Gemini", "crowd": "crowd"}


@dataclass(frozen=True)
class Here:
    """What the imported study says: rows of the `scale` and the `observed` convention, its raters, and its words."""

    rows: Sequence[AgreementRow]
    observed: Sequence[AgreementRow]
    raters: Sequence[RaterKey]
    labels: FigureLabels


def figures(published: Published, here: Here) -> list[Figure]:
    """Each of the paper's figures as published and as found here, in that order; scales in one order on one axis."""
    first = published_benchmarks(published)
    order = [one.key for one in first]
    kept = [rater for rater in here.raters if rater.name in SHOWN]
    found = {one.key: one for one in scale_benchmarks(here.rows, kept)}
    second = [found[key] for key in order]
    return [
        *_pair("benchmark", benchmark_figure, first, second, here),
        *_pair("frameworks", framework_figure, frameworks_of(first), _frameworks_like(first, second), here),
        *_alpha_pair(here, second),
    ]


def _pair(name: str, draw: Callable[..., Figure], first: Any, second: Any, here: Here) -> list[Figure]:
    return [
        _named(draw(first, here.labels, PAPER, beside=second), f"{name}-published", "As published"),
        _named(draw(second, here.labels, PAPER, beside=first), f"{name}-here", "Here"),
    ]


def _frameworks_like(first: Sequence[ScaleBenchmark], second: Sequence[ScaleBenchmark]) -> list[FrameworkBenchmark]:
    """Of the second, in the order of the first."""
    found = {one.framework: one for one in frameworks_of(second)}
    return [found[one.framework] for one in frameworks_of(first)]


def _alpha_pair(here: Here, benchmarks: Sequence[ScaleBenchmark]) -> list[Figure]:
    first = published_alphas()
    keys = {one.key for one in first}
    second = [one for one in group_alphas(here.rows) if one.key in keys and one.group in ("experts", "llms")]
    experts = {one.key: one.estimate.value or 0.0 for one in first if one.kind is Kind.EXPERT}
    order = sorted(experts, key=lambda key: -experts[key])
    draw = partial(alpha_figure, order=order, labels=here.labels, palette=PAPER)
    return [
        _named(draw(first, beside=second), "alphas-published", "As published"),
        _named(draw(second, beside=first, benchmarks=benchmarks), "alphas-here", "Here"),
    ]


def page(published: Published, here: Here, images: str) -> str:
    """The page in Markdown; `images` is the folder of the figures as the page sees it."""
    found = differences(published, here)
    return TEXT.format(
        images=images,
        kappas=kappa_table(published, here),
        alphas=alpha_table(here),
        n_kappas=len(published),
        n_differ=found.kappas,
        n_crowd=found.with_crowd,
        most=f"{found.most:.3f}",
        n_starred=found.stars,
        n_models=sum(_models_differ(here)),
    )


def published_benchmarks(published: Published) -> list[ScaleBenchmark]:
    """The published kappas as benchmarks, by the median pair of experts. No intervals were published for kappa."""
    found = []
    for framework, dimension in PUBLISHED_ALPHAS:
        value = {pair: published[framework, dimension, frozenset(pair)] for pair in PAIRS}
        pairs = [ExpertPair(a, b, _estimate(value[a, b])) for a, b in PAIRS if {a, b} <= set(EXPERTS)]
        values = sorted(value[pair.a, pair.b][KAPPA] for pair in pairs)
        sides = tuple(BenchmarkSide(name, kind, _estimate(value["experts", called])) for name, kind, called in SIDES)
        found.append(
            ScaleBenchmark(
                key=TableKey(framework, framework, dimension),
                expert_pairs=tuple(pairs),
                low=values[0],
                median=median(values),
                high=values[-1],
                n_undefined=0,
                sides=sides,
                compared_with="experts:median",
            )
        )
    return sorted(found, key=lambda one: -(one.median or 0.0))


def published_alphas() -> list[GroupAlpha]:
    """The 42 published alphas; those of the models are of GPT-4o and Claude."""
    found = []
    for (framework, dimension), (experts, models) in PUBLISHED_ALPHAS.items():
        key = TableKey(framework, framework, dimension)
        for group, kind, value in (("experts", Kind.EXPERT, experts), ("llms", Kind.LLM, models)):
            found.append(GroupAlpha(key, group, kind, _bare(value)))
    return found


def kappa_table(published: Published, here: Here) -> str:
    """Markdown: for each scale and pair the published kappa, and the one on the declared points below it."""
    kappas = _kappas(here.rows)
    heads = [" with ".join(HEADS.get(name, name) for name in pair) for pair in PAIRS]

    def cell(key: TableKey, pair: tuple[str, str]) -> str:
        row = published[key.framework, key.dimension, frozenset(pair)]
        found = kappas[key, frozenset(NAMES.get(name, name) for name in pair)]
        value = found.reason if found.value is None else f"{found.value:.2f}{stars(found.p_value)}"
        return f"{row[KAPPA]:.2f}{stars(row[P_VALUE])} / {value}"

    return _table(["Scale", *heads], here.labels, lambda key: [cell(key, pair) for pair in PAIRS])


def alpha_table(here: Here) -> str:
    """Markdown: the alphas as published and as found, with their intervals."""
    found = {(one.key, one.group): one.estimate for one in group_alphas(here.rows)}

    def cells(key: TableKey) -> list[str]:
        published = PUBLISHED_ALPHAS[key.framework, key.dimension]
        shown = []
        for value, group in zip(published, ("experts", "llms"), strict=True):
            one = found[key, group]
            shown += [f"{value:.3f}", f"{one.value:.3f} ({one.ci_low:.2f} to {one.ci_high:.2f})"]
        return shown

    heads = ["Scale", "experts, published", "experts, here", "GPT-4o and Claude, published", "all three models, here"]
    return _table(heads, here.labels, cells)


def stars(p_value: float | None) -> str:
    """Stars in Markdown by the p of each test on its own, as published."""
    limits = (0.001, 0.01, 0.05)
    return "" if p_value is None else "\\*" * sum(p_value < limit for limit in limits)


@dataclass(frozen=True)
class Differences:
    """kappas: published ones that print differently here. with_crowd: those of them with the crowd. most: the largest
    difference of the two conventions, unrounded. stars: kappas whose stars differ."""

    kappas: int
    with_crowd: int
    most: float
    stars: int


def differences(published: Published, here: Here) -> Differences:
    """What the two conventions and the two tests make of the published pairs."""
    kappas, observed = _kappas(here.rows), _kappas(here.observed)
    differing, starred, most = [], 0, 0.0
    for (framework, dimension, pair), row in published.items():
        key = TableKey(framework, framework, dimension), frozenset(NAMES.get(name, name) for name in pair)
        value, other = kappas[key].value, observed[key].value
        if value is not None and other is not None:
            most = max(most, abs(value - other))
            if round(value, 2) != row[KAPPA]:
                differing.append(pair)
        starred += stars(kappas[key].p_value) != stars(row[P_VALUE])
    return Differences(len(differing), sum("crowd" in pair for pair in differing), most, starred)


def _models_differ(here: Here) -> list[bool]:
    found = {one.key: one.estimate.value for one in group_alphas(here.rows) if one.group == "llms"}
    return [
        abs((found[TableKey(slug, slug, dimension)] or 0.0) - models) >= 0.0005
        for (slug, dimension), (_experts, models) in PUBLISHED_ALPHAS.items()
    ]


def _kappas(rows: Iterable[AgreementRow]) -> dict[tuple[TableKey, frozenset[str]], AgreementRow]:
    return {
        (TableKey(row.block, row.framework, row.dimension), frozenset((row.a, row.b))): row
        for row in rows
        if row.statistic == "kappa_quadratic" and row.b
    }


def _table(heads: Sequence[str], labels: FigureLabels, cells: Callable[[TableKey], Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|---{'|---:' * (len(heads) - 1)}|"]
    framework = ""
    for slug, dimension in PUBLISHED_ALPHAS:
        key = TableKey(slug, slug, dimension)
        if slug != framework:
            lines.append(f"| *{labels.place(key)}* |{' |' * (len(heads) - 1)}")
            framework = slug
        lines.append(f"| {labels.scale(key)} | {' | '.join(cells(key))} |")
    return "\n".join(lines)


def _estimate(row: Mapping[str, float]) -> Estimate:
    return replace(_bare(row[KAPPA]), p_value=row[P_VALUE])


def _bare(value: float) -> Estimate:
    return Estimate(value, None, None, None, None, 50, "")


def _named(figure: Figure, name: str, prefix: str) -> Figure:
    return replace(figure, name=name, title=f"{prefix}: {figure.title[0].lower()}{figure.title[1:]}")


TEXT = """# The published study, as published and here

Kumar et al. 2026 ("When large language models are reliable for judging empathic communication", Nature Machine
Intelligence, doi:10.1038/s42256-025-01169-6) compare three experts, a crowd and language models on 21 scales. Accord is
built on their study, so this page draws its figures twice: from the published results, and from the study as Accord
imports and computes it. It is written by a command, from their public data; no number on it is typed:

    python manage.py import_kumar2026 DIR
    python manage.py draw_kumar2026 DIR --out docs

`python manage.py verify_kumar2026 DIR` shows that all 126 published kappas, with their tests, and all 42 published
alphas come out to the last printed digit when they are computed as they were then. What stands under "here" is computed
as Accord does by default. Where the two differ, the section before the tables says why. Two pictures side by side have
one axis and one order of scales.

## Expert agreement is the benchmark
Each scale with the range of its three pairs of experts, and the agreement of the others with the experts' median. The
open circle under "here" is each expert with the median of the other two: what the others compare with like for like.

| As published | Here |
|---|---|
| ![Benchmark as published]({images}/benchmark-published.svg) | ![Benchmark here]({images}/benchmark-here.svg) |

## The same by framework
Means over the scales of a framework.

| As published | Here |
|---|---|
| ![Frameworks as published]({images}/frameworks-published.svg) | ![Frameworks here]({images}/frameworks-here.svg) |

## Why figures differ
- **Two conventions of weighted kappa.** Published: the categories are the values that the two raters happened to use,
  and disagreement is the distance of their ranks. Here: distances between the declared points of the scale. At two
  decimals {n_differ} of {n_kappas} kappas differ, {n_crowd} of them with the crowd, whose means lie between points; the
  largest difference is {most}. Both conventions can be chosen on the agreement page, which flags where they differ, and
  in every report.
- **Two tests.** Published: the plain asymptotic variance of kappa. Here: its variance under kappa = 0 (Fleiss, Cohen
  and Everitt 1969), which is what a test of that hypothesis needs. {n_starred} of {n_kappas} kappas have other stars.
- **The models.** "LLM" in the published comparisons is Gemini 2.5 Pro alone; so it is under "as published". The
  published alphas among models are those of GPT-4o and Claude only: the notebook filters by names and finds no row of
  Gemini under the one it looks for. Here all three models stand: {n_models} of 21 alphas differ.
- **Rounding.** The published figures are drawn from two printed decimals. A median pair of experts of 0.597 is 0.60
  there and meets the threshold line; here it does not.
- **Intervals.** The published intervals of alpha came from resampling that drops repeated items, which makes them 0.78
  to 0.87 of the proper width; they are not drawn. Those here resample items with all their raters, with replacement.
  The published table has Fisher intervals of Spearman's correlation only; `verify_kumar2026` reproduces them.
- **The benchmark itself.** A median of three experts is steadier than one expert, so agreement with it is easier than
  agreement of two experts. Here each expert also stands with the median of the other two, and the models are counted
  against that. It was not published, and cannot be had from the published figures.
- **Stars.** On this page they are by the p of each test on its own, as published. On the agreement page and in reports
  they are by p adjusted for all comparisons of one framework (Benjamini and Hochberg), so there can be fewer of them;
  the p of each test stands beside the adjusted one in the files.

## Weighted kappa of every published pair
Published / here. \\*\\*\\* p < 0.001, \\*\\* p < 0.01, \\* p < 0.05, by the p of each test on its own, as published.

{kappas}

## Alpha among experts and among models
Krippendorff's interval alpha. Published figures have no interval; here it is the 95 % item bootstrap.

{alphas}

| As published | Here |
|---|---|
| ![Alphas as published]({images}/alphas-published.svg) | ![Alphas here]({images}/alphas-here.svg) |
"""
