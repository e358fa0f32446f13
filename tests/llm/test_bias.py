import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from apps.llm.bias import ScaleAnswers, check_figures, score_of
from apps.llm.bias_figures import Doubt, Figure
from apps.measures.groups import group_statistics
from apps.measures.pairs import pair_statistics
from apps.measures.scale import Level, OffScale, Scale
from tests.llm.made import property_test

nan = np.nan
FIVE = Scale((1, 2, 3, 4, 5))
UNEVEN = Scale((0, 1, 10))
NOMINAL = Scale((0, 1, 2), Level.NOMINAL)


def answers(
    original: list[float],
    again: list[float] | None = None,
    *,
    scale: Scale = FIVE,
    dimension: str = "calm",
    draws: list[list[float]] | None = None,
    experts: list[float] | None = None,
    words: list[float] | None = None,
) -> ScaleAnswers:
    missing = [nan] * len(original)
    columns = {"scores": original, "original": original, "reversed": again or missing, "experts": experts or missing}
    return ScaleAnswers(
        framework="calm-scales",
        dimension=dimension,
        scale=scale,
        draws=np.array(draws or [[value] for value in original], dtype=float),
        words=np.array(words or missing, dtype=float),
        **{name: np.array(column, dtype=float) for name, column in columns.items()},
    )


def found(*scales: ScaleAnswers, **options: Any) -> dict[tuple[str, str], Figure]:
    """dimension (empty: all scales) and statistic -> figure"""
    figures = check_figures(scales, **{"seed": 5, "resamples": 200} | options)
    keyed = {(figure.dimension, figure.statistic): figure for figure in figures}
    assert len(keyed) == len(figures)
    return keyed


# --- Order --------------------------------------------------------------------------------------------------------


def test_the_order_of_points_by_hand() -> None:
    """Steps +1, 0, +2, -1 and one without a pair."""
    all_of = found(answers([1, 2, 3, 4, 5], [2, 2, 5, 3, nan]))
    values = {name: figure.value for (dimension, name), figure in all_of.items() if dimension == "calm"}
    assert values["shift_mean"] == 0.5
    assert values["share_equal"] == 0.25
    assert values["share_within_one"] == 0.75
    assert values["share_towards_first"] == 0.5
    assert values["share_towards_last"] == 0.25
    expected = pair_statistics([1, 2, 3, 4], [2, 2, 5, 3], FIVE, resamples=200, seed=5)
    kappa = all_of["calm", "kappa_quadratic"]
    assert (kappa.value, kappa.ci_low, kappa.convention) == (
        expected["kappa_quadratic"].value,
        expected["kappa_quadratic"].ci_low,
        "scale",
    )
    shift = all_of["calm", "shift_mean"]
    assert (shift.n_items, shift.n_ratings, shift.n_resamples) == (4, 8, 200)
    assert shift.ci_low is not None
    assert shift.ci_high is not None
    assert -1 <= shift.ci_low < 0.5 < shift.ci_high <= 2


def test_a_step_is_from_one_point_to_the_next_however_far_they_are_apart() -> None:
    figures = found(answers([0, 1], [1, 10], scale=UNEVEN))
    assert figures["calm", "shift_mean"].value == 1.0
    assert figures["calm", "share_within_one"].value == 1.0


def test_over_all_scales_pairs_count_alike_and_items_are_drawn_with_all_their_pairs() -> None:
    first = answers([1, 2, 3], [2, 2, 3])
    second = answers([1, 2, 5], [nan, 3, 5], dimension="kind")
    figures = found(first, second)
    shift = figures["", "shift_mean"]
    # Five pairs of three items, two of which moved by one.
    assert (shift.value, shift.n_items, shift.n_ratings, shift.n_scales) == (pytest.approx(0.4), 3, 10, 2)
    kappa = figures["", "kappa_quadratic"]
    kappas = [figures[name, "kappa_quadratic"].value for name in ("calm", "kind")]
    assert kappa.value == pytest.approx(np.mean(kappas))
    # Two scales that are the same draw the same items: nothing becomes surer by counting them twice.
    twice = found(first, replace(first, dimension="kind"))
    assert twice["", "shift_mean"].ci_low == twice["calm", "shift_mean"].ci_low
    assert twice["", "shift_mean"].ci_high == twice["calm", "shift_mean"].ci_high


