"""Ratings side by side: the list of items, and one item with everybody's ratings."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.annotation.evidence import Quote
from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.corpus.models import SpeakerRole, Turn
from apps.frameworks.models import ScalePoint
from apps.studies.models import (
    Assignment,
    AssignmentState,
    Block,
    BlockFramework,
    Item,
    ItemRole,
    MemberRole,
    Rater,
    RaterKind,
    Study,
)
from apps.studies.services.exclusions import exclude
from tests.conftest import make_dataset, make_framework, make_user

pytestmark = pytest.mark.django_db
LIST = "/studies/grief/items/"
LOST = Quote("I lost", 0, 0, 6)


def page_of(item):
    return reverse("rating:item-ratings", args=[item.block.study.slug, item.pk])


def rate(rater, item, *values, comment="", quote=None, state=None):
    """The values on the item's scales in turn, None for "cannot tell"; with `state` as work on this site."""
    scales = list(item.block.frameworks.first().dimensions.order_by("position"))
    record_ratings(
        entries=[
            RatingEntry(
                item.pk,
                rater.pk,
                scale.pk,
                value,
                cannot_tell=value is None,
                comment=comment,
                evidence=[quote] if quote else [],
            )
            for scale, value in zip(scales, values, strict=False)
        ],
        origin=Origin.IMPORT,
    )
    if state:
        position = Assignment.objects.filter(rater=rater).count()
        Assignment.objects.create(rater=rater, item=item, state=state, position=position)


def cells_of(text):
    """The words of the first table's cells, row by row."""
    table = text.split("<table")[1].split("</table>")[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("<tr>")[1:]]
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in rows]


@pytest.fixture
def talk(grief, framework):
    """The second item: rated by Emil (expert1) and two others; expert3 has not handed it in."""
    Turn.objects.filter(conversation__external_id="letters-002").update(text="I lost <b>it</b>.")
    ScalePoint.objects.filter(dimension__slug="scale_1", value=5).update(label="very much")
    item = Item.objects.get(conversation__external_id="letters-002")
    raters = {rater.name: rater for rater in grief.raters.all()}
    rate(raters["expert1"], item, 5, 2, state=AssignmentState.SUBMITTED)
    rate(raters["expert2"], item, 4, None, comment="Warm <i>enough</i>", quote=LOST, state=AssignmentState.SURPLUS)
    rate(raters["expert3"], item, 1, 1, comment="DRAFT", state=AssignmentState.IN_PROGRESS)
    return item


@pytest.fixture
def open_talk(talk, grief):
    Study.objects.filter(pk=grief.pk).update(discussion_open=True)
    grief.refresh_from_db()
    return talk


# --- Who may see it ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("person", ["rosa", "ada", "ruth"])
def test_who_works_with_the_study_sees_ratings_while_it_is_blind(talk, grief, sign_in, person, request):
    ruth = make_user("ruth@example.org", "researcher")
    grief.memberships.create(user=ruth, role=MemberRole.RESEARCHER)
    client = sign_in(ruth if person == "ruth" else request.getfixturevalue(person))
    assert client.get(LIST).status_code == 200
    assert "expert2" in client.get(page_of(talk)).text


def test_a_rater_is_told_that_ratings_are_hidden_until_discussion_is_open(talk, sign_in, emil):
    client = sign_in(emil)
    for address in (LIST, page_of(talk)):
        response = client.get(address)
        assert response.status_code == 403
        assert "hidden from you until discussion is open" in response.text
        assert "expert2" not in response.text


@pytest.mark.parametrize("person", ["rosa", "ada"])
def test_owners_and_admins_who_rate_are_told_why_they_see_nothing(talk, grief, sign_in, person, request):
    user = request.getfixturevalue(person)
    rater = Rater.objects.create(study=grief, user=user, name="expert9", kind=RaterKind.EXPERT)
    client = sign_in(user)
    for address in (LIST, page_of(talk)):
        response = client.get(address)
        assert response.status_code == 403
        assert "You rate in this study" in response.text
    Rater.objects.filter(pk=rater.pk).update(left_at=timezone.now())
    assert client.get(page_of(talk)).status_code == 200


def test_a_rater_sees_what_they_handed_in_once_discussion_is_open(open_talk, sign_in, emil):
    client = sign_in(emil)
    assert "Conversation 1" in client.get(LIST).text
    text = client.get(page_of(open_talk)).text
    assert "expert2" in text
    assert "DRAFT" not in text
    assert "expert3" not in text


