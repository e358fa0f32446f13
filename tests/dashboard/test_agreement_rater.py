"""The list of raters, and the page of one: who may see them, and that their numbers are those of the snapshot."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from apps.dashboard.services import agreement as standings
from apps.llm.models import RunState
from apps.reliability.models import Snapshot
from apps.reliability.services.reading import SnapshotView
from apps.studies.models import Item, ItemRole, RaterKind
from apps.studies.services.exclusions import exclude
from apps.studies.services.people import join_as_rater
from tests.dashboard.agreement_world import add, compute, rate
from tests.llm.worlds import make_endpoint, make_run

pytestmark = pytest.mark.django_db

LIST = "/studies/warm/agreement/raters/"
PAGE = f"{LIST}gpt/"
PICTURE = "/studies/warm/agreement/profiles/gpt.svg"
ALL = [LIST, PAGE, PICTURE]


@pytest.fixture
def client(sign_in, rosa):
    return sign_in(rosa)


def test_only_filters_that_choose_what_is_shown_are_named(warm_computed, client):
    asked = "?group=experts&rater=expert1&repeats=1&framework=warmth-scales"
    page = words(client.get(f"{PAGE}{asked}").text)
    assert "Framework:" in page
    assert "Group:" not in page
    assert "Rater:" not in page
    listed = words(client.get(f"{LIST}{asked}").text)
    assert "Group:" in listed
    assert "Rater:" in listed
    assert "Repeated items:" not in listed


def words(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def rows_of(page) -> list[str]:
    """The words of every row of the page's own tables."""
    text = re.sub(r"<figure.*?</figure>", "", page.text, flags=re.DOTALL)
    return [words(row) for row in re.findall(r"<tr>.*?</tr>", text, flags=re.DOTALL)]


def row_of(page, start: str) -> str:
    [found] = [row for row in rows_of(page) if row.startswith(start)]
    return found


