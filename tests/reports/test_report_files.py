"""The command with every format: from a study by way of a snapshot, from a file of ratings, and what CASES says."""

import csv
import io
import json
import re
import zipfile
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from openpyxl import load_workbook

from apps.reliability.models import Snapshot
from apps.reliability.services.snapshots import take_snapshot
from apps.reports.contents import Format, ReportOptions
from apps.reports.services.contents import content_of_snapshot
from apps.studies.models import Exclusion, Item, ItemRole, Rater, RaterKind
from apps.studies.services.raters import add_rater
from tests.conftest import make_study
from tests.reports.test_agreement_command import long_file
from tests.reports.test_latex import check

__all__ = ["long_file"]

EVERY = ",".join(Format)
CELL = re.compile(r"-?\d+\.\d{6}")


def run(out: Path, *arguments: str) -> str:
    stdout = StringIO()
    call_command("agreement", *arguments, "--out", str(out), stdout=stdout, stderr=stdout)
    return stdout.getvalue()


def csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sheet_rows(path: Path, name: str = "Agreement") -> list[dict]:
    header, *rows = load_workbook(path)[name].iter_rows(values_only=True)
    return [dict(zip(header, row, strict=True)) for row in rows]


def members(out: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(out / "report.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def recomputed(out: Path) -> str:
    stdout = StringIO()
    call_command("recompute", str(out / "report.zip"), stdout=stdout)
    return stdout.getvalue()


def assert_files_agree(out: Path) -> list[dict[str, str]]:
    """CSV, JSON and the workbook say the same, LaTeX could be compiled, and the archive recomputes. The rows."""
    rows = csv_rows(out / "agreement.csv")
    document = json.loads((out / "agreement.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    cells = sheet_rows(out / "agreement.xlsx")
    assert len(rows) == len(document["rows"]) == len(cells)
    for row, full, typed in zip(rows, document["rows"], cells, strict=True):
        for name in ("value", "ci_low", "ci_high"):
            assert row[name] == ("" if full[name] is None else f"{round(full[name], 6) + 0.0:.6f}")
            assert typed[name] == (None if full[name] is None else pytest.approx(full[name], rel=1e-14, abs=1e-300))
        assert (row["reason"] or None) == typed["reason"]
        assert (full["value"] is None) == bool(full["reason"])
    check((out / "tables.tex").read_text(encoding="utf-8"))
    html = (out / "report.html").read_text(encoding="utf-8")
    assert not re.search(r">\s*nan\s*<", html, re.I)
    assert recomputed(out) == f"recomputed {len(rows)} rows: the same digits\n"
    return rows


# --- From a study -------------------------------------------------------------------------------------------------


@pytest.mark.django_db
class TestStudy:
    def test_every_format_from_one_snapshot(self, grief, rate, tmp_path):
        add_rater(study=grief, kind=RaterKind.CROWD, name="crowd", is_aggregate=True)
        add_rater(study=grief, kind=RaterKind.LLM, name="gpt")
        block = grief.blocks.get()
        repeated = block.items.get(position=0)
        Item.objects.create(block=block, conversation=repeated.conversation, role=ItemRole.REPEAT, position=9)
        rate(
            grief,
            {
                "expert1": [1, 3, 5],
                "expert2": [2, 3, 5],
                "expert3": [1, 4, "?"],
                "crowd": [1.5, 3, 10 / 3],
                "gpt": [1, 3, 4],
            },
        )
        rate(grief, {"expert1": [2]}, role=ItemRole.REPEAT)
        printed = run(tmp_path, "--study", "grief", "--bootstrap", "50", "--formats", EVERY)
        assert Snapshot.objects.count() == 1
        assert f"wrote {tmp_path / 'report.zip'}" in printed
        assert_files_agree(tmp_path)
        found = members(tmp_path)
        assert b'"gpt","llm",false,false,' in found["ratings.csv"]
        assert b'"expert1","expert",false,true,2\n' in found["ratings.csv"]
        assert b"3.3333333333333335" in found["ratings.csv"]
        items = {row["role"]: row for row in csv.DictReader(io.StringIO(found["items.csv"].decode(), newline=""))}
        assert items["repeat"]["used"] == "true"

    def test_the_command_and_the_pages_show_one_result(self, grief, rate, rosa, tmp_path):
        """The snapshot that a page took is the one the command writes, and the other way round."""
        rate(grief, {"expert1": [1, 2, 5], "expert2": [1, 3, 5], "expert3": [2, 2, 4]})
        snapshot = take_snapshot(study=grief, by=rosa, resamples=50)
        run(tmp_path / "one", "--study", "grief", "--bootstrap", "50", "--formats", "json,zip")
        assert Snapshot.objects.get() == snapshot
        meta = json.loads((tmp_path / "one" / "agreement.json").read_text())["meta"]
        assert meta["generated_at"] == snapshot.created_at.isoformat(timespec="seconds")
        run(tmp_path / "two", "--study", "grief", "--bootstrap", "50", "--formats", "json,zip")
        one, two = ((tmp_path / name / "report.zip").read_bytes() for name in ("one", "two"))
        assert one == two

    @pytest.mark.parametrize("convention", ["scale", "observed"])
    def test_a_snapshot_gives_the_bytes_that_computing_at_once_gives(self, grief, rate, tmp_path, convention):
        """Also where items were repeated: every kappa is there in both conventions, each in its place."""
        block = grief.blocks.get()
        for position, item in enumerate(block.items.order_by("position")):
            Item.objects.create(
                block=block, conversation=item.conversation, role=ItemRole.REPEAT, position=9 + position
            )
        rate(grief, {"expert1": [1, 2, 5], "expert2": [1, 3, 5], "expert3": [2, 2, 4]})
        rate(grief, {"expert1": [1, 3, 5]}, role=ItemRole.REPEAT)
        asked = ["--study", "grief", "--bootstrap", "50", "--convention", convention]
        run(tmp_path / "snapshot", *asked)
        assert Snapshot.objects.count() == 1
        # Models are few here: pooling them changes no row, and no snapshot has it.
        run(tmp_path / "direct", *asked, "--pool-models")
        snapshot, direct = ((tmp_path / name / "agreement.csv").read_bytes() for name in ("snapshot", "direct"))
        assert b"retest_kappa_quadratic" in direct
        assert snapshot == direct

    def test_options_beyond_a_snapshot_recompute_as_well(self, grief, rate, tmp_path):
        for name, kind in [("w1", "crowd"), ("w2", "crowd"), ("gpt", "llm"), ("claude", "llm")]:
            add_rater(study=grief, kind=kind, name=name)
        rate(grief, {name: [1, 2, 3] for name in ("expert1", "expert2", "w1", "w2", "gpt", "claude")})
        run(
            tmp_path,
            *["--study", "grief", "--bootstrap", "10", "--all-pairs", "--pool-models", "--seed", "5"],
            *["--formats", EVERY],
        )
        rows = assert_files_agree(tmp_path)
        assert any((row["a"], row["b"]) == ("w1", "w2") for row in rows)
        assert any("llms:median" in (row["a"], row["b"]) for row in rows)
        command = json.loads(members(tmp_path)["manifest.json"])["command"]
        assert "--seed 5" in command
        assert "--all-pairs --pool-models" in command
        assert Snapshot.objects.count() == 0

    def test_what_is_shown_can_be_narrowed(self, grief, rate, tmp_path):
        add_rater(study=grief, kind="llm", name="gpt")
        rate(grief, {"expert1": [1, 2, 5], "expert2": [1, 3, 5], "gpt": [2, 2, 4]})
        run(tmp_path / "all", "--study", "grief", "--bootstrap", "20")
        run(
            tmp_path / "some",
            *["--study", "grief", "--bootstrap", "20", "--group", "experts", "--block", "main", "--parts", "pairs"],
            *["--statistics", "kappa_quadratic,mae", "--formats", EVERY],
        )
        everything = (tmp_path / "all" / "agreement.csv").read_text().splitlines()
        some = (tmp_path / "some" / "agreement.csv").read_text().splitlines()
        assert 1 < len(some) < len(everything)
        assert set(some) <= set(everything)
        assert_files_agree(tmp_path / "some")

    def test_conversations_and_what_is_excluded_can_be_chosen(self, grief, rate, tmp_path):
        first = grief.blocks.get().items.get(position=0).conversation
        first.metadata = {"topic": "loss"}
        first.save()
        rate(grief, {"expert1": [1, 2, 5], "expert2": [1, 3, 5], "expert3": [5, 5, 5]})
        Exclusion.objects.create(rater=grief.raters.get(name="expert3"), reason="hand", explanation="too fast")
        run(tmp_path / "usual", "--study", "grief", "--bootstrap", "0", "--formats", "csv,txt,zip")
        assert b"expert3" not in (tmp_path / "usual" / "agreement.csv").read_bytes()
        text = " ".join((tmp_path / "usual" / "methods.txt").read_text().split())
        assert "1 rater takes no part: excluded, decided by hand: too fast (1)." in text
        run(
            tmp_path / "chosen", "--study", "grief", "--bootstrap", "0", "--where", "meta.topic=loss", "--with-excluded"
        )
        rows = csv_rows(tmp_path / "chosen" / "agreement.csv")
        assert {row["n_items"] for row in rows} <= {"1", "0"}
        assert any("expert3" in (row["a"], row["b"]) for row in rows)

    def test_a_rater_who_left_stays_until_they_are_excluded(self, grief, rate, tmp_path):
        """CASES 27."""
        rate(grief, {"expert1": [1, 2, 5], "expert2": [1, 3, 5]})
        Rater.objects.filter(name="expert2", study=grief).update(left_at="2026-01-01T00:00Z")
        run(tmp_path / "left", "--study", "grief", "--bootstrap", "0", "--formats", "zip")
        found = members(tmp_path / "left")
        assert found["ratings.csv"].count(b'"expert2"') == 3
        assert b",expert1,expert2," in found["agreement.csv"]
        Exclusion.objects.create(rater=grief.raters.get(name="expert2"), reason="rule")
        run(tmp_path / "excluded", "--study", "grief", "--bootstrap", "0", "--formats", "zip")
        found = members(tmp_path / "excluded")
        assert b"expert2" not in found["ratings.csv"]
        left_out = json.loads(found["manifest.json"])["raters"]["left_out"]
        assert {"name": "expert2", "kind": "expert", "reason": "excluded, quality rule"} in left_out
        assert {"name": "expert3", "kind": "expert", "reason": "no finished rating takes part"} in left_out

    def test_the_ratings_of_an_archive_can_be_imported_again(self, grief, rate, rosa, letters, framework, tmp_path):
        """CASES 28: out of one study, into another, and the same figures to the digit."""
        add_rater(study=grief, kind="crowd", name="crowd", is_aggregate=True)
        rate(grief, {"expert1": [1, 3, 5], "expert2": [2, 3, 5], "crowd": [1.5, 3, 10 / 3]})
        rate(grief, {"expert1": [4, 3, 5], "expert2": [2, 3, 4]}, dimension="scale_2")
        run(tmp_path / "one", "--study", "grief", "--bootstrap", "20", "--formats", "csv,zip")
        (tmp_path / "ratings.csv").write_bytes(members(tmp_path / "one")["ratings.csv"])
        make_study("again", owner=rosa, dataset=letters, frameworks=[framework], experts=0)
        call_command(
            "import_ratings",
            str(tmp_path / "ratings.csv"),
            *["--study", "again", "--block", "main", "--map", "is_aggregate=aggregate"],
            stdout=StringIO(),
        )
        run(tmp_path / "two", "--study", "again", "--bootstrap", "20")
        one, two = ((tmp_path / name / "agreement.csv").read_bytes() for name in ("one", "two"))
        assert one == two

    def test_one_scale_of_an_archive_is_a_file_of_ratings(self, grief, rate, tmp_path):
        """CASES 28: what a command for files makes of it are the same pairs."""
        rate(grief, {"expert1": [1, 3, 5], "expert2": [2, 3, 5], "expert3": [1, 4, 4]})
        run(tmp_path / "study", "--study", "grief", "--bootstrap", "0", "--formats", "csv,zip")
        text = members(tmp_path / "study")["ratings.csv"].decode()
        lines = ["item,rater,value", *(",".join((row["item"], row["rater"], row["value"])) for row in _rows(text))]
        (tmp_path / "one.csv").write_text("\n".join(lines))
        run(tmp_path / "file", "--ratings", str(tmp_path / "one.csv"), "--points", "1,2,3,4,5", "--bootstrap", "0")
        names = {"expert1", "expert2", "expert3"}
        of_study = _pairs(csv_rows(tmp_path / "study" / "agreement.csv"), names)
        assert of_study == _pairs(csv_rows(tmp_path / "file" / "agreement.csv"), names)
        assert len(of_study) == 30

    def test_a_study_without_ratings_has_empty_files(self, grief, tmp_path):
        printed = run(tmp_path, "--study", "grief", "--formats", EVERY)
        assert "Nothing is rated yet" in printed
        assert assert_files_agree(tmp_path) == []

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--block", "nowhere"], "block: nowhere is not used here; expected one of main."),
            (["--framework", "x"], "framework: x is not used here; expected one of warmth-scales."),
            (["--rater", "nobody"], "raters: No rater of the study is called nobody."),
            (["--group", "robots"], "Unknown group robots; expected one of experts, crowd,"),
            (["--statistics", "kappa"], "Unknown statistic kappa; expected one of kappa_unweighted,"),
            (["--parts", "trios"], "Unknown part trios; expected one of pairs, groups, retests."),
            (["--stars", "many"], "Unknown star rule many; expected one of"),
            (["--threshold", "high"], "--threshold is high; expected a number from 0 to 1."),
            (["--threshold", "nan"], "The threshold is nan; expected a number from 0 to 1."),
            (["--where", "topic"], "--where is topic; expected NAME=VALUE, for example meta.topic=loss."),
        ],
    )
    def test_a_choice_that_does_not_fit_is_one_line(self, grief, tmp_path, arguments, sentence):
        with pytest.raises(CommandError) as error:
            run(tmp_path / "out", "--study", "grief", *arguments)
        assert str(error.value).startswith(sentence)
        assert "\n" not in str(error.value)
        assert not (tmp_path / "out").exists()

    def test_conversations_of_which_none_is_rated_are_one_line(self, grief, rate, tmp_path):
        rate(grief, {"expert1": [1, 2, 5], "expert2": [1, 3, 5]})
        with pytest.raises(CommandError, match=r"^None of the chosen conversations has a finished rating"):
            run(tmp_path / "out", "--study", "grief", "--where", "meta.topic=nothing")
        assert not (tmp_path / "out").exists()

    def test_contents_ask_nothing_of_the_live_study(self, grief, rate, rosa, django_assert_max_num_queries):
        rate(grief, {"expert1": [1, 2, 5], "expert2": [1, 3, 5]})
        snapshot = Snapshot.objects.select_related("study").get(pk=take_snapshot(study=grief, by=rosa).pk)
        with django_assert_max_num_queries(1):
            content = content_of_snapshot(snapshot, ReportOptions())
            assert content.rows
            assert content.averages == []
            assert [rater.name for rater in content.raters] == ["expert1", "expert2"]


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _pairs(rows: list[dict[str, str]], names: set[str]) -> dict[tuple[str, str, str], str]:
    return {(row["statistic"], row["a"], row["b"]): row["value"] for row in rows if {row["a"], row["b"]} <= names}


# --- From a file of ratings, CASES 18 to 26 -------------------------------------------------------------------------

KRIPPENDORFF = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
}
OVERLAP = {
    "r1": [1, 5, 5, 1, None, 3, 1, 5],
    "r2": [1, None, 5, 1, 5, 3, None, 5],
    "r3": [1, 5, 5, None, 5, 3, 1, None],
}
CASES = [
    (18, {"a": [2, 2], "b": [2, 2]}, ["1,2,3"], {("alpha_interval", "all", ""): "no variation"}),
    (
        19,
        OVERLAP,
        ["1,2,3,4,5"],
        {("kappa_quadratic", "r1", "r2"): "1.000000", ("alpha_ordinal", "all", ""): "1.000000"},
    ),
    (20, {"a": [1, 1, 7, 7, 1, 2], "b": [1, 7, 7, 7, 2, 2]}, ["1..7"], {("kappa_linear", "a", "b"): "0.611111"}),
    (21, KRIPPENDORFF, ["1,2,3,4,5"], {("alpha_nominal", "all", ""): "0.743421"}),
    (22, {"a": [1, 2, None, None], "b": [None, None, 1, 2]}, ["1,2,3"], {("mae", "a", "b"): "no shared items"}),
    (22, {"a": [1, 2]}, ["1,2,3"], {("alpha_nominal", "all", ""): "fewer than two raters"}),
    (
        23,
        {"a": ["low", "medium", "high"], "b": ["low", "high", "high"]},
        ["low,medium,high"],
        {("mae", "a", "b"): "0.333333"},
    ),
    (23, {"a": ["0", "2", "10"], "b": ["0", "2", "9"]}, ["0..10"], {("within_one", "a", "b"): "1.000000"}),
    (24, {"a": [1] * 11, "b": [1] * 10 + [2]}, ["1,2,3,4,5"], {("percent_agreement", "all", ""): "0.909091"}),
    (
        25,
        {"a": [1, 2, 4], "crowd": [1.5, 3.33, 4]},
        ["1,2,3,4,5", "--aggregate", "crowd"],
        {("mae", "a", "crowd"): "0.610000", ("kappa_unweighted", "a", "crowd"): "values between points"},
    ),
    (26, {"=1+1": [-1, 0, 1], "-1": [-1, 1, 1], "@a": [0, 0, 1]}, ["-1,0,1"], {("mae", "-1", "'=1+1"): "0.333333"}),
]


@pytest.mark.parametrize(("case", "columns", "points", "expected"), CASES)
def test_cases_hold_in_every_file(long_file, tmp_path, case, columns, points, expected):
    """CASES 18 to 26, in CSV, JSON, workbook, LaTeX, HTML, and in the archive recomputed."""
    run(tmp_path / "out", "--ratings", long_file(columns), "--points", *points, "--bootstrap", "30", "--formats", EVERY)
    rows = assert_files_agree(tmp_path / "out")
    found = {(row["statistic"], row["a"], row["b"]): row for row in rows}
    cells = {
        (row["statistic"], row["a"], row["b"] or ""): row for row in sheet_rows(tmp_path / "out" / "agreement.xlsx")
    }
    for place, value in expected.items():
        if CELL.fullmatch(value):
            assert found[place]["value"] == value
            assert cells[place]["value"] == pytest.approx(float(value), abs=5e-7)
        else:
            assert (found[place]["value"], found[place]["reason"]) == ("", value)
            assert (cells[place]["value"], cells[place]["reason"]) == (None, value)


def test_an_alpha_of_zero_is_explained_in_every_file(long_file, tmp_path):
    """CASES 24."""
    path = long_file({"a": [1] * 11, "b": [1] * 10 + [2]})
    run(tmp_path, "--ratings", path, "--points", "1,2,3,4,5", "--formats", EVERY, "--bootstrap", "0")
    sentence = "Alpha is 0.00 although 90.9% of the pairs of ratings are equal"
    assert sentence in (tmp_path / "report.html").read_text()
    [note] = sheet_rows(tmp_path / "agreement.xlsx", "Notes")
    assert note["text"].startswith(sentence)
    assert json.loads((tmp_path / "agreement.json").read_text())["notes"][0]["text"].startswith(sentence)


def test_labels_of_points_are_told(long_file, tmp_path):
    """CASES 23."""
    path = long_file({"a": ["low", "medium"], "b": ["low", "high"]})
    run(tmp_path, "--ratings", path, "--points", "low,medium,high", "--formats", EVERY, "--bootstrap", "0")
    assert [row["point_label"] for row in sheet_rows(tmp_path / "agreement.xlsx", "Scales")] == [
        "low",
        "medium",
        "high",
    ]
    assert "3 points called low, medium, high" in " ".join((tmp_path / "methods.txt").read_text().split())
    assert "1 low; 2 medium; 3 high" in (tmp_path / "report.html").read_text()


def test_names_survive_from_file_to_archive_and_back(tmp_path):
    """CASES 28."""
    names = ['a "b", c', "é\n😀", "z\u0323\u0307", "'=x", "-1"]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["item", "rater", "value"])
    writer.writerows(
        [f"i, {item}\n", name, 1 + (item + place) % 5] for item in range(6) for place, name in enumerate(names)
    )
    (tmp_path / "odd.csv").write_text(text.getvalue(), encoding="utf-8", newline="")
    run(
        tmp_path / "out",
        "--ratings",
        str(tmp_path / "odd.csv"),
        "--points",
        "1..5",
        "--formats",
        EVERY,
        "--bootstrap",
        "9",
    )
    assert_files_agree(tmp_path / "out")
    manifest = json.loads(members(tmp_path / "out")["manifest.json"])
    assert {rater["name"] for rater in manifest["raters"]["used"]} == set(names)


