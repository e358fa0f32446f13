"""The demo's conversations, written for Accord, as import records. Pure: reads a file that comes with the code."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from apps.corpus.parsing.records import ConversationRecord, TurnRecord

CONVERSATIONS = Path(__file__).resolve().parent / "conversations.yaml"


@dataclass(frozen=True)
class DemoConversation:
    """A conversation and the quality of its support: good, mixed or poor."""

    record: ConversationRecord
    quality: str


def demo_conversations() -> Iterator[DemoConversation]:
    """The conversations in the order of the file. Quality is the simulation's secret: it is not metadata."""
    for number, entry in enumerate(yaml.safe_load(CONVERSATIONS.read_text(encoding="utf-8")), start=1):
        turns = [TurnRecord(turn["role"], turn["role"].title(), turn["text"]) for turn in entry["turns"]]
        record = ConversationRecord(
            row=number,
            external_id=entry["id"],
            turns=turns,
            title=entry.get("title", ""),
            language="en",
            metadata={"topic": entry["topic"]},
        )
        yield DemoConversation(record, entry["quality"])
