import dataclasses
import math

import pytest

from apps.measures.results import Reason, Result, undefined


def test_a_result_holds_a_value_or_a_reason_and_never_both_or_neither() -> None:
    assert Result(0.5, None, 3, 2, 6).is_defined
    assert not undefined(Reason.NO_VARIATION, n_items=3).is_defined
    with pytest.raises(ValueError, match="either a value or a reason"):
        Result(0.5, "no variation", 3, 2, 6)
    with pytest.raises(ValueError, match="either a value or a reason"):
        Result(None, None, 3, 2, 6)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["value", "ci_low", "ci_high", "z", "p_value"])
def test_no_field_of_a_result_can_be_nan_or_infinite(field: str, number: float) -> None:
    """CASES 22: no bare NaN can reach JSON."""
    with pytest.raises(ValueError, match=f"{field} of a result must be finite"):
        dataclasses.replace(Result(0.5, None, 3, 2, 6), **{field: number})


def test_a_result_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Result(0.5, None, 3, 2, 6).value = 0.6  # type: ignore[misc]


def test_an_undefined_result_keeps_what_was_there() -> None:
    result = undefined(Reason.TOO_FEW_ITEMS, n_items=1, n_raters=2, n_ratings=2)
    assert (result.value, result.reason) == (None, "too few items")
    assert (result.n_items, result.n_raters, result.n_ratings) == (1, 2, 2)
