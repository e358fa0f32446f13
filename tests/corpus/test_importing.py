"""CASES 4, 5: all or nothing, nothing twice, conflicts listed."""

import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.common.models import AuditEntry
from apps.corpus.models import Conversation, Dataset, Turn
from apps.corpus.parsing.mapping import parse_mapping
from apps.corpus.parsing.records import ConversationRecord, EncodingError, FileError, Problem, TurnRecord
from apps.corpus.services.importing import ImportRefusedError, SourceFile, import_conversations, import_files

pytestmark = pytest.mark.django_db


def source(data: str | bytes, name: str = "talks.csv") -> SourceFile:
    return SourceFile(name, io.BytesIO(data.encode() if isinstance(data, str) else data))


def import_text(*data: str | bytes, slug: str = "talks", **options):
    dataset = Dataset.objects.filter(slug=slug).first() or Dataset(slug=slug, name=slug)
    files = [source(text, f"file{number}.csv") for number, text in enumerate(data, start=1)]
    return import_files(dataset=dataset, files=files, **options)


def stored() -> dict[str, list[str]]:
    return {
        conversation.external_id: [turn.text for turn in conversation.turns.all()]
        for conversation in Conversation.objects.prefetch_related("turns")
    }


def listed(findings) -> list[str]:
    return [str(finding) for finding in findings.shown]


def test_conversations_and_turns_are_stored_in_order_with_everything_that_belongs_to_them():
    text = "id,post,reply,m,t\nb,one_comma_ two,three,gpt,Loss\na,four,five,claude,\n"
    result = import_text(text, mapping=parse_mapping(["factor.model=m", "title=t"], clean_commas=True))
    assert (result.added, result.turns, result.skipped) == (2, 4, 0)
    first, second = Conversation.objects.all()
    assert (first.external_id, first.position, first.title, first.factors) == ("b", 0, "Loss", {"model": "gpt"})
    assert (second.external_id, second.position) == ("a", 1)
    assert len(first.content_hash) == 64
    turns = [(turn.index, turn.role, turn.speaker, turn.text, turn.raw_text) for turn in first.turns.all()]
    assert turns == [(0, "seeker", "", "one, two", "one_comma_ two"), (1, "supporter", "", "three", None)]


def test_a_conversation_whose_last_rows_come_too_late_is_not_stored_in_part(monkeypatch):
    monkeypatch.setattr("apps.corpus.parsing.grouping.MAX_OPEN_ROWS", 3)
    text = "id,speaker,text\na,user,1\nb,user,2\nb,bot,3\nb,user,4\na,bot,5\n"
    result = import_text(text, skip_problem_rows=True)
    assert stored() == {"b": ["2", "3", "4"]}
    assert (result.added, result.turns, result.problems.total) == (1, 3, 1)
    again = import_text(text, "id,speaker,text\na,user,1\na,bot,5\n", skip_problem_rows=True)
    assert stored() == {"b": ["2", "3", "4"], "a": ["1", "5"]}
    assert (again.added, again.turns, again.conflicts.total) == (1, 2, 0)


def test_case_4_the_same_file_twice_adds_nothing():
    text = "id,post,reply\n1,a,b\n2,c,d\n"
    import_text(text)
    again = import_text(text)
    assert (again.added, again.turns, again.skipped) == (0, 0, 2)
    assert Turn.objects.count() == 4
    assert AuditEntry.objects.count() == 1


def test_a_longer_file_adds_what_is_new_after_what_was_there():
    import_text("id,post,reply\n1,a,b\n")
    result = import_text("id,post,reply\n2,c,d\n1,a,b\n")
    assert (result.added, result.skipped) == (1, 1)
    assert list(Conversation.objects.values_list("external_id", "position")) == [("1", 0), ("2", 1)]


def test_case_4_the_same_id_with_other_content_is_a_conflict():
    import_text("id,post,reply\n7,A,x\n")
    with pytest.raises(ImportRefusedError) as refusal:
        import_text("id,post,reply\n7,B,x\n8,C,x\n")
    assert listed(refusal.value.result.conflicts) == ["row 2, id: 7 is in the dataset already with other content"]
    assert stored() == {"7": ["A", "x"]}


