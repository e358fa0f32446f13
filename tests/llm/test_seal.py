"""The seal over models' scores: who may break it, and what it keeps from whoever rates, discussion open or not."""

import pytest
from django.urls import reverse

from apps.annotation.evidence import Quote
from apps.annotation.services.recording import DrawEntry, Origin, RatingEntry, record_ratings
from apps.common.models import AuditEntry
from apps.frameworks.models import Dimension
from apps.reliability.services.snapshots import take_snapshot
from apps.studies.models import Assignment, AssignmentState, Item, MemberRole, Rater, Study
from apps.studies.services.status import StatusError, set_seal
from tests.conftest import make_user
from tests.llm.worlds import make_run
from tests.test_blindness_walk import NOW, readings
from tests.walking import Walker, add_person, furnish, objects_of

MARKER = "SEALEDWORDS"
OPEN = {"to": "unsealed", "confirm": "grief"}


def address(slug: str = "grief") -> str:
    return reverse("llm:seal", args=[slug])


def is_sealed() -> bool:
    return Study.objects.get(slug="grief").model_scores_sealed


# --- The switch -------------------------------------------------------------------------------------------------------


def test_owners_and_admins_break_it_and_set_it_again(grief, sign_in, rosa, ada):
    answer = sign_in(rosa).post(address(), OPEN, follow=True)
    assert answer.redirect_chain == [(reverse("llm:home", args=["grief"]), 302)]
    assert "They are unsealed." in answer.text
    assert not is_sealed()
    sign_in(ada).post(address(), {"to": "sealed"})
    assert is_sealed()
    acts = AuditEntry.objects.filter(action__startswith="model_scores").order_by("pk")
    assert [(act.action, act.subject, act.actor) for act in acts] == [
        ("model_scores.unseal", "grief", rosa),
        ("model_scores.seal", "grief", ada),
    ]
    assert acts[0].details == {"status": "active", "discussion_open": False}


def test_nobody_else_does(grief, sign_in, emil, otto, client):
    ruth = make_user("ruth@example.org", "researcher")
    grief.memberships.create(user=ruth, role=MemberRole.RESEARCHER)
    assert sign_in(ruth).post(address(), OPEN).status_code == 403
    for person in (emil, otto):
        assert sign_in(person).post(address(), OPEN).status_code == 404
    assert client.post(address(), OPEN).url.startswith("/accounts/sign-in/")
    assert is_sealed()


def test_it_takes_a_post_with_one_of_two_words(grief, sign_in, rosa):
    client = sign_in(rosa)
    assert client.get(address()).status_code == 405
    for data in ({}, {"to": "open"}):
        assert "choose sealed or unsealed" in client.post(address(), data, follow=True).text
    assert "are sealed already" in client.post(address(), {"to": "sealed"}, follow=True).text
    assert is_sealed()
    assert not AuditEntry.objects.filter(action__startswith="model_scores").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [({}, "Short name: This field is required."), ({"confirm": "Grief"}, "This is not the short name")],
)
def test_breaking_it_asks_for_the_name_and_setting_it_does_not(grief, sign_in, rosa, typed, said):
    run = make_run(grief)
    client = sign_in(rosa)
    answer = client.post(address(), {"to": "unsealed", "run": run.pk, **typed}, follow=True)
    assert answer.redirect_chain == [(reverse("llm:run", args=["grief", run.pk]), 302)]
    assert said in answer.text
    assert "Type grief to confirm." in answer.text
    assert is_sealed()
    client.post(address(), OPEN)
    assert not is_sealed()
    client.post(address(), {"to": "sealed"})
    assert is_sealed()


def test_it_leads_back_to_the_run_of_the_study_and_nowhere_else(grief, strangers, sign_in, rosa):
    own = make_run(grief)
    foreign = make_run(strangers, own.endpoint, name="foreign")
    client = sign_in(rosa)
    assert client.post(address(), OPEN | {"run": own.pk}).url == reverse("llm:run", args=["grief", own.pk])
    for run in ("", "x", "²", "9" * 30, str(foreign.pk)):
        assert client.post(address(), {"to": "sealed", "run": run}).url == reverse("llm:home", args=["grief"])


