import math

import numpy as np
import pytest

from apps.measures.scale import Level, OffScale, Scale, point_values

nan = math.nan


@pytest.mark.parametrize("points", [(), (1.0,), (1.0, 1.0), (2.0, 1.0), (1.0, nan), (1.0, math.inf)])
def test_points_must_be_two_or_more_finite_and_increasing(points: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="points"):
        Scale(points)


def test_a_scale_knows_its_ends_and_its_number_of_points() -> None:
    scale = Scale((0.0, 1.0, 2.0))
    assert (scale.minimum, scale.maximum, scale.q, scale.is_nominal) == (0, 2, 3, False)
    assert Scale((0.0, 1.0), Level.NOMINAL).is_nominal


@pytest.mark.parametrize("value", [0.0, 5.5, math.inf, -math.inf])
def test_a_value_outside_the_scale_is_refused_by_name(value: float) -> None:
    with pytest.raises(OffScale, match=f"^{value:g} is outside the scale 1 to 5$"):
        Scale((1, 2, 3, 4, 5)).check([3, nan, value, 9])


def test_values_between_points_and_missing_ones_are_on_the_scale() -> None:
    scale = Scale((1, 2, 3, 4, 5))
    scale.check([1, 1.5, nan, 5])
    scale.check([])
    assert not scale.on_points([1, 1.5])
    assert scale.on_points([1, 5, nan])


def test_places_are_interpolated_on_uneven_scales() -> None:
    scale = Scale((0, 1, 10))
    np.testing.assert_allclose(scale.position_of([0, 0.5, 1, 5.5, 10, nan]), [0, 0.5, 1, 1.5, 2, nan])
    assert scale.step is None
    assert Scale((0, 25, 50)).step == 25


def test_indices_follow_the_points_and_missing_is_minus_one() -> None:
    assert Scale((0, 1, 10)).index_of([10, nan, 0, 1]).tolist() == [2, -1, 0, 1]
    with pytest.raises(ValueError, match="between points"):
        Scale((0, 1, 10)).index_of([4])
    with pytest.raises(OffScale):
        Scale((0, 1, 10)).index_of([11])


def test_rounding_noise_does_not_leave_a_point_or_the_scale() -> None:
    scale = Scale(tuple(np.arange(11) / 10))
    noisy = [0.1 + 0.2, 0.7 + 0.1, 1.0000000000000002]
    assert scale.index_of(noisy).tolist() == [3, 8, 10]


def test_words_are_ordered_as_declared() -> None:
    """CASES 23: sorting would give high, low, medium."""
    assert point_values(["low", "medium", "high"]) == {"low": 1, "medium": 2, "high": 3}


def test_numbers_given_as_text_stand_for_themselves() -> None:
    """CASES 23: sorting texts would put 10 after 1."""
    values = point_values([str(number) for number in range(11)])
    assert list(values) == [str(number) for number in range(11)]
    assert values["10"] == 10
    assert Scale(tuple(values.values())).q == 11


@pytest.mark.parametrize(
    ("labels", "message"),
    [(["low"], "at least two"), (["low", "low "], "differ"), (["5", "4"], "increasing"), (["1", "nan"], "finite")],
)
def test_unusable_points_are_refused(labels: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        point_values(labels)
