"""Small ratings whose figures other tools got wrong, seen through the agreement page (CASES 18 to 25)."""

import re

import pytest
from django.utils import timezone

from apps.frameworks.models import ScalePoint
from apps.reliability.selection import DataSelection
from apps.studies.models import Exclusion, RaterKind, Study
from tests.conftest import make_dataset, make_framework, make_study
from tests.dashboard.agreement_world import add, compute, rate
from tests.measures.published import KRIPPENDORFF

pytestmark = pytest.mark.django_db

PAGE = "/studies/warm/agreement/"


@pytest.fixture
def make(rosa):
    """`make(items, low, high)`: a study without ratings."""

    def made(items: int, *, low: int = 1, high: int = 5, experts: int = 2) -> Study:
        dataset = make_dataset("warm-talks", conversations=items, owner=rosa)
        framework = make_framework(low=low, high=high)
        return make_study("warm", owner=rosa, dataset=dataset, frameworks=[framework], experts=experts)

    return made


@pytest.fixture
def client(sign_in, rosa):
    return sign_in(rosa)


def texts(page, part: str) -> str:
    """What stands in a part of the page, as one reads it."""
    text = page.text.split(f'id="{part}-heading"', 1)[1].split("</section>", 1)[0]
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_no_variation_is_said_in_words_and_left_out_of_averages(client, make):
    """CASES 18."""
    study = make(4)
    rate(study, {"expert1": [3, 3, 3, 3], "expert2": [3, 3, 3, 3]})
    rate(study, {"expert1": [1, 2, 3, 4], "expert2": [1, 2, 3, 5]}, dimension="scale_2")
    compute(study)
    page = client.get(PAGE)
    assert "Scale 1 not defined: no variation" in texts(page, "table")
    assert "1 scale, 1 not defined" in texts(page, "table")
    assert "Not defined: no variation (100% raw agreement)" in texts(page, "groups")
    assert "nan" not in page.text.lower().replace("nano", "")


def test_perfect_agreement_with_gaps_is_one(client, make):
    """CASES 19."""
    study = make(8, experts=3)
    values = {
        "expert1": [1, 5, 5, 1, None, 3, 1, 5],
        "expert2": [1, None, 5, 1, 5, 3, None, 5],
        "expert3": [1, 5, 5, None, 5, 3, 1, None],
    }
    rate(study, values)
    compute(study)
    page = client.get(PAGE)
    assert "Scale 1 1.00 3 pairs, 1.00–1.00" in texts(page, "table")
    assert re.search(r"Scale 1 experts 3 raters, n 8 1\.00 1\.00 to 1\.00 ", texts(page, "groups"))


def test_one_rater_is_told_as_one(client, make):
    study = make(6)
    rate(study, {"expert1": [1, 2, 3, 4, 5, 1]})
    rate(study, {"expert1": [1, 2, 3, 4, 5, 1], "expert2": [1, 2, 3, 4, 5, 2]}, dimension="scale_2")
    compute(study)
    text = texts(client.get(PAGE), "groups")
    assert re.findall(r"experts \d+ raters?, n \d+", text) == ["experts 1 rater, n 0", "experts 2 raters, n 6"]


def test_where_the_conventions_differ_the_other_value_stands_beside(client, make):
    """CASES 20: 0.6159 on the scale's points, 0.4828 on the observed ones; they stand on two sides of 0.6."""
    study = make(6, high=7)
    rate(study, {"expert1": [1, 1, 7, 7, 1, 2], "expert2": [1, 7, 7, 7, 2, 2]})
    compute(study)
    assert "0.62 1 pair observed: 0.48, below the threshold" in texts(client.get(PAGE), "table")
    page = client.get(f"{PAGE}?convention=observed")
    assert "0.48 1 pair declared: 0.62, reaches the threshold" in texts(page, "table")
    # Below another threshold both say the same, and still differ.
    text = texts(client.get(f"{PAGE}?threshold=0.7"), "table")
    assert "observed: 0.48" in text
    assert "below the threshold" not in text
    page = client.get(f"{PAGE}?pairs=all")
    assert re.search(r"expert1 expert2 0\.62 .* n 6 observed: 0\.48", texts(page, "table"))
    linear = texts(client.get(f"{PAGE}?statistic=kappa_linear&pairs=all"), "table")
    assert re.search(r"0\.61 .* n 6 observed: 0\.50", linear)


