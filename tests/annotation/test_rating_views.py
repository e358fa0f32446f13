"""The rating screen: its page, its form, and what its scripts send."""

import json
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.annotation.models import Rating, RatingEvent
from apps.corpus.models import SpeakerRole, Turn
from apps.frameworks.models import Dimension, ScalePoint
from apps.studies.models import (
    Assignment,
    AssignmentState,
    BlockGroup,
    Membership,
    Rater,
    RaterKind,
    Study,
    StudyStatus,
)
from apps.studies.services import timing
from apps.studies.services.reservations import take_next
from tests.conftest import make_framework

pytestmark = pytest.mark.django_db


# --- The screen -------------------------------------------------------------------------------------------------------


def test_the_screen_shows_the_conversation_and_every_scale(desk):
    response = desk.get()
    assert response.status_code == 200
    screen = response.context["screen"]
    assert [turn.text for turn in screen.turns] == [
        turn.text for turn in desk.assignment.item.conversation.turns.order_by("index")
    ]
    assert [scale.dimension.label for scale in screen.scales] == ["Scale 1", "Scale 2"]
    assert [scale.number for scale in screen.scales] == [1, 2]
    assert [point.value_text for point in screen.scales[0].points] == ["1", "2", "3", "4", "5"]
    assert (screen.place.number, screen.place.total, screen.place.block_number, screen.place.n_blocks) == (1, 3, 1, 1)
    assert (screen.n_done, screen.n_scales, len(screen.missing)) == (0, 2, 2)


def test_the_screen_tells_nothing_that_a_rater_should_not_know(desk):
    conversation = desk.assignment.item.conversation
    conversation.metadata, conversation.factors = {"clinic": "Northfield"}, {"model": "Zephyr-9"}
    conversation.reference, conversation.title = "the right answer", "Written by Zephyr-9"
    conversation.save()
    Turn.objects.create(conversation=conversation, index=7, role=SpeakerRole.SYSTEM, text="You are a cold counsellor")
    item = desk.assignment.item
    item.role = "gold"
    item.save()
    item.block.title = "Known answers"
    item.block.save()
    text = desk.get().text
    for secret in ("Northfield", "Zephyr-9", "right answer", "cold counsellor", "gold", "Known answers", "expert2"):
        assert secret not in text
    assert conversation.external_id not in text


def test_answers_given_earlier_stand_on_their_scales(desk):
    desk.save("4", comment="warm", evidence="What was in it?")
    scale = desk.get().context["screen"].scales[0]
    assert (scale.value_text, scale.comment, scale.based_on, scale.is_done) == ("4", "warm", 1, True)
    assert json.loads(scale.evidence_json) == [{"turn": 1, "start": 19, "end": 34, "text": "What was in it?"}]
    assert desk.get().context["screen"].saved_at is not None


def test_opening_an_item_remembers_when_it_was_begun_and_nothing_else(desk):
    before = Assignment.objects.filter(pk=desk.assignment.pk).values().get()
    desk.get()
    after = Assignment.objects.filter(pk=desk.assignment.pk).values().get()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"started_at", "seen_at", "reserved_until"}
    began = after["started_at"]
    desk.get()
    assert Assignment.objects.get(pk=desk.assignment.pk).started_at == began


def test_the_neighbours_are_ones_own_items_less_the_skipped(seat, emil, grief):
    first = seat(emil, grief)
    first.form("submit", 1, 2)
    second = seat(emil, grief)
    second.form("skip", reason="broken")
    third = seat(emil, grief)
    screen = third.get().context["screen"]
    assert (screen.previous, screen.next) == (first.assignment, None)
    assert first.get().context["screen"].next == third.assignment


def test_a_text_with_markup_is_shown_as_text_case_35(desk):
    Turn.objects.filter(conversation=desk.assignment.item.conversation, index=0).update(
        text="<script>alert(1)</script><img src=x onerror=alert(2)>"
    )
    desk.save("3", comment="<script>alert(3)</script>")
    text = desk.get().text
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "&lt;script&gt;alert(3)" in text


