"""Facts about a dataset and a conversation."""

import pytest

from apps.corpus.models import Conversation, Dataset, Turn
from apps.corpus.parsing.reading import MAX_LENGTHS
from apps.corpus.parsing.shapes import MAX_LABEL_LENGTH
from tests.conftest import make_dataset

pytestmark = pytest.mark.django_db


def test_who_sees_which_dataset(ada, rosa, emil, otto):
    own = make_dataset("own", owner=rosa, conversations=0)
    site = make_dataset("site", conversations=0)
    others = make_dataset("others", owner=otto, conversations=0)
    assert set(Dataset.objects.visible_to(ada)) == {own, site, others}
    assert set(Dataset.objects.visible_to(rosa)) == {own, site}
    assert set(Dataset.objects.visible_to(emil)) == set()
    rosa.is_active = False
    assert set(Dataset.objects.visible_to(rosa)) == set()


def test_counts_are_counted_apart():
    make_dataset("one", conversations=2)
    make_dataset("none", conversations=0)
    assert {dataset.slug: dataset.n_conversations for dataset in Dataset.objects.with_counts()} == {"one": 2, "none": 0}
    assert [conversation.n_turns for conversation in Conversation.objects.with_counts()] == [2, 2]


def test_neighbours_are_those_of_the_same_dataset():
    make_dataset("before")
    first, second, third = make_dataset("letters").conversations.all()
    make_dataset("after")
    assert (first.previous(), first.next()) == (None, second)
    assert (third.previous(), third.next()) == (second, None)


def test_conversations_are_found_by_id_or_title():
    dataset = make_dataset()
    dataset.conversations.filter(position=1).update(title="The River")
    assert [found.position for found in dataset.conversations.matching("river")] == [1]
    assert [found.position for found in dataset.conversations.matching("-003")] == [2]
    assert dataset.conversations.matching("%").count() == 0


@pytest.mark.parametrize(
    ("language", "tag"), [("en", "en"), ("pt-BR", "pt-BR"), ("English", ""), ('en" x', ""), ("", "")]
)
def test_only_a_language_that_html_knows_is_a_tag(language, tag):
    assert Conversation(language=language).language_tag == tag


def test_a_file_may_hold_as_long_texts_as_the_columns_take():
    columns = {
        field.name: field.max_length for field in Conversation._meta.get_fields() if hasattr(field, "max_length")
    }
    assert {name: columns["external_id" if name == "id" else name] for name in MAX_LENGTHS} == MAX_LENGTHS
    assert Turn._meta.get_field("speaker").max_length == MAX_LABEL_LENGTH