@pytest.mark.parametrize("state", [AssignmentState.IN_PROGRESS, AssignmentState.SKIPPED, AssignmentState.LAPSED])
def test_a_rater_does_not_see_an_item_they_have_not_handed_in(open_talk, grief, sign_in, emil, state):
    Assignment.objects.filter(rater__user=emil).update(state=state)
    client = sign_in(emil)
    response = client.get(page_of(open_talk))
    assert response.status_code == 403
    assert "once you have submitted it yourself" in response.text
    listed = client.get(LIST).text
    assert page_of(open_talk) not in listed
    assert "submitted nothing yet" in listed


def test_items_a_rater_was_never_given_are_not_there(open_talk, sign_in, emil):
    unknown = Item.objects.get(conversation__external_id="letters-001")
    client = sign_in(emil)
    assert client.get(page_of(unknown)).status_code == 404
    Study.objects.update(discussion_open=False)
    assert client.get(page_of(unknown)).status_code == 404


def test_a_rater_who_left_and_a_member_who_does_not_rate_see_nothing(open_talk, grief, sign_in, emil):
    member = make_user("mara@example.org", "annotator")
    grief.memberships.create(user=member, role=MemberRole.RATER)
    assert sign_in(member).get(LIST).status_code == 403
    assert sign_in(member).get(page_of(open_talk)).status_code == 404
    Rater.objects.filter(user=emil).update(left_at=timezone.now())
    assert sign_in(emil).get(LIST).status_code == 403
    assert sign_in(emil).get(page_of(open_talk)).status_code == 404


def test_strangers_find_nothing(open_talk, sign_in, otto, strangers):
    client = sign_in(otto)
    foreign = Item.objects.get(block__study=strangers, position=0)
    assert client.get(LIST).status_code == 404
    assert client.get(page_of(open_talk)).status_code == 404
    # Another study's item under one's own study's name, and the other way round.
    assert client.get(reverse("rating:item-ratings", args=["strangers", open_talk.pk])).status_code == 404
    assert client.get(reverse("rating:item-ratings", args=["grief", foreign.pk])).status_code == 404


def test_without_login_one_is_asked_to_sign_in(open_talk, client):
    for address in (LIST, page_of(open_talk)):
        assert client.get(address).url == f"/accounts/sign-in/?next={address}"


def test_the_pages_are_only_read(open_talk, sign_in, rosa):
    for method in ("post", "put", "patch", "delete"):
        for address in (LIST, page_of(open_talk)):
            assert getattr(sign_in(rosa), method)(address).status_code == 405


def test_sealed_models_are_seen_by_who_works_with_the_study_and_not_by_raters(open_talk, grief, sign_in, emil, rosa):
    model = Rater.objects.create(study=grief, name="model-a", kind=RaterKind.LLM)
    rate(model, open_talk, 3, 3, comment="as a model")
    text = sign_in(rosa).get(page_of(open_talk)).text
    assert "model-a" in text
    assert "sealed: raters do not see them" in text
    client = sign_in(emil)
    assert "model" not in client.get(page_of(open_talk)).text.split("<main")[1]
    assert client.get(LIST).context["rows"][0].n_raters == 2
    Study.objects.update(model_scores_sealed=False)
    assert "model-a" in client.get(page_of(open_talk)).text
    assert client.get(LIST).context["rows"][0].n_raters == 3


# --- What is shown ----------------------------------------------------------------------------------------------------


def test_scales_stand_beside_raters_with_labels_and_words_for_what_is_missing(open_talk, grief, sign_in, rosa):
    mean = Rater.objects.create(study=grief, name="crowd", kind=RaterKind.CROWD, is_aggregate=True)
    made_up = Rater.objects.create(study=grief, name="made-up", kind=RaterKind.EXPERT, is_simulated=True)
    rate(mean, open_talk, 10 / 3)
    rate(made_up, open_talk, 2, 3)
    head, _framework, first, second = cells_of(sign_in(rosa).get(page_of(open_talk)).text)
    assert head == [
        "Scale",
        "expert1 , Expert",
        "expert2 , Expert",
        "made-up , Expert simulated",
        "crowd , Crowd aggregate",
    ]
    assert first == ["Scale 1", "5 very much", "4 with a remark", "2", "3.33"]
    assert second == ["Scale 2", "2", "cannot tell with a remark", "3", "no rating"]