def test_the_service_says_where_it_stands_already(grief, rosa):
    with pytest.raises(StatusError, match="sealed already"):
        set_seal(study=grief, is_sealed=True, by=rosa)
    set_seal(study=grief, is_sealed=False, by=rosa)
    with pytest.raises(StatusError, match="not sealed"):
        set_seal(study=grief, is_sealed=False, by=rosa)


def test_the_pages_say_what_breaking_it_means(grief, sign_in, rosa):
    run = make_run(grief)
    page = reverse("llm:run", args=["grief", run.pk])
    text = sign_in(rosa).get(page).text
    assert "Nothing changes until discussion is open." in text
    assert "The study is active: whoever has seen" in text
    Study.objects.update(discussion_open=True)
    assert "every rater sees at once how models rated" in sign_in(rosa).get(page).text
    Study.objects.update(model_scores_sealed=False)
    assert "Seal the models’ scores" in sign_in(rosa).get(page).text


# --- What it keeps ----------------------------------------------------------------------------------------------------


@pytest.fixture
def site(grief, rosa, emil, monkeypatch):
    """Discussion is open. Emil has handed in everything; Rosa, who owns the study, rates as well."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    add_person(grief, rosa, "expert4", role=MemberRole.OWNER)
    furnish(grief, rosa)
    Assignment.objects.update(state=AssignmentState.SUBMITTED)
    Study.objects.filter(pk=grief.pk).update(discussion_open=True)
    take_snapshot(study=grief)
    return grief


@pytest.fixture
def model(grief) -> Rater:
    return Rater.objects.create(study=grief, name="sealed-model", kind="llm")


def rate(study: Study, model: Rater, value: float) -> None:
    """The model's ratings of everything, as a run records them."""
    record_ratings(
        entries=[
            RatingEntry(
                item.pk,
                model.pk,
                scale.pk,
                value,
                comment=f"{MARKER} said {value}",
                evidence=[Quote(f"{MARKER} quoted {value}")],
                draws=[DrawEntry(value, rationale=f"{MARKER} drew {value}")],
            )
            for item in Item.objects.filter(block__study=study)
            for scale in Dimension.objects.filter(framework__blocks__study=study).distinct()
        ],
        origin=Origin.MODEL,
    )
    take_snapshot(study=study)


class Walk:
    """What `readings` of the walks takes."""

    def __init__(self, study: Study, *people) -> None:
        self.objects = objects_of(study, *people).sampled(1)


def read_all(site, sign_in, person) -> dict[str, object]:
    return dict(readings(Walker(sign_in(person)), Walk(site, person)))


@pytest.mark.parametrize("person", ["emil", "rosa"])
def test_nothing_that_somebody_who_rates_can_open_holds_a_sealed_score(site, model, sign_in, person, request):
    """Every page, fragment, file and endpoint, with discussion open: the same to the byte whatever the model said."""
    user = request.getfixturevalue(person)
    rate(site, model, 2)
    before = read_all(site, sign_in, user)
    rate(site, model, 5)
    after = read_all(site, sign_in, user)
    assert len(before) > 150
    assert [name for name in before if before[name] != after[name]] == []
    assert [name for name, answer in after.items() if MARKER.encode() in answer.body] == []


@pytest.mark.parametrize("person", ["emil", "rosa"])
def test_unsealed_they_stand_beside_the_others(site, model, sign_in, person, request):
    rate(site, model, 2)
    set_seal(study=site, is_sealed=False, by=None)
    item = Item.objects.filter(block__study=site).first()
    page = sign_in(request.getfixturevalue(person)).get(reverse("rating:item-ratings", args=["grief", item.pk])).text
    assert "sealed-model" in page
    assert f"{MARKER} said 2" in page


def test_who_works_with_the_study_and_does_not_rate_sees_them_sealed_or_not(site, model, sign_in):
    ruth = make_user("ruth@example.org", "researcher")
    site.memberships.create(user=ruth, role=MemberRole.RESEARCHER)
    rate(site, model, 2)
    item = Item.objects.filter(block__study=site).first()
    page = sign_in(ruth).get(reverse("rating:item-ratings", args=["grief", item.pk])).text
    assert f"{MARKER} said 2" in page
    assert "sealed: raters do not see them" in page
