"""One rater beside the others."""

import math

import numpy as np
import pytest

from apps.measures.results import Reason
from apps.measures.scale import Level
from apps.reliability.agreement import Settings, analyse
from apps.reliability.comparisons import study_plan
from apps.reliability.matrix import Kind, Side
from apps.reliability.profiles import Standing, profile_of, rest_name, rows_with, standings, yardstick_of
from tests.reliability.conftest import make_table

KINDS = {
    **{f"w{number}": Kind.CROWD for number in range(1, 5)},
    "gemini": Kind.LLM,
    "me": Kind.SELF,
    "panel": Kind.REFERENCE,
    "length": Kind.BASELINE,
    "mean": Kind.CROWD,
}


def place(table, name):
    return next(column for column, rater in enumerate(table.raters) if rater.name == name)


def profile(table, name):
    return profile_of(table, place(table, name))


def test_bias_and_spread_by_hand():
    # The median of expert2 and expert3: 2, 3, 4, and nothing on the last, which expert2 alone rated.
    table = make_table({"expert1": [3, 5, 4, 1], "expert2": [1, 3, 5, 2], "expert3": [3, 3, 3, None]})
    found = profile(table, "expert1")
    assert found.yardstick == "experts-without-expert1:median"
    assert found.n_ratings == 4
    assert found.bias.value == pytest.approx((1 + 2 + 0) / 3)
    assert found.bias.n_items == 3
    # 3, 5, 4 around 4.
    assert found.sd.value == pytest.approx(1.0)
    # expert2: 1, 3, 5 around 3, 8 in squares on 2; expert3: no spread on 2.
    assert found.others_sd.value == pytest.approx(math.sqrt(8 / 4))
    assert found.others_sd.n_raters == 2
    assert found.use.counts == (1, 0, 1, 1, 1)
    assert found.others_use is not None
    assert found.others_use.counts == (1, 1, 4, 0, 1)


def test_severity_is_positive_where_the_rater_scores_higher():
    table = make_table({"expert1": [2, 2], "expert2": [2, 2], "gemini": [4, 3]}, kinds=KINDS)
    assert profile(table, "gemini").bias.value == 1.5
    assert profile(table, "gemini").yardstick == "experts:median"


@pytest.mark.parametrize(
    ("columns", "name", "yardstick"),
    [
        (["expert1", "expert2", "expert3"], "expert1", "experts-without-expert1:median"),
        (["expert1", "expert2"], "expert1", "expert2"),
        (["expert1", "w1", "w2"], "expert1", "crowd:mean"),
        (["w1", "w2", "w3"], "w1", "crowd-without-w1:mean"),
        (["w1", "expert1", "expert2"], "w1", "experts:median"),
        (["gemini", "w1", "w2"], "gemini", "crowd:mean"),
        (["gemini", "expert1"], "gemini", "expert1"),
        (["panel", "expert1", "expert2"], "panel", "experts:median"),
        (["length", "mean"], "length", "mean"),
        (["mean", "w1", "w2", "expert1", "expert2"], "mean", "experts:median"),
    ],
)
def test_with_whom_a_rater_is_compared(columns, name, yardstick):
    table = make_table({one: [1, 2] for one in columns}, kinds=KINDS, aggregates=("mean",))
    found = yardstick_of(table, place(table, name))
    assert found is not None
    assert found.name == yardstick


def test_an_aggregate_is_not_compared_with_those_it_may_contain():
    table = make_table({"mean": [1, 2], "w1": [1, 2], "w2": [1, 2]}, kinds=KINDS, aggregates=("mean",))
    found = profile(table, "mean")
    assert found.yardstick == ""
    assert found.bias.reason == Reason.FEWER_THAN_TWO_RATERS
    assert found.others_use is None


def test_yardsticks_bear_the_names_and_values_of_the_plan():
    columns = {"expert1": [1, 2, 3], "expert2": [2, 2, 3], "expert3": [5, 2, 1], "w1": [1, 1, 1], "w2": [2, 1, 2]}
    columns |= {"w3": [1, 3, 5], "gemini": [1, 2, 2]}
    table = make_table(columns, kinds=KINDS)
    known = {side.name: side for pair in study_plan(table.raters).pairs for side in (pair.a, pair.b)}
    for column in range(len(table.raters)):
        found = yardstick_of(table, column)
        assert found is not None
        assert found == known[found.name]


