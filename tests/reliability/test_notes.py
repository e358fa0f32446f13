from apps.reliability.agreement import Agreement, Settings, analyse
from apps.reliability.comparisons import file_plan
from tests.reliability.conftest import make_table

QUICK = Settings(resamples=0)


def notes(columns: dict[str, list]) -> list[str]:
    agreement: Agreement = analyse([make_table(columns)], QUICK, plan=file_plan)
    return [note.text for note in agreement.notes]


def test_alpha_of_zero_with_high_raw_agreement_is_explained():
    """CASES 24: 22 ratings of 11 items, one disagreement. With 21 ones and 1 two, the expected disagreement is
    2 * 21 * 1 / (22 * 21) = 1/11, the observed is 2/22 = 1/11: alpha is exactly 0. AC1 on five points expects
    2 * (21/22) * (1/22) / 4 = 0.0217 by chance: (10/11 - 0.0217) / (1 - 0.0217) = 0.907."""
    columns = {"a": [1] * 11, "b": [1] * 10 + [2]}
    agreement = analyse([make_table(columns)], QUICK, plan=file_plan)
    rows = {row.statistic: row.value for row in agreement.rows if row.a == "all"}
    assert abs(rows["alpha_interval"]) < 1e-12
    assert rows["percent_agreement"] == 10 / 11
    assert rows["ac1"] > 0.8
    [note] = agreement.notes
    assert (note.block, note.framework, note.dimension, note.a) == ("main", "warmth", "empathy", "all")
    assert note.text.startswith(
        "Alpha is 0.00 although 90.9% of the pairs of ratings are equal: 95.5% of all ratings are 1,"
    )
    assert "ac1 and ac2 (ac1 0.91)" in note.text


def test_no_variation_is_said_with_the_raw_agreement():
    """CASES 18."""
    [text] = notes({"a": [3, 3, 3], "b": [3, 3, 3]})
    assert text == "Not defined: no variation (100% raw agreement): every rating is the same value."


def test_ratings_that_nobody_shares_may_differ_where_those_compared_do_not():
    [text] = notes({"a": [3, 3, 5], "b": [3, 3, None]})
    assert text.endswith(": every rating of an item that two raters or more rated is the same value.")


def test_low_agreement_and_good_agreement_need_no_note():
    assert notes({"a": [1, 5, 1, 5], "b": [5, 1, 5, 1]}) == []
    assert notes({"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]}) == []