def test_case_4_the_same_id_twice_in_a_file_is_skipped_or_a_conflict():
    with pytest.raises(ImportRefusedError) as refusal:
        import_text("id,post,reply\n7,A,x\n7,B,x\n7,A,x\n")
    assert listed(refusal.value.result.conflicts) == ["row 3, id: 7 stands in row 2 with other content"]
    assert refusal.value.result.skipped == 1
    assert stored() == {}
    result = import_text("id,post,reply\n7,A,x\n7,B,x\n8,C,x\n", skip_problem_rows=True)
    assert (result.added, result.conflicts.total) == (2, 1)
    assert stored() == {"7": ["A", "x"], "8": ["C", "x"]}


def test_case_4_two_ids_with_the_same_content_are_warned_of():
    result = import_text("id,post,reply\n1,a,b\n2,a,b\n")
    assert listed(result.warnings) == ["row 3, id: 2 has the same content as 1"]
    later = import_text("id,post,reply\n3,a,b\n")
    assert later.warnings.total == 2
    assert sorted(stored()) == ["1", "2", "3"]


def test_case_5_a_bad_byte_far_down_stores_nothing_however_often_it_is_tried():
    rows = [f"{number},post {number},reply\n".encode() for number in range(2_500)]
    rows[1_499] = b"1499,caf\xe9,reply\n"
    data = b"id,post,reply\n" + b"".join(rows)
    for _ in range(2):
        for skip in (False, True):
            with pytest.raises(EncodingError) as refusal:
                import_text(data, skip_problem_rows=skip)
            assert refusal.value.offset == data.index(b"\xe9")
            assert refusal.value.line == 1_501
    assert not Dataset.objects.exists()
    assert not Conversation.objects.exists()


def test_one_problem_refuses_the_file_unless_problem_rows_are_to_be_skipped():
    text = "id,post,reply\n1,a,b\n2,,b\n"
    with pytest.raises(ImportRefusedError) as refusal:
        import_text(text)
    assert listed(refusal.value.result.problems) == ["row 3, post: is empty; expected text"]
    assert not Dataset.objects.exists()
    result = import_text(text, skip_problem_rows=True)
    assert (result.added, result.problems.total) == (1, 1)
    assert list(stored()) == ["1"]


def test_several_files_are_one_import():
    good, bad = "id,post,reply\n1,a,b\n", "id,post,reply\n2,,b\n1,a,c\n"
    with pytest.raises(ImportRefusedError) as refusal:
        import_text(good, bad)
    assert listed(refusal.value.result.problems) == ["file2.csv, row 2, post: is empty; expected text"]
    assert listed(refusal.value.result.conflicts) == [
        "file2.csv, row 3, id: 1 stands in file1.csv, row 2 with other content"
    ]
    assert stored() == {}
    with pytest.raises(FileError, match=r"^file2.csv: The file has no column talk"):
        import_text("id,post,reply,talk\n1,a,b,t\n", good, mapping=parse_mapping(["title=talk"]))
    assert stored() == {}


def test_a_dry_run_counts_and_stores_nothing():
    import_text("id,post,reply\n1,a,b\n")
    result = import_text("id,post,reply\n1,a,b\n2,c,d\n", dry_run=True)
    assert (result.added, result.turns, result.skipped) == (1, 2, 1)
    assert list(stored()) == ["1"]
    with pytest.raises(ImportRefusedError):
        import_text("id,post,reply\n1,a,c\n", dry_run=True)


def test_findings_beyond_five_hundred_are_counted():
    text = "id,post,reply\n" + "".join(f"{number},,b\n" for number in range(550))
    with pytest.raises(ImportRefusedError) as refusal:
        import_text(text)
    problems = refusal.value.result.problems
    assert (problems.total, len(problems.shown), problems.hidden) == (550, 500, 50)