def test_one_s_own_ratings_come_first_and_say_so(open_talk, grief, sign_in, emil):
    Rater.objects.filter(user=emil).update(name="zoe")
    head = cells_of(sign_in(emil).get(page_of(open_talk)).text)[0]
    assert head == ["Scale", "zoe , Expert you", "expert2 , Expert"]


def test_comments_and_quotes_are_shown_as_text_with_their_place(open_talk, grief, sign_in, emil):
    text = sign_in(emil).get(page_of(open_talk)).text
    assert "Warm &lt;i&gt;enough&lt;/i&gt;" in text
    assert "I lost &lt;b&gt;it&lt;/b&gt;." in text
    assert '<a class="small" href="#turn-0">message 1</a>' in text
    assert 'id="turn-0"' in text


def test_raters_see_neither_system_turns_nor_quotes_of_them(open_talk, grief, sign_in, emil, rosa):
    talk = open_talk.conversation
    Turn.objects.create(conversation=talk, index=2, role=SpeakerRole.SYSTEM, text="You are a cold assistant.")
    rate(
        grief.raters.get(name="expert2"),
        Item.objects.get(pk=open_talk.pk),
        4,
        3,
        quote=Quote("a cold assistant"),
    )
    assert "cold assistant" not in sign_in(emil).get(page_of(open_talk)).text
    text = sign_in(rosa).get(page_of(open_talk)).text
    assert "a cold assistant" in text
    assert "You are a cold assistant" not in text


def test_excluded_raters_are_shown_and_marked_for_who_works_with_the_study(open_talk, grief, sign_in, rosa, emil):
    exclude(rater=grief.raters.get(name="expert2"), by=rosa)
    exclude(rater=grief.raters.get(name="expert1"), item=open_talk, by=rosa)
    exclude(rater=grief.raters.get(name="expert1"), item=Item.objects.exclude(pk=open_talk.pk).first(), by=rosa)
    text = sign_in(rosa).get(page_of(open_talk)).text
    assert cells_of(text)[0][1:] == ["expert1 , Expert excluded here", "expert2 , Expert excluded"]
    assert "2 raters here are excluded" in text
    assert "excluded" not in sign_in(emil).get(page_of(open_talk)).text


def test_a_rater_is_told_nothing_that_gives_an_item_away(open_talk, grief, sign_in, emil):
    """Neither the conversation's id, title, metadata and factors, nor the item's role, nor the block."""
    Item.objects.update(role=ItemRole.GOLD)
    Block.objects.update(title="Condition B")
    conversation = open_talk.conversation
    conversation.title, conversation.metadata = "Cold answers", {"topic": "secret-topic"}
    conversation.factors, conversation.reference = {"model": "secret-model"}, "secret-answer"
    conversation.save()
    client = sign_in(emil)
    for address in (LIST, f"{LIST}?block=main", page_of(open_talk), f"{page_of(open_talk)}?block=main"):
        text = client.get(address).text
        for words in ("letters-002", "Cold answers", "secret", "Gold", "Condition B", "block="):
            assert words not in text


def test_who_works_with_the_study_sees_title_block_and_role(open_talk, sign_in, rosa):
    Item.objects.filter(pk=open_talk.pk).update(role=ItemRole.GOLD)
    for address in (LIST, page_of(open_talk)):
        text = sign_in(rosa).get(address).text
        assert "letters-002" in text
        assert "Gold" in text


def test_an_item_nobody_finished_says_so(grief, sign_in, rosa):
    text = sign_in(rosa).get(page_of(Item.objects.first())).text
    assert "Nobody has finished this item yet" in text


def test_a_conversation_without_text_still_has_ratings(open_talk, sign_in, rosa):
    Turn.objects.filter(conversation=open_talk.conversation_id, evidence=None).delete()
    Turn.objects.filter(conversation=open_talk.conversation_id).update(role=SpeakerRole.SYSTEM)
    assert "No text was published" in sign_in(rosa).get(page_of(open_talk)).text


# --- A crowd ----------------------------------------------------------------------------------------------------------


