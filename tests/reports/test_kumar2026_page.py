"""docs/kumar-2026.md says what the public data say: published figures as printed, ours as computed now."""

import csv
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIGURES = [f"{name}-{source}.svg" for name in ("benchmark", "frameworks", "alphas") for source in ("published", "here")]

# Of frameworks and of some scales that lie far apart.
NAMES = {
    *("Perceived Empathy", "Lend an Ear", "EPITOME", "Empathetic Dialogues"),
    *("Practical support", "Explorations", "Advice giving", "Seen", "Fluency", "Relevance", "Interpretations"),
}


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


def order(svg: Path) -> list[str]:
    """The scales or frameworks of a picture, from top to bottom."""
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", svg.read_text(encoding="utf-8"))
    return [text for text in texts if text in NAMES]


def axis(svg: Path) -> list[str]:
    """The numbers along the axis of a picture, from left to right, above and below."""
    return re.findall(r"<text[^>]*>(\N{MINUS SIGN}?\d\.\d)</text>", svg.read_text(encoding="utf-8"))


@pytest.mark.public_data
def test_the_page_is_what_the_command_writes(drawn: Path, kumar_folder: Path) -> None:
    page = (drawn / "kumar-2026.md").read_text(encoding="utf-8")
    assert page == (DOCS / "kumar-2026.md").read_text(encoding="utf-8")
    folder = Path("images", "kumar-2026")
    assert sorted(path.name for path in (drawn / folder).iterdir()) == sorted(FIGURES)
    for name in FIGURES:
        assert f"({folder}/{name})" in page
        assert told(drawn / folder / name) == told(DOCS / folder / name)

    for name in ("benchmark", "frameworks", "alphas"):
        published, here = (drawn / folder / f"{name}-{source}.svg" for source in ("published", "here"))
        assert axis(published) == axis(here) != []
        assert order(published) == order(here) != []
    # Counted by hand from the rows: how often each reaches the median expert with the median of the others.
    counts = "gemini on 7 of 21 scales, claude on 5 of 21 scales, gpt on 3 of 21 scales and crowd on 1 of 21 scales."
    assert counts in told(drawn / folder / "benchmark-here.svg")
    assert "Dismissing emotions, Lend an Ear (0.80 among themselves" in told(drawn / folder / "alphas-here.svg")
    assert page.index("## Why figures differ") < page.index("| Scale | ")

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