def test_the_command_of_a_file_writes_the_same_again(long_file, tmp_path):
    path = long_file({"a": [1, 2, 4], "crowd": [1.5, 3.33, 4]})
    asked = ["--ratings", path, "--points", "1,2,3,4,5", "--aggregate", "crowd", "--bootstrap", "9", "--rater", "a"]
    run(tmp_path / "one", *asked, "--convention", "observed", "--formats", "csv,zip", "--all-figures")
    import shlex

    command = shlex.split(json.loads(members(tmp_path / "one")["manifest.json"])["command"])
    assert command[:3] == ["python", "manage.py", "agreement"]
    again = command[3:]
    assert "--all-figures" in again
    again[again.index("--ratings") + 1] = path
    again[again.index("--out") + 1] = str(tmp_path / "two")
    call_command("agreement", *again, stdout=StringIO())
    one, two = ((tmp_path / name / "agreement.csv").read_bytes() for name in ("one", "two"))
    assert one == two


def test_what_only_a_study_has_goes_with_a_study(long_file, tmp_path):
    for option in (["--block", "x"], ["--where", "a=b"], ["--with-excluded"], ["--group", "experts"]):
        with pytest.raises(CommandError, match="go with --study: a file has none of them"):
            run(tmp_path / "out", "--ratings", long_file({"a": [1], "b": [2]}), "--points", "1,2", *option)
    assert not (tmp_path / "out").exists()
