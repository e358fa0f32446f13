"""Small inputs that broke other tools, asked for over REST: computed at once, and from a snapshot."""

import json
from collections.abc import Callable, Mapping

import pytest
from django.utils import timezone

from apps.reliability.services.reading import SnapshotView
from apps.reliability.services.snapshots import take_snapshot
from apps.studies.models import Exclusion, Rater, RaterKind, Study
from apps.studies.services.raters import add_rater
from tests.conftest import make_dataset, make_framework, make_study

pytestmark = pytest.mark.django_db
RESAMPLES = 200
Answer = Callable[..., dict]


class Rows:
    """An answer's rows by statistic, a and b."""

    def __init__(self, rows: list[dict]) -> None:
        self.rows = {(row["statistic"], row["a"], row["b"]): row for row in rows}

    def __call__(self, statistic: str, a: str = "experts", b: str = "") -> dict:
        return self.rows[statistic, a, b]

    def value(self, statistic: str, a: str = "experts", b: str = "") -> float | None:
        return self(statistic, a, b)["value"]


@pytest.fixture(params=["computed", "from a snapshot"])
def ask(request, rosa, rate, sign_in) -> Callable[..., Rows]:
    """`ask({"expert1": [1, None]}, low=1, high=5)`: the rows of a study with these ratings."""

    def asked(
        ratings: Mapping[str, list],
        *,
        low: int = 1,
        high: int = 5,
        aggregates: Mapping[str, RaterKind] | None = None,
        **parameters: str,
    ) -> Rows:
        n_items = len(next(iter(ratings.values())))
        study = make_study(
            "case",
            owner=rosa,
            dataset=make_dataset("case", conversations=n_items, owner=rosa),
            frameworks=[make_framework("case-scales", dimensions=1, low=low, high=high)],
            experts=sum(name.startswith("expert") for name in ratings),
        )
        for name, kind in (aggregates or {}).items():
            add_rater(study=study, kind=kind, name=name, is_aggregate=True)
        rate(study, ratings)
        if request.param == "from a snapshot":
            take_snapshot(study=study, resamples=RESAMPLES)
        response = sign_in(rosa).get("/api/v1/studies/case/agreement/", {"bootstrap": RESAMPLES} | parameters)
        assert response.status_code == 200
        found = json.loads(response.content, parse_constant=pytest.fail)
        for row in found["rows"]:
            assert (row["value"] is None) == bool(row["reason"])
        return Rows(found["rows"])

    return asked


def test_one_point_for_everything_is_no_agreement_that_could_be_told(ask):
    """CASES 18."""
    rows = ask({"expert1": [3, 3, 3, 3], "expert2": [3, 3, 3, 3], "expert3": [3, 3, 3, 3]})
    for row in (rows("kappa_quadratic", "expert1", "expert2"), rows("alpha_interval"), rows("alpha_nominal")):
        assert (row["value"], row["reason"]) == (None, "no variation")
        assert (row["ci_low"], row["ci_high"], row["p_value"]) == (None, None, None)
    assert rows.value("percent_agreement") == 1
    assert rows.value("percent_agreement", "expert1", "expert2") == 1


def test_perfect_agreement_with_partial_overlap_is_perfect(ask):
    """CASES 19."""
    rows = ask(
        {
            "expert1": [1, 5, 5, 1, None, 3, 1, 5],
            "expert2": [1, None, 5, 1, 5, 3, None, 5],
            "expert3": [1, 5, 5, None, 5, 3, 1, None],
        }
    )
    for a, b in (("expert1", "expert2"), ("expert1", "expert3"), ("expert2", "expert3")):
        for statistic in ("kappa_unweighted", "kappa_linear", "kappa_quadratic", "percent_agreement"):
            assert rows.value(statistic, a, b) == pytest.approx(1)
    for statistic in ("alpha_nominal", "alpha_ordinal", "alpha_interval", "alpha_ratio"):
        assert rows.value(statistic) == pytest.approx(1)


@pytest.mark.parametrize(("convention", "quadratic", "linear"), [("scale", 0.6159, 0.6111), ("observed", 0.4828, 0.5)])
def test_kappa_depends_on_which_points_count(ask, convention, quadratic, linear):
    """CASES 20."""
    rows = ask({"expert1": [1, 1, 7, 7, 1, 2], "expert2": [1, 7, 7, 7, 2, 2]}, low=1, high=7, convention=convention)
    assert rows.value("kappa_quadratic", "expert1", "expert2") == pytest.approx(quadratic, abs=5e-5)
    assert rows.value("kappa_linear", "expert1", "expert2") == pytest.approx(linear, abs=5e-5)
    assert rows("kappa_linear", "expert1", "expert2")["convention"] == convention


