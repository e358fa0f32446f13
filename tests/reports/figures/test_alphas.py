import pytest

from apps.reliability.benchmarks import group_alphas, scale_benchmarks
from apps.reports.figures.alphas import alpha_figure
from apps.reports.figures.palettes import PAPER
from tests.reports.figures.conftest import CAST, KEY, check, data, drawn_values, labels_of, palettes, row, said

ALPHA = {"statistic": "alpha_interval"}


def drawn(rows, palette=PAPER, scales=None):
    return alpha_figure(group_alphas(rows), labels_of(CAST, scales), palette)


@palettes
def test_every_group_stands_at_its_value_with_its_interval(palette):
    figure = drawn([row("experts", "", 0.5, **ALPHA), row("llms", "", 0.9, **ALPHA)], palette)
    check(figure)
    for narrow in (False, True):
        spec = figure.spec_of(narrow=narrow)
        assert drawn_values(spec) == {"experts": 0.5, "llms": 0.9}
        assert [(d["low"], d["high"]) for d in data(spec, "rule") if d.get("side") == "experts"] == [(0.4, 0.6)]
    assert figure.rows == (("Empathy", "Warmth", "0.50 (0.40 to 0.60)", "0.90 (0.80 to 1.00)"),)


def test_a_group_without_a_value_says_why():
    figure = drawn([row("experts", "", None, **ALPHA), row("llms", "", -0.2, **ALPHA)])
    check(figure)
    assert "Not defined: Experts (no variation)" in said(figure.spec)
    assert figure.rows[0][2] == "not defined: no variation"
    assert figure.summary == (
        "Krippendorff's alpha (interval). Experts: not defined on the one scale. Models: −0.20 on Empathy."
    )


def test_scales_come_by_their_experts_and_those_without_last():
    scales = {KEY._replace(dimension=name): name for name in ("a", "b", "c")}
    rows = [
        row("llms", "", 0.9, dimension="a", **ALPHA),
        row("experts", "", 0.1, dimension="b", **ALPHA),
        row("experts", "", 0.8, dimension="c", **ALPHA),
    ]
    figure = drawn(rows, scales=scales)
    assert [cells[0] for cells in figure.rows] == ["c", "b", "a"]
    assert figure.rows[0][3] == "no such group here"
    assert "Experts: from 0.10 (b) to 0.80 (c) on 2 scales." in figure.summary


def test_the_group_of_a_file_of_ratings_has_no_kind():
    figure = drawn([row("all", "", 0.4, **ALPHA)])
    check(figure)
    assert figure.columns[2] == "All raters"


def test_no_group_at_all():
    figure = drawn([])
    check(figure)
    assert figure.summary == "There are no groups of raters to show."


def test_scales_that_are_called_the_same_are_told_apart():
    other = KEY._replace(framework="coldness")
    rows = [row("experts", "", 0.1, **ALPHA), row("experts", "", 0.8, framework="coldness", **ALPHA)]
    summary = drawn(rows, scales={KEY: "Empathy", other: "Empathy"}).summary
    assert "Experts: from 0.10 (Empathy, Warmth) to 0.80 (Empathy, coldness) on 2 scales." in summary


def test_a_caption_says_only_what_is_there():
    bare = drawn([row("experts", "", 0.5, ci_low=None, ci_high=None, **ALPHA)])
    assert bare.caption.startswith(
        "Krippendorff's alpha (interval) of the raters of each group among themselves; 50 items to a figure. Where"
    )
    assert drawn([row("experts", "", None, **ALPHA)]).caption.startswith(
        "Krippendorff's alpha (interval) of the raters of each group among themselves. Where"
    )
    models = drawn([row("llms", "", 0.5, **ALPHA), row("llms", "", 0.6, dimension="other", **ALPHA)])
    assert "95 % intervals over items" in models.caption
    assert "figure of the experts" not in models.caption


def test_all_raters_of_a_file_are_no_group_among_others():
    figure = alpha_figure(group_alphas([row("all", "", 0.5, **ALPHA)]), labels_of([]), PAPER)
    assert figure.title == "Agreement of all raters, by scale"
    assert "of the raters among themselves;" in figure.caption


class TestOfOneMindAndNotOfTheExperts:
    """The group's own figure reaches the threshold, and none of its members does with the experts' median."""

    def summary(self, alpha, gemini, gpt, threshold=0.6):
        rows = [
            row("llms", "", alpha, **ALPHA),
            row("experts:median", "gemini", gemini),
            row("experts:median", "gpt", gpt),
        ]
        alphas, benchmarks = group_alphas(rows), scale_benchmarks(rows, CAST)
        return alpha_figure(alphas, labels_of(CAST), PAPER, benchmarks=benchmarks, threshold=threshold).summary

    def test_it_is_said(self):
        assert self.summary(0.8, 0.16, 0.2).endswith(
            "Models are at or above 0.60 among themselves while none of them is with the experts' median (quadratic "
            "weighted kappa) on 1 scale: Empathy (0.80 among themselves, 0.16 to 0.20 with the experts)."
        )
        assert "while none of them" in self.summary(0.6, 0.16, 0.2)
        assert "(0.80 among themselves, 0.16 to 0.596 with" in self.summary(0.8, 0.16, 0.596)

    @pytest.mark.parametrize(
        ("alpha", "gemini", "gpt"), [(0.59, 0.1, 0.2), (0.8, 0.6, 0.2), (0.8, None, 0.2), (None, 0.1, 0.2)]
    )
    def test_it_is_not_said_where_it_is_not_so(self, alpha, gemini, gpt):
        assert "while none of them" not in self.summary(alpha, gemini, gpt)

    def test_the_threshold_is_that_of_the_view(self):
        assert "while none of them" not in self.summary(0.8, 0.16, 0.2, threshold=0.9)
