"""Conversations of files into a dataset: all of them or none, and nothing twice."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import IO, Any, BinaryIO

from django.db import transaction
from django.db.models import Max

from apps.accounts.models import User
from apps.common.digests import sha256_of
from apps.common.inserting import insert_rows
from apps.common.models import AuditEntry
from apps.corpus.models import Conversation, Dataset, Turn
from apps.corpus.parsing.mapping import ColumnMapping
from apps.corpus.parsing.reading import ConversationReader, Found, open_conversations
from apps.corpus.parsing.records import ConversationRecord, FileError, Findings, LateRow, Notice, Problem
from apps.corpus.services.freezing import refuse_if_frozen

CONVERSATIONS_AT_ONCE = 500
TURN_COLUMNS = ("conversation_id", "index", "role", "speaker", "text", "raw_text")


@dataclass(frozen=True)
class SourceFile:
    """A file to import, and the name its owner knows it by."""

    name: str
    file: BinaryIO


@dataclass
class ImportResult:
    """What an import did, or would do. `skipped` conversations were there already, with the same content."""

    added: int = 0
    turns: int = 0
    skipped: int = 0
    problems: Findings[Problem] = field(default_factory=Findings)
    conflicts: Findings[Problem] = field(default_factory=Findings)
    warnings: Findings[Notice] = field(default_factory=Findings)

    @property
    def is_clean(self) -> bool:
        return not (self.problems.total or self.conflicts.total)

    def counts(self) -> dict[str, int]:
        return {
            "added": self.added,
            "turns": self.turns,
            "skipped": self.skipped,
            "problems": self.problems.total,
            "conflicts": self.conflicts.total,
            "warnings": self.warnings.total,
        }


class ImportRefusedError(Exception):
    """The files have problems or conflicts, and it was not asked to leave those rows out. Nothing was stored."""

    def __init__(self, result: ImportResult) -> None:
        self.result = result
        super().__init__(f"{result.problems.total} problems and {result.conflicts.total} conflicts")


class ImportFollower:
    """Told how an import goes, step by step. What a method raises ends the import, with nothing stored."""

    def opened(self, name: str, reader: ConversationReader) -> None:
        """A file's format and mapping are known."""

    def reading(self, name: str, rows: int) -> None:
        """So many rows of a file are read so far."""

    def gathered(self, conversations: int) -> None:
        """All is read: so many conversations are compared with the dataset next, and written. No lock is held yet."""

    def checked(self, dataset: Dataset, result: ImportResult) -> None:
        """All is read and compared, and will be written: within the transaction, with the dataset locked."""

    def stored(self, dataset: Dataset, result: ImportResult) -> None:
        """All is written: within the same transaction, whatever was added."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The first conversation of the files under one id: its hash, and where it stands."""

    digest: bytes
    row: int
    file: str
    turns: int


def import_files(
    *,
    dataset: Dataset,
    files: Sequence[SourceFile],
    mapping: ColumnMapping | None = None,
    format: str | None = None,
    encoding: str | None = None,
    actor: User | None = None,
    skip_problem_rows: bool = False,
    dry_run: bool = False,
    follower: ImportFollower | None = None,
) -> ImportResult:
    """Read files of conversations and store them in `dataset` as one act.

    Raises FileError (with the file's name, of several) where a file is unusable, else as `import_conversations`.
    """
    sources: list[dict[str, Any]] = []
    told = follower or ImportFollower()

    def found() -> Iterator[Found]:
        for source in files:
            name = source.name if len(files) > 1 else ""
            try:
                reader = open_conversations(source.file, name=name, mapping=mapping, format=format, encoding=encoding)
                told.opened(source.name, reader)
                reader.table.watch(partial(told.reading, source.name))
                about = {"file": source.name, "format": reader.table.format, "mapping": reader.mapping.as_dict()}
                yield from reader
            except FileError as error:
                if name:
                    error.args = (f"{name}: {error}",)
                raise
            sources.append(about | {"rows": reader.rows, "sha256": sha256_of(source.file)})

    return import_conversations(
        dataset=dataset,
        found=found(),
        actor=actor,
        skip_problem_rows=skip_problem_rows,
        dry_run=dry_run,
        sources=sources,
        follower=told,
    )


def import_conversations(
    *,
    dataset: Dataset,
    found: Iterable[Found],
    actor: User | None = None,
    skip_problem_rows: bool = False,
    dry_run: bool = False,
    sources: Sequence[dict[str, Any]] = (),
    follower: ImportFollower | None = None,
) -> ImportResult:
    """Store conversations in `dataset`, which is made if it is new; records that are there already are skipped.

    Everything is read and checked before the first row is written, so the database is locked for the writing only.
    `sources` goes into the audit entry. Raises ImportRefusedError for problems and for conflicts (a known id with other
    content) unless `skip_problem_rows`: then the good ones are stored and the rest is listed. Raises
    DatasetFrozenError where something would be added to a frozen dataset.
    """
    result = ImportResult()
    told = follower or ImportFollower()
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n", prefix="accord-import-") as spool:
        seen = _spool(found, spool, result)
        if dry_run:
            _compare(dataset, seen, result, skip_problem_rows)
            return result
        told.gathered(len(seen))
        with transaction.atomic():
            stored_in = _locked(dataset)
            _compare(stored_in, seen, result, skip_problem_rows)
            told.checked(stored_in, result)
            spool.seek(0)
            _write(stored_in, seen, spool)
            if result.added:
                _note(stored_in, actor, result, sources)
            told.stored(stored_in, result)
    return result


