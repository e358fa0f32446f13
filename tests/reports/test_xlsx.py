import io
from dataclasses import replace

import pytest
from openpyxl import load_workbook

from apps.reliability.accounting import (
    Account,
    BlockAccount,
    ItemsAccount,
    ItemUse,
    RaterAccount,
    RaterUse,
    RatingCounts,
    SingleExclusion,
)
from apps.reliability.agreement import COLUMNS
from apps.reports.contents import ReportContent, ReportOptions, Stars
from apps.reports.xlsx import workbook_bytes
from tests.reports.made import OBSERVED, content_of, file_tables, study_tables

SHEETS = [
    *["About", "Agreement", "Benchmark", "Pairs", "Groups", "Averages", "Notes", "Raters", "Scales", "Left out"],
]


def opened(content: ReportContent):
    return load_workbook(io.BytesIO(workbook_bytes(content)))


def rows_of(sheet) -> list[dict]:
    header, *rows = sheet.iter_rows(values_only=True)
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def content() -> ReportContent:
    return content_of(study_tables())


@pytest.fixture(scope="module")
def workbook(content):
    return opened(content)


def test_every_table_has_a_sheet_with_a_header_that_stays(workbook):
    assert workbook.sheetnames == SHEETS
    for sheet in workbook:
        assert sheet.freeze_panes == "A2"
        assert all(cell.font.bold for cell in sheet[1])
        assert all(cell.value for cell in sheet[1])
        assert sheet.column_dimensions["A"].width >= 8


def test_every_row_of_the_report_is_there_in_typed_cells(content, workbook):
    rows = rows_of(workbook["Agreement"])
    assert len(rows) == len(content.rows)
    for cells, row in zip(rows, content.rows, strict=True):
        assert list(cells) == list(COLUMNS)
        for name in COLUMNS:
            expected = getattr(row, name)
            if isinstance(expected, float):
                # A workbook holds 16 digits.
                expected = pytest.approx(expected, rel=1e-14)
            assert cells[name] == (None if expected == "" else expected)
            assert isinstance(cells[name], str) is (isinstance(expected, str) and expected != "")


def test_undefined_is_an_empty_cell_with_its_reason(workbook):
    undefined = [row for row in rows_of(workbook["Agreement"]) if row["value"] is None]
    assert undefined
    assert all(row["reason"] for row in undefined)
    assert any(row["reason"] == "values between points" for row in undefined)


def test_numbers_have_a_format(workbook):
    sheet = workbook["Agreement"]
    place = {cell.value: cell.column for cell in sheet[1]}
    row = next(row for row in sheet.iter_rows(min_row=2) if row[place["p_value"] - 1].value is not None)
    assert row[place["value"] - 1].number_format == "0.000"
    assert row[place["p_value"] - 1].number_format == "0.0000"
    assert row[place["n_items"] - 1].number_format == "#,##0"


def test_the_benchmark_holds_experts_and_each_side(content, workbook):
    rows = rows_of(workbook["Benchmark"])
    assert {row["side"] for row in rows} == {"gpt", "crowd"}
    for row in rows:
        assert row["experts_low"] <= row["experts_median"] <= row["experts_high"]
    [kappa] = [
        one.value
        for one in content.rows
        if (one.dimension, one.statistic, one.a, one.b) == ("warmth", "kappa_quadratic", "experts:median", "gpt")
    ]
    [row] = [row for row in rows if (row["dimension"], row["side"]) == ("warmth", "gpt")]
    assert row["kappa_quadratic"] == pytest.approx(kappa, rel=1e-14)


def test_pairs_have_both_conventions_side_by_side(content, workbook):
    chosen = {(row.dimension, row.a, row.b): row for row in content.rows if row.statistic == "kappa_quadratic"}
    others = {(row.dimension, row.a, row.b): row for row in content.other_rows if row.statistic == "kappa_quadratic"}
    rows = rows_of(workbook["Pairs"])
    assert len(rows) == len(chosen)
    for row in rows:
        place = row["dimension"], row["a"], row["b"]
        assert row["kappa_quadratic (scale)"] == pytest.approx(chosen[place].value, rel=1e-14)
        assert row["kappa_quadratic (observed)"] == pytest.approx(others[place].value, rel=1e-14)
    assert any(row["kappa_quadratic (scale)"] != row["kappa_quadratic (observed)"] for row in rows)
    assert {row["stars"] for row in rows} == {"*"}


def test_the_other_convention_changes_places_when_it_is_chosen():
    row = rows_of(opened(content_of(study_tables(["warmth"]), options=OBSERVED, resamples=0))["Pairs"])[0]
    columns = list(row)
    assert columns.index("kappa_quadratic (observed)") < columns.index("kappa_quadratic (scale)")


def test_stars_follow_the_rule():
    tables = study_tables(["warmth"])
    none = rows_of(opened(content_of(tables, options=ReportOptions(stars=Stars.NONE), resamples=0))["Pairs"])
    assert {row["stars"] for row in none} == {None}