def add_crowd(study, item, number, **options):
    raters = [
        Rater.objects.create(study=study, name=f"crowd{n + 1}", kind=RaterKind.CROWD, **options) for n in range(number)
    ]
    for place, rater in enumerate(raters):
        rate(rater, item, *((None, 1) if place == 0 else (1 + place % 2,)), comment=f"by {rater.name}")
    return raters


def test_twelve_of_the_crowd_have_a_column_each(open_talk, grief, sign_in, rosa):
    add_crowd(grief, open_talk, 12)
    response = sign_in(rosa).get(page_of(open_talk))
    assert [cell.split()[0] for cell in cells_of(response.text)[0][3:]] == [f"crowd{n}" for n in range(1, 13)]
    assert response.context["ratings"].crowd is None


def test_a_larger_crowd_is_summed_up_by_point_and_listed_in_pages(open_talk, grief, sign_in, rosa):
    raters = add_crowd(grief, open_talk, 40)
    exclude(rater=raters[30], by=rosa)
    client = sign_in(rosa)
    response = client.get(page_of(open_talk))
    head, _framework, first, second = cells_of(response.text)
    assert head[-1] == "40 raters of the crowd how many gave each point"
    # The first cannot tell; of the others every second gave 2, and they gave 1 on the first scale alone.
    assert first[-1] == "19 gave 1 20 gave 2 0 gave 3 0 gave 4 0 gave 5 1 cannot tell"
    assert second[-1] == "1 gave 1 0 gave 2 0 gave 3 0 gave 4 0 gave 5 39 no rating"
    assert "Each of the 40 raters" in response.text
    assert "1 rater here is excluded" in response.text
    assert [column.rater.name for column in response.context["ratings"].crowd.columns][8:11] == [
        "crowd9",
        "crowd10",
        "crowd11",
    ]
    assert "by crowd25" in response.text
    assert "by crowd26" not in response.text
    assert "<details>" in response.text
    second_page = client.get(page_of(open_talk), {"page": 2}).text
    assert "by crowd40" in second_page
    assert "<details open>" in second_page
    part = client.get(page_of(open_talk), {"page": 2}, headers={"HX-Request": "true"}).text
    assert part.strip().startswith('<div id="crowd">')
    assert "by crowd40" in part


def test_somebody_of_a_large_crowd_keeps_a_column_of_their_own(open_talk, grief, sign_in):
    [me, *_others] = add_crowd(grief, open_talk, 13)
    cora = make_user("cora@example.org", "annotator")
    grief.memberships.create(user=cora, role=MemberRole.RATER)
    Rater.objects.filter(pk=me.pk).update(user=cora)
    Assignment.objects.create(rater=me, item=open_talk, position=0, state=AssignmentState.SUBMITTED)
    head = cells_of(sign_in(cora).get(page_of(open_talk)).text)[0]
    assert head[1] == "crowd1 , Crowd you"
    assert head[-1].startswith("13 raters of the crowd")


# --- The way through --------------------------------------------------------------------------------------------------


@pytest.fixture
def two_blocks(open_talk, grief):
    """A second block of two more items."""
    block = Block.objects.create(
        study=grief, slug="more", title="More", position=1, dataset=make_dataset("more", conversations=2)
    )
    BlockFramework.objects.create(block=block, framework=make_framework("other-scales"), position=0)
    for position, conversation in enumerate(block.dataset.conversations.all()):
        Item.objects.create(block=block, conversation=conversation, position=position)
    return block


def test_the_list_counts_finished_ratings(open_talk, sign_in, rosa):
    rows = sign_in(rosa).get(LIST).context["rows"]
    assert [(row.name, row.n_raters, row.n_ratings) for row in rows] == [
        ("letters-001", 0, 0),
        ("letters-002", 2, 4),
        ("letters-003", 0, 0),
    ]


def test_the_list_is_narrowed_to_a_block(two_blocks, sign_in, rosa):
    client = sign_in(rosa)
    assert len(client.get(LIST).context["rows"]) == 5
    response = client.get(LIST, {"block": "more"})
    assert [row.name for row in response.context["rows"]] == ["more-001", "more-002"]
    assert client.get(LIST, {"block": "no-such-block"}).status_code == 404