@pytest.mark.parametrize("status", [StudyStatus.DRAFT, StudyStatus.CLOSED])
def test_outside_an_active_study_the_item_can_be_read_and_not_written(desk, status):
    desk.save("4")
    Study.objects.update(status=status)
    before = Assignment.objects.values().get()
    response = desk.get()
    assert response.status_code == 200
    assert not response.context["screen"].is_editable
    for act in (lambda: desk.save("5", based_on=1), lambda: desk.post("time", {"wall": 5, "active": 5})):
        answer = act()
        assert (answer.status_code, answer.json()["state"]) == (403, "closed")
    for name in ("submit", "flag"):
        assert desk.post(name).status_code in (403, 422)
    assert desk.post("skip", {"reason": "broken"}).status_code == 403
    assert desk.form("save", 5, 5).status_code == 403
    assert desk.values() == [4.0]
    assert Assignment.objects.values().get() == before


def test_the_screen_takes_a_constant_number_of_queries(desk, grief, framework, django_assert_num_queries):
    desk.save("4", evidence="What was in it?")
    with django_assert_num_queries(14):
        desk.get()
    conversation = desk.assignment.item.conversation
    Turn.objects.bulk_create(
        Turn(conversation=conversation, index=index, role=SpeakerRole.SEEKER, text=f"turn {index}")
        for index in range(2, 60)
    )
    for position in range(2, 21):
        dimension = Dimension.objects.create(
            framework=framework, slug=f"more_{position}", position=position, label=f"More {position}", question="?",
            guideline="", minimum=0, maximum=9,
        )  # fmt: skip
        ScalePoint.objects.bulk_create(
            ScalePoint(dimension=dimension, value=value, position=value) for value in range(10)
        )
    desk.dimensions = list(framework.dimensions.order_by("position"))
    for number in range(1, 21):
        desk.save("3", scale=number, evidence="turn 2\nturn 3")
    for number in range(30):
        other = Rater.objects.create(study=grief, name=f"more{number}", kind=RaterKind.EXPERT)
        take_next(rater=other)
    with django_assert_num_queries(14):
        assert desk.get().context["screen"].n_done == 21


# --- Saving one scale -------------------------------------------------------------------------------------------------


def test_a_click_is_saved_and_answered(desk):
    answer = desk.save("4")
    assert answer.status_code == 200
    data = answer.json()
    assert data.pop("saved_at") == timezone.localtime().strftime("%H:%M")
    assert data == {
        "state": "saved", "dimension": desk.dimensions[0].pk, "value": "4", "cannot_tell": False, "based_on": 1,
        "n_done": 1, "n_scales": 2,
    }  # fmt: skip
    assert desk.values() == [4.0]
    assert desk.state == AssignmentState.IN_PROGRESS
    event = RatingEvent.objects.get()
    assert (event.actor.email, event.origin) == ("emil@example.org", "screen")


def test_cannot_tell_is_saved(desk):
    data = desk.save("cannot-tell").json()
    assert (data["value"], data["cannot_tell"]) == (None, True)
    assert desk.values() == [None]


def test_five_clicks_and_a_submit_leave_one_value_and_five_events_case_10(desk):
    for number, value in enumerate([5, 4, 5, 4, 5]):
        assert desk.save(value, based_on=number).json()["based_on"] == number + 1
    desk.save(1, scale=1)
    desk.post("submit")
    assert desk.state == AssignmentState.SUBMITTED
    rating = Rating.objects.get(dimension=desk.dimensions[0])
    assert rating.value == 5
    assert [event.value for event in rating.events.all()] == [5, 4, 5, 4, 5]


def test_the_same_click_twice_is_one_event_case_11(desk):
    assert desk.save("4").json()["based_on"] == 1
    assert desk.save("4").json()["based_on"] == 1
    assert RatingEvent.objects.count() == 1


def test_a_change_made_elsewhere_is_told_and_nothing_is_overwritten_case_11(desk):
    desk.save("4", comment="first", evidence="What was in it?")
    answer = desk.save("2", based_on=0)
    assert answer.status_code == 409
    data = answer.json()
    assert "elsewhere" in data["message"]
    assert data["evidence"] == [{"turn": 1, "start": 19, "end": 34, "text": "What was in it?"}]
    assert [data[name] for name in ("state", "value", "cannot_tell", "comment", "based_on")] == [
        "conflict", "4", False, "first", 1,
    ]  # fmt: skip
    assert desk.values() == [4.0]
    assert desk.save("2", based_on=data["based_on"]).status_code == 200
    assert desk.values() == [2.0]


