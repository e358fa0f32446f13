"""An archive recomputed from itself, whole and tampered with."""

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.measures.scale import Level
from apps.reports import long_table
from apps.reports import recompute as module
from apps.reports.archive import ArchiveError
from apps.reports.building import build_files
from apps.reports.contents import ReportContent, ReportOptions
from apps.reports.recompute import recompute
from tests.reliability.conftest import make_table
from tests.reports.made import KINDS, OBSERVED, content_of, file_tables, study_tables

ROOT = Path(__file__).resolve().parents[2]


def members_of(content: ReportContent) -> dict[str, bytes]:
    out = io.BytesIO()
    [archive] = build_files(replace(content, options=replace(content.options, formats=("zip",))))
    archive.write(out)
    with zipfile.ZipFile(out) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def here(content: ReportContent) -> ReportContent:
    """Computed with the versions of here, as every new report is."""
    from apps.reliability.documents import versions

    return replace(content, versions=versions())


@pytest.fixture(scope="module")
def content() -> ReportContent:
    return here(content_of(study_tables()))


@pytest.fixture(scope="module")
def members(content) -> dict[str, bytes]:
    return members_of(content)


@pytest.fixture
def packed(tmp_path) -> Callable[..., Path]:
    def made(members: dict[str, bytes], *, mend: bool = False) -> Path:
        """`mend`: with hashes and sizes in the manifest that fit the files, as a careful forger would leave it."""
        if mend:
            manifest = json.loads(members["manifest.json"])
            for file in manifest["files"]:
                data = members[file["name"]]
                file |= {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
            members = {**members, "manifest.json": json.dumps(manifest).encode()}
        path = tmp_path / "report.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return path

    return made


def changed(members: dict[str, bytes], name: str, old: str, new: str) -> dict[str, bytes]:
    text = members[name].decode()
    assert old in text
    return {**members, name: text.replace(old, new, 1).encode()}


def with_manifest(members: dict[str, bytes], **changes) -> dict[str, bytes]:
    manifest = json.loads(members["manifest.json"]) | changes
    return {**members, "manifest.json": json.dumps(manifest).encode()}


def test_an_archive_gives_the_same_digits(content, members, packed):
    outcome = recompute(packed(members))
    assert outcome.is_same
    assert outcome.rows == len(content.rows)
    assert (outcome.files, outcome.figures, outcome.versions) == ((), (), ())


@pytest.mark.parametrize(
    "made",
    [
        lambda: content_of(study_tables(), options=OBSERVED),
        lambda: content_of(study_tables(), resamples=0),
        lambda: content_of(
            study_tables(), options=ReportOptions(groups=("experts",), statistics=("kappa_linear", "ac1"))
        ),
        lambda: content_of(file_tables({'=a,"b"': [1, 2, 3], "-1": [1, 3, 3], "é\n😀\r": [2, 2, 1]}), of_study=False),
        lambda: content_of(
            [make_table({"e1": [1, 2, 1], "e2": [2, 2, 1], "gpt": [1, 2, 2]}, kinds=KINDS, level=Level.NOMINAL)]
        ),
        lambda: content_of([make_table({"e1": [1, 2, 4], "e2": [1, 3, 4]}, kinds=KINDS, repeats={"e1": [2, 2, None]})]),
        lambda: content_of([make_table({"e1": [2, 2], "e2": [2, 2]}, kinds=KINDS)]),
        lambda: content_of([make_table({"e1": [1, None], "e2": [None, 2]}, kinds=KINDS)]),
        lambda: content_of([]),
    ],
)
def test_reports_of_every_kind_give_the_same_digits(made, packed):
    outcome = recompute(packed(members_of(here(made()))))
    assert (outcome.files, outcome.figures) == ((), ())
    assert outcome.is_same


def test_one_value_in_the_table(content, members, packed):
    """The forger mends every hash, and is found out by the figures all the same."""
    rows = members["agreement.csv"].decode().splitlines()
    row = next(row for row in rows if "kappa_quadratic,experts:median,gpt" in row)
    cells = row.split(",")
    forged = changed(members, "agreement.csv", row, ",".join([*cells[:7], "0.999999", *cells[8:]]))
    outcome = recompute(packed(forged))
    assert outcome.files == ("agreement.csv was changed: its SHA-256 is not that of the manifest.",)
    assert outcome.figures == (
        f"agreement.csv: kappa_quadratic of experts:median and gpt on letters/care/warmth: value is 0.999999, "
        f"recomputed {cells[7]}",
    )
    mended = recompute(packed(forged, mend=True))
    assert mended.files == ()
    assert mended.n_figures == 1


def test_one_row_gone_and_one_too_many(members, packed):
    lines = members["agreement.csv"].decode().splitlines(keepends=True)
    gone = recompute(packed({**members, "agreement.csv": "".join([*lines[:5], *lines[6:]]).encode()}, mend=True))
    assert gone.n_figures == 1
    assert gone.figures[0].endswith("is missing")
    more = recompute(
        packed({**members, "agreement.csv": "".join([*lines, lines[5].replace("e1", "e9")]).encode()}, mend=True)
    )
    assert more.n_figures == 1
    assert more.figures[0].endswith("does not come about from the ratings")


def test_rows_in_another_order_are_no_longer_the_same(members, packed):
    lines = members["agreement.csv"].decode().splitlines(keepends=True)
    other = {**members, "agreement.csv": "".join([lines[0], lines[2], lines[1], *lines[3:]]).encode()}
    assert "in another order" in recompute(packed(other, mend=True)).figures[0]


def test_one_rating(content, members, packed):
    """A rating that was changed changes the hash of the data, and figures with it."""
    forged = changed(members, "ratings.csv", '"e1","expert",false,false,1\n', '"e1","expert",false,false,2\n')
    outcome = recompute(packed(forged, mend=True))
    assert outcome.files == (
        "The ratings are not those the report was made from: the hash of the data differs (ratings.csv).",
    )
    assert outcome.n_figures > len(outcome.figures) == 20


def test_a_row_of_ratings_gone(members, packed):
    lines = members["ratings.csv"].decode().splitlines(keepends=True)
    outcome = recompute(packed({**members, "ratings.csv": "".join([lines[0], *lines[2:]]).encode()}))
    assert len(outcome.files) == 2
    assert not outcome.is_same


def test_an_item_that_nobody_rated_counts_as_well(members, packed):
    outcome = recompute(packed(changed(members, "items.csv", "i007", "i999"), mend=True))
    assert [sentence for sentence in outcome.files if "hash of the data" in sentence]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"convention": "observed", "resamples": 50, "seed": 7}, "meta: convention is scale; recomputed observed"),
        ({"convention": "scale", "resamples": 50, "seed": 8}, "meta: seed is 7; recomputed 8"),
        ({"convention": "scale", "resamples": 0, "seed": 7}, "meta: resamples is 50; recomputed 0"),
    ],
)
def test_the_manifest(members, packed, monkeypatch, setting, said):
    monkeypatch.setattr(module, "SHOWN", 100_000)
    outcome = recompute(packed(with_manifest(members, settings=setting)))
    assert not outcome.is_same
    assert any(said in figure for figure in outcome.figures)


