from dataclasses import replace

import pytest

from apps.measures.pairs import PAIR_STATISTICS
from apps.reliability.benchmarks import frameworks_of, scale_benchmarks
from apps.reliability.matrix import Kind, RaterKey, TableKey
from apps.reports.figures.benchmark import benchmark_figure, framework_figure
from apps.reports.figures.benchmark_words import framework_summary
from apps.reports.figures.palettes import MM, PAPER, SCREEN
from tests.reports.figures.conftest import (
    CAST,
    CROWD,
    EXPERTS,
    HOSTILE,
    KEY,
    MODELS,
    RIGHT_TO_LEFT,
    check,
    data,
    drawn_values,
    expert_rows,
    labels_of,
    others_rows,
    palettes,
    row,
    said,
    study_rows,
    texts,
)


def drawn(rows, raters=CAST, palette=PAPER, labels=None, threshold=0.6):
    return benchmark_figure(scale_benchmarks(rows, raters), labels or labels_of(raters), palette, threshold)


def drawn_frameworks(rows, raters=CAST, palette=PAPER, threshold=0.6):
    return framework_figure(frameworks_of(scale_benchmarks(rows, raters)), labels_of(raters), palette, threshold)


class TestByScale:
    @palettes
    def test_every_side_stands_at_its_value_in_both_widths(self, palette):
        figure = drawn(study_rows(), palette=palette)
        check(figure)
        for narrow in (False, True):
            spec = figure.spec_of(narrow=narrow)
            assert drawn_values(spec) == {"experts: median pair": 0.4, "crowd": 0.3, "gemini": 0.61}
            ticks = {datum["pair"]: datum["value"] for datum in data(spec, "rule") if "pair" in datum}
            assert ticks == {
                "expert1 with expert2": 0.2,
                "expert1 with expert3": 0.7,
                "expert2 with expert3": 0.4,
            }
            spans = {datum["side"]: (datum["low"], datum["high"]) for datum in data(spec, "rule") if "side" in datum}
            assert spans == {
                "experts": (0.2, 0.7),
                "crowd": pytest.approx((0.2, 0.4)),
                "gemini": pytest.approx((0.51, 0.71)),
            }

    def test_a_value_is_drawn_on_a_scale_of_values(self):
        spec = drawn(study_rows()).spec
        [layer] = [
            one
            for one in spec["layer"]
            if any(datum.get("side") == "crowd" and "value" in datum for datum in one["data"]["values"])
        ]
        scale = layer["encoding"]["x"]["scale"]
        assert layer["encoding"]["x"]["field"] == "value"
        assert scale["domain"] == [0.0, 1.0]
        assert 0 < scale["range"][0] < scale["range"][1] < spec["width"]

    def test_what_is_undefined_is_said_in_its_row_and_in_the_table(self):
        figure = drawn(study_rows())
        for narrow in (False, True):
            assert "Not defined: gpt (no variation)" in said(figure.spec_of(narrow=narrow))
        assert figure.rows[0][figure.columns.index("gpt")] == "not defined: no variation"
        assert "Not defined for gpt." in figure.summary

    def test_the_table_has_every_number_with_its_interval_and_items(self):
        figure = drawn(study_rows())
        assert dict(zip(figure.columns, figure.rows[0], strict=True)) == {
            "Scale": "Empathy",
            "Framework": "Warmth",
            "Items": "50",
            "Experts: lowest": "0.20",
            "Experts: median": "0.40",
            "Experts: highest": "0.70",
            "Each expert with the others": "not given",
            "crowd": "0.30 (0.20 to 0.40)",
            "gemini": "0.61 (0.51 to 0.71)",
            "gpt": "not defined: no variation",
        }

    def test_the_threshold_is_drawn_named_and_may_be_left_out(self):
        figure = drawn(study_rows(), threshold=0.55)
        assert "Threshold 0.55" in texts(figure.spec)
        assert 0.55 in [datum.get("value") for datum in data(figure.spec, "rule")]
        assert not any("Threshold" in text for text in texts(drawn(study_rows(), threshold=None).spec))

    def test_zero_has_a_line_and_values_below_it_have_room(self):
        spec = drawn([*expert_rows((-0.31, -0.2, 0.1))]).spec
        assert 0.0 in [datum.get("value") for datum in data(spec, "rule")]
        planes = [layer["encoding"]["x"]["scale"]["domain"] for layer in spec["layer"]]
        assert [-0.4, 1.0] in planes
        assert "−0.4" in texts(spec)

    def test_ticks_say_where_they_are(self):
        spec = drawn(study_rows()).spec
        assert texts(spec)[:1] == ["Experts: median pair, each pair, range"]
        labels = [text for text in texts(spec) if text.replace(".", "").isdigit()]
        assert labels[:6] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]

    def test_scales_keep_the_order_they_came_in(self):
        scales = {KEY._replace(dimension=name): name.upper() for name in ("low", "high")}
        rows = [*expert_rows((0.1, 0.1, 0.1), dimension="low"), *expert_rows((0.8, 0.8, 0.8), dimension="high")]
        figure = drawn(rows, labels=labels_of(CAST, scales))
        assert [cells[0] for cells in figure.rows] == ["HIGH", "LOW"]
        places = {datum["text"]: datum["y"] for datum in data(figure.spec, "text")}
        assert places["HIGH"] < places["LOW"]

    def test_one_scale_is_told_in_figures_and_several_in_counts(self):
        one = drawn(study_rows())
        assert one.title.endswith("on Empathy")
        assert one.summary == (
            "On Empathy the median pair of experts is at 0.40 (0.20 to 0.70 over 3 pairs), below 0.60. With the "
            "experts' median: crowd 0.30 and gemini 0.61. Not defined for gpt. How each expert agrees with the median "
            "of the others is not given here."
        )
        scales = {KEY._replace(dimension=name): name.upper() for name in ("a", "b")}
        rows = [*study_rows(dimension="a"), *expert_rows((None, 0.65, 0.65), dimension="b")]
        both = drawn(rows, labels=labels_of(CAST, scales))
        assert both.title.endswith("by scale")
        assert both.summary == (
            "Experts agree most on B (Warmth), where their median pair is at 0.65, and least on A (Warmth), at 0.40; "
            "it is at or above 0.60 on 1 of 2 scales. How each expert agrees with the median of the others is not "
            "given here. 2 figures cannot be given and are named in words."
        )

    def test_one_expert_is_no_benchmark_and_the_picture_says_so(self):
        figure = drawn([row("expert1", "gemini", 0.8)], [EXPERTS[0], MODELS[0]])
        check(figure)
        assert "No benchmark: no pair of experts" in said(figure.spec)
        assert "Not defined: gemini (fewer than two experts)" in said(figure.spec)
        assert figure.summary == (
            "No pair of experts can be compared on Empathy, so there is no benchmark. Not defined for gemini."
        )

    def test_without_models_the_experts_stand_alone(self):
        figure = drawn(expert_rows((0.2, 0.7, 0.4)), EXPERTS)
        check(figure)
        assert drawn_values(figure.spec) == {"experts: median pair": 0.4}
        assert figure.summary == (
            "On Empathy the median pair of experts is at 0.40 (0.20 to 0.70 over 3 pairs), below 0.60."
        )

    def test_all_undefined(self):
        figure = drawn([*expert_rows((None, None, None)), row("experts:median", "gemini", None)])
        check(figure)
        assert drawn_values(figure.spec) == {}
        assert "Not defined: every pair of experts and gemini (no variation)" in said(figure.spec)
        assert figure.summary.endswith("so there is no benchmark. Not defined for gemini.")
        assert figure.rows[0][3:6] == ("not defined",) * 3

    def test_no_scale_at_all(self):
        figure = drawn([])
        check(figure)
        assert figure.rows == ()
        assert figure.summary == "There are no scales to show."

    @palettes
    def test_twenty_one_scales_and_ten_raters_fit(self, palette):
        models = [RaterKey(f"model{number}", Kind.LLM) for number in range(7)]
        scales = {KEY._replace(dimension=f"d{number}"): f"Scale number {number}" for number in range(21)}
        rows = []
        for number, key in enumerate(scales):
            rows += expert_rows((0.1, number / 25, 0.9), dimension=key.dimension)
            rows += others_rows((0.4, 0.5, 0.6), dimension=key.dimension)
            rows += [row("experts:median", model.name, 0.5, dimension=key.dimension) for model in models]
        figure = drawn(rows, [*EXPERTS, *models], palette, labels_of([*EXPERTS, *models], scales))
        check(figure)
        assert len(figure.rows) == 21
        assert "Of 7 others, 7 agree with the experts' median at least as well as the median expert" in figure.summary
        points = [datum for datum in data(figure.spec, "point") if datum.get("side", "").startswith("model")]
        assert len(points) == 21 * 7
        # Marks of one row never share a line.
        assert len({datum["y"] for datum in points}) == 21 * 7

    def test_long_foreign_and_hostile_labels_stay_whole_and_apart(self):
        names = [RaterKey(HOSTILE, Kind.LLM), RaterKey(RIGHT_TO_LEFT, Kind.LLM), RaterKey("m" * 200, Kind.LLM)]
        rows = [*expert_rows((0.2, 0.7, 0.4)), *(row("experts:median", one.name, 0.5) for one in names[:2])]
        rows.append(row("experts:median", names[2].name, None))
        figure = drawn(rows, [*EXPERTS, *names], labels=labels_of([*EXPERTS, *names], {KEY: "Scale " * 50}))
        check(figure)
        assert {HOSTILE, RIGHT_TO_LEFT} <= set(drawn_values(figure.spec))
        assert f"\N{FIRST STRONG ISOLATE}{RIGHT_TO_LEFT}\N{POP DIRECTIONAL ISOLATE}" in texts(figure.spec)
        limits = {
            layer["mark"].get("limit")
            for layer in figure.spec["layer"]
            for datum in layer["data"]["values"]
            if datum.get("text", "").startswith(("Scale Scale", "mmm"))
        }
        assert None not in limits

    def test_models_differ_in_fill_or_direction_and_keep_the_colour_of_their_kind(self):
        figure = drawn([*study_rows()[:-1], row("experts:median", "gpt", 0.5)])
        marks = {
            datum["side"]: layer["mark"]
            for layer in figure.spec["layer"]
            for datum in layer["data"]["values"]
            if datum.get("side") in ("gemini", "gpt") and layer["mark"]["type"] == "point"
        }
        assert marks["gemini"]["stroke"] == marks["gpt"]["stroke"] == PAPER.kinds[Kind.LLM]
        assert marks["gemini"]["fill"] != marks["gpt"]["fill"]

    def test_a_number_beside_the_threshold_shows_on_which_side_it_lies(self):
        figure = drawn(expert_rows((0.598, 0.598, 0.598)), EXPERTS)
        assert "at 0.598 (0.598 to 0.598 over 3 pairs), below 0.60." in figure.summary

    def test_the_other_convention_is_named(self):
        benchmarks = scale_benchmarks(study_rows(), CAST)
        figure = benchmark_figure(benchmarks, labels_of(CAST), SCREEN, convention="observed")
        assert "Quadratic weighted kappa, observed categories" in said(figure.spec)
        assert "observed categories" in figure.caption

    def test_a_framework_of_several_blocks_is_told_apart_by_them(self):
        scales = {TableKey(block, "warmth", "empathy"): "Empathy" for block in ("first", "second")}
        rows = [*expert_rows((0.1, 0.1, 0.1), block="first"), *expert_rows((0.8, 0.8, 0.8), block="second")]
        labels = labels_of(CAST, scales, blocks={"first": "First", "second": "Second"})
        assert [cells[1] for cells in drawn(rows, labels=labels).rows] == ["Warmth, Second", "Warmth, First"]

    def test_a_side_that_is_in_another_block_only_is_not_called_undefined(self):
        scales = {TableKey(block, "warmth", "empathy"): "Empathy" for block in ("first", "second")}
        rows = [*study_rows(block="first"), *expert_rows((0.8, 0.8, 0.8), block="second")]
        figure = drawn(rows, labels=labels_of(CAST, scales))
        assert figure.rows[0][-1] == "not in this block"