@pytest.mark.parametrize("value", ["9", "2.5", "3,0", "warm", "nan", "inf", "1e0e", "-1", "٣", "1" * 400])
def test_what_is_no_point_of_the_scale_is_refused(desk, value):
    answer = desk.save(value)
    assert (answer.status_code, answer.json()["state"]) == (422, "refused")
    assert "point" in answer.json()["message"]
    assert desk.assignment.item.conversation.external_id not in answer.text
    assert Rating.objects.count() == 0


def test_a_comment_or_evidence_needs_a_point_first(desk):
    for fields in ({"comment": "warm"}, {"evidence": "What was in it?"}):
        answer = desk.save("", **fields)
        assert (answer.status_code, answer.json()["state"]) == (422, "refused")
    desk.save("4")
    assert desk.save("", based_on=1, comment="warm").status_code == 200
    rating = Rating.objects.get()
    assert (rating.value, rating.comment) == (4, "warm")


@pytest.mark.parametrize(
    "evidence",
    [
        "[{]",
        '[{"turn": 1}]',
        '[{"text": 5}]',
        '[{"text": "a"}, 5]',
        '[{"text": "a", "turn": "1"}]',
        '[{"text": "a", "turn": true}]',
        '[{"text": "\\ud800"}]',
        '[{"text": "a\\u0000"}]',
        '[{"text": "' + "a" * 5_001 + '"}]',
        "[" + ", ".join(['{"text": "a"}'] * 51) + "]",
        "[{" + "[" * 100_000,
    ],
    ids=range(11),
)
def test_evidence_that_cannot_be_read_is_refused(desk, evidence):
    assert desk.save("4", evidence=evidence).status_code == 422
    assert Rating.objects.count() == 0


@pytest.mark.parametrize("comment", ["a\x00b", "x" * 5_001])
def test_a_comment_that_cannot_be_kept_is_refused(desk, comment):
    assert desk.save("4", comment=comment).status_code == 422
    assert Rating.objects.count() == 0


@pytest.mark.parametrize("based_on", ["x", "-1", "1.5", "9" * 30])
def test_a_damaged_count_of_changes_is_refused(desk, based_on):
    pk = desk.dimensions[0].pk
    answer = desk.post("save", {"dimension": pk, f"value-{pk}": "4", f"based-on-{pk}": based_on})
    assert answer.status_code == 422


def test_an_author_who_does_not_say_what_they_saw_overwrites_nothing(desk):
    desk.save("4")
    pk = desk.dimensions[0].pk
    assert desk.post("save", {"dimension": pk, f"value-{pk}": "2"}).status_code == 409


@pytest.mark.parametrize(
    ("setting", "fields"),
    [
        ("allow_cannot_tell", {"value": "cannot-tell"}),
        ("allow_comments", {"value": "4", "comment": "warm"}),
        ("allow_evidence", {"value": "4", "evidence": "What was in it?"}),
    ],
)
def test_what_the_study_does_not_ask_for_is_refused(desk, setting, fields):
    Study.objects.update(**{setting: False})
    assert desk.save(**fields).status_code == 422
    assert desk.save("4", comment="", evidence="[]").status_code == 200


def test_a_scale_of_another_framework_is_not_there(desk, strangers):
    other = make_framework("others").dimensions.first()
    for number in (other.pk, 10**18, "", "x", "-1", "9" * 40):
        assert desk.post("save", {"dimension": number, f"value-{number}": "3"}).status_code == 404
    assert Rating.objects.count() == 0