def test_a_filter_that_was_changed(members, packed):
    options = ReportOptions(parts=("groups",)).as_dict()
    outcome = recompute(packed(with_manifest(members, options=options)))
    assert any("does not come about from the ratings" in figure for figure in outcome.figures)


def test_a_digit_beyond_those_of_the_table(members, packed):
    """agreement.json is compared with all its digits."""
    document = json.loads(members["agreement.json"])
    row = next(row for row in document["rows"] if isinstance(row["value"], float) and 0 < row["value"] < 1)
    row["value"] += 1e-12
    forged = {**members, "agreement.json": json.dumps(document).encode()}
    outcome = recompute(packed(forged, mend=True))
    assert outcome.n_figures == 1
    assert outcome.figures[0].startswith("agreement.json, rows: ")


def test_a_file_swapped_for_another(members, packed):
    outcome = recompute(packed({**members, "report.html": members["methods.txt"]}))
    assert outcome.files == ("report.html was changed: its SHA-256 is not that of the manifest.",)
    assert outcome.n_figures == 0
    assert not outcome.is_same


def test_a_file_missing_and_one_too_many(members, packed):
    fewer = {name: data for name, data in members.items() if name != "tables.tex"} | {"virus.exe": b"x"}
    assert recompute(packed(fewer)).files == ("tables.tex is missing.", "virus.exe is not listed in manifest.json.")


@pytest.mark.parametrize("name", ["ratings.csv", "items.csv", "agreement.csv", "agreement.json", "manifest.json"])
def test_without_what_it_needs_it_says_so(members, packed, name):
    fewer = {other: data for other, data in members.items() if other != name}
    with pytest.raises(ArchiveError, match=rf"^The archive holds no {name}"):
        recompute(packed(fewer))


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        (b"no json", "manifest.json is no JSON."),
        (b"\xff", "manifest.json is no JSON."),
        (b"[" * 100_000, "manifest.json is no JSON."),
        (b'{"a": NaN}', "manifest.json is no JSON."),
        (b"[1]", "manifest.json holds no JSON object."),
        (b"{}", "manifest.json is not that of an agreement report of Accord."),
        (b'{"schema": "accord-report", "schema_version": 9}', "manifest.json is of schema version 9; this version"),
        (b'{"schema": "accord-report", "schema_version": 1}', "manifest.json, settings: is missing or not what a"),
    ],
)
def test_a_manifest_that_is_none_is_one_sentence(members, packed, manifest, sentence):
    with pytest.raises(ArchiveError) as error:
        recompute(packed({**members, "manifest.json": manifest}))
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {"convention": "best", "resamples": 1, "seed": 1}},
        {"settings": {"convention": "scale", "resamples": -1, "seed": 1}},
        {"settings": 3},
        {"comparisons": {"of": "moon", "all_pairs": False, "pool_models": False}},
        {"options": {"colour": "red"}},
        {"scales": [{"block": "x"}]},
        {"raters": {"used": [{"name": "x", "kind": "robot", "aggregate": False}]}},
        {"files": [1]},
        {"versions": 1},
    ],
)
def test_a_manifest_with_another_shape_is_one_sentence(members, packed, changes):
    with pytest.raises(ArchiveError, match=r"^manifest\.json, \w+: is missing or not what a report has") as error:
        recompute(packed(with_manifest(members, **changes)))
    assert "\n" not in str(error.value)