def test_the_bias_is_that_of_the_rows():
    rng = np.random.default_rng(3)
    values = rng.integers(1, 6, size=(30, 6)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    names = ["expert1", "expert2", "expert3", "w1", "w2", "w3"]
    table = make_table(dict(zip(names, values.T.tolist(), strict=True)), kinds=KINDS)
    rows = [row for row in analyse([table], Settings(resamples=0)).rows if row.statistic == "bias"]
    for name in names:
        found = profile(table, name)
        [row] = rows_with(rows, name, found.yardstick)
        assert row.value is not None
        # The row says how much b is above a.
        assert found.bias.value == pytest.approx(row.value if row.b == name else -row.value)
        assert found.bias.n_items == row.n_items


def test_what_is_not_there_is_said_in_words():
    # CASES 22.
    table = make_table({"expert1": [1, 2, None, None], "expert2": [None, None, 3, 4]})
    found = profile(table, "expert1")
    assert found.bias.reason == Reason.NO_SHARED_ITEMS
    assert found.sd.reason == Reason.TOO_FEW_ITEMS
    assert found.others_sd.reason == Reason.TOO_FEW_ITEMS
    alone = profile(make_table({"expert1": [1, 2]}), "expert1")
    assert alone.bias.reason == Reason.FEWER_THAN_TWO_RATERS
    nominal = profile(make_table({"a": [1, 2], "b": [1, 3], "c": [2, 2]}, level=Level.NOMINAL), "a")
    assert nominal.bias.reason == nominal.sd.reason == nominal.others_sd.reason == Reason.NOT_FOR_NOMINAL
    assert nominal.others_use is not None
    assert nominal.others_use.counts == (1, 2, 1, 0, 0)


def test_a_rater_who_rates_all_alike_has_no_spread_but_a_number():
    # CASES 18: a spread of 0 is a true number, other than a kappa.
    found = profile(make_table({"a": [3, 3, 3], "b": [1, 3, 5], "c": [2, 3, 4]}), "a")
    assert found.sd.value == 0
    assert found.others_sd.value == pytest.approx(math.sqrt((8 + 2) / 4))


def test_pooled_spread_on_random_tables_as_written_out():
    rng = np.random.default_rng(9)
    for _ in range(20):
        values = rng.integers(1, 6, size=(15, 4)).astype(float)
        values[rng.random(values.shape) < 0.3] = np.nan
        table = make_table({f"e{column}": values[:, column].tolist() for column in range(4)})
        found = profile(table, "e0")
        shared = ~np.isnan(values[:, 0]) & ((~np.isnan(values[:, 1:])).sum(axis=1) >= 2)
        squares, freedom = 0.0, 0
        for column in (1, 2, 3):
            own = [value for value in values[shared, column] if not math.isnan(value)]
            if len(own) >= 2:
                mean = sum(own) / len(own)
                squares += sum((value - mean) ** 2 for value in own)
                freedom += len(own) - 1
        assert found.others_sd.value == pytest.approx(math.sqrt(squares / freedom))


def test_standings_over_scales():
    kinds = KINDS
    warm = make_table(
        {"expert1": [1, 2, 5], "expert2": [1, 3, 5], "expert3": [1, 2, 4], "gemini": [1, 3, 4]}, kinds=kinds
    )
    flat = make_table({"expert1": [3, 3], "expert2": [3, 3], "expert3": [3, 3], "gemini": [3, 3]}, kinds=kinds)
    rows = [
        row
        for table in (warm, flat)
        for row in analyse([table], Settings(resamples=0)).rows
        if row.statistic == "kappa_quadratic"
    ]
    found = standings(rows, warm.raters)
    rest, experts = found["expert1"]
    [row] = rows_with(rows[: len(rows) // 2], "expert1", rest_name(warm.raters[0]))
    assert rest == Standing(row.value, row.value, row.value, 1, 1, 5)
    assert experts.n_scales == 0
    rest, experts = found["gemini"]
    assert rest.n_scales == 0
    assert experts.n_scales == 2
    assert experts.n_undefined == 1


def test_the_bias_of_a_standing_is_the_raters_own():
    table = make_table(
        {"expert1": [1, 2, 3], "expert2": [1, 2, 3], "gold": [2, 3, 4], "gemini": [2, 3, 4]},
        kinds={"gold": Kind.REFERENCE, "gemini": Kind.LLM},
    )
    rows = [row for row in analyse([table], Settings(resamples=0)).rows if row.statistic == "bias"]
    found = standings(rows, table.raters)
    assert found["gold"][1].median == found["gemini"][1].median == 1.0


def test_a_standing_on_nothing_has_no_median():
    assert Standing.of([]) == Standing(None, None, None, 0, 0, 0)


def test_rest_names_of_kinds_that_are_not_summed_up():
    table = make_table({"gemini": [1], "mean": [1]}, kinds=KINDS, aggregates=("mean",))
    assert [rest_name(rater) for rater in table.raters] == ["", ""]


def test_the_only_other_expert_is_the_yardstick():
    assert yardstick_of(make_table({"expert1": [1], "expert2": [2]}), 0) == Side("expert2", (1,))
