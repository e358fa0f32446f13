import pytest

from apps.reliability.distributions import group_distributions, rater_distributions
from apps.reports.figures.distributions import distribution_figure
from apps.reports.figures.palettes import PAPER
from tests.reports.figures.conftest import (
    CAST,
    CROWD,
    EXPERTS,
    HOSTILE,
    KEY,
    MODELS,
    check,
    data,
    labels_of,
    make_table,
    palettes,
    texts,
)

RATERS = [*EXPERTS[:2], CROWD, MODELS[0]]
COLUMNS = {"expert1": [1, 1, 2, 5], "expert2": [1, 3, 3, 5], "crowd": [1.5, 2, 2.4, 5], "gemini": [None] * 4}


def drawn(palette=PAPER, **others):
    distributions = group_distributions(make_table(COLUMNS, RATERS))
    return distribution_figure(distributions, KEY, labels_of(CAST, **others), palette)


@palettes
def test_the_height_of_a_bar_is_its_share(palette):
    figure = drawn(palette)
    check(figure)
    for narrow in (False, True):
        bars = [datum for datum in data(figure.spec_of(narrow=narrow), "rect") if datum.get("who") == "experts"]
        assert {bar["point"]: (bar["share"], bar["count"]) for bar in bars} == {
            1: (0.375, 3),
            2: (0.125, 1),
            3: (0.25, 2),
            4: (0, 0),
            5: (0.25, 2),
        }
        tallest = max(bars, key=lambda bar: bar["share"])
        for bar in bars:
            height, full = bar["y2"] - bar["y"], tallest["y2"] - tallest["y"]
            assert height / full == pytest.approx(bar["share"] / tallest["share"], abs=0.01)


def test_all_panels_share_one_scale():
    bars = [datum for datum in data(drawn().spec, "rect") if datum.get("share")]
    heights = [(bar["y2"] - bar["y"]) / bar["share"] for bar in bars]
    assert {bar["who"] for bar in bars} == {"experts", "crowd"}
    assert heights == pytest.approx([heights[0]] * len(heights), rel=0.01)


def test_values_between_points_are_counted_at_the_nearest_and_this_is_said():
    figure = drawn()
    crowd = {bar["point"]: bar["count"] for bar in data(figure.spec, "rect") if bar.get("who") == "crowd"}
    assert crowd == {1: 0, 2: 3, 3: 0, 4: 0, 5: 1}
    assert "counted at the nearest, halfway at the higher one: 2 of crowd." in figure.caption


def test_a_group_without_ratings_says_so():
    figure = drawn()
    assert "no ratings" in texts(figure.spec)
    assert "Models: no ratings." in figure.summary
    assert figure.rows[2][:4] == ("Models", "0", "0", "no ratings")


def test_the_summary_and_the_table_say_the_same_as_the_bars():
    figure = drawn()
    assert figure.summary.startswith("Experts: most often 1 (38 %), never 4.")
    assert figure.rows[0] == ("Experts", "2", "8", "3 (38 %)", "1 (12 %)", "2 (25 %)", "0 (0 %)", "2 (25 %)")


def test_points_with_words_are_explained():
    figure = drawn(points={KEY: {1.0: "not at all", 5.0: "very much"}})
    assert "Points: 1 not at all, 5 very much." in figure.caption


def test_raters_one_by_one_with_names_that_are_markup():
    raters = [EXPERTS[0], type(EXPERTS[0])(HOSTILE, EXPERTS[0].kind)]
    table = make_table({"expert1": [1, 2], HOSTILE: [3, 3]}, raters)
    figure = distribution_figure(rater_distributions(table), KEY, labels_of(raters), PAPER)
    check(figure)
    assert HOSTILE in texts(figure.spec)


def test_ten_groups_on_eleven_points_fit():
    raters = [type(EXPERTS[0])(f"m{number}", MODELS[0].kind) for number in range(10)]
    points = tuple(range(11))
    table = make_table({one.name: [0, 5, 10] for one in raters}, raters, points)
    check(distribution_figure(rater_distributions(table), KEY, labels_of(raters), PAPER))


def test_nothing_to_show():
    figure = distribution_figure([], KEY, labels_of(CAST), PAPER)
    check(figure)
    assert figure.summary == "There are no ratings to show."


def test_points_that_are_given_as_often_share_the_figure():
    table = make_table({"expert1": [1, 2]}, EXPERTS[:1])
    figure = distribution_figure(group_distributions(table), KEY, labels_of(EXPERTS), PAPER)
    assert figure.summary == "Experts: most often 1 and 2 (50 % each), never 3, 4 and 5."


def test_a_scale_without_a_name_and_a_group_within_a_sentence():
    table = make_table({"expert1": [1, 1.5], "expert2": [1, 2]}, EXPERTS[:2])
    key = KEY._replace(dimension="")
    figure = distribution_figure(group_distributions(table), key, labels_of(EXPERTS), PAPER)
    assert figure.title == "How the scale is used"
    assert figure.caption.endswith("halfway at the higher one: 1 of the experts.")