class TestByFramework:
    ROWS = (
        *expert_rows((0.1, 0.2, 0.9), dimension="a"),
        *expert_rows((0.3, 0.4, 0.5), dimension="b"),
        row("experts:median", "gemini", 0.6, dimension="a"),
        row("experts:median", "gemini", None, dimension="b"),
    )

    @palettes
    def test_means_are_drawn_and_counted(self, palette):
        figure = drawn_frameworks(self.ROWS, palette=palette)
        check(figure)
        assert drawn_values(figure.spec) == {"experts: median pair": pytest.approx(0.3), "gemini": 0.6}
        assert "gemini: 1 scale undefined, left out" in said(figure.spec)
        assert figure.rows[0] == ("Warmth", "2", "0.20", "0.30", "0.70", "not given", "0.60, 1 scale undefined")

    def test_undefined_everywhere_is_said(self):
        figure = drawn_frameworks([*expert_rows((None, None, None)), row("experts:median", "gemini", None)])
        check(figure)
        assert "Undefined on every scale:" in said(figure.spec)
        assert "On 1 scale no pair of experts is defined." in figure.summary
        assert figure.rows[0][-1] == "not defined on any scale"

    def test_no_framework_at_all(self):
        assert drawn_frameworks([]).summary == "There are no frameworks to show."


