"""Rows, raters and labels of a small study, and what a spec draws, for tests of figures."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import numpy as np
import pytest

from apps.measures.scale import Scale
from apps.reliability.agreement import AgreementRow
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey
from apps.reports.figures.figure import Figure, Spec
from apps.reports.figures.labels import FigureLabels, rater_symbols
from apps.reports.figures.palettes import PAPER, SCREEN

KEY = TableKey("main", "warmth", "empathy")
EXPERTS = [RaterKey(f"expert{number}", Kind.EXPERT) for number in (1, 2, 3)]
CROWD = RaterKey("crowd", Kind.CROWD, is_aggregate=True)
MODELS = [RaterKey("gemini", Kind.LLM), RaterKey("gpt", Kind.LLM)]
CAST = [*EXPERTS, CROWD, *MODELS]
HOSTILE = '<b onload="x">"a" & b</b>'
RIGHT_TO_LEFT = "אמפתיה של מומחה"

palettes = pytest.mark.parametrize("palette", [PAPER, SCREEN], ids=["paper", "screen"])


def row(a: str, b: str, value: float | None, **others: Any) -> AgreementRow:
    """A kappa on the scale `empathy`, with an interval a tenth to either side."""
    fields = {
        "block": "main",
        "framework": "warmth",
        "dimension": "empathy",
        "statistic": "kappa_quadratic",
        "a": a,
        "b": b,
        "convention": "scale",
        "value": value,
        "ci_low": None if value is None else value - 0.1,
        "ci_high": None if value is None else value + 0.1,
        "p_value": None,
        "p_adjusted": None,
        "n_items": 50,
        "n_raters": 2,
        "n_ratings": 100,
        "n_degenerate": 0,
        "reason": "no variation" if value is None else "",
    }
    return AgreementRow(**(fields | others))


def expert_rows(values: tuple[float | None, float | None, float | None], **others: Any) -> list[AgreementRow]:
    pairs = [("expert1", "expert2"), ("expert1", "expert3"), ("expert2", "expert3")]
    return [row(a, b, value, **others) for (a, b), value in zip(pairs, values, strict=True)]


def others_rows(values: tuple[float | None, float | None, float | None], **others: Any) -> list[AgreementRow]:
    """Each of three experts with the median of the other two."""
    return [
        row(f"experts-without-expert{number}:median", f"expert{number}", value, **others)
        for number, value in enumerate(values, 1)
    ]


def study_rows(**others: Any) -> list[AgreementRow]:
    """One scale: three pairs of experts, the crowd and one of two models; the other is undefined."""
    return [
        *expert_rows((0.2, 0.7, 0.4), **others),
        row("experts:median", "crowd", 0.3, **others),
        row("experts:median", "gemini", 0.61, **others),
        row("experts:median", "gpt", None, **others),
    ]


def labels_of(raters: list[RaterKey], scales: Mapping[TableKey, str] | None = None, **others: Any) -> FigureLabels:
    return FigureLabels(
        scales=scales or {KEY: "Empathy"},
        frameworks={"warmth": "Warmth"},
        symbols=rater_symbols(raters),
        kinds={rater.name: rater.kind for rater in raters if rater.kind is not None},
        **others,
    )


def make_table(columns: Mapping[str, list], raters: list[RaterKey], points: tuple[float, ...] = (1, 2, 3, 4, 5)):
    values = np.array([columns[rater.name] for rater in raters], dtype=np.float64).T
    items = [f"i{number:03d}" for number in range(len(values))]
    return RatingTable.of(KEY, Scale(tuple(map(float, points))), items, raters, values)


def data(spec: Spec, mark: str = "") -> Iterator[dict[str, Any]]:
    """What the layers of one mark are drawn from."""
    for layer in spec["layer"]:
        if mark in ("", layer["mark"]["type"]):
            yield from layer["data"]["values"]


def texts(spec: Spec) -> list[str]:
    return [datum["text"] for datum in data(spec, "text")]


def said(spec: Spec) -> str:
    """Everything that is written in a picture, as one text; lines are broken where there is room for no more."""
    return " ".join(texts(spec))


def drawn_values(spec: Spec) -> dict[str, float]:
    """The value at which each side's symbol stands."""
    return {datum["side"]: datum["value"] for datum in data(spec, "point") if "side" in datum}


def validate(spec: Spec) -> None:
    """By Altair against the schema of Vega-Lite; of each kind of layer once, since that takes long."""
    kinds = {(layer["mark"]["type"], *layer["mark"], *layer["encoding"]): layer for layer in spec["layer"]}
    layers = [layer | {"data": {"values": layer["data"]["values"][:1]}} for layer in kinds.values()]
    alt.LayerChart.from_dict(spec | {"layer": layers})


def check(figure: Figure) -> None:
    """What holds for every figure: valid specs, everything within the picture, and a word for all it shows."""
    for narrow in (False, True):
        spec = figure.spec_of(narrow=narrow)
        validate(spec)
        for datum in data(spec):
            assert all(-0.5 <= datum.get(name, 0) <= spec["width"] + 0.5 for name in ("x", "x2")), datum
            assert all(-0.5 <= datum.get(name, 0) <= spec["height"] + 0.5 for name in ("y", "y2")), datum
    assert all([figure.title, figure.caption, figure.summary, figure.columns])
    words = " ".join([figure.title, figure.caption, figure.summary, *texts(figure.spec), *sum(figure.rows, ())])
    assert not {"nan", "None", "NaN", "inf"} & set(words.replace(",", " ").split())