def test_where_the_conventions_agree_nothing_is_flagged(client, make):
    study = make(5)
    rate(study, {"expert1": [1, 2, 3, 4, 5], "expert2": [1, 2, 3, 4, 5]})
    compute(study)
    text = texts(client.get(PAGE), "table").split("shaded by fifths")[0]
    assert "observed:" not in text
    assert "observed" not in texts(client.get(f"{PAGE}?statistic=kappa_unweighted"), "table")


def test_krippendorffs_example_stands_as_published(client, make):
    """CASES 21: nominal 0.7434, ordinal 0.8154, interval 0.8491, ratio 0.7974; each interval holds its figure."""
    study = make(12, experts=4)
    names = ("expert1", "expert2", "expert3", "expert4")
    # Items by raters there, a list for each rater here.
    columns = [[None if value != value else value for value in column] for column in KRIPPENDORFF.T.tolist()]
    rate(study, dict(zip(names, columns, strict=True)))
    compute(study)
    page = client.get(PAGE)
    text = texts(page, "groups")
    for alpha in (0.7434, 0.8154, 0.8491, 0.7974):
        found = re.findall(rf"{alpha:.2f} (-?\d\.\d\d) to (\d\.\d\d)", text)
        assert found
        # Another coefficient may print the same; its interval holds the figure as well.
        assert all(float(low) < alpha < float(high) for low, high in found)


def test_a_rater_who_left_stays_until_excluded(client, make):
    """CASES 27."""
    study = make(4)
    rate(study, {"expert1": [1, 2, 3, 4], "expert2": [1, 2, 3, 5]})
    study.raters.filter(name="expert2").update(left_at=timezone.now())
    compute(study)
    assert re.search(r"expert1 expert2 0\.9\d", texts(client.get(f"{PAGE}?pairs=all"), "table"))
    Exclusion.objects.create(rater=study.raters.get(name="expert2"), reason="hand")
    compute(study)
    assert "expert2" not in texts(client.get(f"{PAGE}?pairs=all"), "table")
    everybody = f"{PAGE}?excluded=1&pairs=all"
    compute(study, DataSelection(with_excluded=True))
    assert re.search(r"expert1 expert2 0\.9\d", texts(client.get(everybody), "table"))


def test_raters_without_a_shared_item_and_a_single_rater(client, make):
    """CASES 22."""
    study = make(4)
    rate(study, {"expert1": [1, 2, None, None], "expert2": [None, None, 3, 4]})
    rate(study, {"expert1": [1, 2, 3, 4]}, dimension="scale_2")
    compute(study)
    page = client.get(PAGE)
    assert "Scale 1 not defined: no shared items" in texts(page, "table")
    assert "Scale 2 not defined: no shared items" in texts(page, "table")
    assert "not defined on any scale" in texts(page, "table")
    assert "not defined: fewer than two raters" in texts(page, "groups")


def test_one_expert_is_no_benchmark(client, make):
    study = make(3, experts=1)
    add(study, "gpt")
    rate(study, {"expert1": [1, 2, 3], "gpt": [1, 2, 3]})
    compute(study)
    assert "No two experts rated here, so there is no benchmark." in texts(client.get(PAGE), "table")


def test_an_alpha_of_zero_beside_high_agreement_is_explained(client, make):
    """CASES 24."""
    study = make(11)
    rate(study, {"expert1": [3] * 11, "expert2": [3] * 10 + [4]})
    compute(study)
    text = texts(client.get(PAGE), "groups")
    assert "Alpha is 0.00 although 90.9% of the pairs of ratings are equal" in text
    assert "ac1 and ac2" in text
    assert re.search(r"0\.00 .* 0\.91 ", text)  # alpha, and AC1 beside it


def test_half_points_of_an_aggregate_are_distances(client, make):
    """CASES 25."""
    study = make(4)
    add(study, "crowd", RaterKind.CROWD, is_aggregate=True)
    rate(study, {"expert1": [1, 2, 3, 4], "expert2": [1, 2, 3, 5], "crowd": [1.5, 2, 3.33, 4]})
    compute(study)
    text = texts(client.get(PAGE), "table")
    assert re.search(r"Scale 1 0\.9\d .* 0\.9\d .* n 4", text)
    assert "not defined: values between points" in texts(client.get(f"{PAGE}?statistic=percent_agreement"), "table")


def test_the_order_of_points_is_the_scales(client, make):
    """CASES 23: on 0 to 10, 10 is far from 9's neighbours only by one step."""
    study = make(4, low=0, high=10)
    assert ScalePoint.objects.filter(value=10).exists()
    rate(study, {"expert1": [0, 2, 9, 10], "expert2": [0, 2, 10, 9]})
    compute(study)
    assert re.search(r"Scale 1 0\.9\d", texts(client.get(PAGE), "table"))
