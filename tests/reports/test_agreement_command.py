"""The command as a person runs it: a study, or a file of ratings, into a folder."""

import csv
import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.measures.groups import GROUP_STATISTICS
from apps.measures.pairs import PAIR_STATISTICS
from apps.studies.models import Item, ItemRole, Rater, RaterKind
from apps.studies.services.raters import add_rater

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "manage.py", "agreement")
EXPECTED = Path(__file__).parent / "expected"


def run(out: Path, *arguments: str) -> str:
    stdout = StringIO()
    call_command("agreement", *arguments, "--out", str(out), stdout=stdout, stderr=stdout)
    return stdout.getvalue()


def rows_of(out: Path) -> list[dict[str, str]]:
    with (out / "agreement.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def found(out: Path, statistic: str, a: str, b: str = "", dimension: str | None = None) -> dict[str, str]:
    [row] = [
        row
        for row in rows_of(out)
        if (row["statistic"], row["a"], row["b"]) == (statistic, a, b) and dimension in (None, row["dimension"])
    ]
    return row


def document(out: Path) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"bare {constant}")

    return json.loads((out / "agreement.json").read_text(encoding="utf-8"), parse_constant=refuse)


@pytest.fixture
def long_file(tmp_path):
    """`long_file({"r1": [1, None]})`: a file of ratings, an empty value for None."""

    def written(columns: dict[str, list], name: str = "ratings.csv") -> str:
        lines = ["item,rater,value"]
        for rater, values in columns.items():
            lines += [f"i{place},{rater},{'' if value is None else value}" for place, value in enumerate(values, 1)]
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(path)

    return written


@pytest.mark.django_db
class TestStudy:
    def test_the_report_of_a_small_study_to_the_byte(self, grief, rate, tmp_path):
        """Groups, pairs, the median without an expert, an imported aggregate, no variation, and a retest."""
        add_rater(study=grief, kind=RaterKind.CROWD, name="crowd", is_aggregate=True)
        block = grief.blocks.get()
        repeated = block.items.get(position=0)
        Item.objects.create(block=block, conversation=repeated.conversation, role=ItemRole.REPEAT, position=9)
        rate(
            grief,
            {"expert1": [1, 3, 5], "expert2": [2, 3, 5], "expert3": [1, 4, "?"], "crowd": [1.5, 3, 4.5]},
        )
        rate(grief, {"expert1": [2]}, role=ItemRole.REPEAT)
        rate(grief, {"expert1": [3, 3, 3], "expert2": [3, 3, 3]}, dimension="scale_2")
        run(tmp_path, "--study", "grief", "--bootstrap", "0")
        text = (tmp_path / "agreement.csv").read_bytes()
        assert text == (EXPECTED / "agreement_of_a_small_study.csv").read_bytes()

    def test_it_is_the_same_to_the_byte_when_run_again(self, grief, rate, tmp_path):
        rate(grief, {"expert1": [1, 2, 5], "expert2": [1, 3, 5], "expert3": [2, 2, 4]})
        run(tmp_path / "one", "--study", "grief", "--bootstrap", "200")
        run(tmp_path / "two", "--study", "grief", "--bootstrap", "200")
        first, second = ((tmp_path / name / "agreement.csv").read_bytes() for name in ("one", "two"))
        assert first == second
        run(tmp_path / "three", "--study", "grief", "--bootstrap", "200", "--seed", "7")
        assert (tmp_path / "three" / "agreement.csv").read_bytes() != first

    def test_the_seed_is_the_studys_and_a_thousand_resamples_are_drawn(self, grief, rate, tmp_path):
        grief.seed = 99
        grief.save()
        rate(grief, {"expert1": [1, 2, 5], "expert2": [1, 3, 5]})
        printed = run(tmp_path, "--study", "grief")
        meta = document(tmp_path)["meta"]
        assert (meta["seed"], meta["resamples"], meta["study"]) == (99, 1000, "grief")
        assert "convention scale, 1000 resamples, seed 99" in printed

    def test_a_summary_counts_what_is_undefined_by_reason(self, grief, rate, tmp_path):
        rate(grief, {"expert1": [1, 2, None], "expert2": [None, None, 5]})
        printed = run(tmp_path, "--study", "grief", "--bootstrap", "0")
        rows = len(PAIR_STATISTICS) + len(GROUP_STATISTICS)
        assert "grief: ratings 3, raters 2, tables 1; convention scale" in printed
        assert f"{rows} rows, {rows} undefined (no shared items {rows})" in printed
        assert f"wrote {tmp_path / 'agreement.csv'}" in printed

    def test_formats_choose_the_files(self, grief, tmp_path):
        run(tmp_path, "--study", "grief", "--formats", "json")
        assert [path.name for path in tmp_path.iterdir()] == ["agreement.json"]

    def test_a_rater_who_left_stays_under_the_same_name(self, grief, rate, tmp_path):
        """CASES 27."""
        rate(grief, {"expert1": [1, 2, 5], "expert2": [1, 3, 5]})
        run(tmp_path / "before", "--study", "grief")
        Rater.objects.filter(name="expert2", study=grief).update(left_at="2026-01-01T00:00Z")
        run(tmp_path / "after", "--study", "grief")
        before, after = ((tmp_path / name / "agreement.csv").read_bytes() for name in ("before", "after"))
        assert before == after
        assert b",expert1,expert2," in after

    def test_options_reach_the_rows(self, grief, rate, tmp_path):
        for name, kind in [("w1", "crowd"), ("w2", "crowd"), ("gpt", "llm"), ("claude", "llm")]:
            add_rater(study=grief, kind=kind, name=name)
        rate(grief, {name: [1, 2, 3] for name in ("expert1", "expert2", "w1", "w2", "gpt", "claude")})
        run(tmp_path / "plain", "--study", "grief", "--bootstrap", "0")
        run(
            tmp_path / "full",
            *["--study", "grief", "--bootstrap", "0", "--all-pairs", "--pool-models", "--convention", "observed"],
        )
        plain, full = (rows_of(tmp_path / name) for name in ("plain", "full"))
        assert {row["convention"] for row in plain} == {"scale", ""}
        assert {row["convention"] for row in full} == {"observed", ""}
        assert not any("w1" in (row["a"], row["b"]) for row in plain if row["b"])
        assert found(tmp_path / "full", "mae", "w1", "w2", "scale_1")
        assert found(tmp_path / "full", "mae", "experts:median", "llms:median", "scale_1")
        assert document(tmp_path / "full")["meta"]["options"] == ["all_pairs", "pool_models"]

    def test_an_unknown_study_is_one_clear_line(self, db, tmp_path):
        with pytest.raises(CommandError, match=r"^There is no study nowhere\.$"):
            run(tmp_path / "out", "--study", "nowhere")
        assert not (tmp_path / "out").exists()


