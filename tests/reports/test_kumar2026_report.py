"""From the public folder through the database to the report: the published figures, in the contract's columns."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from apps.annotation.kumar2026 import dimension_of

pytestmark = [pytest.mark.django_db, pytest.mark.public_data]

BLOCKS = {
    "Empathetic Dialogues": "empathetic-dialogues",
    "EPITOME": "epitome",
    "Perceived Empathy": "perceived-empathy",
    "Lend an Ear": "lend-an-ear",
}
NAMES = {"experts": "experts:median", "llm": "gemini"}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def report(out: Path, *options: str) -> dict[tuple[str, str, str, frozenset[str]], dict[str, str]]:
    """(block, dimension, statistic, who) -> row."""
    call_command("agreement", "--study", "kumar-2026", "--out", str(out), *options, stdout=StringIO())
    return {
        (row["block"], row["dimension"], row["statistic"], frozenset({row["a"], row["b"]} - {""})): row
        for row in rows_of(out / "agreement.csv")
    }


def test_the_published_study(kumar_folder, tmp_path):
    call_command("import_kumar2026", str(kumar_folder), stdout=StringIO())

    observed = report(tmp_path / "observed", "--convention", "observed", "--bootstrap", "0")
    kappas = 0
    for published in rows_of(kumar_folder / "annotations" / "all_annotator_pairs_spearman_kappa.csv"):
        block, dimension = BLOCKS[published["Dataset"]], dimension_of(published["Dimension"])
        pair = published["Annotator Pair"].strip("()").replace("'", "").split(", ")
        who = frozenset(NAMES.get(name, name) for name in pair)
        kappa = observed[block, dimension, "kappa_quadratic", who]
        assert kappa["convention"] == "observed"
        assert float(kappa["value"]) == pytest.approx(float(published["Weighted Cohen's Kappa"]), abs=5.001e-3)
        assert float(kappa["p_value"]) == pytest.approx(float(published["Kappa P-value"]), abs=5.001e-4)
        spearman = observed[block, dimension, "spearman", who]
        assert float(spearman["value"]) == pytest.approx(float(published["Spearman Correlation"]), abs=5.001e-3)
        kappas += 1
    assert kappas == 126

    alphas = 0
    for published in rows_of(kumar_folder / "published_alphas.csv"):
        if published["group"] == "experts":
            key = (published["framework"], dimension_of(published["column"]), "alpha_interval", frozenset({"experts"}))
            assert float(observed[key]["value"]) == pytest.approx(float(published["alpha"]), abs=5.001e-4)
            alphas += 1
    assert alphas == 21

    scale = report(tmp_path / "scale", "--bootstrap", "0")
    practical = scale["perceived-empathy", "practical", "kappa_quadratic", frozenset({"experts:median", "crowd"})]
    fluency = scale["empathetic-dialogues", "fluency", "kappa_quadratic", frozenset({"experts:median", "gemini"})]
    assert (practical["a"], practical["value"]) == ("experts:median", "0.413285")
    assert (fluency["a"], fluency["value"]) == ("experts:median", "0.215481")

    # The fifth block: 116 workers as a group, and each with the mean of the others.
    crowd = {who for block, _, _, who in scale if block == "lend-an-ear-crowd"}
    assert frozenset({"crowd"}) in crowd
    assert sum(any(name.startswith("crowd-without-") for name in who) for who in crowd) == 116
    assert len(crowd) == 117
