"""The page of one scale: who may see it, what it shows, and that its numbers are those of the snapshot."""

import re
from itertools import combinations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape

from apps.annotation.models import Rating, RatingEvent
from apps.dashboard.services import agreement as standings
from apps.frameworks.models import Framework
from apps.measures.scale import Scale
from apps.reliability.confusions import confusion_of
from apps.reliability.models import Snapshot
from apps.reliability.selection import DataSelection
from apps.reliability.services.loading import load_tables
from apps.reliability.services.reading import SnapshotView
from apps.reliability.services.snapshots import request_snapshot
from apps.studies.models import Assignment, AssignmentState, Item, RaterKind
from apps.studies.services.exclusions import exclude
from apps.studies.services.people import join_as_rater, leave_as_rater
from tests.dashboard.agreement_world import add, compute, rate

pytestmark = pytest.mark.django_db

PAGE = "/studies/warm/agreement/main/warmth-scales/scale_1/"
PICTURES = [f"{PAGE}{file}" for file in ("benchmark.svg", "use.svg", "pairs.svg", "confusion.svg", "confusion.png")]


@pytest.fixture
def client(sign_in, rosa):
    return sign_in(rosa)


def words(page) -> str:
    """The page as one reads it."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.text).split())


def forget(ratings) -> None:
    RatingEvent.objects.filter(rating__in=ratings).delete()
    ratings.delete()


def row_with(page, *texts: str) -> str:
    """The words of the one table row that holds all the texts."""
    rows = [re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"<tr>.*?</tr>", page.text, flags=re.DOTALL)]
    [found] = [" ".join(row.split()) for row in rows if all(text in row for text in texts)]
    return found


# --- Who may see it ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [PAGE, PICTURES[0]])
def test_nobody_is_sent_to_sign_in(warm_computed, sign_in, address):
    assert sign_in(None).get(address).status_code == 302


@pytest.mark.parametrize("address", [PAGE, PICTURES[0]])
def test_strangers_and_raters_find_nothing(warm_computed, sign_in, otto, emil, address):
    join = add(warm_computed, "expert9", RaterKind.EXPERT)
    join.user = emil
    join.save()
    for person in (otto, emil):
        assert sign_in(person).get(address).status_code == 404


@pytest.mark.parametrize("address", [PAGE, PICTURES[0], f"{PAGE}?a=expert1&b=gpt"])
def test_who_rates_is_told_why_there_is_no_number(warm_computed, client, rosa, address):
    join_as_rater(study=warm_computed, user=rosa, kind=RaterKind.EXPERT)
    page = client.get(address)
    assert page.status_code == 403
    assert "Agreement is hidden" in page.text
    assert "0.6" not in page.text
    leave_as_rater(study=warm_computed, user=rosa)
    assert client.get(address).status_code == 200


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize("address", [PAGE, PICTURES[0]])
def test_only_reading_is_offered(warm_computed, client, method, address):
    assert getattr(client, method)(address).status_code == 405


@pytest.mark.parametrize(
    "where",
    ["main/warmth-scales/nothing", "main/other/scale_1", "other/warmth-scales/scale_1", "Main/warmth-scales/scale_1"],
)
def test_an_unknown_scale_is_not_there(warm_computed, client, where):
    assert client.get(f"/studies/warm/agreement/{where}/").status_code == 404


def test_another_studys_scale_is_not_there(warm_computed, strangers, client):
    strangers.blocks.update(slug="theirs")
    assert client.get("/studies/warm/agreement/theirs/warmth-scales/scale_1/").status_code == 404
    assert client.get("/studies/strangers/agreement/theirs/warmth-scales/scale_1/").status_code == 404


# --- How the figures stand --------------------------------------------------------------------------------------------


def test_figures_that_were_never_computed_are_computed_where_that_is_quick(warm, client, monkeypatch):
    monkeypatch.setattr(standings, "computes_quickly", lambda study: True)
    assert "Among each other" in client.get(PAGE).text
    assert Snapshot.objects.filter(study=warm).count() == 1


def test_an_unknown_scale_computes_nothing(warm, client, monkeypatch):
    monkeypatch.setattr(standings, "computes_quickly", lambda study: True)
    assert client.get("/studies/warm/agreement/main/warmth-scales/nothing/").status_code == 404
    assert not Snapshot.objects.exists()


def test_a_large_study_is_told_that_nothing_is_computed(warm, client, monkeypatch):
    monkeypatch.setattr(standings, "computes_quickly", lambda study: False)
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "Not computed yet" in page.text
    assert "How much?" in page.text
    assert "Among each other" not in page.text
    assert not Snapshot.objects.exists()
    assert client.get(PICTURES[0]).status_code == 404


def test_while_they_are_computed_the_page_asks_again_and_then_anew(warm, client, rosa, monkeypatch):
    monkeypatch.setattr(standings, "computes_quickly", lambda study: False)
    request_snapshot(study=warm, selection=DataSelection(), by=rosa)
    assert f'hx-get="{PAGE}"' in client.get(PAGE).text
    asking = {"HX-Request": "true", "HX-Target": "standing"}
    part = client.get(PAGE, headers=asking)
    assert part.text.strip().startswith('<div id="standing"')
    assert "waiting for a worker" in part.text
    warm.snapshot_requests.get().job.delete()
    compute(warm)
    assert client.get(PAGE, headers=asking).headers["HX-Refresh"] == "true"


def test_old_figures_stay_and_say_so(warm_computed, client):
    before = row_with(client.get(PAGE), "Alpha, interval")
    rate(warm_computed, {"w1": [None, None, None, 1, None]})
    page = client.get(PAGE)
    assert "Recompute" in page.text
    assert row_with(page, "Alpha, interval") == before


def test_bytes_that_cannot_be_read_give_words_and_no_figure(warm_computed, client):
    Snapshot.objects.update(data=b"broken", results=b"broken")
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "cannot be read" in page.text
    assert client.get(PICTURES[0]).status_code == 404


def test_a_scale_without_a_rating_says_so(warm, client):
    forget(Rating.objects.filter(dimension__slug="scale_2"))
    compute(warm)
    page = client.get("/studies/warm/agreement/main/warmth-scales/scale_2/")
    assert "Nobody has rated on this scale" in page.text
    assert client.get("/studies/warm/agreement/main/warmth-scales/scale_2/use.svg").status_code == 404


# --- What it shows ----------------------------------------------------------------------------------------------------


SOURCE = "the raters saw that of their source"


def test_words_that_no_rater_saw_are_not_said_to_be_theirs(warm_computed, client):
    assert f"The wording of this study’s framework; {SOURCE}." in client.get(PAGE).text
    Framework.objects.filter(slug="warmth-scales").update(is_builtin=True)
    assert f"Accord’s wording; {SOURCE}." in client.get(PAGE).text
    assert "as raters saw it" not in client.get(PAGE).text
    rater = warm_computed.raters.get(name="expert1")
    item = Item.objects.filter(block__study=warm_computed).first()
    Assignment.objects.create(rater=rater, item=item, position=0, state=AssignmentState.SUBMITTED)
    page = client.get(PAGE).text
    assert SOURCE not in page
    assert "The scale as raters saw it" in page


def test_the_scale_stands_as_raters_saw_it(warm_computed, client):
    scale = warm_computed.blocks.get().frameworks.get().dimensions.get(slug="scale_1")
    scale.points.filter(value=1).update(label="not <at> all")
    page = client.get(PAGE)
    assert "How much?" in page.text
    assert "Count what is said." in page.text
    assert "not &lt;at&gt; all" in page.text


def view_of(study) -> SnapshotView:
    return SnapshotView(Snapshot.objects.filter(study=study).latest("pk"))


def two(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def test_every_figure_of_the_groups_is_that_of_the_rows(warm_computed, client):
    page = client.get(PAGE)
    rows = [row for row in view_of(warm_computed).rows(dimension="scale_1") if not row.b and row.a == "experts"]
    labels = {"alpha_interval": "Alpha, interval", "ac1": "AC1", "icc_2_k": "ICC(2,k)"}
    for row in rows:
        if row.statistic in labels:
            shown = row_with(page, labels[row.statistic])
            assert row.value is not None
            assert row.ci_low is not None
            assert row.ci_high is not None
            assert f"{two(row.value)} {two(row.ci_low)} to {two(row.ci_high)} n {row.n_items}" in shown
    assert len({row.statistic for row in rows}) == 17


def test_the_benchmark_and_the_pairs_are_those_of_the_rows(warm_computed, client):
    page = client.get(PAGE)
    kappas = {
        frozenset((row.a, row.b)): row
        for row in view_of(warm_computed).rows(dimension="scale_1", statistics=["kappa_quadratic"])
    }
    model = kappas[frozenset(("experts:median", "gpt"))]
    assert model.value is not None
    assert two(model.value) in row_with(page, "gpt", "median of the experts", "it")
    among = sorted(kappas[frozenset(pair)].value or 0 for pair in combinations(("expert1", "expert2", "expert3"), 2))
    assert f"of the 3 pairs of experts: {two(among[0])} to {two(among[2])}, median {two(among[1])}" in words(page)
    matrix = page.text.split('id="pairs-caption"')[1].split("</table>")[0]
    for pair, row in kappas.items():
        if row.value is not None and not any("without" in name or name.startswith("w") for name in pair):
            assert two(row.value) in matrix


def test_the_other_convention_has_an_address_of_its_own(warm_computed, client):
    page = client.get(f"{PAGE}?convention=observed")
    rows = view_of(warm_computed).rows(convention="observed", dimension="scale_1", statistics=["kappa_quadratic"])
    [row] = [row for row in rows if (row.a, row.b) == ("expert1", "gpt")]
    assert row.value is not None
    assert f">{two(row.value)}<" in page.text.split('id="pairs-caption"')[1]
    assert "the values that occur" in words(page)


def test_the_use_of_the_scale_is_counted(warm_computed, client):
    page = client.get(PAGE)
    # Experts gave 1 four times, 2 twice, 3 three times, 4 thrice, 5 three times.
    assert "experts 27 % 4 13 % 2 20 % 3 20 % 3 20 % 3 27 % 20 % 20 % 15" in row_with(page, "experts", "15", "27 %")


def test_a_statistic_of_distance_is_not_drawn_as_a_heat_map(warm_computed, client):
    assert "pairs.svg" not in client.get(f"{PAGE}?statistic=bias").text
    assert client.get(f"{PAGE}pairs.svg?statistic=bias").status_code == 404
    assert "pairs.svg" in client.get(PAGE).text


def test_ratings_that_do_not_vary_are_said_in_words(warm, client):
    # CASES 18.
    rate(warm, {name: [3] * 5 for name in ("expert1", "expert2", "expert3", "gpt", "w1", "w2", "w3")})
    compute(warm)
    page = client.get(PAGE)
    assert "not defined: no variation" in row_with(page, "Alpha, interval")
    assert "1.00" in row_with(page, "Equal ratings")
    assert "No pair of experts has a defined agreement here" in words(page)
    assert "nan" not in words(page).lower().split()


# --- Two raters, point by point ---------------------------------------------------------------------------------------


def test_the_matrix_of_two_raters_is_that_of_the_frozen_ratings(warm_computed, client):
    page = client.get(f"{PAGE}?a=expert1&b=gpt")
    table = next(view_of(warm_computed).tables(dimension="scale_1"))
    confusion = confusion_of(table, "expert1", "gpt")
    matrix = page.text.split('id="confusion-caption"')[1].split("</table>")[0]
    counts = [int(count) for count in re.findall(r"<b>(\d+)</b>", matrix)]
    assert counts == [count for row in confusion.counts for count in row]
    assert "5 conversations rated by both: 20 % at the same point, 80 % at most one point apart." in words(page)


def test_the_matrix_never_reads_the_ratings_as_they_are(warm_computed, client):
    before = client.get(f"{PAGE}?a=expert1&b=gpt").text.split('id="confusion-caption"')[1]
    rate(warm_computed, {"gpt": [1, 2, 3, 4, 5]})
    assert client.get(f"{PAGE}?a=expert1&b=gpt").text.split('id="confusion-caption"')[1] == before
    live = next(iter(load_tables(study=warm_computed, dimension="scale_1")))
    assert confusion_of(live, "expert1", "gpt").exact.value == 1


def test_htmx_gets_the_details_alone_and_the_page_works_without(warm_computed, client):
    address = f"{PAGE}?a=expert2&b=expert3&among=crowd&convention=observed"
    part = client.get(address, headers={"HX-Request": "true", "HX-Target": "details"})
    assert part.text.strip().startswith('<div id="details"')
    assert "Among each other" not in part.text
    # Each form keeps what the other one chose.
    matrix, disputes = part.text.split('id="disputes"')
    for name, value in (("among", "crowd"), ("convention", "observed")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in matrix
    for name, value in (("a", "expert2"), ("b", "expert3"), ("convention", "observed")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in disputes
    assert words(part) in words(client.get(address))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a=nobody&b=gpt", "“nobody” rated nothing on this scale."),
        ("a=gpt&b=gpt", "Choose two different raters"),
        ("a=expert1&b=mean", "values between points, which belong to no row or column"),
        ("a=w1&b=w9", "No matrix of w1 and w9: no shared items."),
        ("among=nobody", "among “nobody” is not known here"),
        ("convention=new", "convention “new” is not known here"),
        ("page=x", "page “x” cannot be, and was left out; expected a whole number from 1 on"),
        ("among=crowd&page=999", "Disputed conversations"),
    ],
)
def test_wrong_values_get_a_sentence_and_the_page(warm, client, query, expected):
    add(warm, "mean", RaterKind.CROWD, is_aggregate=True)
    add(warm, "w9", RaterKind.CROWD)
    rate(warm, {"mean": [1.5, 2, 3, 4, 5], "w9": [None, None, None, 3, None]})
    compute(warm)
    page = client.get(f"{PAGE}?{query}")
    assert page.status_code == 200
    assert expected in words(page)
    assert "Among each other" in page.text


def test_the_list_of_raters_is_there_in_full(warm_computed, client):
    part = client.get(PAGE).text.split('<select id="confusion-a"')[1].split("</select>")[0]
    assert re.findall(r'value="([^"]+)"', part) == ["expert1", "expert2", "expert3", "w1", "w2", "w3", "gpt"]
    assert part.count("selected") == 1


# --- Disputes ---------------------------------------------------------------------------------------------------------


def disputed(page) -> list[str]:
    part = page.text.split('id="disputes"')[1]
    return re.findall(r"<bdi>(warm-talks-\d+)</bdi>", part)


def test_disputed_conversations_come_first_with_every_value_and_a_link(warm_computed, client):
    page = client.get(f"{PAGE}?among=experts")
    # Pairs of experts are apart by 0+1+1, 0, 1+0+1, 0+1+1 ... on items 2, 4 and 5, by 2/3 each; ties by item.
    assert disputed(page) == ["warm-talks-002", "warm-talks-004", "warm-talks-005", "warm-talks-001", "warm-talks-003"]
    item = Item.objects.get(block__study=warm_computed, conversation__external_id="warm-talks-002")
    address = reverse("rating:item-ratings", args=["warm", item.pk])
    assert f'href="{address}?block=main"' in page.text
    row = row_with(page, "warm-talks-002")
    assert row == "warm-talks-002 0.67 3 ratings expert3 gpt expert1 expert2 w1 w2 w3"
    there = client.get(address)
    assert f'href="{PAGE}"' in there.text


def test_disputes_between_experts_and_the_model(warm_computed, client):
    page = client.get(f"{PAGE}?among=experts-llms")
    assert disputed(page)[0] == "warm-talks-005"
    assert "−2.00 5.00 and 3.00" in row_with(page, "warm-talks-005")


def test_disputes_are_paginated(warm, client, monkeypatch):
    monkeypatch.setattr("apps.dashboard.views.agreement_scale.DISPUTES_ON_A_PAGE", 2)
    compute(warm)
    first, last = client.get(f"{PAGE}?among=experts"), client.get(f"{PAGE}?among=experts&page=3")
    assert disputed(first) == ["warm-talks-002", "warm-talks-004"]
    assert disputed(last) == ["warm-talks-003"]
    part = client.get(f"{PAGE}?among=experts&page=2", headers={"HX-Request": "true", "HX-Target": "details"})
    assert disputed(part) == ["warm-talks-005", "warm-talks-001"]
    assert "among=experts" in part.text


def test_a_conversation_that_left_the_study_keeps_its_name(warm_computed, client):
    item = Item.objects.get(block__study=warm_computed, conversation__external_id="warm-talks-002")
    forget(item.ratings.all())
    item.delete()
    assert "no longer in the study" in row_with(client.get(f"{PAGE}?among=experts"), "warm-talks-002")


# --- The way on, names, filters ---------------------------------------------------------------------------------------


def test_the_next_scale_is_one_step_away_and_keeps_the_view(warm_computed, client):
    page = client.get(f"{PAGE}?convention=observed&a=w1&b=w2&among=crowd&page=1")
    following = "/studies/warm/agreement/main/warmth-scales/scale_2/?convention=observed"
    assert f'rel="next" href="{following}"' in page.text
    assert 'rel="prev"' not in page.text
    assert f'rel="prev" href="{PAGE}?convention=observed"' in client.get(following).text


NAMES = ["<b>x</b> & co", "Zoë “Z.” 李", "a/b c.d?e=f#g%25", "דנה"]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_kind_are_shown_linked_and_chosen(warm, client, name):
    add(warm, name)
    rate(warm, {name: [1, 2, 3, 4, 5]})
    compute(warm)
    page = client.get(PAGE, {"a": name, "b": "expert1"})
    assert page.status_code == 200
    assert "<b>x</b>" not in page.text
    assert f'href="{escape(reverse("agreement:rater", args=["warm", name]))}"' in page.text
    assert re.search(r"<option value=\"[^\"]+\" selected>", page.text)
    picture = client.get(f"{PAGE}confusion.svg", {"a": name, "b": "expert1"})
    assert picture.status_code == 200
    assert b"<b>" not in picture.content


def test_metadata_and_exclusions_choose_other_figures(warm, client, rosa):
    exclude(rater=warm.raters.get(name="expert3"), by=rosa)
    compute(warm)
    assert "expert3" not in client.get(PAGE).text
    compute(warm, DataSelection.of(with_excluded=True))
    page = client.get(f"{PAGE}?excluded=1")
    assert "expert3" in page.text
    assert "taken in" in words(page)


def test_only_filters_that_choose_what_is_shown_are_named(warm_computed, client):
    """Raters and groups go along to the next page, and leave nobody out of this one."""
    page = client.get(f"{PAGE}?group=llms&rater=gpt&repeats=1&framework=warmth-scales")
    assert row_with(page, "makes the range", "expert1", "expert2")
    for name in ("Group:", "Rater:", "Framework:", "Repeated items:"):
        assert name not in words(page)
    assert "group=llms" in page.text


def test_a_pair_without_a_value_does_not_make_the_range(warm, client):
    rate(warm, {"expert1": [1, 2, 3, 4, 5], "expert2": [1, 2, 3, 5, 5], "expert3": [3] * 5})
    forget(Rating.objects.filter(rater__name="expert3"))
    rate(warm, {"expert3": [3] * 5}, dimension="scale_2")
    compute(warm)
    rows = [row for row in re.findall(r"<tr>.*?</tr>", client.get(PAGE).text, flags=re.DOTALL) if "the range" in row]
    said = [("makes the range" in row, "not defined" in row) for row in rows]
    assert said == [(True, False), (False, True), (False, True)]


@pytest.mark.parametrize("address", PICTURES)
def test_pictures_are_files_in_the_colours_of_paper(warm_computed, client, address):
    answer = client.get(address)
    assert answer.status_code == 200
    kind = address.rpartition(".")[2]
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="warm-warmth-scales-scale')
    if kind == "svg":
        assert answer.content.startswith(b"<svg")
        assert b"var(--" not in answer.content
    else:
        assert answer.content.startswith(b"\x89PNG")


@pytest.mark.parametrize("file", ["use.pdf", "other.svg", "svg", ".svg", "use"])
def test_other_pictures_are_not_there(warm_computed, client, file):
    assert client.get(f"{PAGE}{file}").status_code == 404


def queries(client, address, **headers) -> int:
    client.get(address, headers=headers)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address, headers=headers).status_code == 200
    return len(captured)


@pytest.mark.parametrize("target", ["", "details"])
def test_the_number_of_queries_does_not_grow(warm, client, target):
    headers = {"HX-Request": "true", "HX-Target": target} if target else {}
    compute(warm)
    before = queries(client, PAGE, **headers)
    for number in range(10, 40):
        add(warm, f"w{number}", RaterKind.CROWD)
        add(warm, f"model{number}")
        rate(warm, {f"w{number}": [1, 2, 3, 4, number % 5 + 1], f"model{number}": [1, 2, 3, 4, number % 5 + 1]})
    compute(warm)
    assert queries(client, PAGE, **headers) == before


def test_points_between_do_not_crash(warm, client):
    # CASES 25: half points of aggregated raters.
    add(warm, "mean", RaterKind.CROWD, is_aggregate=True)
    rate(warm, {"mean": [1.5, 3.33, 2, 4.25, 5]})
    compute(warm)
    page = client.get(PAGE)
    assert "3 between points" in words(page)
    assert "3.33" in row_with(page, "warm-talks-002")
    assert Scale((1.0, 2.0, 3.0, 4.0, 5.0)).on_points([1.0])
