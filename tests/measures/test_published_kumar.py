"""The 126 published pair results of Kumar et al. 2026, from the public ratings.

In the published table `experts` is the median of the three experts per item, `llm` is Gemini 2.5 Pro, and the kappas
are quadratic in the `observed` convention.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from apps.measures.aggregates import group_median
from apps.measures.pairs import Convention, pair_statistics
from apps.measures.ranks import fisher_interval
from apps.measures.results import Result
from apps.measures.scale import Scale

pytestmark = pytest.mark.public_data

# folder of the ratings: (id columns, prefix of the scale columns, points)
DATASETS = {
    "Empathetic Dialogues": ("empatheticdialogues", ["conv_id"], "", range(1, 6)),
    "EPITOME": ("epitome", ["sp_id"], "level_", range(3)),
    "Perceived Empathy": ("perceived_empathy", ["id", "OriginalDiscloserID"], "m_", range(1, 8)),
    "Lend an Ear": ("lend_an_ear", ["conversation_id"], "", range(1, 6)),
}
EXPERTS = ("expert1", "expert2", "expert3")


@cache
def ratings(folder: Path, dataset: str, rater: str) -> pd.DataFrame:
    """Ratings by item id and published column name. `experts` is the median, `llm` is Gemini."""
    if rater == "experts":
        return medians(folder, dataset)
    name, ids, prefix, _ = DATASETS[dataset]
    file = folder / "annotations" / name / f"{'gemini' if rater == 'llm' else rater}_ratings.csv"
    head = pd.read_csv(file, nrows=0).columns
    key = next(column for column in ids if column in head)
    table = pd.read_csv(file, dtype={key: str}).set_index(key)
    assert table.index.is_unique
    return table.rename(columns=lambda column: column.removeprefix(prefix)).sort_index()


def medians(folder: Path, dataset: str) -> pd.DataFrame:
    tables = [ratings(folder, dataset, expert) for expert in EXPERTS]
    columns = [column for column in tables[0].columns if column in tables[1].columns and column in tables[2].columns]
    return pd.DataFrame(
        {
            column: group_median(np.stack([table[column].reindex(tables[0].index) for table in tables], axis=1))
            for column in columns
            if pd.api.types.is_numeric_dtype(tables[0][column])
        },
        index=tables[0].index,
    )


def compared(folder: Path, dataset: str, dimension: str, a: str, b: str, convention: Convention) -> dict[str, Result]:
    first, second = ratings(folder, dataset, a), ratings(folder, dataset, b)
    column = dimension.removeprefix(DATASETS[dataset][2])
    scale = Scale(tuple(map(float, DATASETS[dataset][3])))
    return pair_statistics(first[column], second[column].reindex(first.index), scale, convention=convention)


def published(folder: Path) -> Iterator[tuple[tuple[str, str, str, str], dict[str, float]]]:
    """((dataset, dimension, a, b), printed figures) of each row of the published table."""
    table = pd.read_csv(folder / "annotations" / "all_annotator_pairs_spearman_kappa.csv")
    for row in table.to_dict("records"):
        a, b = (name.strip("'\" ") for name in row["Annotator Pair"].strip("()").split(","))
        yield (row["Dataset"], row["Dimension"], a, b), row


def agrees(value: float | None, printed: float, decimals: int) -> bool:
    return value is not None and f"{value:.{decimals}f}" == f"{printed:.{decimals}f}"


COLUMNS = {
    "Weighted Cohen's Kappa": 2,
    "Kappa Z-statistic": 3,
    "Kappa P-value": 3,
    "Spearman Correlation": 2,
    "Spearman P-value": 3,
    "Fisher CI Lower": 2,
    "Fisher CI Upper": 2,
}


def test_all_126_published_rows_come_out_to_the_last_printed_digit(kumar_folder: Path) -> None:
    wrong = []
    rows = 0
    for key, printed in published(kumar_folder):
        rows += 1
        found = compared(kumar_folder, *key, Convention.OBSERVED)
        kappa, rho = found["kappa_quadratic"], found["spearman"]
        assert rho.value is not None
        low, high = fisher_interval(rho.value, rho.n_items) or (None, None)
        ours = (kappa.value, kappa.z, kappa.p_value, rho.value, rho.p_value, low, high)
        for (column, decimals), value in zip(COLUMNS.items(), ours, strict=True):
            if not agrees(value, printed[column], decimals):
                wrong.append((*key, column, value, printed[column]))
    assert rows == 126
    assert wrong == []


def quadratic_kappas(folder: Path, a: str, b: str, convention: Convention) -> list[float]:
    """Quadratic kappa of two raters on each of the 21 dimensions."""
    dimensions = sorted({(key[0], key[1]) for key, _ in published(folder)})
    found = [compared(folder, *dimension, a, b, convention)["kappa_quadratic"].value for dimension in dimensions]
    return [value for value in found if value is not None]


@pytest.mark.parametrize(
    ("dataset", "dimension", "other", "kappa"),
    [
        ("Perceived Empathy", "m_practical", "crowd", 0.413285),
        ("Empathetic Dialogues", "fluency", "llm", 0.215481),
    ],
)
def test_the_scale_convention_has_its_own_figures(
    kumar_folder: Path, dataset: str, dimension: str, other: str, kappa: float
) -> None:
    """The two figures that the first issue asks for."""
    found = compared(kumar_folder, dataset, dimension, "experts", other, Convention.SCALE)
    assert found["kappa_quadratic"].value == pytest.approx(kappa, abs=5e-7)


def test_the_conventions_differ_in_33_of_126_kappas_and_by_at_most_0077(kumar_folder: Path) -> None:
    differences = {}
    for key, printed in published(kumar_folder):
        value = compared(kumar_folder, *key, Convention.SCALE)["kappa_quadratic"].value
        observed = compared(kumar_folder, *key, Convention.OBSERVED)["kappa_quadratic"].value
        assert value is not None
        assert observed is not None
        if not agrees(value, printed["Weighted Cohen's Kappa"], 2):
            differences[key] = abs(value - observed)
    assert len(differences) == 33
    furthest = max(differences, key=lambda key: differences[key])
    assert furthest == ("Perceived Empathy", "m_practical", "experts", "crowd")
    assert differences[furthest] == pytest.approx(0.077, abs=0.0005)


@pytest.mark.parametrize(
    ("rater", "convention", "median"),
    [
        ("llm", Convention.OBSERVED, 0.60),
        ("claude", Convention.OBSERVED, 0.47),
        ("gpt", Convention.OBSERVED, 0.40),
        ("crowd", Convention.OBSERVED, 0.33),
        ("crowd", Convention.SCALE, 0.345),
    ],
)
def test_medians_over_the_21_scales_against_the_experts(
    kumar_folder: Path, rater: str, convention: Convention, median: float
) -> None:
    kappas = quadratic_kappas(kumar_folder, "experts", rater, convention)
    assert len(kappas) == 21
    assert np.median(kappas) == pytest.approx(median, abs=0.005)


def test_median_of_the_63_expert_pairs(kumar_folder: Path) -> None:
    pairs = [("expert1", "expert2"), ("expert2", "expert3"), ("expert3", "expert1")]
    kappas = [kappa for pair in pairs for kappa in quadratic_kappas(kumar_folder, *pair, Convention.OBSERVED)]
    assert len(kappas) == 63
    assert np.median(kappas) == pytest.approx(0.58, abs=0.005)
