"""Two raters point by point."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix

from apps.measures.results import Reason
from apps.measures.scale import Level
from apps.reliability.confusions import confusion_of
from tests.reliability.conftest import make_table


def test_the_matrix_of_case_20():
    table = make_table({"a": [1, 1, 7, 7, 1, 2], "b": [1, 7, 7, 7, 2, 2]}, points=tuple(float(n) for n in range(1, 8)))
    found = confusion_of(table, "a", "b")
    assert found.points == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    assert found.counts[0] == (1, 1, 0, 0, 0, 0, 1)
    assert found.counts[1] == (0, 1, 0, 0, 0, 0, 0)
    assert found.counts[6] == (0, 0, 0, 0, 0, 0, 2)
    assert found.n_items == 6
    assert found.exact.value == pytest.approx(4 / 6)
    assert found.within_one.value == pytest.approx(5 / 6)
    shares = found.row_shares()
    assert shares[0] == pytest.approx((1 / 3, 1 / 3, 0, 0, 0, 0, 1 / 3))
    assert shares[2] is None


def test_turned_round_it_is_the_same_matrix_over_its_diagonal():
    table = make_table({"a": [1, 1, 5, 3, None], "b": [2, 1, 4, 3, 3]})
    there, back = confusion_of(table, "a", "b"), confusion_of(table, "b", "a")
    assert np.array_equal(np.array(there.counts), np.array(back.counts).T)
    assert there.n_items == 4


def test_one_point_is_the_next_declared_one_however_far():
    table = make_table({"a": [0, 0], "b": [10, 50]}, points=(0.0, 10.0, 50.0))
    assert confusion_of(table, "a", "b").within_one.value == 0.5


def test_values_between_points_are_refused_in_words():
    # CASES 25: half points of aggregated raters.
    table = make_table({"a": [1, 2], "crowd": [1.5, 3.33]}, aggregates=("crowd",))
    found = confusion_of(table, "a", "crowd")
    assert found.reason == Reason.BETWEEN_POINTS
    assert found.counts == ()
    assert found.exact.value is None
    assert found.n_items == 2


def test_no_shared_items_are_said():
    # CASES 22: two raters who never met.
    table = make_table({"a": [1, 2, None, None], "b": [None, None, 3, 4]})
    found = confusion_of(table, "a", "b")
    assert found.reason == Reason.NO_SHARED_ITEMS
    assert found.within_one.reason == Reason.NO_SHARED_ITEMS


def test_one_value_throughout_is_agreement_on_one_point():
    # CASES 18: no variation; raw agreement is 1 all the same.
    found = confusion_of(make_table({"a": [3, 3], "b": [3, 3]}), "a", "b")
    assert found.counts[2] == (0, 0, 2, 0, 0)
    assert found.exact.value == 1


def test_names_are_not_near_each_other():
    found = confusion_of(make_table({"a": [1, 2], "b": [2, 2]}, level=Level.NOMINAL), "a", "b")
    assert found.exact.value == 0.5
    assert found.within_one.reason == Reason.NOT_FOR_NOMINAL


def test_an_unknown_rater_is_a_key_error():
    with pytest.raises(KeyError):
        confusion_of(make_table({"a": [1], "b": [1]}), "a", "nobody")


@pytest.mark.parametrize("seed", range(20))
def test_random_raters_as_scikit_learn_counts_them(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 6, size=(40, 2)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    table = make_table({"a": list(values[:, 0]), "b": list(values[:, 1])})
    found = confusion_of(table, "a", "b")
    shared = pd.DataFrame(values, columns=["a", "b"]).dropna()
    expected = confusion_matrix(shared["a"], shared["b"], labels=[1, 2, 3, 4, 5])
    assert np.array_equal(np.array(found.counts), expected)
    assert found.within_one.value == pytest.approx(float((shared["a"] - shared["b"]).abs().le(1).mean()))
