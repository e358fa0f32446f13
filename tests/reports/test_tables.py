import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from apps.measures.pairs import Convention
from apps.reliability.agreement import Settings, analyse
from apps.reliability.comparisons import file_plan
from apps.reliability.documents import Report, averages_of, versions
from apps.reliability.matrix import TableKey
from apps.reports.tables import csv_text, json_text
from tests.reliability.conftest import make_table

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def report(*tables, resamples: int = 0, convention: Convention = Convention.SCALE) -> Report:
    agreement = analyse(tables, Settings(convention, resamples), plan=file_plan)
    return Report(agreement, AT, study="grief", options=("all_pairs",))


def strict(text: str) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"bare {constant}")

    return json.loads(text, parse_constant=refuse)


def test_undefined_is_an_empty_cell_with_its_reason():
    """CASES 18."""
    text = csv_text(report(make_table({"a": [3, 3], "b": [3, 3]})))
    lines = text.splitlines()
    assert "main,warmth,empathy,kappa_quadratic,a,b,scale,,,,,,2,2,4,0,no variation" in lines
    assert "main,warmth,empathy,percent_agreement,a,b,,1.000000,,,,,2,2,4,0," in lines
    assert ",nan" not in text.lower()


def test_no_zero_is_negative():
    made = report(make_table({"a": [1, 2], "b": [2, 1]}))
    row = replace(made.agreement.rows[0], value=-1e-9, ci_low=-0.0, ci_high=-0.4999999)
    text = csv_text(replace(made, agreement=replace(made.agreement, rows=(row,))))
    assert ",0.000000,0.000000,-0.500000," in text


def test_names_with_commas_and_quotes_survive():
    """CASES 28."""
    text = csv_text(report(make_table({'a "b", c': [1, 2], "é\n😀\rx": [2, 1]})))
    import csv
    import io

    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert {(row["a"], row["b"]) for row in rows if row["b"]} == {('a "b", c', "é\n😀\rx")}


def test_names_that_a_spreadsheet_would_run_are_escaped_in_csv_only():
    """CASES 26. A name that is a number stays one."""
    made = report(make_table({"=1+1": [1, 2], "-1": [2, 1], "@sum": [1, 1]}))
    text = csv_text(made)
    assert ",-1,'=1+1," in text
    assert ",-1,'@sum," in text
    assert ",=" not in text
    assert '"=1+1"' in json_text(made)


def test_json_says_how_the_numbers_came_about():
    made = report(make_table({"a": [1, 2, 3], "b": [1, 3, 3]}), resamples=20, convention=Convention.OBSERVED)
    document = strict(json_text(made))
    assert list(document) == ["meta", "notes", "averages", "rows"]
    meta = document["meta"]
    assert meta["study"] == "grief"
    assert meta["ratings_file"] is None
    assert meta["generated_at"] == "2026-11-30T12:00:00+00:00"
    assert (meta["convention"], meta["seed"], meta["resamples"]) == ("observed", 2026, 20)
    assert meta["options"] == ["all_pairs"]
    assert "a few experts are not a sample of experts" in meta["intervals"]
    assert meta["versions"] == versions()
    assert meta["data_hash"] == made.agreement.data_hash
    assert set(versions()) == {"accord", "python", "numpy", "scipy", "krippendorff"}


def test_json_is_strict_where_nothing_is_defined():
    """CASES 22."""
    document = strict(json_text(report(make_table({"a": [1, None], "b": [None, 1]}))))
    assert {row["value"] for row in document["rows"]} == {None}
    assert document["meta"]["undefined"] == {"no shared items": len(document["rows"])}


def test_json_and_csv_hold_the_same_rows():
    import csv
    import io

    made = report(make_table({"a": [1, 2, 3, 5], "b": [1, 3, 3, 4]}), resamples=50)
    of_csv = list(csv.DictReader(io.StringIO(csv_text(made), newline="")))
    of_json = strict(json_text(made))["rows"]
    assert len(of_csv) == len(of_json)
    for cells, row in zip(of_csv, of_json, strict=True):
        assert list(cells) == list(row)
        for name, value in row.items():
            expected = "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)
            assert cells[name] == expected


def test_averages_leave_out_what_is_undefined_and_say_how_many():
    """CASES 18: the first dimension has no variation; mean absolute errors are 0, 1 and 2."""
    tables = [
        make_table({"a": [1, 1], "b": [1, 1]}, key=TableKey("main", "warmth", "one")),
        make_table({"a": [1, 2], "b": [2, 3]}, key=TableKey("main", "warmth", "two")),
        make_table({"a": [1, 2], "b": [3, 4]}, key=TableKey("main", "warmth", "three")),
        make_table({"a": [1, 5], "b": [1, 5]}, key=TableKey("main", "alone", "one")),
    ]
    rows = report(*tables).agreement.rows
    averages = {(one["framework"], one["statistic"], one["b"]): one for one in averages_of(rows)}
    assert {framework for framework, _, _ in averages} == {"warmth"}
    mae = averages["warmth", "mae", "b"]
    assert (mae["value"], mae["n_dimensions"], mae["n_undefined"]) == (1.0, 3, 0)
    kappa = averages["warmth", "kappa_quadratic", "b"]
    defined = [row.value for row in rows if row.statistic == "kappa_quadratic" and row.framework == "warmth"][1:]
    assert (kappa["n_dimensions"], kappa["n_undefined"], kappa["convention"]) == (2, 1, "scale")
    assert kappa["value"] == pytest.approx(sum(defined) / 2)


def test_an_average_of_nothing_is_null():
    tables = [make_table({"a": [1, 1], "b": [1, 1]}, key=TableKey("main", "warmth", name)) for name in ("one", "two")]
    kappa = next(one for one in averages_of(report(*tables).agreement.rows) if one["statistic"] == "kappa_quadratic")
    assert (kappa["value"], kappa["n_dimensions"], kappa["n_undefined"]) == (None, 0, 2)
