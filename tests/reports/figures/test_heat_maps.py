import pytest

from apps.reliability.matrix import Kind, RaterKey, TableKey
from apps.reports.figures.heat_maps import heat_map_figure, pair_matrix
from apps.reports.figures.palettes import PAPER, SCREEN
from apps.reports.figures.ramps import fill_of
from tests.reports.figures.conftest import (
    CAST,
    CROWD,
    EXPERTS,
    HOSTILE,
    KEY,
    MODELS,
    check,
    data,
    expert_rows,
    labels_of,
    palettes,
    row,
    said,
    texts,
)

ROWS = [
    *expert_rows((0.2, -0.31, None)),
    row("expert1", "crowd", 0.35),
    row("expert1", "gemini", 0.9),
    row("experts:median", "gemini", 0.99),
    row("experts-without-expert1:median", "expert1", 0.98),
]


def drawn(rows=ROWS, raters=CAST, palette=PAPER):
    return heat_map_figure(pair_matrix(rows, raters, KEY), labels_of(raters), palette)


@palettes
def test_every_pair_of_raters_is_printed_at_its_place(palette):
    figure = drawn(palette=palette)
    check(figure)
    for narrow in (False, True):
        spec = figure.spec_of(narrow=narrow)
        cells = {datum["pair"]: datum["value"] for datum in data(spec, "rect") if "pair" in datum}
        assert cells == {
            "expert1 with expert2": 0.2,
            "expert1 with expert3": -0.31,
            "expert1 with crowd": 0.35,
            "expert1 with gemini": 0.9,
        }
        assert {"0.20", "−0.31", "0.35", "0.90"} <= set(texts(spec))


def test_medians_of_groups_are_no_raters():
    assert pair_matrix(ROWS, CAST, KEY).names == ("expert1", "expert2", "expert3", "crowd", "gemini")


def test_an_undefined_pair_is_hatched_and_named():
    figure = drawn()
    assert "Not defined (no variation): expert2 with expert3" in said(figure.spec)
    assert ("expert2", "expert3", "not defined: no variation", "50") in figure.rows
    hatched = [layer for layer in figure.spec["layer"] if layer["mark"].get("fillOpacity") == 0]
    assert len(hatched[0]["data"]["values"]) == 1
    assert "For 1 pair it is not defined." in figure.summary


def test_the_summary_names_the_two_ends():
    assert drawn().summary.startswith(
        "Of 4 pairs of raters, expert1 and gemini agree most (0.90) and expert1 and expert3 least (−0.31)."
    )


def test_all_undefined_and_nobody_at_all():
    figure = drawn(expert_rows((None, None, None)))
    check(figure)
    assert figure.summary == "No figure is defined for any of 3 pairs of raters (no variation)."
    nobody = drawn([])
    check(nobody)
    assert "There are no two raters to compare." in texts(nobody.spec)
    assert nobody.summary == "No two raters are compared."


def test_a_crowd_stands_as_its_mean():
    workers = [RaterKey(f"worker{number}", Kind.CROWD) for number in range(3)]
    rows = [row("expert1", "crowd:mean", 0.4), row("crowd-without-worker1:mean", "worker1", 0.3)]
    assert pair_matrix(rows, [*EXPERTS, *workers], KEY).names == ("expert1", "crowd:mean")


def test_another_scale_does_not_enter():
    assert pair_matrix(ROWS, CAST, TableKey("main", "warmth", "other")).cells == {}


def test_a_statistic_that_depends_on_the_order_is_refused():
    with pytest.raises(ValueError, match="bias depends on which of two raters comes first"):
        pair_matrix(ROWS, CAST, KEY, "bias")


@palettes
def test_colours_change_hue_only_at_zero(palette):
    assert [fill_of(value, palette)[0] for value in (0, 0.19, 0.2, 0.5, 0.79, 0.8, 1)] == [
        palette.ramp[step] for step in (0, 0, 1, 2, 3, 4, 4)
    ]
    assert [fill_of(value, palette)[0] for value in (-0.01, -0.2, -0.21, -0.4, -0.41, -1)] == [
        palette.negative_ramp[step] for step in (0, 0, 1, 1, 2, 2)
    ]


@palettes
def test_twenty_raters_and_long_foreign_names_fit(palette):
    raters = [RaterKey(f"{HOSTILE} {number} {'long ' * 30}", Kind.LLM) for number in range(20)]
    rows = [row(a.name, b.name, 0.5) for place, a in enumerate(raters) for b in raters[place + 1 :]]
    check(drawn(rows, raters, palette))


def test_two_raters_are_enough():
    figure = drawn([row("expert1", "gemini", 0.9)], [EXPERTS[0], CROWD, MODELS[0]], SCREEN)
    check(figure)
    assert figure.summary == "expert1 and gemini: 0.90."


def test_a_caption_says_only_what_is_there():
    nothing = drawn([row("expert1", "expert2", None)])
    assert nothing.caption == "Quadratic weighted kappa. Hatched: not defined, for the reason below the cells."
    assert nothing.summary == "No figure is defined for the one pair of raters (no variation)."
    matrix = pair_matrix([row("expert1", "expert2", 0.5), row("expert1", "expert3", 0.4)], CAST, KEY)
    caption = heat_map_figure(matrix, labels_of(CAST), PAPER, narrowed=True).caption
    assert caption.endswith("Empty: not compared, or not chosen for this report.")