def _spool(found: Iterable[Found], spool: IO[str], result: ImportResult) -> dict[str, _Seen]:
    """Write each new record to `spool`, as a line of [id, hash] and a line of content; return them by id."""
    seen: dict[str, _Seen] = {}
    first_with: dict[bytes, str] = {}
    for one in found:
        if isinstance(one, Notice):
            result.warnings.add(one)
        elif isinstance(one, Problem):
            result.problems.add(one)
            if isinstance(one, LateRow) and one.conversation in seen and seen[one.conversation].file == one.file:
                del seen[one.conversation]
        elif isinstance(one, ConversationRecord) and _is_new(one, seen, first_with, result):
            spool.write(f"{json.dumps([one.external_id, one.content_hash])}\n{one.content}\n")
    return seen


def _is_new(
    record: ConversationRecord, seen: dict[str, _Seen], first_with: dict[bytes, str], result: ImportResult
) -> bool:
    digest = bytes.fromhex(record.content_hash)
    earlier = seen.get(record.external_id)
    if earlier is None:
        mine = seen[record.external_id] = _Seen(digest, record.row, record.file, len(record.turns))
        twin = first_with.setdefault(digest, record.external_id)
        if twin != record.external_id:
            result.warnings.add(_twin(record.external_id, mine, twin))
        return True
    if earlier.digest == digest:
        result.skipped += 1
    else:
        place = f"{earlier.file}, row {earlier.row}" if earlier.file != record.file else f"row {earlier.row}"
        message = f"{record.external_id} stands in {place} with other content"
        result.conflicts.add(Problem(record.row, "id", message, record.file))
    return False


def _compare(dataset: Dataset, seen: dict[str, _Seen], result: ImportResult, skip_problem_rows: bool) -> None:
    """Take out of `seen` what the dataset holds already, and count. Raises ImportRefusedError, DatasetFrozenError."""
    owner_of = {mine.digest: external_id for external_id, mine in seen.items()}
    twins: list[tuple[str, str]] = []
    stored = dataset.conversations.values_list("external_id", "content_hash") if dataset.pk else None
    for external_id, content_hash in stored.iterator() if stored is not None else ():
        digest = bytes.fromhex(content_hash)
        if owner_of.get(digest, external_id) != external_id:
            twins.append((owner_of[digest], external_id))
        mine = seen.pop(external_id, None)
        if mine is None:
            continue
        if mine.digest == digest:
            result.skipped += 1
        else:
            message = f"{external_id} is in the dataset already with other content"
            result.conflicts.add(Problem(mine.row, "id", message, mine.file))
    for external_id, twin in twins:
        if external_id in seen:
            result.warnings.add(_twin(external_id, seen[external_id], twin))
    if not (result.is_clean or skip_problem_rows):
        raise ImportRefusedError(result)
    if seen:
        refuse_if_frozen(dataset, added=len(seen))
    result.added = len(seen)
    result.turns = sum(mine.turns for mine in seen.values())


def _twin(external_id: str, mine: _Seen, twin: str) -> Notice:
    return Notice(mine.row, "id", f"{external_id} has the same content as {twin}", mine.file)


def _locked(dataset: Dataset) -> Dataset:
    """The dataset's row, made if it is new, held against another import until the transaction ends."""
    if dataset.pk is None:
        about = {name: getattr(dataset, name) for name in ("name", "description", "source", "licence", "owner")}
        dataset, _ = Dataset.objects.get_or_create(slug=dataset.slug, defaults=about)
    return Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)


def _write(dataset: Dataset, wanted: dict[str, _Seen], spool: IO[str]) -> None:
    last = dataset.conversations.aggregate(last=Max("position"))["last"]
    position = 0 if last is None else last + 1
    records = _records(spool, wanted)
    while chunk := list(islice(records, CONVERSATIONS_AT_ONCE)):
        conversations = Conversation.objects.bulk_create(
            Conversation(dataset=dataset, external_id=external_id, content_hash=content_hash, position=place, **content)
            for place, (external_id, content_hash, content, _) in enumerate(chunk, start=position)
        )
        position += len(chunk)
        insert_rows(
            Turn,
            TURN_COLUMNS,
            (
                (conversation.pk, index, *turn)
                for conversation, (_, _, _, turns) in zip(conversations, chunk, strict=True)
                for index, turn in enumerate(turns)
            ),
        )


def _records(spool: IO[str], wanted: dict[str, _Seen]) -> Iterator[tuple[str, str, dict[str, Any], list[Any]]]:
    """(id, hash, fields, turns) of each wanted record, in the order of the files."""
    for line in spool:
        external_id, content_hash = json.loads(line)
        content = next(spool)
        if external_id in wanted and wanted[external_id].digest.hex() == content_hash:
            fields = json.loads(content)
            turns = fields.pop("turns")
            yield external_id, content_hash, fields, turns


def _note(dataset: Dataset, actor: User | None, result: ImportResult, sources: Sequence[dict[str, Any]]) -> None:
    AuditEntry.objects.create(
        actor=actor,
        action="dataset.import",
        subject=dataset.slug,
        details={"counts": result.counts(), "files": list(sources)},
    )
