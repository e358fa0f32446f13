"""Conversations written in the browser: the pages, and the plain buttons that work without a script."""

from html.parser import HTMLParser

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.annotation.models import Rating
from apps.common.models import AuditEntry
from apps.corpus.forms.writing import faults_of
from apps.corpus.models import Conversation, Dataset, Turn
from apps.corpus.parsing.mapping import parse_mapping
from apps.corpus.services.freezing import freeze_datasets
from apps.corpus.services.importing import ImportRefusedError
from apps.studies.models import Block, Item, Study
from tests.conftest import make_dataset, make_study
from tests.corpus.test_importing import import_text

pytestmark = pytest.mark.django_db


class Form(HTMLParser):
    """The fields of a page's form as a browser would send them, in their order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._area = self._select = ""
        self._is_inside = False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form":
            self._is_inside = "conversation-form" in (given.get("class") or "")
        elif not self._is_inside:
            return
        elif tag == "input" and given.get("name"):
            self.fields[given["name"]] = (given.get("value") or "").replace("\r", "").replace("\n", "")
        elif tag == "textarea":
            self._area = given["name"]
            self.fields[self._area] = ""
        elif tag == "select":
            self._select = given["name"]
        elif tag == "option" and "selected" in given:
            self.fields[self._select] = given["value"] or ""

    def handle_data(self, data):
        if self._area:
            self.fields[self._area] += data

    def handle_endtag(self, tag):
        if tag == "form":
            self._is_inside = False
        elif tag == "textarea" and self._area:
            text = self.fields[self._area].replace("\r\n", "\n").replace("\r", "\n").removeprefix("\n")
            self.fields[self._area] = text.replace("\n", "\r\n")
            self._area = ""


def fields_of(response) -> dict[str, str]:
    fields = Form(response.content.decode()).fields
    assert "revision" in fields
    return fields


def new_url(slug: str = "letters") -> str:
    return reverse("corpus:conversation-new", args=[slug])


def edit_url(conversation: Conversation, slug: str | None = None) -> str:
    return reverse("corpus:conversation-edit", args=[slug or conversation.dataset.slug, conversation.pk])


def delete_url(conversation: Conversation) -> str:
    return reverse("corpus:conversation-delete", args=[conversation.dataset.slug, conversation.pk])


@pytest.fixture
def letter(letters) -> Conversation:
    return letters.conversations.first()


@pytest.fixture
def client(sign_in, rosa):
    return sign_in(rosa)


def written(**fields) -> dict[str, str]:
    """A form filled in with two turns."""
    return {
        "act": "save",
        "external_id": "talk-1",
        "title": "",
        "turns-0-role": "seeker",
        "turns-0-speaker": "",
        "turns-0-text": "My cat ran away.",
        "turns-1-role": "supporter",
        "turns-1-speaker": "",
        "turns-1-text": "Oh no. When?",
    } | {name.replace("__", "-"): value for name, value in fields.items()}


# --- Who may ------------------------------------------------------------------------------------------------------


def pages(letter: Conversation) -> list[str]:
    return [new_url(), edit_url(letter), delete_url(letter)]


def test_the_owner_and_admins_write_and_change_conversations(sign_in, ada, rosa, letter):
    for person in (ada, rosa):
        assert [sign_in(person).get(url).status_code for url in pages(letter)] == [200, 200, 200]


def test_nobody_signed_in_is_sent_to_the_sign_in_page(sign_in, letter):
    for url in pages(letter):
        assert sign_in(None).get(url)["Location"].startswith(reverse("accounts:sign-in"))
        assert sign_in(None).post(url, written())["Location"].startswith(reverse("accounts:sign-in"))
    assert Conversation.objects.count() == 3


def test_an_annotator_is_refused(sign_in, emil, letter):
    for url in pages(letter):
        assert (sign_in(emil).get(url).status_code, sign_in(emil).post(url, written()).status_code) == (403, 403)


def test_another_owners_conversations_are_not_found(sign_in, otto, letter):
    for url in pages(letter):
        assert (sign_in(otto).get(url).status_code, sign_in(otto).post(url, written()).status_code) == (404, 404)
    assert Conversation.objects.count() == 3


def test_the_sites_conversations_are_read_by_researchers_and_changed_by_admins(sign_in, ada, otto):
    first = make_dataset("diaries").conversations.first()
    page = reverse("corpus:conversation", args=["diaries", first.pk])
    assert sign_in(otto).get(edit_url(first)).status_code == 404
    assert edit_url(first) not in sign_in(otto).get(page).content.decode()
    assert sign_in(ada).get(edit_url(first)).status_code == 200
    assert edit_url(first) in sign_in(ada).get(page).content.decode()


def test_a_conversation_is_found_only_in_its_own_dataset(sign_in, ada, letter):
    make_dataset("diaries")
    assert sign_in(ada).get(edit_url(letter, "diaries")).status_code == 404
    assert sign_in(ada).post(edit_url(letter, "diaries"), written()).status_code == 404


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_are_refused(client, letter, method):
    assert [getattr(client, method)(url).status_code for url in pages(letter)] == [405, 405, 405]


# --- Writing ------------------------------------------------------------------------------------------------------


def test_an_empty_form_suggests_the_next_id_and_one_turn_of_each_side(client, letters):
    letters.conversations.filter(external_id="letters-003").update(language="de")
    fields = fields_of(client.get(new_url()))
    assert (fields["external_id"], fields["language"]) == ("letters-004", "de")
    assert (fields["turns-0-role"], fields["turns-1-role"]) == ("seeker", "supporter")


def test_the_first_conversation_of_a_dataset_is_named_after_it(client, rosa):
    make_dataset("talks", conversations=0, owner=rosa)
    assert fields_of(client.get(new_url("talks")))["external_id"] == "talks-1"


def test_a_conversation_is_stored_as_it_was_written(client, letters, rosa):
    response = client.post(
        new_url(),
        written(
            title="The cat ",
            language="en",
            reference="It comes back.\r\nSoon.",
            turns__1__speaker="Ann",
            turns__2__role="system",
            turns__2__text=" \u200bend \U0001f469\u200d\U0001f680 ",
            factors__0__name="model",
            factors__0__value="A",
            metadata__0__name="site",
            metadata__0__value="north",
            metadata__1__name="",
            metadata__1__value="",
        ),
    )
    stored = letters.conversations.get(external_id="talk-1")
    assert response["Location"] == reverse("corpus:conversation", args=["letters", stored.pk])
    assert (stored.position, stored.title, stored.reference) == (3, "The cat ", "It comes back.\nSoon.")
    assert (stored.factors, stored.metadata) == ({"model": "A"}, {"site": "north"})
    assert [(turn.index, turn.role, turn.speaker, turn.text, turn.raw_text) for turn in stored.turns.all()] == [
        (0, "seeker", "", "My cat ran away.", None),
        (1, "supporter", "Ann", "Oh no. When?", None),
        (2, "system", "", " \u200bend \U0001f469\u200d\U0001f680 ", None),
    ]
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject) == (rosa, "conversation.create", "letters/talk-1")
    assert "cat" not in str(entry.details)


def test_the_same_content_from_a_file_is_there_already(client, rosa):
    make_dataset("talks", conversations=0, owner=rosa)
    client.post(new_url("talks"), written(turns__0__text="one\r\ntwo", turns__1__text="three"))
    result = import_text('id,post,reply\ntalk-1,"one\ntwo",three\n')
    assert (result.added, result.skipped) == (0, 1)


def test_writing_on_leads_to_the_next_empty_form(client, letters):
    response = client.post(new_url(), written(act="save-another", external_id="letters-010"))
    assert response["Location"] == new_url()
    assert fields_of(client.get(new_url()))["external_id"] == "letters-011"


def test_an_id_that_is_taken_is_refused_in_one_sentence_and_nothing_typed_is_lost(client, letters):
    page = client.post(new_url(), written(external_id="letters-002", title="A title"))
    assert page.status_code == 422
    assert "letters-002 is in the dataset already. Choose another id." in page.content.decode()
    fields = fields_of(page)
    assert (fields["title"], fields["turns-1-text"]) == ("A title", "Oh no. When?")
    assert letters.conversations.count() == 3


def test_the_same_content_as_another_conversation_is_warned_of(client, letters):
    client.post(new_url(), written())
    page = client.post(new_url(), written(external_id="talk-2"), follow=True)
    assert "It has the same content as talk-1." in page.content.decode()
    assert letters.conversations.count() == 5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"external_id": ""}, "This field is required."),
        ({"external_id": "x" * 256}, "This has 256 characters; at most 255 are allowed."),
        ({"title": "x" * 501}, "This has 501 characters; at most 500 are allowed."),
        ({"title": "a\0b"}, "This text holds a NUL byte, which text cannot hold."),
        ({"turns__0__text": "a\0b"}, "This text holds a NUL byte, which text cannot hold."),
        ({"turns__0__text": " \r\n"}, "Write what is said, or remove the turn."),
        ({"turns__0__role": "villain"}, "Choose who speaks."),
        ({"turns__0__speaker": "x" * 101}, "This has 101 characters; at most 100 are allowed."),
        ({"factors__0__name": "model", "factors__0__value": ""}, "Give it a value, or remove it."),
        ({"factors__0__name": " ", "factors__0__value": "A"}, "Give it a name, or remove it."),
        ({"metadata__0__name": "n", "metadata__0__value": "{", "metadata__0__kind": "json"}, "As JSON, this is not"),
        (
            {
                "metadata__0__name": "n",
                "metadata__0__value": "1",
                "metadata__1__name": "n",
                "metadata__1__value": "2",
            },
            "This name is there twice.",
        ),
    ],
)
def test_what_cannot_be_stored_is_told_at_its_field_and_kept(client, letters, fields, message):
    page = client.post(new_url(), written(**fields))
    assert page.status_code == 422
    assert message in page.content.decode()
    assert fields_of(page)["turns-1-text"] == "Oh no. When?"
    assert "Not saved yet" in page.content.decode()
    assert letters.conversations.count() == 3


def test_half_a_surrogate_pair_is_refused_as_the_importer_refuses_it(client, letters):
    assert faults_of("a\ud800b") == "This text holds U+D800, half of a surrogate pair, which is not a character."


def test_a_conversation_without_turns_is_refused(client, letters):
    page = client.post(new_url(), {"act": "save", "external_id": "empty"})
    assert page.status_code == 422
    assert "A conversation has at least one turn." in page.content.decode()


def test_more_turns_than_a_form_holds_are_refused_and_kept(client, letters):
    many = {
        f"turns-{number}-{part}": value for number in range(501) for part, value in (("role", "seeker"), ("text", "x"))
    }
    page = client.post(new_url(), {"act": "save", "external_id": "long"} | many)
    assert page.status_code == 422
    assert "at most 500 turns and 200 rows" in page.content.decode()
    assert "turns-500-text" in fields_of(page)


def test_the_longest_form_is_saved(client, letters):
    many = {
        f"turns-{number}-{part}": value
        for number in range(500)
        for part, value in (("origin", ""), ("role", "seeker"), ("speaker", ""), ("text", "x"))
    }
    rows = {
        f"{kind}-{number}-{part}": value
        for kind in ("metadata", "factors")
        for number in range(200)
        for part, value in (("origin", ""), ("kind", "text"), ("name", str(number)), ("value", "x"))
    }
    assert client.post(new_url(), written(external_id="long") | many | rows).status_code == 302
    assert letters.conversations.get(external_id="long").turns.count() == 500


# --- The buttons, without a script --------------------------------------------------------------------------------


def press(client, url: str, page, act: str, **typed):
    return client.post(url, fields_of(page) | typed | {"act": act})


def turn_texts(page) -> list[str]:
    fields = fields_of(page)
    return [fields[name] for name in fields if name.endswith("-text")]


def test_turns_are_added_moved_and_removed_by_plain_buttons_and_what_was_typed_stays(client, letters):
    url = new_url()
    page = press(client, url, client.get(url), "add-turn", **{"turns-0-text": "a", "turns-1-text": "b", "title": "T"})
    assert page.status_code == 200
    assert turn_texts(page) == ["a", "b", ""]
    page = press(client, url, page, "up:2", **{"turns-2-text": "c"})
    assert turn_texts(page) == ["a", "c", "b"]
    page = press(client, url, page, "down:0")
    assert turn_texts(page) == ["c", "a", "b"]
    page = press(client, url, page, "remove:1")
    assert turn_texts(page) == ["c", "b"]
    page = press(client, url, page, "add-factors")
    page = press(client, url, page, "add-metadata", **{"factors-0-name": "model", "factors-0-value": "A"})
    assert fields_of(page)["title"] == "T"
    assert letters.conversations.count() == 3
    response = press(client, url, page, "save")
    assert response.status_code == 302
    stored = letters.conversations.get(title="T")
    assert [turn.text for turn in stored.turns.all()] == ["c", "b"]
    assert (stored.factors, stored.metadata) == ({"model": "A"}, {})


def test_a_form_in_the_making_is_shown_without_complaints(client, letters):
    page = press(client, new_url(), client.get(new_url()), "add-turn", external_id="")
    assert "This field is required" not in page.content.decode()
    assert "Not saved yet" not in page.content.decode()


def test_each_button_leads_back_to_its_turn(client, letters):
    html = client.get(new_url()).content.decode()
    assert 'value="down:0" formaction="#turn-1"' in html
    assert 'value="up:1" formaction="#turn-0"' in html
    assert 'value="add-turn" formaction="#turn-2"' in html


def test_a_button_of_a_changed_conversation_keeps_its_line_ends(client, letters):
    turn = Turn.objects.filter(conversation__dataset=letters).first()
    Turn.objects.filter(pk=turn.pk).update(text="a\r\nb \r c\n")
    url = edit_url(turn.conversation)
    page = press(client, url, press(client, url, client.get(url), "down:0"), "save")
    assert page.status_code == 302
    assert [turn.text for turn in turn.conversation.turns.all()][1] == "a\r\nb \r c\n"


# --- Changing -----------------------------------------------------------------------------------------------------

STRANGE = (
    "id,title,language,pair,reference,belief,post,reply,model,note\n"
    '" x 1","  Two\nlines\r\n",ar,"p\n","a\r\nb","c\rd\n",'
    '"\n\none \r\ntwo\r","\u0627\u0644\u0633\u0644\u0627\u0645 \u200f","A\nB","tab\there "\n'
)


def test_an_edit_that_changes_nothing_leaves_everything_as_it_was(client, rosa):
    import_text(STRANGE, mapping=parse_mapping(["factor.model=model"]))
    Dataset.objects.update(owner=rosa)
    conversation = Conversation.objects.get()
    before = Conversation.objects.values().get(), list(Turn.objects.values())
    assert "\r\n" in conversation.title
    url = edit_url(conversation)
    page = client.post(url, fields_of(client.get(url)) | {"act": "save"}, follow=True)
    assert "Nothing has changed." in page.content.decode()
    assert (Conversation.objects.values().get(), list(Turn.objects.values())) == before
    assert import_text(STRANGE, mapping=parse_mapping(["factor.model=model"])).skipped == 1
    assert AuditEntry.objects.filter(action="conversation.edit").count() == 0


def test_an_edit_of_one_field_leaves_the_others_as_they_were(client, rosa):
    import_text(STRANGE, mapping=parse_mapping(["factor.model=model"]))
    Dataset.objects.update(owner=rosa)
    url = edit_url(Conversation.objects.get())
    client.post(url, fields_of(client.get(url)) | {"act": "save", "language": "fa"})
    mended = STRANGE.replace(",ar,", ",fa,")
    assert import_text(mended, mapping=parse_mapping(["factor.model=model"])).skipped == 1
    with pytest.raises(ImportRefusedError):
        import_text(STRANGE, mapping=parse_mapping(["factor.model=model"]))


def test_a_changed_conversation_is_the_one_that_a_file_would_have_brought(client, rosa):
    import_text("id,post,reply\nt1,I lost my letter.,That must be hard.\n")
    Dataset.objects.update(owner=rosa)
    talk = Conversation.objects.get()
    fields = fields_of(client.get(edit_url(talk))) | {"act": "save", "turns-0-text": "I lost it.", "external_id": "t2"}
    response = client.post(edit_url(talk), fields)
    assert response["Location"] == reverse("corpus:conversation", args=["talks", talk.pk])
    assert import_text("id,post,reply\nt2,I lost it.,That must be hard.\n").skipped == 1
    entry = AuditEntry.objects.get(action="conversation.edit")
    assert (entry.actor, entry.subject, entry.details["changed"]) == (rosa, "talks/t2", ["turns", "external_id"])
    assert "lost" not in str(entry.details)


def test_no_text_was_published_and_none_needs_to_be_written(client, rosa):
    import_text("id,title\nx,T\n", mapping=parse_mapping([], without_text=True))
    Dataset.objects.update(owner=rosa)
    url = edit_url(Conversation.objects.get())
    assert client.post(url, fields_of(client.get(url)) | {"act": "save", "title": "U"}).status_code == 302
    assert Conversation.objects.get().title == "U"


def test_the_second_of_two_who_edit_at_once_is_told_and_loses_nothing(client, sign_in, ada, letter):
    url = edit_url(letter)
    mine = fields_of(client.get(url)) | {"act": "save", "title": "Mine", "turns-0-text": "My words."}
    theirs = fields_of(sign_in(ada).get(url)) | {"act": "save", "turns-0-text": "Their words."}
    assert sign_in(ada).post(url, theirs).status_code == 302
    page = client.post(url, mine)
    html = page.content.decode()
    assert page.status_code == 409
    assert "Somebody has changed this conversation since you opened it." in html
    assert "Their words." in html
    fields = fields_of(page)
    assert (fields["title"], fields["turns-0-text"]) == ("Mine", "My words.")
    assert letter.turns.first().text == "Their words."
    assert client.post(url, fields | {"act": "save"}).status_code == 302
    assert letter.turns.first().text == "My words."


def test_two_who_make_the_same_change_are_both_content(client, sign_in, ada, letter):
    url = edit_url(letter)
    changed = fields_of(client.get(url)) | {"act": "save", "title": "Same"}
    assert sign_in(ada).post(url, changed).status_code == 302
    assert "Nothing has changed." in client.post(url, changed, follow=True).content.decode()


def test_a_conversation_that_was_deleted_meanwhile_is_not_found(client, letter):
    url = edit_url(letter)
    fields = fields_of(client.get(url))
    letter.delete()
    assert client.post(url, fields | {"act": "save"}).status_code == 404


def test_a_conversation_of_a_draft_study_may_be_changed(client, grief, letter):
    Study.objects.update(status="draft")
    fields = fields_of(client.get(edit_url(letter))) | {"act": "save", "title": "Better"}
    assert client.post(edit_url(letter), fields).status_code == 302
    assert Conversation.objects.get(pk=letter.pk).title == "Better"


def test_a_rated_conversation_is_not_changed(client, grief, letter):
    """Ratings may have been imported into a study that was never activated."""
    fields = fields_of(client.get(edit_url(letter))) | {"act": "save", "title": "Better"}
    item = letter.items.get()
    dimension = grief.blocks.get().frameworks.get().dimensions.first()
    Rating.objects.create(item=item, rater=grief.raters.first(), dimension=dimension, value=3)
    page = client.get(edit_url(letter))
    assert "It has been rated." in page.content.decode()
    assert "turns-0-text" not in page.content.decode()
    refused = client.post(edit_url(letter), fields)
    assert refused.status_code == 422
    assert "This conversation has been rated." in refused.content.decode()
    assert Conversation.objects.get(pk=letter.pk).title == ""


def test_a_conversation_too_long_for_a_form_says_what_to_do(client, letter):
    Turn.objects.bulk_create(Turn(conversation=letter, index=index, role="seeker", text="x") for index in range(2, 502))
    assert "It is too long for a form" in client.get(edit_url(letter)).content.decode()


# --- Deleting -----------------------------------------------------------------------------------------------------


def test_a_conversation_is_deleted_once_its_id_is_typed(client, letters, letter, rosa):
    html = client.get(delete_url(letter)).content.decode()
    assert "This conversation with its 2 turns." in html
    assert client.post(delete_url(letter), {"confirm": "letters-002"}).status_code == 422
    assert letters.conversations.count() == 3
    assert client.post(delete_url(letter), {"confirm": "letters-001"})["Location"] == reverse(
        "corpus:dataset", args=["letters"]
    )
    assert letters.conversations.count() == 2
    assert Turn.objects.count() == 4
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject) == (rosa, "conversation.delete", "letters/letters-001")


def test_an_item_of_a_study_is_not_deleted_and_the_studies_are_named_to_those_who_may_know(
    client, sign_in, ada, grief, strangers, letters, letter
):
    block = Block.objects.create(study=strangers, slug="more", title="More", position=1, dataset=letters)
    Item.objects.create(block=block, conversation=letter, position=0)
    html = client.get(delete_url(letter)).content.decode()
    assert "Grief" in html
    assert "Strangers" not in html
    assert "and 1 other study" in html
    assert "Strangers" in sign_in(ada).get(delete_url(letter)).content.decode()
    refused = client.post(delete_url(letter), {"confirm": "letters-001"})
    assert refused.status_code == 422
    assert letters.conversations.count() == 3


# --- Frozen -------------------------------------------------------------------------------------------------------


def test_pages_of_a_frozen_dataset_say_since_when_and_why_and_offer_a_copy(client, grief, letter):
    freeze_datasets(dataset_ids=[letter.dataset_id])
    for url in pages(letter):
        html = client.get(url).content.decode()
        assert "because a study that uses this dataset was activated" in html
        assert "Grief" in html
        assert reverse("corpus:dataset-copy", args=["letters"]) in html
    shown = client.get(reverse("corpus:dataset", args=["letters"])).content.decode()
    assert "Frozen since" in shown
    assert new_url() not in shown
    one = client.get(reverse("corpus:conversation", args=["letters", letter.pk])).content.decode()
    assert edit_url(letter) not in one


def test_a_dataset_frozen_while_somebody_writes_takes_nothing_in_and_loses_nothing(client, letter):
    changed = fields_of(client.get(edit_url(letter))) | {"act": "save", "title": "Mine"}
    freeze_datasets(dataset_ids=[letter.dataset_id])
    for url, form in ((new_url(), written(title="Mine")), (edit_url(letter), changed)):
        page = client.post(url, form)
        assert page.status_code == 422
        assert "The dataset Letters is frozen since" in page.content.decode()
        assert fields_of(page)["title"] == "Mine"
    assert client.post(delete_url(letter), {"confirm": "letters-001"}).status_code == 422
    assert letter.dataset.conversations.filter(title="").count() == 3


# --- Cost ---------------------------------------------------------------------------------------------------------


def queries(act) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert act().status_code in (200, 302)
    return len(captured)


def test_a_long_conversation_costs_no_more_queries_than_a_short_one(client, letters, rosa):
    short, long = letters.conversations.all()[:2]
    Turn.objects.bulk_create(Turn(conversation=long, index=index, role="seeker", text="x") for index in range(2, 60))
    client.get(edit_url(short))
    assert queries(lambda: client.get(edit_url(short))) == queries(lambda: client.get(edit_url(long)))

    def save(one: Conversation):
        return client.post(edit_url(one), fields_of(client.get(edit_url(one))) | {"act": "save", "turns-0-text": "new"})

    assert queries(lambda: save(short)) == queries(lambda: save(long))


def test_the_pages_of_deleting_cost_as_much_for_many_studies_as_for_one(
    client, grief, letters, letter, rosa, framework
):

    client.get(delete_url(letter))
    one = queries(lambda: client.get(delete_url(letter)))
    for number in range(3):
        make_study(f"more-{number}", owner=rosa, dataset=letters, frameworks=[framework])
    assert queries(lambda: client.get(delete_url(letter))) == one