class TestWhatASummarySays:
    """Not every statistic is the better the higher it is."""

    def rows(self):
        return [
            *expert_rows((0.1, 0.2, 0.3)),
            *others_rows((0.1, 0.2, 0.3)),
            row("experts:median", "gemini", 0.15),
            *expert_rows((1.1, 1.2, 1.3), dimension="other"),
            *others_rows((1.1, 1.2, 1.3), dimension="other"),
            row("experts:median", "gemini", 1.5, dimension="other"),
        ]

    def figures(self, statistic):
        """By scale, by framework, and of one scale alone."""
        rows = [replace(one, statistic=statistic) for one in self.rows()]
        found, labels = scale_benchmarks(rows, CAST, statistic), labels_of(CAST)
        return (
            benchmark_figure(found, labels, PAPER, 0.6, statistic=statistic),
            framework_figure(frameworks_of(found), labels, PAPER, 0.6, statistic=statistic),
            benchmark_figure(found[:1], labels, PAPER, 0.6, statistic=statistic),
        )

    def test_the_greater_a_distance_the_less_they_agree(self):
        figure, *_ = self.figures("mae")
        assert figure.summary == (
            "Experts differ least on Empathy (Warmth), where their median pair is at 0.20, and most on other (Warmth), "
            "at 1.20. Differing from the experts' median at most as much as the median expert differs from the others: "
            "gemini on 1 of 2 scales."
        )
        assert [cells[0] for cells in figure.rows] == ["Empathy", "other"]
        assert "Mean absolute difference (less is better)" in texts(figure.spec)

    @pytest.mark.parametrize("statistic", ["mae", "bias"])
    def test_no_threshold_of_agreement_is_one_of_a_distance_or_a_bias(self, statistic):
        for figure in self.figures(statistic):
            check(figure)
            for narrow in (False, True):
                assert "Threshold" not in said(figure.spec_of(narrow=narrow))
            assert "0.60" not in figure.summary
            assert "gree" not in figure.title + figure.summary

    def test_a_bias_has_no_benchmark_and_ranks_nobody(self):
        for figure in self.figures("bias"):
            assert not any("xpert" in column for column in figure.columns)
            assert not any("experts" in str(datum.get("side")) or "pair" in datum for datum in data(figure.spec))
            assert "two of them have no order" in figure.summary
            assert not {"most", "least", "highest"} & set(figure.summary.split())
        assert self.figures("bias")[0].summary.startswith(
            "Rating less the experts' median: gemini from 0.15 on Empathy (Warmth) to 1.50 on other (Warmth)."
        )

    @pytest.mark.parametrize("statistic", [one for one in PAIR_STATISTICS if one not in ("mae", "bias")])
    def test_of_all_others_more_is_more_agreement(self, statistic):
        figure, *_ = self.figures(statistic)
        assert figure.summary.startswith("Experts agree most on other (Warmth)")
        assert (
            "at least as well as the median expert agrees with the others: gemini on 1 of 2 scales." in figure.summary
        )
        assert "Threshold 0.60" in texts(figure.spec)

    def test_means_over_other_scales_are_not_compared(self):
        """A side that has a value on the easier of two scales only would seem to agree more than the experts."""
        rows = [
            *expert_rows((0.1, 0.1, 0.1)),
            *others_rows((0.1, 0.1, 0.1)),
            row("experts:median", "gemini", None),
            row("experts:median", "gpt", 0.2),
            *expert_rows((0.9, 0.9, 0.9), dimension="other"),
            *others_rows((0.9, 0.9, 0.9), dimension="other"),
            row("experts:median", "gemini", 0.8, dimension="other"),
            row("experts:median", "gpt", 0.9, dimension="other"),
        ]
        summary = framework_summary(frameworks_of(scale_benchmarks(rows, CAST)), labels_of(CAST), 0.6)
        assert "with the others: gpt on the one framework that can be compared." in summary
        assert "gemini" not in summary
        assert "Whoever lacks scales that the experts have, or the other way round, is not counted there." in summary