def test_a_scale_without_a_kappa_is_left_out_of_the_mean() -> None:
    figures = found(answers([1, 2, 3], [1, 2, 4]), answers([2, 2, 2], [2, 2, 2], dimension="flat"))
    assert figures["flat", "kappa_quadratic"].reason == "no variation"
    assert figures["", "kappa_quadratic"].value == figures["calm", "kappa_quadratic"].value
    assert figures["", "kappa_quadratic"].n_scales == 1
    assert figures["", "share_equal"].n_scales == 2
    flat = found(answers([2, 2], [2, 2]))
    assert (flat["", "kappa_quadratic"].reason, flat["", "kappa_quadratic"].n_scales) == ("no variation", 0)


def test_names_have_a_place_in_a_list_but_no_distance() -> None:
    figures = found(answers([0, 1, 2], [1, 1, 0], scale=NOMINAL))
    assert figures["calm", "shift_mean"].reason == "not defined for nominal scales"
    assert figures["calm", "share_within_one"].reason == "not defined for nominal scales"
    assert figures["calm", "kappa_quadratic"].reason == "not defined for nominal scales"
    assert figures["calm", "share_towards_first"].value == pytest.approx(1 / 3)
    assert figures["", "shift_mean"].reason == "not defined for nominal scales"
    assert figures["", "share_equal"].value == pytest.approx(1 / 3)


def test_without_a_reversed_run_everything_of_the_order_says_so() -> None:
    figures = check_figures([answers([1, 2])], seed=1)
    order = [figure for figure in figures if figure.check == "order"]
    assert len(order) == 12
    assert {figure.reason for figure in order} == {"not asked again with the points reversed"}
    assert {figure.value for figure in order} == {None}


def test_a_scale_without_a_pair_beside_one_with_pairs() -> None:
    figures = found(answers([1, 2], [1, 3]), answers([1, nan], [nan, 2], dimension="kind"))
    assert figures["kind", "shift_mean"].reason == "no shared items"
    assert figures["", "shift_mean"].n_scales == 1


def pairs_of(seed: int, n: int = 30, up: float = 0.5) -> tuple[list[float], list[float]]:
    drawn = np.random.default_rng(seed)
    first = drawn.integers(1, 5, size=n)
    return first.astype(float).tolist(), (first + (drawn.random(n) < up)).astype(float).tolist()


def test_shifts_are_tested_and_corrected_over_scales() -> None:
    columns = {"calm": pairs_of(1, up=0.3), "kind": pairs_of(2, up=0.1), "odd": pairs_of(3, up=0.05)}
    figures = found(*(answers(first, again, dimension=name) for name, (first, again) in columns.items()))
    tested = [figures[name, "shift_mean"] for name in columns]
    for one, (first, again) in zip(tested, columns.values(), strict=True):
        moved = int(np.sum(np.subtract(again, first)))
        # Steps of one, all the same way: of the ways to choose their signs, two reach as far.
        assert one.p_value == pytest.approx(2 ** (1 - moved) if moved else 1.0)
    expected = stats.false_discovery_control([one.p_value for one in tested])
    assert [one.p_adjusted for one in tested] == pytest.approx(list(expected))
    assert "sign-flip" in tested[0].convention
    assert {figures["calm", name].p_value for name in ("share_equal", "kappa_quadratic")} == {None}


def test_over_all_scales_there_is_one_test_of_items() -> None:
    first, again = pairs_of(1, up=0.3)
    once, mirrored = answers(first, again), answers(again, first, dimension="kind")
    both = found(once, replace(once, dimension="kind"))
    shift = both["", "shift_mean"]
    # The same steps on a second scale are nothing new: signs of an item change together.
    assert shift.p_value == pytest.approx(both["calm", "shift_mean"].p_value)
    assert (shift.p_adjusted, shift.p_told) == (None, shift.p_value)
    assert found(once, mirrored)["", "shift_mean"].p_value == 1.0


def test_fewer_than_ten_items_are_not_tested() -> None:
    figures = found(answers([1.0] * 9, [2.0] * 9), answers([1.0] * 9, [nan] * 9, dimension="kind"))
    assert (figures["calm", "shift_mean"].value, figures["calm", "shift_mean"].p_value) == (1.0, None)
    assert figures["", "shift_mean"].p_value is None
    assert figures["calm", "shift_mean"].doubt is None
    assert found(answers([1.0] * 10, [2.0] * 10))["calm", "shift_mean"].p_value == pytest.approx(2 / 1024)


