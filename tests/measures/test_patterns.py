from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from apps.measures import patterns as patterns_module
from apps.measures.patterns import patterns_of
from apps.measures.scale import OffScale, Scale

FIVE = Scale((1, 2, 3, 4, 5))
nan = np.nan
property_test = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def tables(elements: list[float]) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(
        np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9), elements=st.sampled_from(elements)
    )


def counted(values: np.ndarray) -> Counter[tuple[float | None, ...]]:
    rows = (tuple(None if np.isnan(x) else float(x) for x in row) for row in values)
    return Counter(row for row in rows if set(row) != {None})


@property_test
@given(st.one_of(tables([nan, 1, 2, 3, 4, 5]), tables([nan, 1, 1.5, 10 / 3, 5])))
def test_every_row_is_counted_once_and_empty_rows_not_at_all(values: np.ndarray) -> None:
    patterns = patterns_of(values, FIVE)
    expected = counted(np.round(values, 12))
    found = {
        tuple(None if np.isnan(x) else float(x) for x in row): int(count)
        for row, count in zip(patterns.values, patterns.counts, strict=True)
    }
    assert found == dict(expected)
    assert patterns.n_items == expected.total()


@property_test
@given(st.one_of(tables([nan, 1, 2, 3, 4, 5]), tables([nan, 1, 1.5, 10 / 3, 5])), st.randoms())
def test_the_order_of_items_does_not_matter(values: np.ndarray, random: object) -> None:
    shuffled = values[np.random.default_rng(random.randrange(9**9)).permutation(len(values))]  # type: ignore[attr-defined]
    one, other = patterns_of(values, FIVE), patterns_of(shuffled, FIVE)
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.counts, other.counts)


@property_test
@given(st.one_of(tables([nan, 1, 2, 3, 4, 5]), tables([nan, 1, 1.5, 10 / 3, 5])))
def test_patterns_stand_in_lexicographic_order_with_missing_first(values: np.ndarray) -> None:
    rows = [tuple(row) for row in np.nan_to_num(patterns_of(values, FIVE).values, nan=-1)]
    assert rows == sorted(rows)


def test_the_three_ways_of_encoding_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counted table, the sorted codes, and the ranked columns."""
    values = np.random.default_rng(5).choice([nan, 1.0, 2.0, 5.0], size=(3000, 3))
    by_table = patterns_of(values, FIVE)
    monkeypatch.setattr(patterns_module, "LARGEST_TABLE", 1)
    monkeypatch.setattr(patterns_module, "CHUNK_ROWS", 7)
    by_codes = patterns_of(values, FIVE)
    monkeypatch.setattr(patterns_module, "LARGEST_CODE", 1)
    by_ranks = patterns_of(values, FIVE)
    for other in (by_codes, by_ranks):
        np.testing.assert_array_equal(by_table.values, other.values)
        np.testing.assert_array_equal(by_table.counts, other.counts)


def test_many_raters_are_counted_although_their_codes_would_overflow() -> None:
    rows = np.random.default_rng(6).integers(1, 6, size=(40, 116)).astype(float)
    values = np.concatenate([rows, rows[:10]])
    patterns = patterns_of(values, FIVE)
    assert (patterns.counts.size, patterns.n_items) == (40, 50)
    assert sorted(patterns.counts) == [1] * 30 + [2] * 10
    between = values.copy()
    between[:, 0] += np.where(between[:, 0] < 5, 0.25, 0)
    assert sorted(patterns_of(between, FIVE).counts) == [1] * 30 + [2] * 10


@pytest.mark.parametrize("raters", [33, 34, 400, 2_000])
def test_hundreds_of_raters_are_counted_whatever_the_size_of_their_codes(raters: int) -> None:
    rows = np.random.default_rng(7).integers(0, 2, size=(5, raters)).astype(float)
    patterns = patterns_of(np.concatenate([rows, rows[:2]]), Scale((0, 1)))
    assert sorted(patterns.counts) == [1, 1, 1, 2, 2]
    assert not np.isnan(patterns.values).any()


@pytest.mark.parametrize("beside", [2.5, 4.0])
@pytest.mark.parametrize("raters", [1, 40])
def test_a_value_as_good_as_a_point_is_that_point_whatever_the_others_gave(beside: float, raters: int) -> None:
    """With many raters, and beside values between points, too: else two would differ who gave the same."""
    rows = np.array([[3.0, beside, *[1.0] * raters], [3 - 1e-10, beside, *[1 + 1e-10] * raters]])
    patterns = patterns_of(rows, FIVE)
    np.testing.assert_array_equal(patterns.values, rows[:1])
    assert patterns.counts.tolist() == [2]


@pytest.mark.parametrize("position", [0, 40_000])
@pytest.mark.parametrize("value", [6.0, 0.5, np.inf])
def test_a_value_outside_the_scale_is_refused_wherever_it_stands(position: int, value: float) -> None:
    values = np.full((50_000, 2), 3.0)
    values[position, 1] = value
    with pytest.raises(OffScale, match="outside the scale"):
        patterns_of(values, FIVE)
    values[0, 0] = 2.5
    with pytest.raises(OffScale, match="outside the scale"):
        patterns_of(values, FIVE)


def test_noise_around_points_and_means_makes_no_new_pattern() -> None:
    tenths = Scale(tuple(np.arange(11) / 10))
    assert patterns_of([[0.1 + 0.2], [0.3]], tenths).counts.tolist() == [2]
    assert patterns_of([[10 / 3], [(10 / 3) * (1 + 1e-16)], [10 / 3 + 1e-14]], FIVE).counts.tolist() == [3]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 2)])
def test_nothing_rated_gives_no_patterns(shape: tuple[int, int]) -> None:
    patterns = patterns_of(np.full(shape, nan), FIVE)
    assert patterns.n_items == 0
    assert patterns.weights.shape == (1, 0)


def test_ratings_must_be_a_table() -> None:
    with pytest.raises(ValueError, match="items x raters"):
        patterns_of([1, 2, 3], FIVE)
