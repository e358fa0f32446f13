import itertools
import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from apps.measures.groups import GROUP_STATISTICS
from apps.measures.pairs import PAIR_STATISTICS, Convention
from apps.measures.scale import Level, Scale
from apps.reliability.agreement import COLUMNS, Agreement, AgreementRow, Settings, adjusted, analyse, comparison_seed
from apps.reliability.comparisons import file_plan, study_plan
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey
from tests.reliability.conftest import make_table

QUICK = Settings(resamples=0)


def found(agreement: Agreement, statistic: str, a: str, b: str = "") -> AgreementRow:
    [row] = [row for row in agreement.rows if (row.statistic, row.a, row.b) == (statistic, a, b)]
    return row


def test_the_columns_are_those_of_the_contract():
    assert ",".join(COLUMNS) == (
        "block,framework,dimension,statistic,a,b,convention,value,ci_low,ci_high,p_value,p_adjusted,"
        "n_items,n_raters,n_ratings,n_degenerate,reason"
    )


def test_every_pair_has_every_pair_statistic_and_every_group_every_group_statistic():
    agreement = analyse([make_table({"x": [1, 2, 5], "y": [1, 3, 4]})], QUICK)
    assert [row.statistic for row in agreement.rows if row.b] == list(PAIR_STATISTICS)
    assert [row.statistic for row in agreement.rows if not row.b] == list(GROUP_STATISTICS)
    assert {row.a for row in agreement.rows if not row.b} == {"experts"}
    assert (agreement.tables, agreement.raters, agreement.ratings) == (1, 2, 6)


def test_bias_is_the_mean_of_b_minus_that_of_a():
    """The experts' median (2 2 4) is the reference side: the model is 1 higher on average."""
    table = make_table({"e1": [2, 1, 4], "e2": [2, 2, 4], "e3": [1, 5, 5], "gpt": [3, 3, 5]}, kinds={"gpt": Kind.LLM})
    assert found(analyse([table], QUICK), "bias", "experts:median", "gpt").value == 1.0


def test_perfect_agreement_with_partial_overlap_is_one():
    """CASES 19: raters are aligned by item, never by position."""
    table = make_table(
        {
            "r1": [1, 5, 5, 1, None, 3, 1, 5],
            "r2": [1, None, 5, 1, 5, 3, None, 5],
            "r3": [1, 5, 5, None, 5, 3, 1, None],
        }
    )
    agreement = analyse([table], Settings(resamples=200), plan=file_plan)
    for a, b in itertools.combinations(["r1", "r2", "r3"], 2):
        assert found(agreement, "kappa_quadratic", a, b).value == pytest.approx(1)
        assert found(agreement, "percent_agreement", a, b).value == 1
    assert found(agreement, "alpha_interval", "all").value == pytest.approx(1)
    assert found(agreement, "percent_agreement", "all").value == 1


def test_kappa_is_of_the_declared_points_unless_observed_categories_are_asked_for():
    """CASES 20."""
    table = make_table({"a": [1, 1, 7, 7, 1, 2], "b": [1, 7, 7, 7, 2, 2]}, points=tuple(map(float, range(1, 8))))
    scale = analyse([table], QUICK)
    observed = analyse([table], replace(QUICK, convention=Convention.OBSERVED))
    assert found(scale, "kappa_quadratic", "a", "b").value == pytest.approx(0.6159, abs=5e-5)
    assert found(scale, "kappa_linear", "a", "b").value == pytest.approx(0.6111, abs=5e-5)
    assert found(observed, "kappa_quadratic", "a", "b").value == pytest.approx(0.4828, abs=5e-5)
    assert found(observed, "kappa_linear", "a", "b").value == pytest.approx(0.5, abs=5e-5)
    assert found(scale, "kappa_quadratic", "a", "b").convention == "scale"
    assert found(observed, "kappa_quadratic", "a", "b").convention == "observed"


KRIPPENDORFF_2011 = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
}


def test_krippendorffs_example_lies_within_its_interval():
    """CASES 21: nominal 0.743, ordinal 0.815, interval 0.849, ratio 0.797 (Krippendorff 2011)."""
    agreement = analyse([make_table(KRIPPENDORFF_2011)], Settings(resamples=1000), plan=file_plan)
    expected = {"alpha_nominal": 0.7434, "alpha_ordinal": 0.8154, "alpha_interval": 0.8491, "alpha_ratio": 0.7974}
    for statistic, value in expected.items():
        row = found(agreement, statistic, "all")
        assert row.value == pytest.approx(value, abs=5e-5)
        assert row.ci_low < row.value < row.ci_high


