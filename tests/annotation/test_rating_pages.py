"""The pages around the rating screen: start, next, done, preview."""

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.annotation.models import Rating
from apps.studies.models import (
    Assignment,
    AssignmentState,
    Block,
    BlockFramework,
    BlockGroup,
    Item,
    MemberRole,
    Membership,
    Rater,
    RaterKind,
    Study,
    StudyStatus,
)
from apps.studies.services.reservations import take_next
from tests.conftest import make_dataset

pytestmark = pytest.mark.django_db


def address(name, study="grief"):
    return reverse(f"rating:{name}", args=[study])


@pytest.fixture
def client(sign_in, emil, grief):
    return sign_in(emil)


# --- Start ------------------------------------------------------------------------------------------------------------


def test_the_start_shows_what_a_rater_has_to_know(client, grief):
    Study.objects.update(
        instructions="# Read\n\n*All* of it. <b>Then</b> rate.",
        content_warning="People tell of **loss**.",
        support_contact="helpline@example.org",
    )
    text = client.get(address("start")).text
    for words in (
        "<em>All</em>",
        "&lt;b&gt;Then",
        "<strong>loss</strong>",
        "helpline@example.org",
        "expert1",
        "0 of 3 conversations",
    ):
        assert words in text
    # Before what may be long, and after it.
    assert text.count(">Start<") == 2
    assert text.index(">Start<") < text.index("<em>All</em>") < text.rindex(">Start<")
    assert "These conversations touch on</h2>" in text
    assert "expert2" not in text


def test_the_start_leads_on_where_the_work_was_left(client, desk):
    desk.save("4")
    text = client.get(address("start")).text
    assert ">Continue<" in text
    assert desk.url("item") in text
    assert "begun" in text


@pytest.mark.parametrize(("status", "words"), [("draft", "has not begun"), ("closed", "is closed")])
def test_the_start_says_how_the_study_stands(client, grief, status, words):
    Study.objects.update(status=status)
    text = client.get(address("start")).text
    assert words in text
    assert ">Start<" not in text


def test_a_kind_that_is_not_asked_is_told_so(client, grief):
    BlockGroup.objects.all().delete()
    text = client.get(address("start")).text
    assert "for raters of your kind" in text
    assert ">Start<" not in text


def test_each_item_says_how_it_stands(client, grief):
    rater = grief.raters.get(name="expert1")
    BlockGroup.objects.update(overlap=1)
    block = grief.blocks.get()
    more = make_dataset("more", conversations=6)
    for position, conversation in enumerate(more.conversations.all()):
        Item.objects.create(block=block, conversation=conversation, position=10 + position)
    states = [*AssignmentState, AssignmentState.SKIPPED]
    for position, (item, state) in enumerate(zip(Item.objects.all(), states, strict=False)):
        Assignment.objects.create(rater=rater, item=item, position=position, state=state)
    last = Assignment.objects.get(position=6)
    other = grief.raters.get(name="expert2")
    Assignment.objects.create(rater=other, item=last.item, position=0, state=AssignmentState.SUBMITTED)
    response = client.get(address("start"))
    for words in (
        "not begun", "begun", "submitted", "skipped", "lapsed", "beyond the places", "can be taken up again",
        "others have taken it meanwhile", "can be revised",
    ):  # fmt: skip
        assert words in response.text
    assert response.context["full_items"] == {last.item_id}


def test_the_start_comes_in_pages_with_a_constant_number_of_queries(client, grief, django_assert_num_queries):
    rater = grief.raters.get(name="expert1")
    take_next(rater=rater)
    Assignment.objects.create(rater=rater, item=Item.objects.last(), position=5, state="skipped")
    with django_assert_num_queries(15):
        client.get(address("start"))
    block = grief.blocks.get()
    for position, conversation in enumerate(make_dataset("more", conversations=40).conversations.all()):
        item = Item.objects.create(block=block, conversation=conversation, position=10 + position)
        for one in grief.raters.all():
            Assignment.objects.create(rater=one, item=item, position=10 + position, state="skipped")
    with django_assert_num_queries(15):
        text = client.get(address("start")).text
    assert "Page 1 of 2" in text
    assert "Conversation 50" in client.get(address("start"), {"page": 2}).text


# --- Next -------------------------------------------------------------------------------------------------------------


def test_next_takes_an_item_and_leads_to_it(client, grief):
    response = client.post(address("next"))
    assignment = Assignment.objects.get()
    assert response.url == reverse("rating:item", args=["grief", assignment.pk])
    assert client.post(address("next")).url == response.url