def test_krippendorffs_example(ask):
    """CASES 21."""
    n = None
    rows = ask(
        {
            "expert1": [1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n],
            "expert2": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
            "expert3": [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n],
            "expert4": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n],
        }
    )
    for level, alpha in {"nominal": 0.7434, "ordinal": 0.8154, "interval": 0.8491, "ratio": 0.7974}.items():
        row = rows(f"alpha_{level}")
        assert row["value"] == pytest.approx(alpha, abs=5e-5)
        assert row["ci_low"] < row["value"] < row["ci_high"]


def test_no_shared_items_and_a_single_rater_are_said_in_words(ask):
    """CASES 22."""
    rows = ask({"expert1": [1, 2, None, None], "expert2": [None, None, 3, 4]})
    for statistic in ("kappa_quadratic", "spearman", "mae", "bias"):
        row = rows(statistic, "expert1", "expert2")
        assert (row["value"], row["reason"], row["n_items"]) == (None, "no shared items", 0)


def test_a_single_rater_is_said_in_words(ask):
    """CASES 22."""
    rows = ask({"expert1": [1, 2, 3]})
    assert {(row["value"], row["reason"]) for row in rows.rows.values()} == {(None, "fewer than two raters")}


def test_an_alpha_of_zero_stands_with_what_explains_it(ask):
    """CASES 24: eleven items, two raters, one disagreement."""
    rows = ask({"expert1": [1] * 11, "expert2": [1] * 10 + [2]})
    assert rows.value("alpha_nominal") == pytest.approx(0, abs=1e-12)
    assert rows("alpha_nominal")["n_ratings"] == 22
    assert rows.value("percent_agreement") == pytest.approx(10 / 11)
    assert rows.value("ac1") > 0.8
    assert rows.value("ac2_quadratic") > 0.8
    [note] = SnapshotView(take_snapshot(study=Study.objects.get(slug="case"), resamples=RESAMPLES)).notes()
    assert (note.dimension, note.a) == ("scale_1", "experts")
    assert "Alpha is 0.00 although 90.9% of the pairs of ratings are equal" in note.text
    assert "95.5% of all ratings are 1" in note.text


def test_half_points_of_aggregates_keep_their_distances(ask):
    """CASES 25."""
    rows = ask(
        {"expert1": [1, 2, 4, 5], "expert2": [2, 2, 4, 5], "crowd": [1.5, 3.33, 4, 5]},
        aggregates={"crowd": RaterKind.CROWD},
    )
    assert rows.value("mae", "expert1", "crowd") == pytest.approx((0.5 + 1.33) / 4)
    assert 0 < rows.value("kappa_quadratic", "expert1", "crowd") < 1
    row = rows("kappa_unweighted", "expert1", "crowd")
    assert (row["value"], row["reason"]) == (None, "values between points")


def test_a_rater_who_left_stays_until_excluded(ask, rosa, sign_in):
    """CASES 27."""
    rows = ask({"expert1": [1, 2, 3, 4], "expert2": [1, 2, 3, 5]})
    value = rows.value("kappa_quadratic", "expert1", "expert2")
    rater = Rater.objects.get(study__slug="case", name="expert2")
    rater.left_at = timezone.now()
    rater.save()

    def again() -> Rows:
        asked = sign_in(rosa).get("/api/v1/studies/case/agreement/", {"bootstrap": RESAMPLES})
        return Rows(asked.json()["rows"])

    assert again().value("kappa_quadratic", "expert1", "expert2") == value
    Exclusion.objects.create(rater=rater, reason="hand")
    assert not any("expert2" in names for _statistic, *names in again().rows)


def test_the_order_of_points_is_the_scales(ask):
    """CASES 23: on 0 to 10, the point 10 lies beside 9 and not beside 1."""
    rows = ask({"expert1": [0, 2, 9, 10], "expert2": [0, 2, 10, 9]}, low=0, high=10)
    # By hand: squared differences 2 of 4 items; all 16 pairs 0, 4, 100, 81, 4, 0, 64, 49, 81, 49, 1, 0, 100, 64, 0, 1.
    assert rows.value("kappa_quadratic", "expert1", "expert2") == pytest.approx(1 - 4 * 2 / 598)
