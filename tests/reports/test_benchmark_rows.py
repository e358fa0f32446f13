"""The benchmark of a report that holds only some of the raters: no true figure may seem to be missing."""

import io

import pytest
from openpyxl import load_workbook

from apps.reliability.benchmarks import scale_benchmarks
from apps.reports.benchmark_rows import benchmarks_of
from apps.reports.contents import ReportOptions
from apps.reports.html_tables import figure_tables
from apps.reports.latex import tables_tex
from apps.reports.xlsx import write_workbook
from tests.reports.made import content_of, file_tables, study_tables


def narrowed(**chosen):
    return content_of(study_tables(), resamples=0, options=ReportOptions(**chosen))


def found(content):
    return benchmarks_of(content, content.rows)


def test_the_whole_report_has_the_benchmarks_as_they_are():
    content = narrowed()
    assert found(content) == scale_benchmarks(content.rows, content.raters)
    others = benchmarks_of(content, content.other_rows)
    assert others == scale_benchmarks(content.other_rows, content.raters)


def test_the_experts_stay_whole_when_another_rater_is_chosen():
    whole = {one.key: one for one in found(narrowed())}
    content = narrowed(raters=("gpt",))
    for one in found(content):
        assert (one.low, one.median, one.high) == (whole[one.key].low, whole[one.key].median, whole[one.key].high)
        assert one.expert_pairs == whole[one.key].expert_pairs
        assert [side.name for side in one.sides] == ["gpt"]
    [observed, _other] = benchmarks_of(content, content.other_rows)
    assert observed.low == next(
        one.low for one in scale_benchmarks(content.agreement.other_rows, content.raters) if one.key == observed.key
    )


@pytest.mark.parametrize("chosen", [{"groups": ("llms",)}, {"parts": ("groups",)}, {"statistics": ("mae",)}])
def test_there_is_none_where_no_row_of_it_was_chosen(chosen):
    assert found(narrowed(**chosen)) == []


def test_a_file_of_ratings_has_none():
    assert found(content_of(file_tables({"a": [1, 2, 3], "b": [1, 3, 3]}), of_study=False)) == []


def test_tables_call_nothing_undefined_that_was_only_left_out():
    content = narrowed(raters=("gpt",))
    table = next(figure_tables(content))
    assert len(table.columns) == 3
    assert "not in this block" not in str(table.rows)
    tex = tables_tex(content)
    assert "Low & Median & High & gpt" in tex
    assert "&  &" not in tex
    out = io.BytesIO()
    write_workbook(content, out)
    sheet = load_workbook(io.BytesIO(out.getvalue()))["Benchmark"]
    head, *rows = sheet.iter_rows(values_only=True)
    assert [row[head.index("side")] for row in rows] == ["gpt", "gpt"]
    assert all(row[head.index("experts_median")] is not None for row in rows)
