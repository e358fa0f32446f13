import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from apps.reports import archive
from apps.reports.archive import ArchiveError, open_archive
from apps.reports.building import build_files, count_files
from apps.reports.contents import Format, ReportContent, ReportOptions
from apps.reports.documents import agreement_csv, agreement_json
from apps.reports.recompute import recompute
from tests.reports.made import content_of, study_tables

EVERY = ReportOptions(formats=tuple(Format))
MEMBERS = [
    *["README.txt", "agreement.csv", "agreement.json", "agreement.xlsx", "tables.tex", "report.html", "methods.txt"],
    *["figures/benchmark.svg", "figures/benchmark.png", "figures/alphas.svg", "figures/alphas.png"],
    *["figures/benchmark-90mm.svg", "figures/benchmark-90mm.png", "figures/alphas-90mm.svg", "figures/alphas-90mm.png"],
    *["ratings.csv", "items.csv", "manifest.json"],
]


def written(content: ReportContent) -> dict[str, bytes]:
    files = {}
    for file in build_files(content):
        out = io.BytesIO()
        file.write(out)
        files[file.name] = out.getvalue()
    return files


@pytest.fixture(scope="module")
def content() -> ReportContent:
    return content_of(study_tables(), options=EVERY)


@pytest.fixture(scope="module")
def files(content) -> dict[str, bytes]:
    return written(content)


@pytest.fixture(scope="module")
def members(files) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(files["report.zip"])) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def test_every_format_has_its_files(files):
    assert list(files) == [
        *["agreement.csv", "agreement.json", "agreement.xlsx", "tables.tex", "report.html", "methods.txt"],
        *["figure-benchmark.svg", "figure-benchmark.png", "figure-alphas.svg", "figure-alphas.png", "report.zip"],
    ]
    assert all(files.values())
    assert files["figure-alphas.png"].startswith(b"\x89PNG")
    assert files["figure-alphas.svg"].startswith(b"<?xml")


ALL_FIGURES = ReportOptions(formats=("html", "png", "zip"), all_figures=True)


@pytest.fixture(scope="module")
def with_all_figures() -> ReportContent:
    return content_of(study_tables(), options=ALL_FIGURES, resamples=0)


def test_figures_of_each_scale_and_rater_lie_in_folders(with_all_figures, tmp_path):
    """Every file is told before it is written, and each single figure of the HTML report, of which there is one."""
    told: list[str] = []
    files = {}
    for file in build_files(with_all_figures, told=told.append):
        out = io.BytesIO()
        file.write(out)
        files[file.name] = out.getvalue()
    assert len(told) == count_files(with_all_figures)
    with zipfile.ZipFile(io.BytesIO(files["report.zip"])) as opened:
        inside = {name: opened.read(name) for name in opened.namelist()}
    names = [name.removeprefix("figures/").removesuffix(".svg") for name in inside if name.endswith(".svg")]
    names = [name for name in names if not name.endswith("-90mm")]
    assert names[:4] == [
        "benchmark",
        "alphas",
        "scales/distribution-letters-care-warmth",
        "scales/raters-letters-care-warmth",
    ]
    assert names[4] == "scales/confusion-letters-care-warmth-experts-median-gpt"
    assert names[-5:] == [f"raters/rater-{name}" for name in ("e1", "e2", "e3", "crowd", "gpt")]
    assert [name for name in told if name.startswith("report.html, ")] == [
        f"report.html, {name.rpartition('/')[2]}" for name in names[2:]
    ]
    assert {name for name in files if name.endswith(".png")} == {
        f"figure-{name.rpartition('/')[2]}.png" for name in names
    }
    assert files["report.html"] == inside["report.html"]
    readme = inside["README.txt"].decode()
    assert "figures/scales/" in readme
    assert "figures/raters/" in readme
    assert "Not drawn: Matrices, point by point, of 2 pairs: values between points." in readme
    assert json.loads(inside["manifest.json"])["options"]["all_figures"] is True
    (tmp_path / "report.zip").write_bytes(files["report.zip"])
    assert recompute(tmp_path / "report.zip").is_same


def test_the_work_can_be_ended_between_two_figures(with_all_figures):
    class EndedError(Exception):
        pass

    told: list[str] = []

    def end(name: str) -> None:
        told.append(name)
        if name.startswith("report.html, raters-"):
            raise EndedError

    [html] = (file for file in build_files(with_all_figures, told=end) if file.name == "report.html")
    with pytest.raises(EndedError):
        html.write(io.BytesIO())
    assert told == [
        "report.html",
        "report.html, distribution-letters-care-warmth",
        "report.html, raters-letters-care-warmth",
    ]


@pytest.mark.parametrize("chosen", [("csv",), ("json", "txt"), ("svg",), ("zip",)])
def test_only_the_chosen_formats_are_written(content, chosen):
    files = written(replace(content, options=ReportOptions(formats=chosen)))
    assert {name.rpartition(".")[2] for name in files} == set(chosen)


def test_the_archive_holds_everything_whatever_was_chosen(content, members):
    assert list(members) == MEMBERS
    only = written(replace(content, options=ReportOptions(formats=("zip",))))["report.zip"]
    with zipfile.ZipFile(io.BytesIO(only)) as opened:
        assert opened.namelist() == MEMBERS


