"""Real public files: the chat samples and the conversations of Kumar et al. 2026."""

import pytest
from django.core.management import CommandError, call_command

from apps.corpus.models import Conversation, Turn

pytestmark = [pytest.mark.django_db, pytest.mark.public_data]


def run(file, *arguments) -> None:
    call_command("import_conversations", str(file), "--dataset", "public", *arguments)


def shapes() -> set[int]:
    return {conversation.turns.count() for conversation in Conversation.objects.all()}


def test_chat_messages_of_mixed_record_shapes(public_data, capsys):
    """18 records, three without an id; one holds an empty message, in row 12."""
    sample = public_data / "samples" / "chat_messages.jsonl"
    with pytest.raises(CommandError, match="1 problem"):
        run(sample)
    assert "row 12, messages: message 3 (user) has no text" in capsys.readouterr().out
    assert not Conversation.objects.exists()
    run(sample, "--skip-problem-rows")
    assert Conversation.objects.count() == 17
    assert (
        sum(len(external_id) == 32 for external_id in Conversation.objects.values_list("external_id", flat=True)) >= 3
    )
    first = Conversation.objects.first()
    assert list(first.turns.values_list("role", flat=True)) == ["system", "seeker", "supporter"]
    assert set(Conversation.objects.exclude(metadata={}).first().metadata) == {"source", "model"}
    run(sample, "--skip-problem-rows")
    assert Conversation.objects.count() == 17


def test_whole_transcripts_with_ids_of_twenty_digits(kumar_folder):
    run(kumar_folder / "original_data" / "sample_lend_an_ear_conversations.csv")
    assert Conversation.objects.count() == 50
    assert all(len(external_id) == 20 for external_id in Conversation.objects.values_list("external_id", flat=True))
    assert set(Turn.objects.values_list("role", flat=True)) == {"seeker", "supporter"}
    assert Turn.objects.count() == 680


def test_a_post_and_its_reply(kumar_folder):
    run(kumar_folder / "original_data" / "sample_epitome.csv", "--map", "id=sp_id")
    assert Conversation.objects.count() == 50
    assert shapes() == {2}


def test_one_row_per_turn(kumar_folder):
    maps = ["id=conv_id", "turn_index=utterance_idx", "speaker=speaker_idx", "text=utterance"]
    run(
        kumar_folder / "original_data" / "sample_empatheticdialogues.csv",
        *(part for text in maps for part in ("--map", text)),
        "--clean-commas",
    )
    assert (Conversation.objects.count(), Turn.objects.count()) == (50, 212)
    assert not Turn.objects.filter(text__contains="_comma_").exists()
    assert Turn.objects.filter(raw_text__contains="_comma_").exists()


def test_transcripts_repeated_in_every_row_are_stored_once(kumar_folder):
    file = kumar_folder / "original_data" / "sample_empatheticdialogues.csv"
    run(file, "--map", "transcript=full_conversation", "--drop-unmapped")
    assert (Conversation.objects.count(), Turn.objects.count()) == (50, 262)


def test_four_tables_side_by_side_are_refused(kumar_folder):
    with pytest.raises(CommandError, match="These headers come more than once: annotation_method"):
        run(kumar_folder / "annotations" / "combined_annotations_across_methods_and_datasets.csv")


def test_ratings_without_text_can_bring_conversations_in(kumar_folder):
    run(kumar_folder / "annotations" / "perceived_empathy" / "expert1_ratings.csv", "--without-text", "--drop-unmapped")
    assert Conversation.objects.count() == 50
    assert shapes() == {0}