def test_a_manifest_that_asks_for_too_much_is_refused(members, packed, monkeypatch):
    settings = {"convention": "scale", "resamples": 10**9, "seed": 1}
    with pytest.raises(ArchiveError, match="asks for 1000000000 resamples; at most 100000"):
        recompute(packed(with_manifest(members, settings=settings)))
    monkeypatch.setattr(module, "MAX_CELLS", 10)
    with pytest.raises(ArchiveError, match=r"has 40 places, items times raters; at most 10\.$"):
        recompute(packed(members))


@pytest.mark.parametrize("text", ["nothing", "{}", "[]", '{"rows": 1, "averages": [], "notes": [], "meta": {}}'])
def test_a_document_that_is_none_is_told(members, packed, text):
    outcome = recompute(packed({**members, "agreement.json": text.encode()}, mend=True))
    assert outcome.figures == ("agreement.json is not a report's.",)


def test_other_versions_are_told_and_no_fault(members, packed):
    old = {**json.loads(members["manifest.json"])["versions"], "numpy": "1.0"}
    document = json.loads(members["agreement.json"])
    document["meta"]["versions"] = old
    older = with_manifest({**members, "agreement.json": json.dumps(document).encode()}, versions=old)
    outcome = recompute(packed(older, mend=True))
    assert outcome.is_same
    [said] = outcome.versions
    assert said.startswith("numpy 1.0 there, ")


@pytest.mark.parametrize("said", [None, 0, "yesterday", "", [], {"a": 1}])
def test_a_time_that_is_none_is_refused_in_a_sentence(members, packed, said):
    with pytest.raises(ArchiveError, match=r"^manifest\.json, generated_at: is missing or not what a report has"):
        recompute(packed(with_manifest(members, generated_at=said)))
    manifest = json.loads(members["manifest.json"])
    del manifest["generated_at"]
    with pytest.raises(ArchiveError, match=r"^manifest\.json, generated_at: is missing or not what a report has$"):
        recompute(packed({**members, "manifest.json": json.dumps(manifest).encode()}))


def test_a_cell_that_is_too_long_is_refused_in_a_sentence(members, packed):
    forged = changed(members, "agreement.csv", "letters,", "x" * 200_000 + ",")
    usual = csv.field_size_limit(131_072)
    try:
        with pytest.raises(ArchiveError, match=r"^agreement\.csv cannot be read: field larger than field limit"):
            recompute(packed(forged, mend=True))
    finally:
        csv.field_size_limit(usual)


@pytest.mark.parametrize("meta", [[[1, 1], ["a", 2]], [], "", 5, None])
def test_a_document_whose_meta_is_no_object_is_told(members, packed, meta):
    document = json.loads(members["agreement.json"]) | {"meta": meta}
    outcome = recompute(packed({**members, "agreement.json": json.dumps(document).encode()}, mend=True))
    assert outcome.figures == ("agreement.json is not a report's.",)


def test_a_row_that_stands_there_often_is_told_each_time(members, packed):
    """In a time that grows with the rows: names once grew with each of them, and a few thousand took for ever."""
    row = members["agreement.csv"].decode().splitlines()[1]
    text = members["agreement.csv"].decode() + f"{row}\n" * 3000
    outcome = recompute(packed({**members, "agreement.csv": text.encode()}, mend=True))
    assert outcome.n_figures == 3000
    assert outcome.figures[0].startswith("agreement.csv: kappa_unweighted of experts:median and crowd on letters/")
    assert outcome.figures[0].endswith(" (2) does not come about from the ratings")
    assert outcome.figures[1].endswith(" (3) does not come about from the ratings")