def test_evidence_keeps_its_place_where_the_words_come_twice(desk):
    turn = Turn.objects.get(conversation=desk.assignment.item.conversation, index=0)
    turn.text = "so 🙂 sad, so sad"
    turn.save()
    desk.save("4", evidence=json.dumps([{"turn": 0, "start": 10, "end": 16, "text": "so sad"}]))
    found = desk.get().context["screen"].scales[0].evidence
    assert [(one.turn, one.start, one.end) for one in found] == [(0, 10, 16)]
    desk.save("5", based_on=1, evidence="so sad")
    found = desk.get().context["screen"].scales[0].evidence
    assert [(one.turn, one.start, one.end) for one in found] == [(0, 10, 16)]


def test_saving_takes_a_constant_number_of_queries(desk, grief, django_assert_num_queries):
    desk.save("3")
    with django_assert_num_queries(16):
        desk.save("4", based_on=1)
    for number in range(30):
        other = Rater.objects.create(study=grief, name=f"more{number}", kind=RaterKind.EXPERT)
        take_next(rater=other)
    with django_assert_num_queries(16):
        desk.save("5", based_on=2)


# --- Lapsed and skipped items -----------------------------------------------------------------------------------------


def lapse(desk):
    Assignment.objects.filter(pk=desk.assignment.pk).update(state=AssignmentState.LAPSED)


def test_a_save_gives_a_lapsed_item_its_place_back(desk):
    lapse(desk)
    assert desk.save("4").status_code == 200
    assert desk.state == AssignmentState.IN_PROGRESS


def test_lapsed_work_whose_place_is_gone_is_kept_as_surplus(desk, grief):
    BlockGroup.objects.update(overlap=1)
    lapse(desk)
    other = grief.raters.get(name="expert2")
    Assignment.objects.create(rater=other, item=desk.assignment.item, position=0, state=AssignmentState.SUBMITTED)
    assert desk.get().context["screen"].is_editable
    assert desk.form("submit", 4, 2).status_code == 302
    assert desk.state == AssignmentState.SURPLUS
    assert desk.values() == [4.0, 2.0]


def test_a_skipped_item_is_taken_up_again_by_rating_it(desk):
    desk.form("skip", reason="unclear")
    assert desk.get().context["screen"].is_editable
    desk.save("4")
    assert desk.state == AssignmentState.IN_PROGRESS


def test_looking_through_a_skipped_item_leaves_it_skipped(desk):
    desk.form("skip", reason="unclear")
    desk.get()
    desk.form("pause")
    assert desk.state == AssignmentState.SKIPPED


def test_a_skipped_item_that_others_have_taken_can_only_be_read(desk, grief):
    BlockGroup.objects.update(overlap=1)
    desk.form("skip", reason="unclear")
    other = grief.raters.get(name="expert2")
    Assignment.objects.create(rater=other, item=desk.assignment.item, position=0, state=AssignmentState.SUBMITTED)
    assert not desk.get().context["screen"].is_editable
    assert desk.save("4").json()["state"] == "closed"
    response = desk.form("submit", 4, 2)
    assert response.status_code == 403
    assert [scale.value_text for scale in response.context["screen"].scales] == ["4", "2"]
    assert desk.values() == []


# --- The whole form, without a script ---------------------------------------------------------------------------------


def test_the_form_saves_what_was_changed_and_stays(desk):
    response = desk.form("save", 4)
    assert response.status_code == 302
    assert response.url == desk.url("item")
    desk.form("save", 4, 2)
    assert desk.values() == [4.0, 2.0]
    assert RatingEvent.objects.count() == 2


def test_the_form_hands_in_and_goes_to_the_next_item(desk, emil, grief):
    response = desk.form("submit", 4, 2)
    assert desk.state == AssignmentState.SUBMITTED
    following = Assignment.objects.get(state=AssignmentState.ASSIGNED)
    assert response.url == reverse("rating:item", args=["grief", following.pk])


def test_after_the_last_item_comes_the_page_that_says_so(seat, emil, grief):
    for _ in range(3):
        response = seat(emil, grief).form("submit", 4, 2)
    assert response.url == reverse("rating:done", args=["grief"])


def test_the_form_is_not_handed_in_while_scales_are_missing(desk):
    response = desk.form("submit", 4)
    assert response.status_code == 422
    screen = response.context["screen"]
    assert screen.alert == "Not submitted yet: one scale has no answer: Scale 2."
    assert [scale.dimension.label for scale in screen.missing] == ["Scale 2"]
    assert desk.values() == [4.0]
    assert desk.state == AssignmentState.IN_PROGRESS