class TestRatings:
    def test_no_database_is_needed(self, long_file, tmp_path):
        """Nor migrations: the database it is told of cannot even be opened."""
        path = long_file({"a": [1, 1, 7, 7, 1, 2], "b": [1, 7, 7, 7, 2, 2]})
        environment = os.environ | {
            "DATABASE_URL": "sqlite:////nowhere/at/all.sqlite3",
            "ACCORD_VAR": str(tmp_path / "var"),
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        done = subprocess.run(
            [*COMMAND, "--ratings", path, "--points", "1,2,3,4,5,6,7", "--out", str(tmp_path / "out")],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        # CASES 20.
        assert found(tmp_path / "out", "kappa_quadratic", "a", "b")["value"].startswith("0.6159")

    def test_a_mistake_ends_with_exit_code_1_and_one_line(self, long_file, tmp_path):
        done = subprocess.run(
            [*COMMAND, "--ratings", long_file({"a": [1]}), "--points", "1,2", "--convention", "best", "--out", "x"],
            cwd=ROOT,
            env=os.environ | {"ACCORD_VAR": str(tmp_path / "var"), "DJANGO_SETTINGS_MODULE": "config.settings"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr == "CommandError: Unknown convention best; expected one of scale, observed.\n"

    def test_weighted_kappa_in_both_conventions(self, long_file, tmp_path):
        """CASES 20."""
        path = long_file({"a": [1, 1, 7, 7, 1, 2], "b": [1, 7, 7, 7, 2, 2]})
        points = ["--ratings", path, "--points", "1,2,3,4,5,6,7", "--bootstrap", "0"]
        run(tmp_path / "scale", *points)
        run(tmp_path / "observed", *points, "--convention", "observed")
        for convention, quadratic, linear in [("scale", 0.6159, 0.6111), ("observed", 0.4828, 0.5)]:
            for statistic, value in [("kappa_quadratic", quadratic), ("kappa_linear", linear)]:
                row = found(tmp_path / convention, statistic, "a", "b")
                assert float(row["value"]) == pytest.approx(value, abs=5e-5)

    def test_no_variation(self, long_file, tmp_path):
        """CASES 18."""
        printed = run(tmp_path, "--ratings", long_file({"a": [2, 2], "b": [2, 2]}), "--points", "1,2,3")
        row = found(tmp_path, "alpha_interval", "all")
        assert (row["value"], row["reason"]) == ("", "no variation")
        assert found(tmp_path, "percent_agreement", "all")["value"] == "1.000000"
        assert "no variation (100% raw agreement)" in printed
        assert "no variation (100% raw agreement)" in document(tmp_path)["notes"][0]["text"]

    def test_perfect_agreement_with_partial_overlap(self, long_file, tmp_path):
        """CASES 19."""
        columns = {
            "r1": [1, 5, 5, 1, None, 3, 1, 5],
            "r2": [1, None, 5, 1, 5, 3, None, 5],
            "r3": [1, 5, 5, None, 5, 3, 1, None],
        }
        run(tmp_path, "--ratings", long_file(columns), "--points", "1,2,3,4,5")
        for pair in (("r1", "r2"), ("r1", "r3"), ("r2", "r3")):
            assert found(tmp_path, "kappa_quadratic", *pair)["value"] == "1.000000"
        assert found(tmp_path, "alpha_ordinal", "all")["value"] == "1.000000"

    def test_krippendorffs_example(self, long_file, tmp_path):
        """CASES 21."""
        columns = {
            "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
            "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
            "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
            "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
        }
        run(tmp_path, "--ratings", long_file(columns), "--points", "1,2,3,4,5")
        for level, value in {"nominal": 0.7434, "ordinal": 0.8154, "interval": 0.8491, "ratio": 0.7974}.items():
            row = found(tmp_path, f"alpha_{level}", "all")
            assert float(row["value"]) == pytest.approx(value, abs=5e-5)
            assert float(row["ci_low"]) < value < float(row["ci_high"])

    def test_no_shared_items_and_one_rater(self, long_file, tmp_path):
        """CASES 22."""
        apart = long_file({"a": [1, 2, None, None], "b": [None, None, 1, 2]})
        run(tmp_path / "apart", "--ratings", apart, "--points", "1,2,3")
        assert {row["reason"] for row in rows_of(tmp_path / "apart")} == {"no shared items"}
        assert {row["value"] for row in document(tmp_path / "apart")["rows"]} == {None}
        run(tmp_path / "alone", "--ratings", long_file({"a": [1, 2]}), "--points", "1,2,3")
        assert {row["reason"] for row in rows_of(tmp_path / "alone")} == {"fewer than two raters"}

    def test_order_comes_from_the_scale(self, long_file, tmp_path):
        """CASES 23: low, medium, high are 1, 2, 3; 10 comes after 9, not after 1."""
        path = long_file({"a": ["low", "medium", "high"], "b": ["low", "high", "high"]})
        run(tmp_path / "labels", "--ratings", path, "--points", "low,medium,high")
        assert found(tmp_path / "labels", "mae", "a", "b")["value"] == "0.333333"
        assert found(tmp_path / "labels", "within_one", "a", "b")["value"] == "1.000000"
        path = long_file({"a": ["0", "2", "10"], "b": ["0", "2", "9"]})
        run(tmp_path / "numbers", "--ratings", path, "--points", "0,1,2,3,4,5,6,7,8,9,10")
        assert found(tmp_path / "numbers", "mae", "a", "b")["value"] == "0.333333"
        assert found(tmp_path / "numbers", "within_one", "a", "b")["value"] == "1.000000"

    def test_alpha_of_zero_is_explained(self, long_file, tmp_path):
        """CASES 24."""
        path = long_file({"a": [1] * 11, "b": [1] * 10 + [2]})
        printed = run(tmp_path, "--ratings", path, "--points", "1,2,3,4,5")
        assert abs(float(found(tmp_path, "alpha_nominal", "all")["value"])) < 1e-6
        assert found(tmp_path, "percent_agreement", "all")["value"] == "0.909091"
        assert float(found(tmp_path, "ac1", "all")["value"]) > 0.9
        assert float(found(tmp_path, "ac2_quadratic", "all")["value"]) > 0.9
        [note] = document(tmp_path)["notes"]
        assert note["text"].startswith("Alpha is 0.00 although 90.9% of the pairs of ratings are equal")
        assert "ac1 and ac2" in note["text"]
        assert note["text"] in printed

    def test_half_points_of_aggregates(self, long_file, tmp_path):
        """CASES 25."""
        path = long_file({"a": [1, 2, 4], "crowd": [1.5, 3.33, 4]})
        arguments = ["--ratings", path, "--points", "1,2,3,4,5"]
        run(tmp_path / "out", *arguments, "--aggregate", "crowd")
        assert float(found(tmp_path / "out", "mae", "a", "crowd")["value"]) == pytest.approx(0.61)
        assert found(tmp_path / "out", "kappa_unweighted", "a", "crowd")["reason"] == "values between points"
        assert found(tmp_path / "out", "alpha_interval", "all")["value"]
        with pytest.raises(CommandError, match=r"^ratings\.csv has 2 problems; nothing was written\.$"):
            run(tmp_path / "refused", *arguments)
        assert not (tmp_path / "refused").exists()

    def test_problems_are_listed_by_row(self, long_file, tmp_path):
        output = StringIO()
        path = long_file({"a": [1, 6, "x"], "b": [1, 2, 3]})
        with pytest.raises(CommandError, match="2 problems"):
            call_command(
                "agreement",
                *["--ratings", path, "--points", "1,2,3,4,5", "--out", str(tmp_path / "out")],
                stdout=output,
                stderr=output,
            )
        assert output.getvalue().splitlines() == [
            "row 3, value: rater a gave 6 for item i2: expected one of 1, 2, 3, 4, 5",
            "row 4, value: rater a gave x for item i3: expected one of 1, 2, 3, 4, 5",
        ]

    def test_nominal_blanks_what_needs_order(self, long_file, tmp_path):
        path = long_file({"a": ["yes", "no", "yes"], "b": ["yes", "no", "no"]})
        run(tmp_path, "--ratings", path, "--points", "yes,no", "--level", "nominal")
        assert found(tmp_path, "percent_agreement", "a", "b")["value"] == "0.666667"
        for statistic, a, b in [("kappa_quadratic", "a", "b"), ("mae", "a", "b"), ("alpha_interval", "all", "")]:
            row = found(tmp_path, statistic, a, b)
            assert (row["value"], row["reason"]) == ("", "not defined for nominal scales")

    @pytest.mark.parametrize("points", ["-1,0,1", "-3..3", "-1.5,-1,0,1"])
    def test_points_may_begin_below_zero(self, long_file, tmp_path, points):
        path = long_file({"a": [-1, 0, 1], "b": [-1, 1, 1]})
        run(tmp_path / "out", "--ratings", path, "--points", points)
        assert found(tmp_path / "out", "bias", "a", "b")["value"] == "0.333333"

    def test_more_than_twenty_raters_are_a_group_only(self, long_file, tmp_path):
        printed = run(
            tmp_path,
            *["--ratings", long_file({f"r{number}": [1, 2] for number in range(21)}), "--points", "1,2"],
        )
        assert {(row["a"], row["b"]) for row in rows_of(tmp_path)} == {("all", "")}
        assert "21 raters: pairs are written up to 20" in printed

    def test_block_and_framework_are_empty_and_dimensions_kept(self, tmp_path):
        path = tmp_path / "ratings.csv"
        path.write_text("item,rater,value,dimension\na,x,1,warmth\na,y,1,warmth\na,x,2,fluency\n", encoding="utf-8")
        run(tmp_path / "out", "--ratings", str(path), "--points", "1,2")
        rows = rows_of(tmp_path / "out")
        assert {(row["block"], row["framework"]) for row in rows} == {("", "")}
        assert {row["dimension"] for row in rows} == {"warmth", "fluency"}
        meta = document(tmp_path / "out")["meta"]
        assert (meta["study"], meta["ratings_file"], meta["seed"]) == (None, "ratings.csv", 2026)

    def test_a_file_that_is_not_there_or_cannot_be_read(self, tmp_path):
        with pytest.raises(CommandError, match=r"none\.csv cannot be read: No such file or directory\.$"):
            run(tmp_path / "out", "--ratings", str(tmp_path / "none.csv"), "--points", "1,2")
        (tmp_path / "bad.csv").write_bytes(b"item,rater,value\ncaf\xe9,x,1\n")
        with pytest.raises(CommandError, match=r"^bad\.csv: Byte 0xe9 at offset 20"):
            run(tmp_path / "out", "--ratings", str(tmp_path / "bad.csv"), "--points", "1,2")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Give either --study SLUG or --ratings FILE."),
        (["--study", "s", "--ratings", "f"], "Give either --study SLUG or --ratings FILE."),
        (["--ratings", "f"], "--ratings needs --points, the points of the scale in order, for example 1,2,3,4,5."),
        (["--ratings", "f", "--points", "1,2", "--all-pairs"], "--all-pairs and --pool-models go with --study:"),
        (["--study", "s", "--points", "1,2"], "--points, --level and --aggregate go with --ratings:"),
        (
            ["--study", "s", "--formats", "docx"],
            "Unknown format docx; expected one of csv, json, xlsx, tex, html, txt, svg,",
        ),
        (["--ratings", "f", "--points", "1,2", "--bootstrap", "-5"], "--bootstrap is -5; expected a whole number"),
        (["--ratings", "f", "--points", "1,2", "--seed", "x"], "--seed is x; expected a whole number"),
        (["--ratings", "f", "--points", "1,2", "--level", "ratio"], "Unknown level ratio; expected one of ordinal,"),
        (["--ratings", "f", "--points", "2,1"], "The points 2,1 make no scale:"),
    ],
)
def test_arguments_that_do_not_fit_are_one_clear_line(tmp_path, arguments, sentence):
    with pytest.raises(CommandError) as error:
        run(tmp_path / "out", *arguments)
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_one_clear_line(long_file, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(CommandError, match=r"cannot be written to .*file/out"):
        run(tmp_path / "file" / "out", "--ratings", long_file({"a": [1, 2], "b": [1, 2]}), "--points", "1,2")
