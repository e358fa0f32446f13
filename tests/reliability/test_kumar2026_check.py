"""The published results of Kumar et al. 2026, from the public folder and from copies of it with one thing changed."""

import csv
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.annotation.kumar2026 import dimension_of, read_study
from apps.reliability.kumar2026_alphas import PUBLISHED_ALPHAS
from apps.reliability.kumar2026_check import SCALES, check_study

pytestmark = pytest.mark.public_data

PAIRS = Path("annotations/all_annotator_pairs_spearman_kappa.csv")


def verify(folder: Path) -> str:
    stdout = StringIO()
    call_command("verify_kumar2026", str(folder), stdout=stdout)
    return stdout.getvalue()


@pytest.fixture
def altered(kumar_folder, tmp_path):
    """`altered(file, column=value)`: a copy of the folder, other in those columns of the first row of one file."""

    def copied(name: Path, **cells: str) -> Path:
        folder = tmp_path / "copy"
        shutil.copytree(kumar_folder, folder, copy_function=shutil.copyfile)
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)
        with (folder / name).open(encoding="utf-8", newline="") as file:
            header, first, *rest = list(csv.reader(file))
        assert set(cells) <= set(header)
        first = [cells.get(column, value) for column, value in zip(header, first, strict=True)]
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, first, *rest])
        return folder

    return copied


@pytest.fixture(scope="module")
def check(kumar_folder):
    return check_study(kumar_folder, read_study(kumar_folder))


def test_every_published_figure_comes_out(kumar_folder):
    lines = verify(kumar_folder).splitlines()
    assert lines[-1] == "kappa 126/126, alpha 42/42"
    assert lines[0].endswith("33 of 126 differ at two decimals.")
    assert "  At most 0.077: perceived-empathy/practical, experts with crowd." in lines
    assert "  At most 0.297: empathetic-dialogues/fluency, llms." in lines


def test_the_conventions_differ_as_stated(check):
    assert len(check.differing) == 33
    most = check.differing[0]
    assert str(most) == "perceived-empathy/practical, experts with crowd"
    assert most.scale == pytest.approx(0.413285, abs=5e-7)
    assert abs(most.observed - most.scale) == pytest.approx(0.077, abs=5e-4)


def test_the_published_model_alphas_are_of_two_models(check):
    [fluency] = [alpha for alpha in check.alphas if alpha.dimension == "fluency" and alpha.group == "llms"]
    assert fluency.value == pytest.approx(0.647, abs=5e-4)
    assert fluency.all_models - fluency.value == pytest.approx(-0.297, abs=5e-4)


def test_the_alphas_carried_are_those_that_were_printed(kumar_folder):
    with (kumar_folder / "published_alphas.csv").open(encoding="utf-8", newline="") as file:
        printed = {
            (row["framework"], dimension_of(row["column"]), row["group"]): float(row["alpha"])
            for row in csv.DictReader(file)
        }
    carried = {
        (framework, dimension, group): alpha
        for (framework, dimension), alphas in PUBLISHED_ALPHAS.items()
        for group, alpha in zip(("experts", "llms"), alphas, strict=True)
    }
    assert carried == printed
    assert len(carried) == 42


@pytest.mark.django_db
def test_the_scales_are_those_of_the_catalog():
    from apps.frameworks.models import Dimension
    from apps.reliability.services.loading import scale_of

    call_command("load_frameworks", stdout=StringIO())
    for framework, dimension in PUBLISHED_ALPHAS:
        stored = Dimension.objects.get(framework__slug=framework, slug=dimension)
        assert scale_of(stored) == SCALES[framework]


def test_a_changed_published_figure_is_named(altered):
    """The table begins with advice_giving of Lend an Ear, expert1 with expert2: kappa 0.70."""
    folder = altered(PAIRS, **{"Weighted Cohen's Kappa": "0.71"})
    output = StringIO()
    sentence = r"^kappa 125/126, alpha 42/42\. Published figures that do not come out: 1\.$"
    with pytest.raises(CommandError, match=sentence):
        call_command("verify_kumar2026", str(folder), stdout=output)
    assert output.getvalue().splitlines()[-1] == (
        "lend-an-ear/advice_giving, expert1 with expert2: published Weighted Cohen's Kappa 0.71, found 0.70"
    )


@pytest.mark.parametrize(
    ("name", "cells", "sentence"),
    [
        ("perceived_empathy/expert1", {"m_understood": "7"}, r"^kappa 12[0-5]/126, alpha 41/42\."),
        ("lend_an_ear/gpt", {"validating_emotions": "5"}, r"^kappa 126/126, alpha 41/42\."),
        ("epitome/crowd", {"level_explorations": "1"}, "differs from the crowd's ratings"),
        (
            "perceived_empathy/expert1",
            {"m_seen": "8"},
            r"^perceived-empathy/seen, expert1: 8 is outside the scale",
        ),
        ("perceived_empathy/expert1", {"m_seen": ""}, "expected a number in the column seen"),
    ],
)
def test_a_changed_rating_is_found(altered, name, cells, sentence):
    folder = altered(Path(f"annotations/{name}_ratings.csv"), **cells)
    with pytest.raises(CommandError, match=sentence):
        verify(folder)


@pytest.mark.parametrize("name", [PAIRS, Path("annotations/epitome/gpt_ratings.csv")])
def test_a_missing_file_is_one_clear_line(altered, name):
    folder = altered(name)
    (folder / name).unlink()
    with pytest.raises(CommandError, match=f"^{name} cannot be read: No such file or directory"):
        verify(folder)


def test_a_folder_of_another_kind_is_one_clear_line(tmp_path):
    with pytest.raises(CommandError, match="is not the public folder"):
        verify(tmp_path)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"Kappa Z-statistic": "many"}, "row 2: a figure is no number"),
        ({"Dataset": "Lend"}, "the data set Lend is not known"),
        ({"Dimension": "demonstrating_understanding"}, "the pair comes twice"),
    ],
)
def test_a_table_of_figures_that_does_not_fit_is_one_clear_line(altered, cells, sentence):
    with pytest.raises(CommandError, match=sentence):
        verify(altered(PAIRS, **cells))


def test_a_table_without_a_column_is_one_clear_line(altered):
    folder = altered(PAIRS)
    text = (folder / PAIRS).read_text(encoding="utf-8")
    (folder / PAIRS).write_text(text.replace("Kappa Z-statistic", "Z", 1), encoding="utf-8")
    with pytest.raises(CommandError, match="has no column Kappa Z-statistic"):
        verify(folder)


def test_a_missing_and_a_surplus_row_are_named(altered):
    folder = altered(PAIRS, **{"Annotator Pair": "('expert1', 'crowd')"})
    output = StringIO()
    with pytest.raises(CommandError, match=r"^kappa 125/126, alpha 42/42"):
        call_command("verify_kumar2026", str(folder), stdout=output)
    assert output.getvalue().splitlines()[-2:] == [
        f"{PAIRS} has no row for lend-an-ear/advice_giving, expert1 with expert2.",
        f"{PAIRS} has a row too many: lend-an-ear/advice_giving, crowd with expert1.",
    ]