def test_files_in_the_archive_are_those_beside_it(files, members):
    for name in ("agreement.csv", "agreement.json", "agreement.xlsx", "tables.tex", "report.html", "methods.txt"):
        assert members[name] == files[name]
    assert members["figures/alphas.svg"] == files["figure-alphas.svg"]


def test_the_same_report_gives_the_same_archive(content, files):
    assert written(content)["report.zip"] == files["report.zip"]


def test_members_carry_no_time_and_can_be_read(files):
    with zipfile.ZipFile(io.BytesIO(files["report.zip"])) as opened:
        assert opened.testzip() is None
        assert {info.date_time for info in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {info.external_attr >> 16 & 0o777 for info in opened.infolist()} == {0o644}


def test_the_manifest_knows_every_file_and_how_it_came(content, members):
    import hashlib

    manifest = json.loads(members["manifest.json"])
    assert [file["name"] for file in manifest["files"]] == MEMBERS[:-1]
    for file in manifest["files"]:
        assert file["sha256"] == hashlib.sha256(members[file["name"]]).hexdigest()
        assert file["size"] == len(members[file["name"]])
    assert (manifest["schema"], manifest["schema_version"]) == ("accord-report", 1)
    assert manifest["settings"] == {"convention": "scale", "resamples": 50, "seed": 7}
    assert manifest["data_hash"] == content.agreement.data_hash
    assert manifest["versions"] == content.versions
    assert manifest["generated_at"] == "2026-11-30T12:00:00+00:00"
    scale = manifest["scales"][0]
    assert (scale["dimension"], scale["points"], scale["level"]) == ("warmth", [1, 2, 3, 4, 5], "ordinal")
    assert scale["labels"][0] == "not at all"
    assert {"name": "crowd", "kind": "crowd", "aggregate": True} in manifest["raters"]["used"]


def test_the_readme_names_every_member(content, members):
    text = members["README.txt"].decode()
    for name in MEMBERS[1:]:
        assert name.partition("/")[0] in text
    assert content.command in text
    assert "python manage.py recompute report.zip" in text


def test_progress_is_told_for_each_file(content):
    told: list[str] = []
    for file in build_files(content, told=told.append):
        file.write(io.BytesIO())
    assert len(told) == count_files(content)
    assert told[-1] == "items.csv"
    assert "report.zip" in told


def test_telling_can_end_the_work(content):
    def stop(name: str) -> None:
        if name == "ratings.csv":
            raise KeyboardInterrupt

    [file] = build_files(replace(content, options=ReportOptions(formats=("zip",))), told=stop)
    with pytest.raises(KeyboardInterrupt):
        file.write(io.BytesIO())


def test_json_and_csv_hold_the_chosen_rows(content):
    narrowed = replace(content, options=ReportOptions(parts=("groups",)))
    document = json.loads(agreement_json(narrowed))
    assert {row["b"] for row in document["rows"]} == {""}
    assert document["meta"]["filter"]["parts"] == ["groups"]
    assert len(agreement_csv(narrowed).splitlines()) == len(document["rows"]) + 1
    assert "filter" not in json.loads(agreement_json(content))["meta"]


# --- Reading ------------------------------------------------------------------------------------------------------


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return path


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../b", "a\\b", "./x", "a//b", "x\n"])
def test_a_path_out_of_the_archive_is_refused(tmp_path, name):
    path = zipped(tmp_path / "a.zip", {name: b"x"})
    with pytest.raises(ArchiveError, match=r"has a member named .*, which no report has\."), open_archive(path):
        pass
    assert [one.name for one in tmp_path.iterdir()] == ["a.zip"]


def test_what_is_no_archive_is_one_sentence(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(b"not a zip")
    with pytest.raises(ArchiveError, match=r"^a\.zip is no ZIP archive, or it is cut short\.$"):
        recompute(path)


def test_a_bomb_is_refused_by_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_BYTES", 1000)
    path = zipped(tmp_path / "a.zip", {"ratings.csv": b"0" * 2000})
    with pytest.raises(ArchiveError, match=r"^The archive unpacks to 2000 bytes; expected at most 1000\.$"):
        recompute(path)


def test_too_many_members_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    path = zipped(tmp_path / "a.zip", {f"f{number}": b"" for number in range(3)})
    with pytest.raises(ArchiveError, match=r"^The archive has 3 members; expected at most 2\.$"):
        recompute(path)


def test_a_member_twice_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("x", b"1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            made.writestr("x", b"2")
    with pytest.raises(ArchiveError, match=r"two members named x"):
        recompute(path)


def test_a_member_that_is_damaged_is_one_sentence(tmp_path):
    path = zipped(tmp_path / "a.zip", {"manifest.json": b"{" + b"0123456789" * 50})
    data = bytearray(path.read_bytes())
    data[30 + len("manifest.json") + 5] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"^manifest\.json cannot be read from the archive: it is damaged\.$"):
        recompute(path)


def test_a_size_that_lies_is_not_believed(tmp_path):
    """A member that unpacks to more than it says ends where it says, and fails its checksum."""
    path = zipped(tmp_path / "a.zip", {"manifest.json": b"0" * 5000})
    data = path.read_bytes().replace((5000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"damaged"):
        recompute(path)


def test_an_encrypted_member_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"manifest.json": b"{}"})
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\x01\x02")
    data[central + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"^manifest\.json is encrypted, which no report is\.$"):
        recompute(path)