@pytest.mark.parametrize("status", [StudyStatus.DRAFT, StudyStatus.CLOSED])
def test_next_gives_nothing_outside_an_active_study(client, grief, status):
    Study.objects.update(status=status)
    assert client.post(address("next")).url == address("start")
    assert Assignment.objects.count() == 0


def test_without_work_next_leads_to_the_page_that_says_why_case_12(client, grief):
    BlockGroup.objects.update(overlap=1)
    other = grief.raters.get(name="expert2")
    for position, item in enumerate(Item.objects.all()):
        Assignment.objects.create(rater=other, item=item, position=position)
    response = client.post(address("next"), follow=True)
    assert response.redirect_chain[-1][0] == address("done")
    assert "No work left for now: 3 conversations are in the hands of other raters" in response.text
    Assignment.objects.update(state=AssignmentState.SUBMITTED)
    assert "nothing left for you to rate" in client.get(address("done")).text


# --- Done -------------------------------------------------------------------------------------------------------------


def test_the_end_says_what_was_done_and_what_is_still_open(client, seat, emil, grief):
    Study.objects.update(support_contact="helpline@example.org")
    done = seat(emil, grief)
    done.form("submit", 4, 2)
    skipped = seat(emil, grief)
    skipped.form("skip", reason="broken")
    text = client.get(address("done")).text
    for words in ("Thank you", "1 of 3 conversations", "1 skipped", "helpline@example.org", "There is more to rate"):
        assert words in text
    assert skipped.url("item") in text
    assert done.url("item") not in text
    done.post("flag")
    assert done.url("item") in client.get(address("done")).text


def test_the_end_without_open_items_says_so(client, seat, emil, grief):
    for _ in range(3):
        seat(emil, grief).form("submit", 4, 2)
    text = client.get(address("done")).text
    assert "you submitted every conversation you were given" in text
    assert "nothing left for you to rate" in text


def test_the_end_takes_a_constant_number_of_queries(client, desk, grief, django_assert_num_queries):
    first, *others = Item.objects.exclude(pk=desk.assignment.item_id)
    Assignment.objects.create(rater=desk.assignment.rater, item=first, position=4, state="skipped")
    with django_assert_num_queries(15):
        client.get(address("done"))
    for position, item in enumerate(others):
        Assignment.objects.create(rater=desk.assignment.rater, item=item, position=5 + position, state="skipped")
    with django_assert_num_queries(15):
        client.get(address("done"))


# --- Preview ----------------------------------------------------------------------------------------------------------


def preview(client, study="grief", **query):
    return client.get(reverse("rating:preview", args=[study]), query)


@pytest.mark.parametrize("person", ["rosa", "ada"])
@pytest.mark.parametrize("status", list(StudyStatus))
def test_the_preview_shows_the_screen_without_anybodys_answers(sign_in, grief, desk, person, status, request):
    desk.form("submit", 4, 2, **{f"comment-{desk.dimensions[0].pk}": "a private word"})
    Study.objects.update(status=status)
    client = sign_in(request.getfixturevalue(person))
    for number in (1, 2, 3):
        response = preview(client, item=number)
        screen = response.context["screen"]
        assert screen.is_preview
        assert not screen.is_editable
        assert [(scale.value_text, scale.comment, scale.based_on) for scale in screen.scales] == [("", "", 0)] * 2
        assert "a private word" not in response.text
        assert (screen.place.number, screen.place.total) == (number, 3)
        assert (screen.preview_previous, screen.preview_next) == (
            number - 1 or None,
            number % 3 + 1 if number < 3 else None,
        )
    assert Assignment.objects.count() == 2


def test_the_preview_goes_through_all_blocks(sign_in, grief, rosa, framework):
    block = Block.objects.create(
        study=grief, slug="two", title="Two", position=1, dataset=make_dataset("two", conversations=1)
    )
    BlockFramework.objects.create(block=block, framework=framework, position=0)
    Item.objects.create(block=block, conversation=block.dataset.conversations.get(), position=0)
    screen = preview(sign_in(rosa), item=4).context["screen"]
    assert (screen.place.number, screen.place.total, screen.place.block_number, screen.place.n_blocks) == (4, 4, 2, 2)


def test_a_blind_owner_previews_too(sign_in, grief, rosa, desk):
    desk.save("5", comment="a private word")
    Rater.objects.create(study=grief, name="expert9", kind=RaterKind.EXPERT, user=rosa)
    response = preview(sign_in(rosa))
    assert response.status_code == 200
    assert "a private word" not in response.text


