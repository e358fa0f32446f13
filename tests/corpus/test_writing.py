"""The services behind the pages of writing, where a page cannot show it: two at the same moment, and ids to suggest."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from apps.corpus.models import Conversation, Dataset
from apps.corpus.parsing.records import ConversationRecord, TurnRecord
from apps.corpus.services.freezing import DatasetFrozenError, freeze_datasets
from apps.corpus.services.importing import ImportRefusedError
from apps.corpus.services.writing import (
    ChangedMeanwhileError,
    IdTakenError,
    add_conversation,
    change_conversation,
    stored_record,
    suggested_id,
)
from tests.conftest import make_dataset
from tests.corpus.test_importing import import_text

pytestmark = pytest.mark.django_db


def record(external_id: str, text: str = "hello") -> ConversationRecord:
    return ConversationRecord(row=0, external_id=external_id, turns=[TurnRecord("seeker", "", text)])


def at_once(*acts: Callable[[], object]) -> list[str]:
    """Runs the acts in threads that begin together; the names of what they raise or return, sorted."""
    together = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> str:
        together.wait()
        try:
            return type(act()).__name__
        except Exception as error:
            return type(error).__name__
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return sorted(future.result() for future in [pool.submit(run, act) for act in acts])


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["a-009"], "a-010"),
        (["a9"], "a10"),
        (["x", "letter 3", "letter 4", "letter 3"[:-1] + "2"], "letter 5"),
        (["no number"], "talks-1"),
        (["123456789012"], "talks-1"),
        ([], "talks-1"),
    ],
)
def test_the_suggested_id_counts_on_from_the_last_and_is_free(ids, expected):
    dataset = make_dataset("talks", conversations=0)
    for position, external_id in enumerate(ids):
        Conversation.objects.create(dataset=dataset, external_id=external_id, position=position, content_hash="")
    assert suggested_id(dataset=dataset) == expected


def test_a_number_and_a_text_that_look_alike_are_a_change(rosa):
    """1, 1.0, true and "1" are four values: the hash tells them apart, and so must the check for changes."""
    dataset = make_dataset("talks", conversations=0)
    values = [1, 1.0, True, "1"]
    first = record("a")
    first.metadata = {"n": 1}
    conversation = add_conversation(dataset=dataset, record=first, actor=rosa).conversation
    hashes = {conversation.content_hash}
    for value in values[1:]:
        changed = record("a")
        changed.metadata = {"n": value}
        seen = conversation.revision
        conversation = change_conversation(
            conversation=conversation, record=changed, seen=seen, actor=rosa
        ).conversation
        hashes.add(conversation.content_hash)
    assert len(hashes) == 4


@pytest.mark.django_db(transaction=True)
def test_two_who_write_the_same_id_at_once_store_it_once(rosa):
    dataset = make_dataset("talks", conversations=0)

    def write(text: str):
        return add_conversation(dataset=dataset, record=record("a", text), actor=rosa)

    assert at_once(lambda: write("one"), lambda: write("two")) == ["IdTakenError", "Saved"]
    assert Conversation.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_who_writes_and_who_imports_the_same_id_at_once_store_it_once(rosa):
    dataset = make_dataset("talks", conversations=0)
    outcome = at_once(
        lambda: add_conversation(dataset=dataset, record=record("a"), actor=rosa),
        lambda: import_text("id,post,reply\na,other,words\n"),
    )
    assert outcome in (["IdTakenError", "ImportResult"], ["ImportRefusedError", "Saved"])
    assert {IdTakenError.__name__, ImportRefusedError.__name__} & set(outcome)
    assert Conversation.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_edits_at_once_one_is_told(rosa):
    dataset = make_dataset("talks", conversations=0)
    conversation = add_conversation(dataset=dataset, record=record("a"), actor=rosa).conversation

    def change(text: str):
        own = Conversation.objects.select_related("dataset").get(pk=conversation.pk)
        return change_conversation(conversation=own, record=record("a", text), seen=conversation.revision, actor=rosa)

    assert at_once(lambda: change("one"), lambda: change("two")) == [ChangedMeanwhileError.__name__, "Saved"]
    conversation.refresh_from_db()
    assert conversation.content_hash == stored_record(conversation).content_hash


@pytest.mark.django_db(transaction=True)
def test_a_dataset_frozen_while_somebody_saves_holds_what_was_there_before_or_nothing_more(rosa):
    dataset = make_dataset("talks", conversations=0)
    outcome = at_once(
        lambda: add_conversation(dataset=dataset, record=record("a"), actor=rosa),
        lambda: freeze_datasets(dataset_ids=[dataset.pk]),
    )
    assert outcome in (["Saved", "int"], [DatasetFrozenError.__name__, "int"])
    assert Dataset.objects.get().is_frozen
    assert Conversation.objects.count() == (1 if "Saved" in outcome else 0)