def test_the_form_with_a_mistake_keeps_what_was_typed_and_saves_the_rest(desk):
    first, second = (dimension.pk for dimension in desk.dimensions)
    response = desk.form("submit", **{f"comment-{first}": "why\r\nnot", f"value-{second}": "3"})
    assert response.status_code == 422
    scales = response.context["screen"].scales
    assert "point first" in scales[0].errors[0]
    assert scales[0].comment == "why\nnot"
    assert scales[1].errors == []
    assert desk.values() == [3.0]
    response = desk.form("save", 9, 3)
    assert "1, 2, 3, 4, 5" in response.context["screen"].scales[0].errors[0]


def test_the_form_of_a_second_window_is_told_what_changed_and_may_overwrite_it(desk):
    first, second = (dimension.pk for dimension in desk.dimensions)
    desk.form("save", 4, 2)
    stale = {f"value-{first}": "1", f"based-on-{first}": "0", f"value-{second}": "2", f"based-on-{second}": "0"}
    response = desk.post("item", {"action": "save", **stale})
    assert response.status_code == 422
    scale = response.context["screen"].scales[0]
    assert "it is now 4" in scale.errors[0]
    assert (scale.value_text, scale.based_on) == ("1", 1)
    assert desk.values() == [4.0, 2.0]
    again = stale | {f"based-on-{first}": str(scale.based_on)}
    assert desk.post("item", {"action": "save", **again}).status_code == 302
    assert desk.values() == [1.0, 2.0]


def test_evidence_in_lines_is_found_and_kept_when_sent_again(desk):
    pk = desk.dimensions[0].pk
    lines = {f"evidence-{pk}": "What was in it?\r\nnot in the talk"}
    desk.form("save", 4, **lines)
    scale = desk.get().context["screen"].scales[0]
    assert [(one.text, one.turn) for one in scale.evidence] == [("What was in it?", 1), ("not in the talk", None)]
    assert scale.evidence_text == "What was in it?\nnot in the talk"
    updated = Rating.objects.get().updated_at
    desk.form("save", 4, **lines)
    assert Rating.objects.get().updated_at == updated
    desk.form("save", 4, **{f"evidence-{pk}": ""})
    assert desk.get().context["screen"].scales[0].evidence == []


def test_a_line_in_square_brackets_is_a_passage(desk):
    desk.form("save", 4, **{f"evidence-{desk.dimensions[0].pk}": "[sighs] I lost"})
    assert [one.text for one in desk.get().context["screen"].scales[0].evidence] == ["[sighs] I lost"]


def test_an_item_handed_in_can_be_revised_and_stays_handed_in(desk):
    desk.form("submit", 4, 2)
    finished = Assignment.objects.get(pk=desk.assignment.pk).finished_at
    assert desk.get().context["screen"].is_submitted
    desk.form("save", 5, 2)
    assert desk.values() == [5.0, 2.0]
    after = Assignment.objects.get(pk=desk.assignment.pk)
    assert (after.state, after.finished_at) == (AssignmentState.SUBMITTED, finished)
    assert Rating.objects.finished().count() == 2


@pytest.mark.parametrize(("action", "leads_to"), [("pause", "rating:start"), ("save", "item"), ("nonsense", "item")])
def test_buttons_save_first_and_then_lead_on(desk, action, leads_to):
    response = desk.form(action, 4)
    assert desk.values() == [4.0]
    expected = desk.url("item") if leads_to == "item" else reverse(leads_to, args=["grief"])
    assert response.url == expected


def test_previous_and_next_lead_to_ones_own_items(seat, emil, grief):
    first = seat(emil, grief)
    first.form("submit", 4, 2)
    second = seat(emil, grief)
    assert second.form("previous").url == first.url("item")
    assert first.form("next").url == second.url("item")
    assert second.form("next").url == second.url("item")
    second.form("submit", 1, 1)
    third = Assignment.objects.get(state=AssignmentState.ASSIGNED)
    third.delete()
    assert second.form("next").url != second.url("item")


