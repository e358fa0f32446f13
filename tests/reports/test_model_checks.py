"""Models and their checks for bias in the files of a report."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import openpyxl
import pytest

from apps.common.services.jobs import run_job
from apps.llm.bias_figures import Check, Figure
from apps.llm.model_accounts import AccountedRun, CheckedRun, ModelAccount
from apps.llm.models import PromptExample
from apps.llm.services.bias import check_bias, request_checks
from apps.llm.services.model_accounts import accounts_of, asked_with, checked_runs
from apps.reliability.services.snapshots import take_snapshot
from apps.reports.contents import Format, ReportContent, ReportOptions
from apps.reports.html_report import html_of
from apps.reports.manifest import manifest_of
from apps.reports.methods import methods_of, methods_text
from apps.reports.model_checks import COLUMNS, check_tables, model_checks_csv, models_table
from apps.reports.models import StoredReportFile
from apps.reports.plans import ReportPlan
from apps.reports.recompute import recompute
from apps.reports.services.building import build_report
from apps.reports.services.contents import content_of_snapshot
from apps.reports.services.models_asked import with_models
from apps.reports.services.requesting import request_report
from apps.reports.views.shown import shown_files
from apps.reports.xlsx import workbook_bytes
from apps.studies.models import ExclusionReason, Item
from apps.studies.services.exclusions import exclude, revert
from tests.llm.worlds import answer_all, make_endpoint, make_run
from tests.reports.made import content_of, study_tables
from tests.reports.test_archive import MEMBERS, written

AT = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
HASH = "c" * 64
MODEL = ModelAccount(
    rater="gpt",
    provider="openai",
    base_url="http://127.0.0.1:8001/v1",
    model="gpt-5",
    response_format="json_schema",
    parameters={"max_tokens": 800, "temperature": 0.0},
    samples=3,
    prompt="warm",
    prompt_version=2,
    asks_for="scale",
    cannot_tell=True,
    content_hash=HASH,
    runs=(AccountedRun(7, "done", AT, None),),
)


def figure(check: Check, statistic: str, value: float | None, dimension: str = "warmth", **given) -> Figure:
    named = {"check": check.value, "framework": "care" if dimension else "", "dimension": dimension, "value": value}
    reason = "" if value is not None else "fewer than ten items"
    counts = {"n_items": 48, "n_ratings": 96}
    return Figure(**named | {"statistic": statistic, "reason": reason} | counts | given)


FIGURES = (
    figure(Check.ORDER, "shift_mean", -0.2345678, "", ci_low=-0.4, ci_high=-0.1, n_scales=2),
    figure(Check.ORDER, "share_equal", 0.615, ""),
    figure(Check.DRAWS, "draws_equal", 0.875, ""),
    figure(Check.LENGTH, "slope_model", 0.3, p_value=0.01, p_adjusted=0.02),
    figure(Check.LENGTH, "slope_experts", 0.1),
    figure(Check.LENGTH, "slope_difference", 0.2, p_value=0.0001, p_adjusted=0.0002),
    figure(Check.LENGTH, "slope_model", None, "fluency"),
)
CHECKED = CheckedRun(7, "gpt", AT, 7, 1000, 48, FIGURES, {("care", "warmth"): ("Care Scales", "Warmth")})


def report(**changes) -> ReportContent:
    return content_of(study_tables(), **{"models": (MODEL,), "checks": (CHECKED,)} | changes)


# --- The files ----------------------------------------------------------------------------------------------------


def test_the_file_has_a_row_for_each_figure() -> None:
    rows = list(csv.DictReader(io.StringIO(model_checks_csv(report()), newline="")))
    assert list(rows[0]) == list(COLUMNS)
    assert len(rows) == len(FIGURES)
    first = rows[0]
    assert (first["run"], first["rater"], first["framework"], first["dimension"]) == ("7", "gpt", "", "")
    assert (first["value"], first["ci_low"], first["p_value"]) == ("-0.234568", "-0.400000", "")
    assert first["computed_at"] == "2026-12-01T09:30:00+00:00"
    assert (rows[-1]["value"], rows[-1]["reason"]) == ("", "fewer than ten items")


def test_a_name_is_no_formula() -> None:
    content = report(checks=(replace(CHECKED, rater="=1+1"),))
    object.__setattr__(content, "shown_checks", (replace(CHECKED, rater="=1+1"),))
    assert "'=1+1" in model_checks_csv(content)


def test_the_html_names_models_and_tells_of_checks() -> None:
    html = html_of(report())
    assert 'id="models-part"' in html
    assert "http://127.0.0.1:8001/v1" in html
    assert "warm v2, one scale a call" in html
    assert HASH[:12] in html
    assert "−0.23" in html
    assert "fewer than ten items" in html
    assert 'href="#models-part"' in html


def test_names_in_the_html_are_escaped() -> None:
    html = html_of(report(models=(replace(MODEL, prompt="<b>warm</b>", model="<i>"),)))
    assert "&lt;b&gt;warm" in html
    assert "<b>warm" not in html


def test_tables_show_lengths_by_scale_and_the_rest_over_all() -> None:
    order, length = check_tables(report())
    assert order.rows[0][1].text == "−0.23"  # type: ignore[union-attr]
    assert order.rows[0][2].text == "62 %"  # type: ignore[union-attr]
    assert [row[1].text for row in length.rows] == ["Warmth", "fluency"]  # type: ignore[union-attr]
    assert length.rows[0][4].lighter[-1] == "p < 0.001"  # type: ignore[union-attr]
    assert models_table(report()).rows[0][4] == "max tokens 800, temperature 0"


def test_the_methods_say_what_was_asked_and_found() -> None:
    [paragraph] = [one for one in methods_of(report()).long if "gpt-5" in one]
    assert "asked with version 2 of the prompt “warm”, one scale a call" in paragraph
    assert "3 answers to each question; content hash cccccccccccc" in paragraph
    assert "differed by −0.23 points on average over all scales (95 % interval −0.40 to −0.10)" in paragraph
    assert "88 % got the same score each time" in paragraph
    assert "On 1 of 1 scale the slope" in paragraph
    unset = replace(MODEL, parameters={}, base_url="", samples=1)
    assert "at the address of its provider (openai)" in methods_text(report(models=(unset,))).replace("\n", " ")
    assert "temperature not sent" in methods_text(report(models=(unset,))).replace("\n", " ")


@pytest.mark.parametrize(
    ("examples", "told"),
    [
        (
            ("x",),
            "shows 1 conversation as an example, with the experts' medians; this one is left out of its evaluation.",
        ),
        (("x", "y"), "2 conversations as examples, with the experts' medians; these are left out of its evaluation."),
        (("{0}",), "medians; this one takes part in its evaluation all the same."),
        (("x", "{0}"), "medians; 1 of these takes part in its evaluation all the same."),
        (("x", "{0}", "{1}"), "medians; 2 of these take part in its evaluation all the same."),
        (("{0}", "{1}"), "medians; these take part in its evaluation all the same."),
    ],
)
def test_the_methods_say_what_the_prompt_showed_of_the_experts(examples: tuple[str, ...], told: str) -> None:
    rated = study_tables()[0].items
    places = tuple((("letters", one.format(*rated)),) for one in examples)
    shown = replace(MODEL, examples=places)
    [paragraph] = [one for one in methods_of(report(models=(shown,))).long if "gpt-5" in one]
    assert told in paragraph
    elsewhere = replace(shown, examples=tuple((("other", name),) for ((_block, name),) in places))
    assert "left out of its evaluation" in methods_text(report(models=(elsewhere,))).replace("\n", " ")
    assert "evaluation" not in methods_text(report())


def shifts(**given) -> tuple[Figure, ...]:
    """Over all scales, then of two of them."""
    apart = {"ci_low": -0.4, "ci_high": -0.1}
    return (
        figure(Check.ORDER, "shift_mean", -0.23, "", n_scales=2, **apart | {"p_value": 0.012} | given),
        figure(Check.ORDER, "shift_mean", -0.3, **apart | {"p_value": 0.01, "p_adjusted": 0.02} | given),
        figure(Check.ORDER, "shift_mean", -0.2, "fluency", **apart | {"p_value": 0.03, "p_adjusted": 0.06} | given),
    )


def test_a_shift_is_told_of_all_scales_first_and_then_by_adjusted_p() -> None:
    [paragraph] = [
        one for one in methods_of(report(checks=(replace(CHECKED, figures=shifts()),))).long if "gpt-5" in one
    ]
    assert "(95 % interval −0.40 to −0.10; p = 0.012 by an exact sign-flip test over items)." in paragraph
    assert "Scale by scale, a shift could be told on 1 of 2 (the same test," in paragraph
    few = shifts(n_items=9, p_value=None, p_adjusted=None)
    [paragraph] = [one for one in methods_of(report(checks=(replace(CHECKED, figures=few),))).long if "gpt-5" in one]
    assert "Fewer than 10 items are too few to tell a shift." in paragraph
    assert "Scale by scale" not in paragraph


def test_an_interval_and_a_p_that_point_apart_are_explained_below_the_table() -> None:
    odd = figure(Check.LENGTH, "slope_model", 0.1, ci_low=0.97, ci_high=7.75, p_value=0.957, p_adjusted=0.957)
    over_all = shifts(p_value=0.2)[0]
    order, length = check_tables(report(checks=(replace(CHECKED, figures=(over_all, odd)),)))
    [note] = [one for one in length.notes if "go by p" in one]
    assert note.startswith("The interval leaves out 0, and p does not;")
    assert note.endswith(": gpt, Warmth, Model.")
    assert any(one.endswith(": gpt, Shift, in points.") for one in order.notes)
    assert order.rows[0][1].lighter[-1] == "p 0.200"  # type: ignore[union-attr]
    assert not any("go by p" in one for table in check_tables(report()) for one in table.notes)


def test_the_file_is_not_described_as_the_table_of_agreement() -> None:
    files = [StoredReportFile(name=name) for name in ("agreement.csv", "model_checks.csv")]
    agreement, checks = shown_files(files)
    assert "each statistic" in str(agreement.purpose)
    assert "bias" in str(checks.label)
    assert "No agreement" in str(checks.purpose)


def test_the_manifest_has_all_of_it() -> None:
    [model] = manifest_of(report(), [])["models"]
    assert model["content_hash"] == HASH
    assert model["parameters"] == {"max_tokens": 800, "temperature": 0.0}
    assert model["runs"] == [
        {"run": 7, "state": "done", "started_at": "2026-12-01T09:30:00+00:00", "finished_at": None}
    ]


def test_the_workbook_has_two_sheets_more() -> None:
    book = openpyxl.load_workbook(io.BytesIO(workbook_bytes(report())), read_only=True)
    assert book.sheetnames[-3:] == ["Models", "Model checks", "Left out"]
    rows = list(book["Model checks"].values)
    assert rows[0] == COLUMNS
    assert rows[1][COLUMNS.index("value")] == pytest.approx(-0.2345678)


def test_without_models_nothing_of_it_is_there() -> None:
    content = content_of(study_tables(), options=ReportOptions(formats=(Format.CSV, Format.ZIP)))
    assert "models" not in manifest_of(content, [])
    assert "models-part" not in html_of(content)
    assert list(written(content)) == ["agreement.csv", "report.zip"]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (ReportOptions(), True),
        (ReportOptions(raters=("gpt", "e1")), True),
        (ReportOptions(raters=("e1",)), False),
        (ReportOptions(groups=("llms", "experts")), True),
        (ReportOptions(groups=("experts",)), False),
    ],
)
def test_only_models_that_are_chosen_are_told_of(options: ReportOptions, shown: bool) -> None:
    content = report(options=options)
    assert (bool(content.shown_models), bool(content.shown_checks)) == (shown, shown)


def test_a_model_that_the_report_does_not_know_is_left_out() -> None:
    content = report(models=(replace(MODEL, rater="later"),), checks=(replace(CHECKED, rater="later"),))
    assert (content.shown_models, content.shown_checks) == ((), ())


def test_the_archive_holds_the_file_and_recomputes(tmp_path: Path) -> None:
    files = written(report(options=ReportOptions(formats=(Format.CSV, Format.ZIP))))
    assert list(files) == ["agreement.csv", "model_checks.csv", "report.zip"]
    path = tmp_path / "report.zip"
    path.write_bytes(files["report.zip"])
    assert recompute(path).is_same
    with zipfile.ZipFile(path) as opened:
        names = opened.namelist()
        assert opened.read("model_checks.csv") == files["model_checks.csv"]
        told = " ".join(opened.read("README.txt").decode().split())
        assert "model_checks.csv checks for bias of the models' runs: one row for each figure" in told
        assert "of one scale go by p_adjusted, of all by p_value" in told
        manifest = json.loads(opened.read("manifest.json"))
    assert sorted(names) == sorted([*MEMBERS, "model_checks.csv"])
    assert "model_checks.csv" in [file["name"] for file in manifest["files"]]


# --- From a study -------------------------------------------------------------------------------------------------


@pytest.fixture
def run(grief, rosa):
    """A run of model1 that was answered, rated and checked, and a run that never started."""
    run = make_run(grief, make_endpoint())
    answer_all(run, lambda call, dimension: float(1 + call.item_id % 5))
    make_run(grief, model_rater=run.model_rater, items=[])
    check = request_checks(run=run, by=rosa)
    assert check.job is not None
    run_job(pk=check.job.pk, work=check_bias)
    return run


def test_models_are_read_when_the_report_is_made(run, grief, rosa, django_assert_num_queries) -> None:
    content = content_of_snapshot(take_snapshot(study=grief, by=rosa), ReportOptions())
    assert (content.models, content.checks) == ((), ())
    with django_assert_num_queries(5):
        full = with_models(content, grief)
    [model], [checked] = full.shown_models, full.shown_checks
    assert (model.rater, model.model, model.prompt_version) == ("model1", "fake", 1)
    assert [one.number for one in model.runs] == [run.pk]
    assert (checked.run, checked.rater, checked.n_items) == (run.pk, "model1", 3)
    assert checked.figures


def test_examples_of_a_prompt_are_told_until_they_are_taken_back(run, grief, rosa) -> None:
    version, item = run.model_rater.version, Item.objects.filter(block__study=grief).order_by("pk")[0]
    for slot, dimension in zip(("low", "high"), version.frameworks.get().dimensions.all()[:2], strict=False):
        PromptExample.objects.create(version=version, dimension=dimension, item=item, slot=slot, score=1)
    excluded = exclude(rater=run.model_rater.rater, item=item, reason=ExclusionReason.LEAKAGE, by=rosa)

    def told() -> str:
        content = content_of_snapshot(take_snapshot(study=grief, by=rosa), ReportOptions())
        return " ".join(methods_of(with_models(content, grief)).long)

    [account] = accounts_of(grief)
    assert account.examples == (((item.block.slug, item.conversation.external_id),),)
    assert "this one is left out of its evaluation" in told()
    revert(exclusion=excluded, by=rosa)
    assert "this one takes part in its evaluation all the same" in told()


def test_queries_do_not_grow_with_models(run, grief, django_assert_num_queries) -> None:
    for number in range(3):
        other = make_run(grief, run.endpoint, name=f"other{number}")
        answer_all(other)
        version = other.model_rater.version
        dimension = version.frameworks.get().dimensions.all()[0]
        for slot, item in zip(("low", "middle", "high")[: number + 1], grief.blocks.get().items.all(), strict=False):
            PromptExample.objects.create(version=version, dimension=dimension, item=item, slot=slot, score=1)
    with django_assert_num_queries(5):
        assert len(accounts_of(grief)) == 4
        assert len(checked_runs(grief)) == 1


def test_a_built_report_has_the_file(run, grief, rosa) -> None:
    plan = ReportPlan(options=ReportOptions(formats=(Format.CSV, Format.TXT)))
    asked = request_report(study=grief, title="With checks", plan=plan, by=rosa)
    run_job(pk=asked.job.pk, work=build_report)
    stored = {file.name: file for file in asked.files.all()}
    assert set(stored) == {"agreement.csv", "model_checks.csv", "methods.txt"}
    with stored["model_checks.csv"].file.open() as file:
        text = file.read().decode()
    assert text.count(f"\n{run.pk},model1,") > 20
    asked.refresh_from_db()
    assert any("model1 is the model fake" in part for part in asked.summary["methods"])


def test_a_rater_is_told_in_a_line(run, grief) -> None:
    words, runs = asked_with(run.model_rater.rater)
    assert words == "asked with prompt Default model1 v1, model fake, 1 sample"
    assert runs == [run]
    assert asked_with(grief.raters.get(name="expert1")) == ("", [])
    assert asked_with(None) == ("", [])


def test_the_documentation_has_the_columns() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")
    written_down = re.sub(r"`\n`", "", text)
    assert f"`{','.join(COLUMNS)}`" in written_down