class TestLikeWithLike:
    """A side compares with the experts' median; an expert does so with the median of the others."""

    def test_each_expert_with_the_others_has_a_mark_of_their_own(self):
        figure = drawn([*study_rows(), *others_rows((0.5, 0.62, 0.6))])
        check(figure)
        for narrow in (False, True):
            spec = figure.spec_of(narrow=narrow)
            assert drawn_values(spec)["experts: each with the others"] == 0.6
            ticks = {datum["expert"]: datum["value"] for datum in data(spec, "rule") if "expert" in datum}
            assert ticks == {"expert1": 0.5, "expert2": 0.62, "expert3": 0.6}
            assert "Each expert with the others: median, range" in texts(spec)
        marks = [
            (layer["mark"]["fill"], datum["y"])
            for layer in figure.spec["layer"]
            for datum in layer["data"]["values"]
            if str(datum.get("side")).startswith("experts:")
        ]
        assert len({fill for fill, _ in marks}) == len({y for _, y in marks}) == 2
        assert figure.rows[0][figure.columns.index("Each expert with the others")] == "0.60, from 0.50 to 0.62"
        assert "the median expert agrees with the median of the others at 0.60 (0.50 to 0.62)." in figure.summary
        assert "compare them with the open circle" in figure.caption

    def test_with_two_experts_there_is_nothing_like_it_and_this_is_said(self):
        figure = drawn([row("expert1", "expert2", 0.5), row("experts:median", "gemini", 0.6)])
        check(figure)
        assert "With two experts none of them can be compared with a median of the others" in figure.summary
        assert figure.rows[0][figure.columns.index("Each expert with the others")] == "fewer than three experts"
        assert "open circle" not in figure.caption
        assert "Each expert with" not in said(figure.spec)

    def test_an_expert_without_a_value_is_named(self):
        figure = drawn([*study_rows(), *others_rows((None, 0.62, 0.6))])
        assert "expert1 with the others and gpt (no variation)" in said(figure.spec)
        assert figure.rows[0][figure.columns.index("Each expert with the others")].endswith(", 1 undefined")

    @palettes
    def test_a_framework_has_it_as_a_mean(self, palette):
        rows = [
            *expert_rows((0.1, 0.2, 0.9), dimension="a"),
            *others_rows((0.1, 0.4, 0.5), dimension="a"),
            *expert_rows((0.3, 0.4, 0.5), dimension="b"),
            *others_rows((0.3, 0.8, 0.9), dimension="b"),
        ]
        figure = drawn_frameworks(rows, palette=palette)
        check(figure)
        assert drawn_values(figure.spec)["experts: each with the others"] == pytest.approx(0.6)
        assert figure.rows[0][5] == "0.60, from 0.20 to 0.70"


