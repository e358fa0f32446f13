"""The programs shown beside an export print the figure they promise, from the file as it is downloaded."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from apps.corpus.models import Conversation
from apps.reliability.agreement import AgreementRow
from apps.reliability.services.snapshots import take_snapshot
from apps.reports.services.exports import checked_figure, export_name, export_pieces
from apps.reports.snippets import Snippets, snippets_for
from apps.studies.models import Item, ItemRole, Rater
from apps.studies.services.exclusions import exclude

ODD = {"expert1": '=one "x" é', "expert2": "-2", "expert3": r"back\slash"}
ODD_ITEMS = ["NA", "=1+1, 'two'", "007"]


def run(program: list[str], source: str, folder: Path) -> str:
    done = subprocess.run([*program, source], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def downloaded(study, folder: Path) -> Snippets:
    """The snippets, with the file they read in the folder."""
    figure = checked_figure(study, take_snapshot(study=study))
    assert figure is not None
    (folder / export_name(study, "csv")).write_bytes(b"".join(export_pieces(study, "csv")))
    return figure.snippets


@pytest.fixture
def odd_study(grief, rate, rosa):
    """Names and ids that programs like to take for something else; an exclusion, a repeat, and "cannot tell"."""
    for number, talk in enumerate(Conversation.objects.filter(items__block__study=grief).order_by("position")):
        Conversation.objects.filter(pk=talk.pk).update(external_id=ODD_ITEMS[number])
    block = grief.blocks.get()
    talk = block.items.first().conversation
    Item.objects.create(block=block, conversation=talk, role=ItemRole.REPEAT, position=9)
    rate(grief, {"expert1": [1, 3, 5], "expert2": [2, 3, 4], "expert3": [5, 1, "?"]})
    rate(grief, {"expert1": [5]}, role=ItemRole.REPEAT)
    rate(grief, {"expert1": [1, 1, 5], "expert2": [5, 2, 3]}, dimension="scale_2")
    exclude(rater=grief.raters.get(name="expert3"), by=rosa)
    for name, odd in ODD.items():
        Rater.objects.filter(study=grief, name=name).update(name=odd)
    return grief


def test_python_prints_the_figure_of_the_page(odd_study, tmp_path):
    snippets = downloaded(odd_study, tmp_path)
    # Observed disagreement 2/3; expected 8/3 + 2/3, the means being equal.
    assert snippets.expected == "0.800000"
    assert run([sys.executable, "-c"], snippets.python, tmp_path) == "0.800000"


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_prints_the_figure_of_the_page(odd_study, tmp_path):
    snippets = downloaded(odd_study, tmp_path)
    assert run(["Rscript", "-e"], snippets.r, tmp_path) == "0.800000"


def test_it_is_a_figure_of_experts_who_share_most(grief, rate):
    Rater.objects.create(study=grief, name="gpt", kind="llm")
    rate(grief, {"expert1": [1, 3, 5], "expert2": [2, None, 4], "expert3": [1, 4, 5], "gpt": [1, 3, 5]})
    figure = checked_figure(grief, take_snapshot(study=grief))
    assert (figure.a.name, figure.b.name, figure.row.n_items) == ("expert1", "expert3", 3)
    assert figure.is_current


def test_without_a_defined_kappa_there_is_no_figure(grief, rate):
    rate(grief, {"expert1": [3, 3, 3], "expert2": [3, 3, 3]})
    assert checked_figure(grief, take_snapshot(study=grief)) is None


@pytest.mark.parametrize("change", [{"statistic": "mae"}, {"convention": "observed"}, {"value": None}])
def test_another_figure_is_refused(change):
    row = AgreementRow("b", "f", "d", "kappa_quadratic", "x", "y", "scale", 0.5, *(None,) * 4, 3, 2, 6, 0, "")
    assert snippets_for(row, "r.csv").expected == "0.500000"
    values = {name: getattr(row, name) for name in AgreementRow.__slots__} | change
    with pytest.raises(ValueError, match="not what the programs compute"):
        snippets_for(AgreementRow(**values), "r.csv")