def test_an_import_is_noted_with_the_hash_of_its_file(rosa):
    text = "id,post,reply\n1,a,b\n"
    import_text(text, actor=rosa)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject) == (rosa, "dataset.import", "talks")
    assert entry.details["counts"]["added"] == 1
    (noted,) = entry.details["files"]
    assert noted["sha256"] == "c1b03ddaecbce70c3213a37796b3c0e604a90a7eef1260ee2dcafff0d7f48b4b"
    assert (noted["file"], noted["format"], noted["rows"]) == ("file1.csv", "csv", 1)
    assert noted["mapping"] == {"columns": {"id": "id", "post": "post", "reply": "reply"}}


def test_conversations_without_text_are_stored():
    result = import_text("id,score\n1,5\n", mapping=parse_mapping(without_text=True))
    assert (result.added, result.turns) == (1, 0)
    assert Conversation.objects.get().metadata == {"score": "5"}


def test_records_made_by_other_programs_are_stored_too():
    records = [
        ConversationRecord(1, "x", [TurnRecord("seeker", "A", "hello")], metadata={"n": 1}),
        ConversationRecord(2, "y", []),
    ]
    dataset = Dataset.objects.create(slug="made", name="Made")
    result = import_conversations(dataset=dataset, found=records)
    assert (result.added, result.turns) == (2, 1)
    assert [conversation.dataset for conversation in Conversation.objects.all()] == [dataset, dataset]
    with pytest.raises(ImportRefusedError):
        import_conversations(dataset=dataset, found=[Problem(3, "text", "is empty")])


def test_a_dataset_that_another_import_has_made_meanwhile_is_used():
    unsaved = Dataset(slug="talks", name="talks")
    import_text("id,post,reply\n1,a,b\n")
    result = import_files(dataset=unsaved, files=[source("id,post,reply\n1,a,b\n2,c,d\n")])
    assert (result.added, result.skipped) == (1, 1)
    assert Dataset.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_imports_at_once_store_nothing_twice():
    text = "id,post,reply\n" + "".join(f"{number},p{number},r\n" for number in range(300))
    together = threading.Barrier(2)

    def run() -> int:
        together.wait()
        try:
            return import_text(text).added
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        added = [future.result() for future in [pool.submit(run), pool.submit(run)]]
    assert sorted(added) == [0, 300]
    assert Conversation.objects.count() == 300
    assert Turn.objects.count() == 600


def test_case_8_unusual_characters_are_stored_as_they_are():
    text = 'مرحبا 👩‍👩‍👧 e\u0301 a\u200bb \u2028 \\u0000 "q"\r\n'
    import_text(json.dumps({"id": "1", "post": text, "reply": "b", "note": text}))
    conversation = Conversation.objects.get()
    assert conversation.turns.first().text == text
    assert conversation.metadata == {"note": text}


def test_case_7_long_conversations_are_stored_whole():
    turns = [{"role": "user", "content": f"turn {number}"} for number in range(299)]
    turns.append({"role": "assistant", "content": "x" * 1_000_000})
    import_text(json.dumps({"id": "1", "messages": turns}))
    texts = stored()["1"]
    assert len(texts) == 300
    assert texts[:299] == [f"turn {number}" for number in range(299)]
    assert texts[299] == "x" * 1_000_000


def test_more_conversations_than_are_written_at_once(monkeypatch):
    monkeypatch.setattr("apps.corpus.services.importing.CONVERSATIONS_AT_ONCE", 2)
    import_text("id,post,reply\n" + "".join(f"{number},p{number},r\n" for number in range(5)))
    assert stored() == {str(number): [f"p{number}", "r"] for number in range(5)}


def test_the_number_of_queries_does_not_grow_with_the_rows():
    def queries(slug: str, count: int) -> int:
        text = "id,post,reply\n" + "".join(f"{number},p{number},r\n" for number in range(count))
        with CaptureQueriesContext(connection) as captured:
            import_text(text, slug=slug)
        return len(captured)

    assert queries("few", 3) == queries("many", 70)