def test_a_text_that_holds_the_line_makes_interval_and_p_point_apart() -> None:
    """Eleven short texts that rise steeply and one long text that does not: nearly all leverage is in one place."""
    words = [10.0 * place for place in range(11)] + [5000.0]
    scores = [1.0, 2, 1, 2, 3, 3, 3, 4, 4, 5, 5, 3]
    figures = found(answers(scores, experts=[3.0] * 12, words=words), resamples=1000)
    slope = figures["calm", "slope_difference"]
    assert slope.p_value is not None
    assert slope.p_value > 0.5
    assert slope.ci_low is not None
    assert slope.value is not None
    # A third of the resamples is without the long text, and has the steep line of the others.
    assert slope.ci_high is not None
    assert slope.ci_high > 10 * abs(slope.value)


@pytest.mark.parametrize(
    ("low", "high", "p", "adjusted", "doubt"),
    [
        (0.97, 7.75, 0.957, 0.96, Doubt.INTERVAL_ALONE),
        (-0.1, 0.4, 0.03, 0.04, Doubt.TEST_ALONE),
        (0.1, 0.4, 0.03, 0.2, Doubt.OF_MANY),
        (0.1, 0.4, None, None, Doubt.NO_TEST),
        (-0.1, 0.4, None, None, None),
        (0.1, 0.4, 0.01, 0.02, None),
        (-0.1, 0.4, 0.2, 0.3, None),
        (None, None, 0.2, 0.3, None),
    ],
)
def test_where_interval_and_p_point_apart(low, high, p, adjusted, doubt) -> None:
    slope = found(answers(MODEL, experts=EXPERTS, words=WORDS))["calm", "slope_model"]
    changed = replace(slope, ci_low=low, ci_high=high, p_value=p, p_adjusted=adjusted)
    assert changed.doubt == doubt
    assert replace(changed, statistic="share_equal").doubt is None


# --- Draws --------------------------------------------------------------------------------------------------------


def test_repeated_draws_by_hand() -> None:
    draws = [[1, 1, 1], [2, 3, nan], [4, nan, nan], [5, 5, nan]]
    figures = found(answers([1, 2, 4, 5], draws=draws))
    equal = figures["calm", "draws_equal"]
    assert (equal.value, equal.n_items) == (pytest.approx(2 / 3), 3)
    expected = group_statistics(np.array(draws), FIVE, statistics=("alpha_interval",))["alpha_interval"]
    assert figures["calm", "draws_alpha"].value == expected.value
    # Squares 0, 0.5 and 0 over 2 + 1 + 1 degrees of freedom.
    assert figures["calm", "draws_sd"].value == pytest.approx(np.sqrt(0.5 / 4))
    assert figures["", "draws_equal"].value == equal.value


def test_one_sample_has_no_steadiness() -> None:
    figures = found(answers([1, 2]))
    reasons = {figure.reason for figure in figures.values() if figure.check == "draws"}
    assert reasons == {"one answer to each question"}


def test_draws_of_which_one_is_valid_each_time() -> None:
    figures = found(answers([1, 2], draws=[[1, nan], [nan, 2]]))
    assert {figures["calm", name].reason for name in ("draws_alpha", "draws_sd", "draws_equal")} == {
        "no items rated twice"
    }


def test_the_score_of_draws_is_none_where_more_cannot_tell() -> None:
    draws = np.array([[1, 4], [3, nan], [nan, nan], [2, nan]])
    scores = score_of(draws, np.array([0, 1, 2, 2]), FIVE)
    assert scores.tolist()[:2] == [1, 3]
    assert np.isnan(scores[2:]).all()


# --- Length -------------------------------------------------------------------------------------------------------

WORDS = [10, 40, 80, 120, 150, 200, 260, 300, 380, 420, 500, 640]
MODEL = [1, 2, 1, 2, 3, 2, 3, 4, 4, 5, 4, 5]
EXPERTS = [2, 3, 2, 3, 3, 2, 3, 4, 3, 3, 4, 3]


def test_slopes_are_per_hundred_words_and_those_of_the_library() -> None:
    figures = found(answers(MODEL, experts=EXPERTS, words=WORDS))
    x = np.array(WORDS) / 100
    model, experts = stats.linregress(x, MODEL).slope, stats.linregress(x, EXPERTS).slope
    assert figures["calm", "slope_model"].value == pytest.approx(model)
    assert figures["calm", "slope_experts"].value == pytest.approx(experts)
    difference = figures["calm", "slope_difference"]
    assert difference.value == pytest.approx(model - experts)
    assert (difference.n_items, difference.n_resamples) == (12, 200)
    assert difference.ci_low is not None
    assert difference.ci_low < model - experts
    # One scale: nothing to correct for.
    assert difference.p_adjusted == difference.p_value