def two(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def signed(value: float) -> str:
    return f"+{two(value)}" if round(value, 2) > 0 else two(value)


def view_of(study) -> SnapshotView:
    return SnapshotView(Snapshot.objects.filter(study=study).latest("pk"))


# --- Who may see them -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ALL)
def test_the_ladder(warm_computed, sign_in, rosa, otto, ada, address):
    assert sign_in(None).get(address).status_code == 302
    assert sign_in(otto).get(address).status_code == 404
    for person in (rosa, ada):
        assert sign_in(person).get(address).status_code == 200
    for method in ("post", "put", "patch", "delete"):
        assert getattr(sign_in(rosa), method)(address).status_code == 405
    join_as_rater(study=warm_computed, user=rosa, kind=RaterKind.EXPERT)
    hidden = sign_in(rosa).get(address)
    assert hidden.status_code == 403
    assert "Agreement is hidden" in hidden.text
    assert "gpt" not in hidden.text


def test_a_rater_finds_nothing(warm_computed, sign_in, emil):
    warm_computed.raters.filter(name="expert1").update(user=emil)
    for address in ALL:
        assert sign_in(emil).get(address).status_code == 404


@pytest.mark.parametrize("name", ["nobody", "expert1/", "GPT", "gpt/gpt"])
def test_an_unknown_rater_is_not_there(warm_computed, client, name):
    assert client.get(f"{LIST}{name}/").status_code == 404
    assert client.get(f"/studies/warm/agreement/profiles/{name}.svg").status_code == 404


@pytest.mark.parametrize("address", [LIST, PAGE, PICTURE, "/studies/warm/agreement/"])
def test_a_name_that_no_database_can_look_for_is_said_to_be_unknown(warm_computed, client, address):
    """PostgreSQL knows no NUL."""
    answer = client.get(f"{address}?rater=%00")
    assert answer.status_code == 200
    assert address == PICTURE or "is not known here, and was left out" in answer.text
    assert client.get(f"{LIST}%00/").status_code == 404


def test_another_studys_rater_is_not_there(warm_computed, strangers, client):
    strangers.raters.filter(name="expert1").update(name="their rater")
    assert client.get(f"{LIST}their rater/").status_code == 404
    assert client.get("/studies/strangers/agreement/raters/their rater/").status_code == 404


# --- How the figures stand --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [LIST, PAGE])
def test_what_is_not_computed_is_said_or_computed_at_once(warm, client, monkeypatch, address):
    monkeypatch.setattr(standings, "computes_quickly", lambda study: False)
    page = client.get(address)
    assert page.status_code == 200
    assert "Not computed yet" in page.text
    assert client.get(PICTURE).status_code == 404
    monkeypatch.setattr(standings, "computes_quickly", lambda study: True)
    assert "Not computed yet" not in client.get(address).text
    assert Snapshot.objects.count() == 1


@pytest.mark.parametrize("address", [LIST, PAGE])
def test_bytes_that_cannot_be_read_give_words(warm_computed, client, address):
    Snapshot.objects.update(data=b"broken", results=b"broken")
    page = client.get(address)
    assert page.status_code == 200
    assert "cannot be read" in page.text


# --- The list ---------------------------------------------------------------------------------------------------------


def listed(page) -> list[str]:
    return re.findall(r"/agreement/raters/([^/\"]+)/[\"?]", page.text.split('id="raters"')[1])


def test_every_rater_is_listed_by_kind_and_name(warm_computed, client):
    assert listed(client.get(LIST)) == ["expert1", "expert2", "expert3", "w1", "w2", "w3", "gpt"]


def test_the_list_holds_medians_over_scales_of_the_rows(warm_computed, client):
    rows = view_of(warm_computed).rows(statistics=["kappa_quadratic"])
    own = [row.value for row in rows if {row.a, row.b} == {"experts:median", "gpt"}]
    assert len(own) == 2
    low, high = sorted(value for value in own if value is not None)
    shown = row_of(client.get(LIST), "gpt")
    assert shown == f"gpt not compared {two((low + high) / 2)} {two(low)} to {two(high)} · 2 scales · n 10"
    assert row_of(client.get(f"{LIST}?framework=warmth-scales"), "gpt") == shown
    one = client.get(f"{LIST}?statistic=spearman&convention=observed")
    assert "Spearman" in one.text


def test_the_list_is_sorted_as_asked(warm_computed, client):
    rows = view_of(warm_computed).rows(statistics=["kappa_quadratic"])
    values = {row.b: [] for row in rows if row.a.endswith(":median") and "without" in row.a}
    for row in rows:
        if row.b in values and row.a == f"experts-without-{row.b}:median":
            values[row.b].append(row.value)
    medians = {name: sum(found) / len(found) for name, found in values.items()}
    best = sorted(medians, key=medians.__getitem__, reverse=True)
    page = client.get(f"{LIST}?sort=rest")
    assert [name for name in listed(page) if name.startswith("expert")] == best
    assert 'aria-sort="descending"' in page.text
    lowest = client.get(f"{LIST}?sort=rest&lowest=1")
    assert [name for name in listed(lowest) if name.startswith("expert")] == best[::-1]
    assert listed(lowest)[-1] == "gpt"
    assert listed(client.get(f"{LIST}?sort=experts"))[0] == "gpt"
    wrong = client.get(f"{LIST}?sort=age")
    assert wrong.status_code == 200
    assert "sort “age” is not known here" in wrong.text


def test_the_list_is_paginated_and_htmx_gets_it_alone(warm_computed, client, monkeypatch):
    monkeypatch.setattr("apps.dashboard.views.agreement_rater.RATERS_ON_A_PAGE", 3)
    assert listed(client.get(LIST)) == ["expert1", "expert2", "expert3"]
    part = client.get(f"{LIST}?page=3", headers={"HX-Request": "true", "HX-Target": "raters"})
    assert part.text.strip().startswith('<div id="raters">')
    assert listed(part) == ["gpt"]
    assert listed(client.get(f"{LIST}?page=99")) == ["gpt"]


def test_the_list_says_who_left_and_who_is_left_out(warm, client, rosa):
    warm.raters.filter(name="w1").update(left_at=timezone.now())
    exclude(rater=warm.raters.get(name="w2"), by=rosa)
    compute(warm)
    page = client.get(LIST)
    assert "has left" in row_of(page, "w1")
    assert "w2" not in listed(page)
    assert "1 excluded rater is left out of every figure." in page.text
    assert listed(client.get(f"{LIST}?group=llms")) == ["gpt"]


# --- One rater --------------------------------------------------------------------------------------------------------


def test_the_page_holds_the_rows_of_the_rater(warm_computed, client):
    page = client.get(PAGE)
    rows = {
        (row.dimension, row.statistic): row
        for row in view_of(warm_computed).rows()
        if (row.a, row.b) == ("experts:median", "gpt")
    }
    for number in (1, 2):
        kappa, bias = rows[f"scale_{number}", "kappa_quadratic"], rows[f"scale_{number}", "bias"]
        shown = row_of(page, f"Scale {number}")
        assert shown.startswith(f"Scale {number} median of the experts {two(kappa.value)} ")
        assert f"{signed(bias.value)} {signed(bias.ci_low)} to {signed(bias.ci_high)} n 5" in shown


def test_spread_and_points_are_counted(warm_computed, client):
    # gpt on scale 1: 2, 1, 4, 4, 3; its variance is 1.7. The experts': 2.5, 3.2 and 2.3.
    shown = row_of(client.get(PAGE), "Scale 1")
    assert "1.30 theirs 1.63" in shown
    assert "20 % theirs 47 %" in shown
    assert "20 % theirs 20 %" in shown
    assert shown.endswith("1 at point 1 1 at point 2 1 at point 3 2 at point 4 0 at point 5")


def test_an_expert_stands_beside_the_other_experts(warm_computed, client):
    shown = row_of(client.get(f"{LIST}expert1/"), "Scale 1")
    assert "median of the experts without expert1" in shown


def test_repeated_items_are_shown_where_there_are_some(warm, client):
    assert compute(warm)
    assert "repeated no item" in client.get(PAGE).text
    block = warm.blocks.get()
    for item in list(block.items.all()):
        Item.objects.create(
            block=block, conversation=item.conversation, role=ItemRole.REPEAT, position=item.position + 100
        )
    rate(warm, {"gpt": [2, 1, 4, 5, 3]}, role=ItemRole.REPEAT)
    compute(warm)
    [row] = view_of(warm).rows(statistics=["retest_kappa_quadratic"])
    page = client.get(PAGE)
    [_first, shown] = [one for one in rows_of(page) if one.startswith("Scale 1")]
    assert two(row.value) in shown
    assert "0.20" in shown


def test_exclusions_in_force_are_listed_with_their_reason(warm_computed, client, rosa):
    item = warm_computed.blocks.get().items.earliest("position")
    exclude(rater=warm_computed.raters.get(name="gpt"), item=item, explanation="saw <it> before", by=rosa)
    page = client.get(PAGE)
    assert "1 item of this rater is excluded" in page.text
    assert "saw &lt;it&gt; before" in page.text
    assert reverse("studies:exclusions", args=["warm"]) in page.text


def test_a_rater_who_is_left_out_is_told_why(warm, client, rosa):
    exclude(rater=warm.raters.get(name="gpt"), explanation="a test", by=rosa)
    compute(warm)
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "Not in these figures" in page.text
    assert "no figure is made from their ratings" in page.text
    assert "excluded=1" in page.text
    assert client.get(PICTURE).status_code == 404


def test_a_rater_without_ratings_has_a_page_that_says_so(warm_computed, client):
    add(warm_computed, "late")
    page = client.get(f"{LIST}late/")
    assert page.status_code == 200
    assert "had handed in nothing" in page.text


def test_a_model_that_was_asked_names_its_prompt_and_runs(warm_computed, client):
    run = make_run(warm_computed, make_endpoint(), name="asked", state=RunState.DONE)
    page = client.get(f"{LIST}asked/").text
    assert "Asked with prompt Default asked v1, model fake, 1 sample" in words(page)
    assert f'href="/studies/warm/llm/runs/{run.pk}/"' in page
    assert "sked with prompt" not in client.get(PAGE).text
    assert "sked with prompt" not in client.get(f"{LIST}expert1/").text


def test_neighbours_are_one_step_away(warm_computed, client):
    page = client.get(f"{LIST}w1/?convention=observed")
    assert f'rel="prev" href="{LIST}expert3/?convention=observed"' in page.text
    assert f'rel="next" href="{LIST}w2/?convention=observed"' in page.text


@pytest.mark.parametrize(
    "name", ["<b>x</b> & co", "Zoë “Z.” 李", "a/b c.d?e=f#g%25", "דנה", "b.svg", "meta/llama/3b", "a/b/c/d"]
)
def test_names_of_any_kind_have_a_page(warm, client, name):
    add(warm, name)
    rate(warm, {name: [1, 2, 3, 4, 5]})
    compute(warm)
    address = reverse("agreement:rater", args=["warm", name])
    assert escape(address) in client.get(LIST).text
    page = client.get(address)
    assert page.status_code == 200
    assert escape(name) in page.text
    assert "<b>x</b>" not in page.text
    picture = client.get(reverse("agreement:rater-svg", args=["warm", name]))
    assert picture.status_code == 200
    assert picture.content.startswith(b"<svg")


def queries(client, address) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@pytest.mark.parametrize("address", [LIST, PAGE])
def test_the_number_of_queries_does_not_grow(warm_computed, client, address):
    before = queries(client, address)
    for number in range(10, 40):
        add(warm_computed, f"w{number}", RaterKind.CROWD)
        rate(warm_computed, {f"w{number}": [1, 2, 3, 4, number % 5 + 1]})
    compute(warm_computed)
    assert queries(client, address) == before