@pytest.mark.parametrize("number", ["0", "4", "-1", "x", "", "٣", "9" * 30])
def test_an_item_that_is_not_there_is_not_previewed(sign_in, grief, rosa, number):
    assert preview(sign_in(rosa), item=number).status_code == 404


def test_the_preview_of_a_study_without_items_teaches_the_next_step(sign_in, rosa):
    study = Study.objects.create(slug="bare", title="Bare")
    Membership.objects.create(study=study, user=rosa, role=MemberRole.OWNER)
    response = preview(sign_in(rosa), "bare")
    assert response.status_code == 200
    assert "Add a block" in response.text


def test_the_preview_takes_a_constant_number_of_queries(sign_in, grief, rosa, django_assert_num_queries):
    client = sign_in(rosa)
    with django_assert_num_queries(10):
        preview(client)
    block = grief.blocks.get()
    for position, conversation in enumerate(make_dataset("more", conversations=30).conversations.all()):
        Item.objects.create(block=block, conversation=conversation, position=10 + position)
    with django_assert_num_queries(10):
        preview(client, item=20)


# --- The ladder -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["start", "done", "next", "preview"])
def test_who_is_not_signed_in_is_sent_to_sign_in(sign_in, grief, name):
    client = sign_in(None)
    response = client.post(address(name)) if name == "next" else client.get(address(name))
    back = address("start") if name == "next" else address(name)
    assert response.url == f"/accounts/sign-in/?next={back}"


@pytest.mark.parametrize("name", ["start", "done", "preview"])
def test_pages_to_read_are_only_read(client, grief, name):
    for method in ("post", "put", "patch", "delete", "options"):
        assert getattr(client, method)(address(name)).status_code == 405


def test_next_is_only_posted(client, grief):
    for method in ("get", "head", "put", "patch", "delete", "options"):
        assert getattr(client, method)(address("next")).status_code == 405
    assert Assignment.objects.count() == 0


@pytest.mark.parametrize("person", ["ada", "rosa", "otto"])
def test_who_does_not_rate_in_the_study_finds_no_start(sign_in, grief, person, request):
    client = sign_in(request.getfixturevalue(person))
    assert client.get(address("start")).status_code == 404
    assert client.get(address("done")).status_code == 404
    assert client.post(address("next")).status_code == 404
    assert Assignment.objects.count() == 0


def test_who_has_left_finds_no_start(client, grief):
    grief.raters.filter(name="expert1").update(left_at=timezone.now())
    assert client.get(address("start")).status_code == 404
    assert client.post(address("next")).status_code == 404


@pytest.mark.parametrize("person", ["emil", "otto"])
def test_raters_and_strangers_have_no_preview(sign_in, grief, person, request):
    assert preview(sign_in(request.getfixturevalue(person))).status_code == 404


def test_a_rater_of_one_study_finds_nothing_of_another_and_changes_nothing_case_33(client, seat, otto, strangers, desk):
    """Emil rates in `grief`. Every address of `strangers`, with every method, and both studies' items mixed up."""
    Rater.objects.filter(study=strangers, name="expert1").update(user=otto)
    theirs = seat(otto, strangers)
    theirs.save("4")
    before = [list(model.objects.order_by("pk").values()) for model in (Assignment, Rating)]
    posts = {"next", "save", "time", "flag", "skip", "submit"}
    gets = {"start", "done", "preview"}
    addresses = {(name, address(name, "strangers")) for name in ("start", "next", "done", "preview")}
    for slug, pk in (
        ("strangers", theirs.assignment.pk),
        ("strangers", desk.assignment.pk),
        ("grief", theirs.assignment.pk),
    ):
        for name in ("item", "save", "time", "flag", "skip", "submit"):
            addresses.add((name, reverse(f"rating:{name}", args=[slug, pk])))
    pk = theirs.dimensions[0].pk
    data = {"dimension": pk, f"value-{pk}": "1", "action": "submit", "reason": "broken", "wall": "1", "active": "1"}
    for name, url in addresses:
        allowed = {"POST"} if name in posts else {"GET", "HEAD"} if name in gets else {"GET", "HEAD", "POST"}
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            response = client.generic(method, url) if method != "POST" else client.post(url, data)
            assert response.status_code == (404 if method in allowed else 405), (method, url)
    assert [list(model.objects.order_by("pk").values()) for model in (Assignment, Rating)] == before