def test_the_form_takes_a_constant_number_of_queries(desk, framework, django_assert_num_queries):
    desk.form("save", 1, 1)
    few = {f"value-{one.pk}": 2 for one in desk.dimensions} | {f"based-on-{one.pk}": 1 for one in desk.dimensions}
    with django_assert_num_queries(41):
        desk.post("item", {"action": "save", **few})
    for position in range(2, 21):
        dimension = Dimension.objects.create(
            framework=framework, slug=f"more_{position}", position=position, label=f"More {position}", question="?",
            guideline="", minimum=1, maximum=5,
        )  # fmt: skip
        ScalePoint.objects.bulk_create(
            ScalePoint(dimension=dimension, value=value, position=value) for value in range(1, 6)
        )
    desk.dimensions = list(framework.dimensions.order_by("position"))
    desk.form("save", *[3] * 21)
    many = {f"value-{one.pk}": 4 for one in desk.dimensions}
    many |= {f"based-on-{one.pk}": desk.n_events(one) for one in desk.dimensions}
    with django_assert_num_queries(41):
        desk.post("item", {"action": "save", **many})
    assert desk.values() == [4.0] * 21


# --- Flag, skip, submit -----------------------------------------------------------------------------------------------


def test_the_flag_is_set_and_taken_away(desk):
    json_asked = {"Accept": "application/json"}
    assert desk.post("flag", **json_asked).json() == {"state": "saved", "flagged": True}
    assert desk.post("flag", **json_asked).json()["flagged"] is False
    assert desk.post("flag", {"flagged": "1"}, **json_asked).json()["flagged"] is True
    assert desk.post("flag", {"flagged": "1"}, **json_asked).json()["flagged"] is True
    response = desk.post("flag")
    assert response.url == desk.url("item")
    assert not Assignment.objects.get(pk=desk.assignment.pk).is_flagged
    desk.form("flag", 4)
    assert Assignment.objects.get(pk=desk.assignment.pk).is_flagged
    assert desk.values() == [4.0]


@pytest.mark.parametrize("send", ["form", "address"])
def test_skipping_asks_for_a_reason(desk, send):
    def sent(**data):
        return desk.form("skip", **data) if send == "form" else desk.post("skip", data)

    for data in ({}, {"reason": "other"}, {"reason": "nonsense"}, {"reason-words": " "}, {"reason-words": "a\x00"}):
        response = sent(**data)
        assert response.status_code == 422
        assert response.context["screen"].alert
    assert desk.state == AssignmentState.ASSIGNED
    assert sent(**{"reason": "unclear", "reason-words": "half is missing"}).status_code == 302
    assert desk.state == AssignmentState.SKIPPED
    reason = Assignment.objects.get(pk=desk.assignment.pk).skip_reason
    assert reason == "I cannot make out what is said: half is missing"


def test_words_alone_are_a_reason(desk):
    desk.form("skip", **{"reason-words": "my own story"})
    assert Assignment.objects.get(pk=desk.assignment.pk).skip_reason == "my own story"


def test_skipping_keeps_what_was_answered_as_a_draft(desk):
    desk.form("skip", 4, reason="broken")
    assert desk.values() == [4.0]
    assert Rating.objects.finished().count() == 0


def test_what_was_handed_in_is_not_skipped(desk):
    desk.form("submit", 4, 2)
    assert desk.post("skip", {"reason": "broken"}).status_code == 403
    assert desk.state == AssignmentState.SUBMITTED


def test_the_page_of_a_refused_submit_goes_on_as_the_items_own(desk):
    """Its buttons save the whole form, whatever address the page came from."""
    assert f'action="{desk.url("item")}"' in desk.post("submit").text


def test_submit_by_script_answers_in_json(desk):
    json_asked = {"Accept": "application/json"}
    answer = desk.post("submit", **json_asked)
    assert answer.status_code == 422
    assert [scale["label"] for scale in answer.json()["missing"]] == ["Scale 1", "Scale 2"]
    desk.form("save", 4, 2)
    answer = desk.post("submit", **json_asked)
    assert answer.json()["state"] == "submitted"
    assert answer.json()["url"].startswith("/studies/grief/rate/")
    assert desk.post("submit").status_code == 302