def test_p_values_are_corrected_over_the_scales_of_a_statistic() -> None:
    scales = [
        answers(MODEL, experts=EXPERTS, words=WORDS),
        answers(EXPERTS, experts=MODEL, words=WORDS, dimension="kind"),
        answers([1, 5] * 6, experts=[3] * 12, words=WORDS, dimension="odd"),
    ]
    figures = found(*scales)
    for name in ("slope_model", "slope_experts"):
        ones = [figures[dimension, name] for dimension in ("calm", "kind", "odd")]
        tested = [one for one in ones if one.p_value is not None]
        expected = stats.false_discovery_control([one.p_value for one in tested])
        assert [one.p_adjusted for one in tested] == pytest.approx(list(expected))
    assert figures["odd", "slope_experts"].reason == "no variation"
    assert figures["odd", "slope_difference"].value == pytest.approx(figures["odd", "slope_model"].value)


def test_items_that_experts_have_not_rated_count_only_where_too_few_are_shared() -> None:
    few = [*EXPERTS[:9], nan, nan, nan]
    figures = found(answers(MODEL, experts=few, words=WORDS))
    assert (figures["calm", "slope_model"].n_items, figures["calm", "slope_model"].reason) == (12, "")
    for name in ("slope_experts", "slope_difference"):
        assert (figures["calm", name].reason, figures["calm", name].n_items) == ("fewer than ten items", 9)
    enough = [*EXPERTS[:10], nan, nan]
    assert found(answers(MODEL, experts=enough, words=WORDS))["calm", "slope_model"].n_items == 10
    nobody = found(answers(MODEL, words=WORDS))
    assert nobody["calm", "slope_difference"].reason == "no ratings of experts"


def test_why_there_is_no_slope() -> None:
    assert found(answers(MODEL))["calm", "slope_model"].reason == "no text of a supporter"
    assert found(answers([nan] * 12, words=WORDS))["calm", "slope_model"].reason == "no ratings"
    assert found(answers(MODEL[:9], words=WORDS[:9]))["calm", "slope_model"].reason == "fewer than ten items"
    assert found(answers(MODEL, words=[70] * 12))["calm", "slope_model"].reason == "no variation"
    named = found(answers([0, 1, 2] * 4, words=WORDS, scale=NOMINAL))
    assert named["calm", "slope_model"].reason == "not defined for nominal scales"


# --- All of it ----------------------------------------------------------------------------------------------------


def test_a_score_off_the_scale_is_refused() -> None:
    with pytest.raises(OffScale):
        found(answers([1, 9], [1, 2]))


def test_nothing_to_check_has_reasons_for_all_scales_only() -> None:
    figures = check_figures([], seed=1)
    assert {figure.dimension for figure in figures} == {""}
    assert all(figure.reason for figure in figures)


_scores = st.one_of(st.just(nan), st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0]))
_rows = st.tuples(_scores, _scores, _scores, _scores, st.one_of(st.just(nan), st.integers(0, 300)))


@property_test
@given(st.lists(_rows, min_size=1, max_size=14))
def test_every_figure_is_plain_and_has_a_value_or_a_reason(rows: list[tuple[float, ...]]) -> None:
    first, second, again, experts, words = (list(column) for column in zip(*rows, strict=True))
    scale = answers(first, again, draws=[[a, b] for a, b in zip(first, second, strict=True)], experts=experts)
    scale = replace(scale, words=np.array(words, dtype=float))
    for figure in check_figures([scale, replace(scale, dimension="kind")], seed=3, resamples=20):
        assert (figure.value is None) == bool(figure.reason)
        kept = json.loads(json.dumps(figure.as_dict(), allow_nan=False))
        assert Figure.from_dict(kept) == figure
        if figure.ci_low is not None:
            assert figure.ci_high is not None
            assert figure.ci_low <= figure.ci_high


@property_test
@given(st.lists(st.tuples(_scores, _scores), min_size=2, max_size=20))
def test_listing_the_points_the_other_way_round_mirrors_the_moves(pairs: list[tuple[float, float]]) -> None:
    first, again = (list(column) for column in zip(*pairs, strict=True))
    there = found(answers(first, again), resamples=0)
    mirrored = found(answers([6 - value for value in first], [6 - value for value in again]), resamples=0)
    if there["calm", "shift_mean"].value is None:
        return
    assert mirrored["calm", "shift_mean"].value == pytest.approx(-there["calm", "shift_mean"].value)
    assert mirrored["calm", "share_towards_last"].value == there["calm", "share_towards_first"].value
    shares = [there["calm", name].value for name in ("share_equal", "share_towards_first", "share_towards_last")]
    assert sum(shares) == pytest.approx(1)