def test_raters_without_shared_items_have_rows_that_say_so():
    """CASES 22."""
    agreement = analyse([make_table({"a": [1, 2, None, None], "b": [None, None, 3, 4]})], QUICK)
    pair = [row for row in agreement.rows if row.b]
    assert {row.reason for row in pair} == {"no shared items"}
    assert {row.value for row in agreement.rows} == {None}
    assert agreement.undefined_counts() == {"no shared items": len(agreement.rows)}


def test_a_rater_who_used_another_scale_only_shares_no_items():
    """CASES 22."""
    agreement = analyse([make_table({"a": [1, 2, 3], "b": [None, None, None]})], QUICK)
    assert {row.reason for row in agreement.rows if row.b} == {"no shared items"}


def test_a_single_rater_is_said_to_be_too_few():
    """CASES 22."""
    agreement = analyse([make_table({"a": [1, 2, 3]})], QUICK)
    assert {row.reason for row in agreement.rows} == {"fewer than two raters"}


def test_no_variation_is_undefined_with_full_raw_agreement():
    """CASES 18."""
    agreement = analyse([make_table({"a": [3, 3, 3], "b": [3, 3, 3]})], Settings(resamples=100))
    for statistic in ("kappa_quadratic", "spearman"):
        row = found(agreement, statistic, "a", "b")
        assert (row.value, row.ci_low, row.ci_high, row.reason) == (None, None, None, "no variation")
    assert found(agreement, "alpha_interval", "experts").reason == "no variation"
    assert found(agreement, "percent_agreement", "experts").value == 1.0


def test_values_between_points_are_exact_where_numbers_count_and_undefined_on_categories():
    """CASES 25: with a = 1 2 3 and b = 1.5 2.5 3.5 the covariance is 2/3, the variances 2/3 and the bias 0.5, so
    kappa is (4/3) / (4/3 + 1/4) = 16/19."""
    table = make_table(
        {"expert1": [1, 2, 3], "crowd": [1.5, 2.5, 3.5]}, kinds={"crowd": Kind.CROWD}, aggregates=("crowd",)
    )
    agreement = analyse([table], Settings(resamples=50))
    assert found(agreement, "kappa_quadratic", "expert1", "crowd").value == pytest.approx(16 / 19)
    assert found(agreement, "bias", "expert1", "crowd").value == pytest.approx(0.5)
    for statistic in ("kappa_unweighted", "percent_agreement", "f1_weighted"):
        assert found(agreement, statistic, "expert1", "crowd").reason == "values between points"


def test_thirds_do_not_crash():
    """CASES 25."""
    table = make_table({"e": [1, 2, 4], "crowd": [1.5, 10 / 3, 4]}, kinds={"crowd": Kind.CROWD}, aggregates=("crowd",))
    row = found(analyse([table], Settings(resamples=50)), "mae", "e", "crowd")
    assert row.value == pytest.approx((0.5 + 4 / 3) / 3)


def test_names_have_no_median():
    columns = {"e1": [1, 2, 3], "e2": [1, 2, 2], "gpt": [1, 1, 3]}
    table = make_table(columns, kinds={"gpt": Kind.LLM}, level=Level.NOMINAL, points=(1.0, 2.0, 3.0))
    agreement = analyse([table], QUICK)
    with_median = [row for row in agreement.rows if row.a == "experts:median"]
    assert {row.reason for row in with_median} == {"not defined for nominal scales"}
    assert found(agreement, "kappa_unweighted", "e1", "gpt").value is not None
    assert found(agreement, "kappa_quadratic", "e1", "gpt").reason == "not defined for nominal scales"
    assert found(agreement, "alpha_nominal", "experts").value is not None


def test_repeats_give_rows_of_one_rater():
    """First 1 2 3 4, again 1 2 3 5: off by 1/4 on average."""
    table = make_table(
        {"e1": [1, 2, 3, 4, 5], "e2": [1, 2, 3, 4, 5]}, repeats={"e1": [1, 2, 3, 5, None], "e2": [None] * 5}
    )
    agreement = analyse([table], QUICK)
    retests = [row for row in agreement.rows if row.statistic.startswith("retest")]
    assert [(row.statistic, row.a, row.b) for row in retests] == [
        ("retest_kappa_quadratic", "e1", ""),
        ("retest_mae", "e1", ""),
    ]
    assert retests[1].value == 0.25
    assert (retests[1].n_items, retests[1].n_raters) == (4, 1)