def told_after(answer, client):
    page = client.get(answer.headers["Location"])
    return [str(message) for message in page.context["messages"]], page.text


def test_the_next_item_says_once_what_became_of_the_last(desk):
    told, page = told_after(desk.form("submit", 4, 2), desk.client)
    assert told == ["Conversation 1 of 3 is submitted. Here is the next one."]
    assert page.count(told[0]) == 1
    following = Assignment.objects.exclude(pk=desk.assignment.pk).get()
    assert "is submitted" not in desk.client.get(reverse("rating:item", args=["grief", following.pk])).text


def test_after_the_last_one_no_next_one_is_spoken_of(seat, emil, grief):
    for _ in range(3):
        desk = seat(emil, grief)
        answer = desk.form("submit", 4, 2)
    told, _page = told_after(answer, desk.client)
    assert told[-1] == "Conversation 3 of 3 is submitted."


def test_by_script_it_is_told_without_asking_how_many_there_are(desk):
    desk.form("save", 4, 2)
    told, _page = told_after(desk.post("submit"), desk.client)
    assert told == ["Conversation 1 is submitted. Here is the next one."]


def test_submit_again_is_offered_only_where_it_does_something(desk):
    assert ">Submit</button>" in desk.get().text
    desk.form("submit", 4, 2)
    page = desk.get().text
    assert "no need to submit it again" in page
    assert 'value="submit"' not in page
    Assignment.objects.filter(pk=desk.assignment.pk).update(state=AssignmentState.SURPLUS)
    page = desk.get().text
    assert "Submit again takes it" in page
    assert ">Submit again</button>" in page


def test_whoever_skips_is_told_where_the_item_stays(desk):
    told, _page = told_after(desk.post("skip", {"reason": "broken"}), desk.client)
    assert told == ["Conversation 1 is skipped. It stays in your list. Here is the next one."]


def test_skip_by_script_answers_in_json(desk):
    json_asked = {"Accept": "application/json"}
    assert desk.post("skip", **json_asked).json()["state"] == "refused"
    assert desk.post("skip", {"reason": "broken"}, **json_asked).json()["state"] == "skipped"


def test_an_answer_cannot_tell_completes_a_scale(desk):
    assert desk.form("submit", "cannot-tell", 3).status_code == 302
    assert desk.state == AssignmentState.SUBMITTED


# --- Time -------------------------------------------------------------------------------------------------------------


def seen_ago(desk, **ago):
    Assignment.objects.filter(pk=desk.assignment.pk).update(seen_at=timezone.now() - timedelta(**ago))


def times(desk):
    assignment = Assignment.objects.get(pk=desk.assignment.pk)
    return round(assignment.wall_seconds), round(assignment.active_seconds)


def test_wall_and_active_time_are_kept_apart_case_17(desk):
    """Four minutes of reading without input, then a minute with the page out of sight."""
    desk.get()
    seen_ago(desk, minutes=5, seconds=1)
    assert desk.post("time", {"wall": "300", "active": "240"}).status_code == 204
    assert times(desk) == (300, 240)
    seen_ago(desk, seconds=21)
    desk.post("time", {"wall": "20", "active": "20.0"})
    assert times(desk) == (320, 260)


def test_four_minutes_of_reading_without_a_script_are_not_lost_case_17(desk):
    desk.get()
    seen_ago(desk, minutes=4)
    desk.form("save", 4)
    assert times(desk) == (240, 240)


def test_a_form_whose_script_counts_the_time_adds_none(desk):
    desk.get()
    seen_ago(desk, minutes=4)
    desk.form("save", 4, timed="1")
    assert times(desk) == (0, 0)


@pytest.mark.parametrize("data", [{}, {"wall": "x", "active": "1"}, {"wall": "-1", "active": "0"},
                                  {"wall": "nan", "active": "0"}, {"wall": "1", "active": "inf"}])  # fmt: skip
def test_what_is_no_time_is_refused(desk, data):
    assert desk.post("time", data).status_code == 422
    assert times(desk) == (0, 0)


