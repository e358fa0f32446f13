"""The 42 alphas of Kumar et al. 2026, to the printed digit, from the public ratings."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from apps.measures.groups import group_statistics
from apps.measures.scale import Scale

FOLDERS = {
    "empathetic-dialogues": ("empatheticdialogues", ("conv_id",)),
    "epitome": ("epitome", ("sp_id",)),
    "perceived-empathy": ("perceived_empathy", ("id", "OriginalDiscloserID")),
    "lend-an-ear": ("lend_an_ear", ("conversation_id",)),
}
# As published, the models are these two: the notebook's filter finds no row named gemini.
RATERS = {"experts": ("expert1", "expert2", "expert3"), "llms": ("gpt", "claude")}
# Alpha does not depend on the ends of the scale, as long as all ratings lie on it.
SCALE = Scale(tuple(range(8)))


def ratings(folder: Path, rater: str, keys: tuple[str, ...]) -> dict[str, dict[str, str]]:
    with (folder / f"{rater}_ratings.csv").open(newline="", encoding="utf-8-sig") as handle:
        rows = list(csv.DictReader(handle))
    key = next(name for name in keys if name in rows[0])
    return {row[key]: row for row in rows}


def matrix(kumar_folder: Path, framework: str, group: str, column: str) -> np.ndarray:
    """(items, raters), joined by the id of the conversation."""
    name, keys = FOLDERS[framework]
    items: dict[str, list[float]] = defaultdict(lambda: [np.nan] * len(RATERS[group]))
    for position, rater in enumerate(RATERS[group]):
        for item, row in ratings(kumar_folder / "annotations" / name, rater, keys).items():
            items[item][position] = float(row[column] or "nan")
    return np.array(list(items.values()))


@pytest.fixture(scope="module")
def published(kumar_folder: Path) -> list[dict[str, str]]:
    with (kumar_folder / "published_alphas.csv").open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


@pytest.mark.public_data
def test_all_42_published_alphas_are_reproduced(kumar_folder, published):
    assert len(published) == 42
    differing = []
    for row in published:
        values = matrix(kumar_folder, row["framework"], row["group"], row["column"])
        result = group_statistics(values, SCALE, statistics=["alpha_interval"])["alpha_interval"]
        if f"{result.value:.3f}" != row["alpha"]:
            differing.append((row, result.value))
    assert differing == []


@pytest.mark.public_data
def test_the_ratings_are_joined_by_id_and_complete(kumar_folder, published):
    """50 conversations per block; a join by position or a lost id would show here."""
    sizes = {
        (row["framework"], row["group"]): matrix(kumar_folder, row["framework"], row["group"], row["column"]).shape
        for row in published
    }
    assert {shape[0] for shape in sizes.values()} == {50}
