from collections import Counter

from apps.operations.demo.simulation import RATERS, SimulatedRater, SimulatedScale, simulate

SCALE = SimulatedScale("warmth/warm", (1, 2, 3, 4, 5), 1)
COLD = SimulatedScale("warmth/cold", (1, 2, 3, 4, 5), -1)
QUALITIES = {f"c{number}": ("poor", "mixed", "good")[number % 3] for number in range(60)}


def mean_by_quality(rows, scale: str) -> dict[str, float]:
    totals: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for conversation, _, key, value in rows:
        if key == scale:
            totals[QUALITIES[conversation]] += value
            counts[QUALITIES[conversation]] += 1
    return {quality: totals[quality] / counts[quality] for quality in counts}


def test_good_support_scores_high_and_low_where_less_is_better():
    rows = list(simulate(QUALITIES, [SCALE, COLD], RATERS, seed=1))
    warm, cold = mean_by_quality(rows, SCALE.key), mean_by_quality(rows, COLD.key)
    assert warm["poor"] < warm["mixed"] < warm["good"]
    assert cold["poor"] > cold["mixed"] > cold["good"]


def test_values_are_declared_points_and_a_few_are_missing():
    rows = list(simulate(QUALITIES, [SCALE], RATERS, seed=1))
    assert {value for *_, value in rows} <= set(SCALE.points)
    full = len(QUALITIES) * len(RATERS)
    assert 0.94 * full < len(rows) < full


def test_the_same_seed_gives_the_same_and_another_rater_changes_nobody():
    fewer = list(simulate(QUALITIES, [SCALE], RATERS[:2], seed=7))
    more = list(simulate(QUALITIES, [SCALE], (*RATERS[:2], SimulatedRater("late", "crowd", 0, 0.1)), seed=7))
    assert fewer == list(simulate(QUALITIES, [SCALE], RATERS[:2], seed=7))
    assert [row for row in more if row[1] != "late"] == fewer
    assert fewer != list(simulate(QUALITIES, [SCALE], RATERS[:2], seed=8))