def test_the_figure_of_a_framework_says_what_the_table_says():
    """Medians of medians lay right of every pair: the circle is the mean that tables have, and stands in its range."""
    scales = ((0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 0.0), (0.1, 0.2, 0.3))
    rows = [one for number, values in enumerate(scales) for one in expert_rows(values, dimension=f"d{number}")]
    figure = drawn_frameworks(rows, EXPERTS)
    mean = sum(sorted(values)[1] for values in scales) / 4
    assert drawn_values(figure.spec) == {"experts: median pair": pytest.approx(mean)}
    assert figure.rows[0][3] == f"{mean:.2f}"
    assert not any("pair" in datum for datum in data(figure.spec, "rule"))
    assert "Means over the scales of a framework" in figure.caption


def test_what_is_undefined_stands_within_its_row():
    """The threshold goes on behind it, and nothing strikes through the words."""
    figure = drawn(study_rows())
    for narrow in (False, True):
        spec = figure.spec_of(narrow=narrow)
        [words] = [datum for datum in data(spec, "text") if datum["text"].startswith("Not defined")]
        lines = [datum for datum in data(spec, "rule") if datum.get("value") == 0.6 and "side" not in datum]
        assert any(line["y"] < words["y"] < line["y2"] for line in lines)
        if narrow:
            behind = [datum for datum in data(spec, "rule") if datum.get("value") == 0.2 and "pair" not in datum]
            assert behind
            assert not any(line["y"] < words["y"] < line["y2"] for line in behind)