def test_the_last_report_of_a_window_whose_item_is_gone_is_not_found(desk, monkeypatch):
    ask = timing.report_time

    def vanish(**report):
        Assignment.objects.filter(pk=desk.assignment.pk).delete()
        ask(**report)

    monkeypatch.setattr(timing, "report_time", vanish)
    assert desk.post("time", {"wall": "20", "active": "20"}).status_code == 404


# --- The ladder -------------------------------------------------------------------------------------------------------

POSTS = ["save", "time", "flag", "skip", "submit"]


@pytest.mark.parametrize("name", POSTS)
def test_addresses_that_write_take_nothing_but_post(desk, name):
    for method in ("get", "put", "patch", "delete", "head", "options"):
        assert getattr(desk.client, method)(desk.url(name)).status_code == 405


def test_the_screen_takes_get_and_post(desk):
    for method in ("put", "patch", "delete", "options"):
        assert getattr(desk.client, method)(desk.url("item")).status_code == 405
    assert desk.client.head(desk.url("item")).status_code == 200


def test_who_is_not_signed_in_is_sent_to_sign_in_and_a_script_is_told(desk, sign_in):
    nobody = sign_in(None)
    start = reverse("rating:start", args=["grief"])
    assert nobody.get(desk.url("item")).url == f"/accounts/sign-in/?next={desk.url('item')}"
    for name in ("flag", "skip", "submit", "item"):
        assert nobody.post(desk.url(name)).url == f"/accounts/sign-in/?next={start}"
        answer = nobody.post(desk.url(name), headers={"Accept": "application/json"})
        assert (answer.status_code, answer.json()["state"]) == (401, "signed-out")
    for name in ("save", "time"):
        answer = nobody.post(desk.url(name))
        assert (answer.status_code, answer.json()["state"]) == (401, "signed-out")


@pytest.mark.parametrize("person", ["ada", "rosa", "otto"])
def test_nobody_else_finds_the_item(desk, sign_in, person, request):
    client = sign_in(request.getfixturevalue(person))
    assert client.get(desk.url("item")).status_code == 404
    for name in ["item", *POSTS]:
        assert client.post(desk.url(name), {"reason": "broken"}).status_code == 404


def test_another_rater_of_the_study_does_not_find_it_either(desk, otto, sign_in, grief):
    Membership.objects.create(study=grief, user=otto, role="rater")
    Rater.objects.filter(study=grief, name="expert2").update(user=otto)
    client = sign_in(otto)
    assert client.get(desk.url("item")).status_code == 404
    for name in ["item", *POSTS]:
        assert client.post(desk.url(name)).status_code == 404


def test_who_has_left_or_is_no_member_any_more_finds_nothing(desk, grief):
    Rater.objects.filter(pk=desk.assignment.rater_id).update(left_at=timezone.now())
    assert desk.get().status_code == 404
    assert desk.save("4").status_code == 404
    Rater.objects.filter(pk=desk.assignment.rater_id).update(left_at=None)
    Membership.objects.filter(user__email="emil@example.org").delete()
    assert desk.get().status_code == 404
    assert desk.save("4").status_code == 404


def test_the_item_is_not_found_under_another_study(desk, emil, strangers):
    Membership.objects.create(study=strangers, user=emil, role="rater")
    Rater.objects.filter(study=strangers, name="expert1").update(user=emil)
    desk.slug = "strangers"
    assert desk.get().status_code == 404
    assert desk.save("4").status_code == 404


def test_an_unheard_of_number_is_not_found(desk):
    for number in (0, 10**6, 10**25):
        assert desk.client.get(f"/studies/grief/rate/{number}/").status_code == 404


def test_an_owner_who_rates_sees_their_own_answers_only(grief, rosa, emil, seat):
    theirs = seat(emil, grief)
    theirs.form("submit", 5, 5)
    Rater.objects.create(study=grief, name="expert9", kind=RaterKind.EXPERT, user=rosa)
    items = set()
    for _ in range(3):
        mine = seat(rosa, grief)
        items.add(mine.assignment.item_id)
        assert mine.get().context["screen"].n_done == 0
        mine.form("submit", 1, 1)
    assert theirs.assignment.item_id in items