def test_about_says_in_words_how_it_was_computed(content, workbook):
    about = {row["what"]: row["text"] for row in rows_of(workbook["About"])}
    assert about["convention"].startswith("weighted kappa in the convention “scale”")
    assert "50 resamples of items" in about["intervals"]
    assert about["seed"] == 7
    assert about["hash of the data"] == content.agreement.data_hash
    assert about["the same again"] == content.command
    assert "values between points" in about["undefined"]
    assert about["shown"] == "Every statistic that was computed."


def test_scales_have_a_row_for_each_point_with_its_words(workbook):
    rows = rows_of(workbook["Scales"])
    assert [row["point"] for row in rows[:5]] == [1, 2, 3, 4, 5]
    assert [row["point_label"] for row in rows[:2]] == ["not at all", None]
    assert (rows[0]["framework_name"], rows[0]["version"]) == ("Care Scales", 2)
    assert rows[0]["citation"] == "Someone (2020). On care."


def test_what_was_left_out_is_listed_with_its_reason():
    account = Account(
        raters=(
            RaterAccount("e1", "expert", RaterUse.USED),
            RaterAccount("w9", "crowd", RaterUse.EXCLUDED, reason="hand", explanation="=too fast"),
            RaterAccount("w8", "crowd", RaterUse.NOTHING_FINISHED),
        ),
        blocks=(
            BlockAccount(
                "letters",
                8,
                7,
                (
                    ItemsAccount(ItemUse.GOLD, 1, ("known",)),
                    ItemsAccount(ItemUse.REPEAT, 1, ("again",)),
                    ItemsAccount(ItemUse.NOT_CHOSEN, 20_000),
                ),
            ),
        ),
        single=(SingleExclusion("e1", "letters", "i001", "rule"),),
        n_single=1,
        ratings=RatingCounts(stored=20, drafts=3, cannot_tell=2),
    )
    workbook = opened(content_of(study_tables(["warmth"]), resamples=0, account=account))
    rows = [tuple(row.values()) for row in rows_of(workbook["Left out"])]
    assert ("rater", None, None, "crowd", "w9", 1, "excluded, decided by hand: =too fast") in rows
    assert ("rater", None, None, "crowd", "w8", 1, "no finished rating takes part") in rows
    assert ("ratings", None, None, None, None, 3, "not handed in") in rows
    assert ("ratings of an item", "letters", "i001", None, "e1", 1, "excluded, quality rule") in rows
    assert ("item", "letters", "known", "gold", None, 1, "gold") in rows
    assert ("items", "letters", None, "main", None, 20_000, "its conversation is not among those chosen") in rows
    assert not any("again" in row for row in rows)
    raters = {row["rater"]: (row["used"], row["reason"]) for row in rows_of(workbook["Raters"])}
    assert raters["e1"] == (True, None)
    assert raters["w8"] == (False, "no finished rating takes part")


def test_no_cell_is_a_formula_and_a_number_stays_one():
    """CASES 26."""
    hostile = {"=1+1": [1, 2, 3], "-1": [2, 1, 3], "+44": [1, 1, 2], "@sum(a)": [1, 2, 2], "#N/A": [3, 3, 1]}
    made = content_of(file_tables(hostile, dimension="=cmd|'/c calc'!A1"), of_study=False, resamples=0)
    made = replace(made, title="=HYPERLINK(1)", command="-x")
    workbook = opened(made)
    for sheet in workbook:
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type in ("s", "n", "b")
                assert not (isinstance(cell.value, str) and cell.value.startswith(("=", "@")))
    names = {row["rater"] for row in rows_of(workbook["Raters"])}
    assert names == {"'=1+1", "-1", "+44", "'@sum(a)", "#N/A"}
    assert {row["dimension"] for row in rows_of(workbook["Agreement"])} == {"'=cmd|'/c calc'!A1"}
    bias = [row["value"] for row in rows_of(workbook["Agreement"]) if row["statistic"] == "bias" and row["value"] < 0]
    assert bias
    assert all(isinstance(value, int | float) for value in bias)


def test_negative_points_are_numbers():
    made = content_of(file_tables({"a": [-1, 0], "b": [-1, 1]}, points=(-1.0, 0.0, 1.0)), of_study=False, resamples=0)
    assert [row["point"] for row in rows_of(opened(made)["Scales"])] == [-1, 0, 1]


def test_control_characters_and_long_texts_do_not_break_it():
    columns = {"a\x07b": [1, 2], "c" * 40_000: [1, 3], "d\ufffee\uffff": [1, 2]}
    made = content_of(file_tables(columns), of_study=False, resamples=0, title="f\uffff")
    names = {row["rater"] for row in rows_of(opened(made)["Raters"])}
    assert names == {"a\ufffdb", "c" * 32_767, "d\ufffde\ufffd"}
    assert opened(made).properties.title == "f\ufffd"


def test_the_same_report_gives_the_same_bytes(content):
    assert workbook_bytes(content) == workbook_bytes(content)


def test_a_report_without_rows_is_a_workbook_all_the_same():
    workbook = opened(content_of([], resamples=0))
    assert workbook.sheetnames == SHEETS
    assert rows_of(workbook["Agreement"]) == []