@palettes
def test_a_legend_is_whole_in_both_widths(palette):
    rows = [*study_rows(), *others_rows((0.5, 0.62, 0.6))]
    for figure in (drawn(rows, palette=palette), drawn_frameworks(rows, palette=palette)):
        for narrow in (False, True):
            cut = [layer for layer in figure.spec_of(narrow=narrow)["layer"] if "limit" in layer["mark"]]
            assert not [datum for layer in cut for datum in layer["data"]["values"] if "xpert" in datum["text"]]


def test_on_paper_a_whole_study_fits_a_page():
    scales = {KEY._replace(dimension=f"d{number}"): f"Scale number {number}" for number in range(21)}
    models = [RaterKey(f"model{number}", Kind.LLM) for number in range(4)]
    rows = []
    for key in scales:
        rows += expert_rows((0.1, 0.5, 0.9), dimension=key.dimension)
        rows += others_rows((0.4, 0.5, 0.6), dimension=key.dimension)
        rows += [row("experts:median", one.name, 0.5, dimension=key.dimension) for one in [CROWD, *models]]
    cast = [*EXPERTS, CROWD, *models]
    figure = drawn(rows, cast, labels=labels_of(cast, scales))
    assert figure.spec["height"] / MM <= 200


class TestFewFigures:
    """What is said where there is little to say."""

    def scale(self, rows, threshold=0.6):
        return benchmark_figure(scale_benchmarks(rows, CAST), labels_of(CAST), PAPER, threshold)

    def test_one_pair_has_no_median(self):
        figure = self.scale([row("expert1", "expert2", 0.5)])
        assert figure.summary == "On Empathy the one pair of experts is at 0.50, below 0.60."
        assert figure.title == "Agreement of the experts on Empathy"
        assert figure.caption == (
            "Quadratic weighted kappa of every pair of experts; 95 % intervals over items; 50 items to a comparison."
        )

    def test_no_pair_and_no_interval(self):
        figure = self.scale([row("experts:median", "gpt", 0.5, ci_low=None, ci_high=None)])
        assert figure.caption == (
            "Quadratic weighted kappa of every side with the experts' median; 50 items to a comparison."
        )
        assert figure.title == "Agreement of the others with the experts on Empathy"

    def test_nothing_defined_has_no_items(self):
        figure = self.scale(expert_rows((None, None, None)))
        assert figure.caption == "Quadratic weighted kappa of every pair of experts."

    def test_of_several_scales_one_is_defined(self):
        rows = [*expert_rows((0.1, 0.2, 0.3)), *expert_rows((None, None, None), dimension="other")]
        assert self.scale(rows).summary.startswith(
            "On Empathy (Warmth) the median pair of experts is at 0.20, below 0.60."
        )

    @pytest.mark.parametrize(("threshold", "words"), [(0.1, "on all 2 scales."), (0.9, "on none of 2 scales.")])
    def test_all_and_none_reach_the_threshold(self, threshold, words):
        rows = [*expert_rows((0.1, 0.2, 0.3)), *expert_rows((0.3, 0.4, 0.5), dimension="other")]
        assert words in self.scale(rows, threshold).summary

    def test_one_of_many_others_reaches_the_experts(self):
        models = [RaterKey(f"m{number}", Kind.LLM) for number in range(8)]
        rows = []
        for dimension in ("empathy", "other"):
            rows += expert_rows((0.5, 0.5, 0.5), dimension=dimension)
            for number in (1, 2, 3):
                median = f"experts-without-expert{number}:median"
                rows.append(row(median, f"expert{number}", 0.6, dimension=dimension))
            rows += [
                row("experts:median", one.name, 0.9 if one is models[0] else 0.1, dimension=dimension) for one in models
            ]
        cast = [*CAST[:3], *models]
        summary = benchmark_figure(scale_benchmarks(rows, cast), labels_of(cast), PAPER, None).summary
        assert "Of 8 others, 1 agrees with the experts' median at least as well as" in summary
