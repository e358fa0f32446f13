"""Both baselines on the public study, against figures computed from its files without Accord."""

import csv
from collections import Counter
from statistics import median_low

import pytest
from django.conf import settings
from django.core.management import call_command
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score

from apps.annotation.models import Rating
from apps.llm.models import Baseline
from apps.studies.models import Study
from tests.llm.test_baselines import computed

pytestmark = [pytest.mark.public_data, pytest.mark.django_db]

# Folder of the block's files, the name of their ids, and what stands before a scale's name.
FILES = {
    "empathetic-dialogues": ("empatheticdialogues", "conv_id", ""),
    "epitome": ("epitome", "sp_id", "level_"),
    "perceived-empathy": ("perceived_empathy", "id", "m_"),
    "lend-an-ear": ("lend_an_ear", "conversation_id", ""),
}
SCALES = [
    ("empathetic-dialogues", "relevance", (1, 2, 3, 4, 5)),
    ("empathetic-dialogues", "fluency", (1, 2, 3, 4, 5)),
    ("epitome", "emotional_reactions", (0, 1, 2)),
    ("epitome", "explorations", (0, 1, 2)),
    ("perceived-empathy", "motivation", (1, 2, 3, 4, 5, 6, 7)),
    ("lend-an-ear", "advice_giving", (1, 2, 3, 4, 5)),
    ("lend-an-ear", "self_oriented", (1, 2, 3, 4, 5)),
]

# Of each line of the two tables in docs/baselines.md.
COLUMNS = {
    "constant": ("kappa", "f1_weighted", "percent_agreement"),
    "lexical": ("kappa", "f1_weighted", "guess_f1_weighted", "percent_agreement", "guess_percent_agreement"),
}


@pytest.fixture
def study(kumar_folder, rosa) -> Study:
    call_command("import_kumar2026", str(kumar_folder), "--owner", rosa.email, verbosity=0)
    return Study.objects.get(slug="kumar-2026")


def experts_of(folder, block: str, scale: str) -> dict[str, list[float]]:
    """Conversation -> what the three experts gave, as the files have it."""
    name, key, before = FILES[block]
    found: dict[str, list[float]] = {}
    for number in (1, 2, 3):
        path = folder / "annotations" / name / f"expert{number}_ratings.csv"
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row[key], []).append(float(row[before + scale]))
    return found


def ratings_of(rater: str, block: str, scale: str) -> dict[str, float]:
    rows = Rating.objects.filter(rater__name=rater, item__block__slug=block, dimension__slug=scale)
    return dict(rows.values_list("item__conversation__external_id", "value"))


def details_of(baseline: Baseline) -> dict[str, dict]:
    return {row["scale"]: row for row in baseline.details}


def check_documentation(baseline: Baseline) -> None:
    """Each figure stands in docs/baselines.md, and no other line does."""
    text = (settings.BASE_DIR / "docs/baselines.md").read_text(encoding="utf-8")
    lines = []
    for row in baseline.details:
        if "figures" in row:
            figures = [f"{row['figures'][name]['value']:.2f}" for name in COLUMNS[baseline.rule]]
            used = [f"{row['point']:g}"] if baseline.rule == "constant" else []
            lines.append("| " + " | ".join([f"`{row['scale'].partition('/')[2]}`", *used, *figures]) + " |")
    assert "\n".join(["", *lines, ""]) in text


def check(figures, truth: dict[str, float], given: dict[str, float], points) -> None:
    """Against scikit-learn, on the same items."""
    ids = sorted(truth)
    a, b = [int(truth[one]) for one in ids], [int(given[one]) for one in ids]
    assert figures["kappa"]["value"] == pytest.approx(cohen_kappa_score(a, b, weights="quadratic", labels=list(points)))
    assert figures["percent_agreement"]["value"] == pytest.approx(accuracy_score(a, b))
    weighted = f1_score(a, b, average="weighted", labels=list(points), zero_division=0)
    assert figures["f1_weighted"]["value"] == pytest.approx(weighted)
    guess = [Counter(sorted(a)).most_common(1)[0][0]] * len(a)
    assert figures["guess_percent_agreement"]["value"] == pytest.approx(accuracy_score(a, guess))
    weighted = f1_score(a, guess, average="weighted", labels=list(points), zero_division=0)
    assert figures["guess_f1_weighted"]["value"] == pytest.approx(weighted)


def test_the_constant(study, kumar_folder, rosa):
    baseline = computed(study, "constant", rosa)
    details = details_of(baseline)
    for block, scale, points in SCALES:
        experts = experts_of(kumar_folder, block, scale)
        counts = Counter(value for values in experts.values() for value in values)
        most = min(counts, key=lambda point: (-counts[point], point))
        [framework] = study.blocks.get(slug=block).frameworks.all()
        row = details[f"{block}/{framework.slug}/{scale}"]
        assert (row["point"], row["count"], row["total"], row["items"]) == (most, counts[most], 150, 50)
        given = ratings_of("constant", block, scale)
        assert given == dict.fromkeys(experts, most)
        check(row["figures"], {one: median_low(values) for one, values in experts.items()}, given, points)
        assert row["figures"]["kappa"]["value"] == 0
    # The crowd's block has no expert; the block without published texts has its ratings all the same.
    left_out = [name for name, row in details.items() if row.get("left_out") == "no_experts"]
    assert len(left_out) == 6
    assert all(name.startswith("lend-an-ear-crowd/") for name in left_out)
    assert Rating.objects.filter(rater=baseline.rater).count() == 21 * 50
    check_documentation(baseline)


def test_the_lexical_baseline(study, kumar_folder, rosa):
    baseline = computed(study, "lexical", rosa)
    details = details_of(baseline)
    for block, scale, points in SCALES:
        [framework] = study.blocks.get(slug=block).frameworks.all()
        row = details[f"{block}/{framework.slug}/{scale}"]
        if scale in ("fluency", "motivation"):
            assert row["left_out"] == "no_rule"
            continue
        experts = experts_of(kumar_folder, block, scale)
        given = ratings_of("lexical", block, scale)
        assert set(given.values()) <= set(points)
        assert given.keys() == experts.keys()
        check(row["figures"], {one: median_low(values) for one, values in experts.items()}, given, points)
    practical = details["perceived-empathy/perceived-empathy/practical"]
    assert (practical["left_out"], practical["unrated"]) == ("no_items", {"no_text": 50})
    # 11 scales with text and a rule, six of them in two blocks.
    assert Rating.objects.filter(rater=baseline.rater).count() == (11 + 6) * 50
    check_documentation(baseline)
