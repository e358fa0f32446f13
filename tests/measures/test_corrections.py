import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from apps.measures.corrections import benjamini_hochberg

property_test = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
p_values = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=20)


def test_the_example_of_benjamini_and_hochberg() -> None:
    """Benjamini and Hochberg 1995, section 4: 15 tests, of which the four smallest are found at 0.05. By hand the
    fourth is 0.0095 * 15 / 4 = 0.0356, and the first 0.0001 * 15 = 0.0015."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    adjusted = benjamini_hochberg(p)
    assert adjusted[0] == pytest.approx(0.0015)
    assert adjusted[3] == pytest.approx(0.035625)
    assert sum(value is not None and value <= 0.05 for value in adjusted) == 4


@property_test
@given(p_values)
def test_it_is_what_scipy_gives_for_the_tests_made(p: list[float | None]) -> None:
    made = [value for value in p if value is not None]
    found = benjamini_hochberg(p)
    assert [value is None for value in found] == [value is None for value in p]
    expected = stats.false_discovery_control(made) if made else []
    np.testing.assert_allclose([value for value in found if value is not None], expected, atol=1e-12)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg([0.5, p])