def test_what_would_fill_the_memory_is_refused_first(members, packed, monkeypatch):
    manifest = json.loads(members["manifest.json"])
    for scale in manifest["scales"]:
        scale["points"] = list(range(30_000))
    with pytest.raises(ArchiveError, match=r"^The scale letters/care/warmth has 30000 points; at most 1001\.$"):
        recompute(packed({**members, "manifest.json": json.dumps(manifest).encode()}))
    with monkeypatch.context() as patch:
        patch.setattr(long_table, "MAX_ITEMS", 3)
        with pytest.raises(ArchiveError, match=r"^items\.csv has more than 3 rows, more than a report has\.$"):
            recompute(packed(members))
    for name in ("ratings.csv", "items.csv", "agreement.csv", "agreement.json"):
        with monkeypatch.context() as patch:
            patch.setattr(module, "MAX_FILE_BYTES", 100_000)
            forged = {**members, name: b" " * 100_001}
            with pytest.raises(ArchiveError, match=rf"^{name} has 100001 bytes; expected at most 100000\.$"):
                recompute(packed(forged, mend=True))


def test_no_memory_left_is_said(members, packed, monkeypatch):
    def fails(*args, **options):
        raise MemoryError

    monkeypatch.setattr(module, "analyse", fails)
    with pytest.raises(ArchiveError, match=r"^report\.zip needs more memory than this machine has\.$"):
        recompute(packed(members))


def test_a_damaged_member_of_another_compression(members, tmp_path):
    path = tmp_path / "report.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    assert recompute(path).is_same
    data = bytearray(path.read_bytes())
    data[200:220] = bytes(20)
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"^README\.txt cannot be read from the archive: it is damaged\.$"):
        recompute(path)


class TestCommand:
    def run(self, path: Path) -> str:
        out = io.StringIO()
        call_command("recompute", str(path), stdout=out)
        return out.getvalue()

    def test_the_same_digits(self, content, members, packed):
        assert self.run(packed(members)) == f"recomputed {len(content.rows)} rows: the same digits\n"

    def test_what_changed_and_how_much(self, members, packed):
        forged = changed(members, "ratings.csv", '"e1","expert",false,false,1\n', '"e1","expert",false,false,2\n')
        out = io.StringIO()
        with pytest.raises(CommandError, match=r"^recomputed \d+ rows: 2 differences in the files; \d+ differences in"):
            call_command("recompute", str(packed(forged)), stdout=out)
        lines = out.getvalue().splitlines()
        assert lines[0] == "ratings.csv was changed: its SHA-256 is not that of the manifest."
        assert len(lines) == 2 + 20 + 1
        assert lines[-1].endswith("more differences than are listed")

    def test_digits_that_differ_under_other_versions_are_told_as_such(self, members, packed):
        forged = changed(members, "ratings.csv", '"e1","expert",false,false,1\n', '"e1","expert",false,false,2\n')
        old = {**json.loads(members["manifest.json"])["versions"], "numpy": "1.0"}
        out = io.StringIO()
        with pytest.raises(CommandError, match="differences in the figures, under other versions"):
            call_command("recompute", str(packed(with_manifest(forged, versions=old))), stdout=out)
        assert "version of numpy 1.0 there" in out.getvalue()

    def test_what_is_no_archive(self, tmp_path):
        with pytest.raises(CommandError, match=r"none\.zip cannot be read: No such file or directory\.$"):
            self.run(tmp_path / "none.zip")
        (tmp_path / "a.zip").write_bytes(b"PK")
        with pytest.raises(CommandError, match="is no ZIP archive"):
            self.run(tmp_path / "a.zip")

    def test_names_of_a_strangers_archive_are_only_printed(self, members, packed):
        """Nothing that a terminal would obey, nothing it cannot write, and no page of text for a sentence."""
        document = json.loads(members["agreement.json"])
        document["rows"][:2] = [{"block": "\x1b[2J\n"}, {"block": "\ud800"}]
        out = io.StringIO()
        path = packed({**members, "agreement.json": json.dumps(document).encode()}, mend=True)
        with pytest.raises(CommandError):
            call_command("recompute", str(path), stdout=out)
        assert "\x1b" not in out.getvalue()
        assert " on \ufffd[2J\ufffd does not" in out.getvalue()
        assert out.getvalue().encode()
        with pytest.raises(CommandError, match=r"^manifest\.json, settings: .{10,490}\.\.\.$"):
            call_command("recompute", str(packed(with_manifest(members, settings={"convention": "\x1b" * 5000}))))

    def test_no_database_is_needed(self, content, members, packed, tmp_path):
        """Nor a study: the database it is told of cannot even be opened."""
        done = subprocess.run(
            [sys.executable, "manage.py", "recompute", str(packed(members))],
            cwd=ROOT,
            env=os.environ
            | {
                "DATABASE_URL": "sqlite:////nowhere/at/all.sqlite3",
                "ACCORD_VAR": str(tmp_path / "var"),
                "DJANGO_SETTINGS_MODULE": "config.settings",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"recomputed {len(content.rows)} rows: the same digits\n"
