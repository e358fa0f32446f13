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

    scale = report(tmp_path / "scale", "--bootstrap", "0", "--formats", "csv,txt")
    practical = scale["perceived-empathy", "practical", "kappa_quadratic", frozenset({"experts:median", "crowd"})]
    fluency = scale["empathetic-dialogues", "fluency", "kappa_quadratic", frozenset({"experts:median", "gemini"})]
    assert (practical["a"], practical["value"]) == ("experts:median", "0.413285")
    assert (fluency["a"], fluency["value"]) == ("experts:median", "0.215481")

    # The fifth block: 116 workers as a group, and each with the mean of the others.
    crowd = {who for block, _, _, who in scale if block == "lend-an-ear-crowd"}
    assert frozenset({"crowd"}) in crowd
    assert sum(any(name.startswith("crowd-without-") for name in who) for who in crowd) == 116
    assert len(crowd) == 117

    check_methods((tmp_path / "scale" / "methods.txt").read_text())


def check_methods(text: str) -> None:
    """Each sentence is true of what was published."""
    short, _, long = text.partition("Long form")
    assert 120 <= len(short.split()) - 2 <= 180
    words = " ".join(long.split())
    assert "200 conversations were rated by 3 experts, " in short
    assert "claude, gemini, gpt" in " ".join(short.split())
    for sentence in (
        "In 3 blocks the raters were 3 experts, 1 imported aggregate of crowd workers (crowd) and 3 language models",
        "self-reports (one rater in the data) on 9 scales of Perceived Empathy",
        "These are 200 different conversations, since blocks share some: Lend an Ear and Lend an Ear, single "
        "annotators share 50.",
        "Source of the conversations: Kumar et al. 2026, doi:10.1038/s42256-025-01169-6;",
        "All ratings were imported. Their recorded sources: claude, “Claude”;",
        "expert1, expert2 and expert3, as the conversations;",
        "Models are named as in the data [add version, prompt and date of the models].",
        "A rater of imported self-reports may stand for several people [say for how many].",
        "Where crowd workers are single raters, the crowd's value of an item is the mean of its workers",
        "Elsewhere the crowd is one imported aggregate (crowd), compared as imported.",
        "it is then Lin's concordance correlation coefficient [",
    ):
        assert sentence in words
    for claim in ("figure", "given in Accord", "simulated", "annotator ", "second ratings"):
        assert claim not in words.replace("single annotator", "")
