"""docs/kumar-2026.md says what the public data say: published figures as printed, ours as computed now."""

import csv
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIGURES = [f"{name}-{source}.svg" for name in ("benchmark", "frameworks", "alphas") for source in ("published", "here")]


@pytest.fixture
def drawn(db: None, kumar_folder: Path, tmp_path: Path) -> Path:
    call_command("import_kumar2026", str(kumar_folder), stdout=StringIO())
    call_command("draw_kumar2026", str(kumar_folder), "--out", str(tmp_path), stdout=StringIO())
    return tmp_path


def told(svg: Path) -> str:
    """What a figure says to who cannot see it."""
    found = re.search(r"<desc[^>]*>(.*?)</desc>", svg.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


@pytest.mark.public_data
def test_the_page_is_what_the_command_writes(drawn: Path, kumar_folder: Path) -> None:
    page = (drawn / "kumar-2026.md").read_text(encoding="utf-8")
    assert page == (DOCS / "kumar-2026.md").read_text(encoding="utf-8")
    folder = Path("images", "kumar-2026")
    assert sorted(path.name for path in (drawn / folder).iterdir()) == sorted(FIGURES)
    for name in FIGURES:
        assert f"({folder}/{name})" in page
        assert told(drawn / folder / name) == told(DOCS / folder / name)

    # Independently of the code that reads them: every published kappa stands in the table as printed.
    with (kumar_folder / "annotations" / "all_annotator_pairs_spearman_kappa.csv").open(encoding="utf-8") as file:
        published = sorted(row["Weighted Cohen's Kappa"] for row in csv.DictReader(file))
    assert sorted(re.findall(r"\| (-?\d\.\d\d)(?:\\\*)* / ", page)) == published


@pytest.mark.django_db
@pytest.mark.public_data
def test_a_study_that_is_not_there_is_named(kumar_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no study kumar-2026: run import_kumar2026 first"):
        call_command("draw_kumar2026", str(kumar_folder), "--out", str(tmp_path))
    assert list(tmp_path.iterdir()) == []
