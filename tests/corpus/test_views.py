"""The pages of datasets and conversations: who may open them, what they show, and what they cost."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.corpus.models import Conversation, Turn
from tests.conftest import make_dataset

pytestmark = pytest.mark.django_db

DATASETS = reverse("corpus:datasets")


def dataset_url(slug: str = "letters") -> str:
    return reverse("corpus:dataset", args=[slug])


def conversation_url(conversation: Conversation, slug: str | None = None) -> str:
    return reverse("corpus:conversation", args=[slug or conversation.dataset.slug, conversation.pk])


@pytest.fixture
def letter(letters) -> Conversation:
    return letters.conversations.first()


def every_page(letter: Conversation) -> list[str]:
    return [DATASETS, dataset_url(), conversation_url(letter)]


# --- Who may ------------------------------------------------------------------------------------------------------


def test_nobody_signed_in_is_sent_to_the_sign_in_page(sign_in, letter):
    for url in every_page(letter):
        response = sign_in(None).get(url)
        assert response.status_code == 302
        assert response["Location"].startswith(reverse("accounts:sign-in"))


def test_an_annotator_is_refused(sign_in, emil, letter):
    assert [sign_in(emil).get(url).status_code for url in every_page(letter)] == [403, 403, 403]


def test_another_owners_dataset_is_not_found(sign_in, otto, letter):
    assert "Letters" not in sign_in(otto).get(DATASETS).content.decode()
    assert [sign_in(otto).get(url).status_code for url in every_page(letter)] == [200, 404, 404]


def test_a_conversation_is_found_only_in_its_own_dataset(sign_in, ada, letter):
    make_dataset("diaries")
    assert sign_in(ada).get(conversation_url(letter, slug="diaries")).status_code == 404


def test_admins_see_every_dataset(sign_in, ada, letter):
    assert [sign_in(ada).get(url).status_code for url in every_page(letter)] == [200, 200, 200]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_other_methods_are_refused(sign_in, rosa, letter, method):
    client = sign_in(rosa)
    assert [getattr(client, method)(url).status_code for url in every_page(letter)] == [405, 405, 405]


# --- What they show -----------------------------------------------------------------------------------------------


def test_the_list_shows_counts_and_the_way_on(sign_in, rosa, letters):
    page = sign_in(rosa).get(DATASETS).content.decode()
    assert f'<a href="{dataset_url()}">Letters</a>' in page
    assert '<td class="number" data-label="Conversations">3</td>' in page


def test_an_empty_list_teaches_the_command(sign_in, rosa):
    assert (
        "manage.py import_conversations FILE --dataset NAME --dry-run" in sign_in(rosa).get(DATASETS).content.decode()
    )


def test_a_dataset_lists_its_conversations_in_order(sign_in, rosa, letters):
    page = sign_in(rosa).get(dataset_url()).content.decode()
    assert page.index("letters-001") < page.index("letters-002") < page.index("letters-003")
    assert "<h1>Letters</h1>" in page


def test_columns_that_would_be_empty_are_left_out(sign_in, rosa, letters):
    client = sign_in(rosa)
    page = client.get(dataset_url()).content.decode()
    assert "Language" not in page
    letters.conversations.filter(position=1).update(title="The River", language="en")
    page = client.get(dataset_url()).content.decode()
    assert '<td data-label="Title" dir="auto">The River</td>' in page
    assert '<td data-label="Language">en</td>' in page


def test_an_empty_dataset_teaches_the_command(sign_in, rosa):
    make_dataset("empty", conversations=0, owner=rosa)
    assert "import_conversations FILE --dataset empty" in sign_in(rosa).get(dataset_url("empty")).content.decode()


def test_conversations_are_searched_with_and_without_htmx(sign_in, rosa, letters):
    client = sign_in(rosa)
    page = client.get(dataset_url(), {"q": "LETTERS-002"}).content.decode()
    assert "letters-002" in page
    assert "letters-001" not in page
    assert "<html" in page
    partial = client.get(dataset_url(), {"q": "letters-002"}, headers={"HX-Request": "true"}).content.decode()
    assert partial.lstrip().startswith('<div id="conversations">')
    assert "letters-002" in partial
    assert "letters-001" not in partial
    assert "<html" not in partial


def test_a_search_without_result_says_so(sign_in, rosa, letters):
    assert "No conversation has “nothing”" in sign_in(rosa).get(dataset_url(), {"q": "nothing"}).content.decode()


@pytest.mark.parametrize("q", ["\0", "x" * 300])
def test_a_search_that_makes_no_sense_is_no_error(sign_in, rosa, letters, q):
    assert sign_in(rosa).get(dataset_url(), {"q": q}).status_code == 200


def test_long_lists_come_in_pages(sign_in, rosa, monkeypatch):
    monkeypatch.setattr("apps.corpus.views.datasets.CONVERSATIONS_ON_A_PAGE", 2)
    monkeypatch.setattr("apps.corpus.views.datasets.DATASETS_ON_A_PAGE", 2)
    for slug in ("alpha", "beta", "gamma"):
        make_dataset(slug, owner=rosa)
    client = sign_in(rosa)
    assert "Gamma" not in client.get(DATASETS).content.decode()
    assert "Gamma" in client.get(DATASETS, {"page": 2}).content.decode()
    assert "alpha-003" not in client.get(dataset_url("alpha")).content.decode()
    assert "alpha-003" in client.get(dataset_url("alpha"), {"page": 2}).content.decode()


def test_a_conversation_is_read_in_order_with_its_speakers(sign_in, rosa, letter):
    page = sign_in(rosa).get(conversation_url(letter)).content.decode()
    assert '<ol class="transcript">' in page
    assert page.index("turn--seeker") < page.index("I lost letter 1.") < page.index("turn--supporter")
    assert page.index("turn--supporter") < page.index("That must be hard.")
    assert '<p class="turn__text" dir="auto">I lost letter 1.</p>' in page


def test_system_turns_stand_outside_the_transcript(sign_in, rosa, letter):
    Turn.objects.create(conversation=letter, index=2, role="system", text="You are kind.")
    page = sign_in(rosa).get(conversation_url(letter)).content.decode()
    assert page.index("1 system message") < page.index("You are kind.") < page.index('<ol class="transcript">')
    assert page.count("You are kind.") == 1


def test_a_conversation_without_text_says_so(sign_in, rosa, letters):
    empty = Conversation.objects.create(dataset=letters, external_id="x", position=9, content_hash="x")
    page = sign_in(rosa).get(conversation_url(empty)).content.decode()
    assert "No text was published for this conversation." in page
    assert '<ol class="transcript"' not in page
    assert "no text" in sign_in(rosa).get(dataset_url()).content.decode()


def test_everything_known_about_a_conversation_is_shown(sign_in, rosa, letter):
    Conversation.objects.filter(pk=letter.pk).update(
        title="A letter", language="ar", reference="Yes it is", belief="It is not", pair="p1", parent="root-7",
        metadata={"site": "forum", "scores": [1, None]}, factors={"model": "gpt"},
    )  # fmt: skip
    Turn.objects.filter(conversation=letter, index=0).update(raw_text="I lost_comma_ yes")
    Turn.objects.filter(conversation=letter, index=1).update(role="other", speaker="Anna")
    page = sign_in(rosa).get(conversation_url(letter)).content.decode()
    for words in ("A letter", 'lang="ar"', "Yes it is", "It is not", "p1", "root-7", "forum", "[1, null]", "gpt",
                  "I lost_comma_ yes", "Other · <bdi>Anna</bdi>"):  # fmt: skip
        assert words in page


def test_the_neighbours_are_one_click_away(sign_in, rosa, letters):
    first, second, third = letters.conversations.all()
    page = sign_in(rosa).get(conversation_url(second)).content.decode()
    assert f'<a rel="prev" href="{conversation_url(first)}">' in page
    assert f'<a rel="next" href="{conversation_url(third)}">' in page
    page = sign_in(rosa).get(conversation_url(first)).content.decode()
    assert 'rel="prev"' not in page


def test_case_35_markup_in_texts_names_and_metadata_is_shown_as_text(sign_in, rosa, letters, letter):
    evil = '<script>alert(1)</script><img src=x onerror="alert(2)">'
    escaped = "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&quot;alert(2)&quot;&gt;"
    type(letters).objects.filter(pk=letters.pk).update(name=evil, description=evil, source=evil, licence=evil)
    Conversation.objects.filter(pk=letter.pk).update(
        title=evil, external_id=evil, language=evil[:35], reference=evil, belief=evil, pair=evil, parent=evil,
        metadata={evil: evil, "list": [evil]}, factors={evil: evil},
    )  # fmt: skip
    Turn.objects.filter(conversation=letter).update(text=evil, speaker=evil, raw_text=evil, role="other")
    for url in [*every_page(letter), dataset_url() + "?q=%3Cscript%3E"]:
        page = sign_in(rosa).get(url).content.decode()
        assert escaped in page
        assert "<script>alert" not in page
        assert "<img" not in page


# --- What they cost -----------------------------------------------------------------------------------------------


def queries(client, url: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


def test_the_number_of_queries_does_not_grow(sign_in, rosa, otto):
    small = make_dataset("small", conversations=2)
    client = sign_in(rosa)
    before = [queries(client, url) for url in (DATASETS, dataset_url("small"))]
    large = make_dataset("large", conversations=12, owner=rosa)
    make_dataset("more", conversations=1)
    assert [queries(client, url) for url in (DATASETS, dataset_url("large"))] == before
    middle = large.conversations.get(position=5)
    Turn.objects.bulk_create(
        Turn(conversation=middle, index=index, role="seeker", text="more") for index in range(2, 40)
    )
    middle_of_few = make_dataset("few").conversations.get(position=1)
    assert queries(client, conversation_url(middle)) == queries(client, conversation_url(middle_of_few))
    assert small.conversations.count() == 2