def test_repeats_leave_the_agreement_as_it_is():
    columns = {"e1": [1, 2, 3, 4], "e2": [1, 2, 2, 4]}
    plain = analyse([make_table(columns)], QUICK)
    repeated = analyse([make_table(columns, repeats={"e1": [5, 5, 5, 5]})], QUICK)
    assert [row for row in repeated.rows if not row.statistic.startswith("retest")] == list(plain.rows)


def test_p_values_are_adjusted_within_a_statistic_of_a_framework_of_a_block():
    row = replace(analyse([make_table({"a": [1, 2, 3], "b": [1, 2, 3]})], QUICK).rows[0], p_adjusted=None)
    p_values = [0.01, 0.04, 0.03, 0.20]
    family = [replace(row, dimension=str(number), p_value=p) for number, p in enumerate(p_values)]
    others = [
        replace(row, p_value=0.5, framework="other"),
        replace(row, p_value=0.5, block="other"),
        replace(row, p_value=0.5, statistic="spearman"),
        replace(row, p_value=None),
    ]
    done = adjusted([*family, *others])
    expected = stats.false_discovery_control(p_values)
    assert [one.p_adjusted for one in done[:4]] == pytest.approx(list(expected))
    assert [one.p_adjusted for one in done[4:]] == [0.5, 0.5, 0.5, None]


def test_a_comparison_has_a_seed_of_its_own():
    key = TableKey("main", "warmth", "empathy")
    seed = comparison_seed(2026, key, "a", "b")
    assert seed == comparison_seed(2026, key, "a", "b")
    assert 0 <= seed < 2**64
    others = [
        comparison_seed(2027, key, "a", "b"),
        comparison_seed(2026, key, "b", "a"),
        comparison_seed(2026, key, "ab", ""),
        comparison_seed(2026, key._replace(dimension="fluency"), "a", "b"),
    ]
    assert len({seed, *others}) == 5


def test_a_figure_does_not_depend_on_what_else_is_computed():
    """Intervals included: with another rater in the table, and with all pairs, the same rows are the same."""
    columns = {"e1": [1, 2, 3, 4, 5, 2], "e2": [1, 2, 2, 4, 5, 3], "w1": [1, 1, 3, 4, 4, 2], "w2": [2, 2, 3, 5, 5, 1]}
    kinds = {"w1": Kind.CROWD, "w2": Kind.CROWD}
    settings = Settings(resamples=100)
    few = analyse([make_table({name: columns[name] for name in ("e1", "e2")})], settings)
    many = analyse([make_table(columns, kinds=kinds)], settings, plan=partial(study_plan, all_pairs=True))
    without_family = {replace(row, p_adjusted=None) for row in many.rows}
    assert {replace(row, p_adjusted=None) for row in few.rows} <= without_family


@settings(max_examples=25, deadline=None)
@given(data=st.data(), shuffler=st.randoms(use_true_random=False))
def test_rows_do_not_depend_on_the_order_of_raters_and_items(data: st.DataObject, shuffler: random.Random):
    n_items, n_raters = data.draw(st.integers(2, 8)), data.draw(st.integers(2, 4))
    value = st.one_of(st.none(), st.integers(1, 5))
    rows = data.draw(
        st.lists(st.lists(value, min_size=n_raters, max_size=n_raters), min_size=n_items, max_size=n_items)
    )
    values = np.array(rows, dtype=np.float64)
    raters = [RaterKey(f"r{number}", list(Kind)[number % 3]) for number in range(n_raters)]
    items = [f"i{number}" for number in range(n_items)]
    key, scale = TableKey("b", "f", "d"), Scale((1.0, 2.0, 3.0, 4.0, 5.0))
    one = analyse([RatingTable.of(key, scale, items, raters, values)], Settings(resamples=20))
    by_item, by_rater = list(range(n_items)), list(range(n_raters))
    shuffler.shuffle(by_item)
    shuffler.shuffle(by_rater)
    shuffled = RatingTable.of(
        key,
        scale,
        [items[row] for row in by_item],
        [raters[column] for column in by_rater],
        values[np.ix_(by_item, by_rater)],
    )
    other = analyse([shuffled], Settings(resamples=20))
    assert other.rows == one.rows
    assert other.data_hash == one.data_hash


def test_negative_settings_are_refused():
    with pytest.raises(ValueError, match="negative"):
        Settings(resamples=-1)
    with pytest.raises(ValueError, match="negative"):
        Settings(seed=-1)