def test_items_lead_on_through_all_blocks_or_within_one(two_blocks, sign_in, rosa):
    client = sign_in(rosa)
    last, first = Item.objects.filter(block__slug="main").last(), two_blocks.items.first()
    place = client.get(page_of(last)).context["place"]
    assert (place.number, place.total, place.next) == (3, 5, (first.pk, "more-001"))
    place = client.get(page_of(last), {"block": "main"}).context["place"]
    assert (place.number, place.total, place.next) == (3, 3, None)
    place = client.get(page_of(first), {"block": "main"}).context["place"]
    assert (place.number, place.previous) == (4, (last.pk, "letters-003"))


def test_a_rater_goes_through_their_own_items_in_their_own_order(open_talk, grief, sign_in, emil):
    """Numbered as on their start page, whatever others got and in which order."""
    me, other = grief.raters.get(name="expert1"), grief.raters.get(name="expert2")
    first, third = Item.objects.get(position=0), Item.objects.get(position=2)
    Assignment.objects.create(rater=me, item=third, position=1, state=AssignmentState.SKIPPED)
    Assignment.objects.create(rater=me, item=first, position=2, state=AssignmentState.SUBMITTED)
    for position, item in enumerate((third, first), start=1):
        Assignment.objects.create(rater=other, item=item, position=position, state=AssignmentState.SUBMITTED)
    client = sign_in(emil)
    assert [(row.item.pk, row.name) for row in client.get(LIST).context["rows"]] == [
        (open_talk.pk, "Conversation 1"),
        (first.pk, "Conversation 3"),
    ]
    place = client.get(page_of(open_talk)).context["place"]
    assert (place.name, place.number, place.previous) == ("Conversation 1", None, None)
    assert place.next == (first.pk, "Conversation 3")
    assert client.get(page_of(first)).context["place"].previous == (open_talk.pk, "Conversation 1")


def test_the_list_comes_in_pages_and_as_a_partial(open_talk, grief, sign_in, rosa):
    block = grief.blocks.get()
    for position, conversation in enumerate(make_dataset("more", conversations=30).conversations.all()):
        Item.objects.create(block=block, conversation=conversation, position=10 + position)
    client = sign_in(rosa)
    assert "Page 1 of 2" in client.get(LIST).text
    part = client.get(LIST, {"page": 2}, headers={"HX-Request": "true"}).text
    assert part.strip().startswith('<div id="item-list">')
    assert "more-030" in part


@pytest.mark.parametrize("person", ["rosa", "emil"])
def test_the_number_of_queries_is_the_same_for_any_size(open_talk, grief, sign_in, person, request):
    client = sign_in(request.getfixturevalue(person))
    me = grief.raters.get(name="expert1")
    add_crowd(grief, open_talk, 13)

    def queries(address):
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return len(captured)

    before = queries(LIST), queries(page_of(open_talk))
    block = grief.blocks.get()
    BlockFramework.objects.create(block=block, framework=make_framework("more-scales", dimensions=9), position=1)
    for position, conversation in enumerate(make_dataset("more", conversations=9).conversations.all(), start=10):
        item = Item.objects.create(block=block, conversation=conversation, position=position)
        Assignment.objects.create(rater=me, item=item, position=position, state=AssignmentState.SUBMITTED)
    for number in range(20):
        kind = RaterKind.CROWD if number % 2 else RaterKind.SELF
        rater = Rater.objects.create(study=grief, name=f"more{number}", kind=kind)
        for item in block.items.all():
            rate(rater, item, 3, 4, comment="more", quote=LOST)
    assert (queries(LIST), queries(page_of(open_talk))) == before
    assert before[0] < 20
    assert before[1] < 30


# --- The way there ----------------------------------------------------------------------------------------------------


def test_a_rater_finds_the_way_once_discussion_is_open(talk, grief, sign_in, emil):
    client = sign_in(emil)
    pages = [reverse("rating:start", args=["grief"]), reverse("studies:overview", args=["grief"])]
    assert all(LIST not in client.get(page).text for page in pages)
    Study.objects.update(discussion_open=True)
    assert all(LIST in client.get(page).text for page in pages)
    assert page_of(talk) in client.get(pages[0]).text


def test_the_study_s_tabs_lead_there_who_may_see_it(talk, grief, sign_in, rosa):
    client = sign_in(rosa)
    overview = reverse("studies:overview", args=["grief"])
    assert LIST in client.get(overview).text
    Rater.objects.create(study=grief, user=rosa, name="expert9", kind=RaterKind.EXPERT)
    assert LIST not in client.get(overview).text
