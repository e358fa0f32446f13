"""The public replication folder of Kumar et al. 2026 (doi:10.1038/s42256-025-01169-6), read as it lies there. Pure.

Every file of ratings names its conversations and its scales a little differently; here they come out alike, joined by
key: conversations by their id, scales by the slugs of the built-in frameworks. What is told by the files is checked
against each other, and nothing is guessed: a file that is missing or does not fit raises KumarError.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from apps.annotation.kumar2026_folder import KumarError, KumarFolder, cell_of, number_of
from apps.corpus.parsing.mapping import ColumnMapping
from apps.corpus.parsing.records import ConversationRecord, Role, TurnRecord
from apps.corpus.parsing.shapes import COMMA_MARK, TurnError, TurnMaker
from apps.corpus.parsing.tables import Row

EXPERTS = ("expert1", "expert2", "expert3")
MODELS = {"gemini": "Gemini 2.5 Pro", "claude": "Claude", "gpt": "GPT-4o"}
CROWD = "crowd"
SELF = "self"
RATERS_WITH_A_FILE = (*EXPERTS, *MODELS, CROWD)
CROWD_BLOCK = "lend-an-ear-crowd"

Values = dict[str, dict[str, float]]
"""dimension -> conversation id -> value. An id without a value was not rated."""

COLUMN_PREFIXES = ("level_", "m_")
COLUMN_NAMES = {"caredfor": "cared_for"}


@dataclass(frozen=True)
class KumarRater:
    name: str
    kind: str
    is_aggregate: bool = False
    source: str = ""


@dataclass(frozen=True)
class KumarDataset:
    """The conversations of one sample, in the order of its file."""

    slug: str
    title: str
    licence: str
    conversations: tuple[ConversationRecord, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(conversation.external_id for conversation in self.conversations)


@dataclass(frozen=True)
class KumarBlock:
    """Ratings on one framework, which is named as its slug.

    raters: name -> values. evidence: name of a rater -> dimension -> id -> passages. given_at: name -> id -> time.
    """

    slug: str
    title: str
    framework: str
    dataset: KumarDataset
    raters: dict[str, Values]
    evidence: dict[str, dict[str, dict[str, tuple[str, ...]]]] = field(default_factory=dict)
    given_at: dict[str, dict[str, datetime]] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...]:
        return self.dataset.ids


@dataclass(frozen=True)
class KumarStudy:
    """`blocks` by slug, in the order of the paper; `raters` by name; `notes` say in words what was left out."""

    blocks: dict[str, KumarBlock]
    raters: dict[str, KumarRater]
    notes: tuple[str, ...]

    @property
    def datasets(self) -> list[KumarDataset]:
        return list({block.dataset.slug: block.dataset for block in self.blocks.values()}.values())


@dataclass(frozen=True)
class _Sample:
    """How one of the four samples lies in the folder."""

    slug: str
    title: str
    folder: str
    id_columns: tuple[str, ...]
    dimensions: tuple[str, ...]
    licence: str


EMPATHETIC_DIALOGUES = _Sample(
    "empathetic-dialogues",
    "Empathetic Dialogues",
    "empatheticdialogues",
    ("conv_id",),
    ("empathy", "relevance", "fluency"),
    "CC BY-NC 4.0",
)
EPITOME = _Sample(
    "epitome",
    "EPITOME",
    "epitome",
    ("sp_id",),
    ("emotional_reactions", "interpretations", "explorations"),
    "non-commercial academic use",
)
PERCEIVED_EMPATHY = _Sample(
    "perceived-empathy",
    "Perceived Empathy",
    "perceived_empathy",
    ("id", "OriginalDiscloserID"),
    (
        "understood",
        "validated",
        "affirmed",
        "seen",
        "accepted",
        "cared_for",
        "emotional",
        "practical",
        "motivation",
    ),
    "MIT; the conversations were not published",
)
LEND_AN_EAR = _Sample(
    "lend-an-ear",
    "Lend an Ear",
    "lend_an_ear",
    ("conversation_id",),
    (
        "validating_emotions",
        "encouraging_elaboration",
        "demonstrating_understanding",
        "advice_giving",
        "self_oriented",
        "dismissing_emotions",
    ),
    "MIT",
)
SELF_REPORTED = PERCEIVED_EMPATHY.dimensions[:6]


def read_study(folder: Path) -> KumarStudy:
    """The four samples with the ratings of three experts, three models, the crowd's means and the self-reports, and
    as a fifth block the single crowd annotators of Lend an Ear.

    Raises KumarError. `combined_annotations_across_methods_and_datasets.csv`, which glues the same tables side by
    side, is not read.
    """
    files = KumarFolder(folder)
    epitome_rows = files.rows("original_data/sample_epitome.csv")
    blocks = [
        _block(files, EMPATHETIC_DIALOGUES, _empathetic_dialogues(files)),
        _epitome_block(files, epitome_rows),
        _block(files, PERCEIVED_EMPATHY, _perceived_empathy(files)),
        _block(files, LEND_AN_EAR, _lend_an_ear(files)),
    ]
    note = _add_self_reports(files, blocks[2])
    single, annotators = _single_annotators(files, blocks[3])
    raters = [
        *(KumarRater(name, "expert") for name in EXPERTS),
        *(KumarRater(name, "llm", source=model) for name, model in MODELS.items()),
        KumarRater(CROWD, "crowd", is_aggregate=True, source="means of the crowd, as published"),
        KumarRater(SELF, "self", source="the person who shared the problem, about the reply they got"),
        *annotators,
    ]
    return KumarStudy(
        {block.slug: block for block in [*blocks, single]}, {rater.name: rater for rater in raters}, (note,)
    )


def _id(row: Mapping[str, str], sample: _Sample, name: str) -> str:
    column = next((column for column in sample.id_columns if column in row), sample.id_columns[0])
    return cell_of(row, column, name)


# --- Ratings ----------------------------------------------------------------------------------------------------------


def _block(files: KumarFolder, sample: _Sample, conversations: Iterable[ConversationRecord]) -> KumarBlock:
    dataset = KumarDataset(sample.slug, sample.title, sample.licence, tuple(conversations))
    for external_id, count in Counter(dataset.ids).items():
        if count > 1:
            raise KumarError(f"The sample of {sample.title}: {external_id} comes twice.")
    raters = {
        rater: _values(files, f"annotations/{sample.folder}/{rater}_ratings.csv", sample, dataset.ids)
        for rater in RATERS_WITH_A_FILE
    }
    return KumarBlock(sample.slug, sample.title, sample.slug, dataset, raters)


def _values(files: KumarFolder, name: str, sample: _Sample, ids: Sequence[str]) -> Values:
    """One rater's values of every conversation on every dimension, in the order of the sample."""
    found: dict[str, dict[str, float]] = {}
    for row in files.rows(name):
        external_id = _id(row, sample, name)
        if external_id in found:
            raise KumarError(f"{name}: {external_id} comes twice.")
        columns = {dimension_of(column): column for column in row}
        found[external_id] = {
            dimension: number_of(cell_of(row, columns.get(dimension, dimension), name), dimension, name)
            for dimension in sample.dimensions
        }
    if found.keys() != set(ids):
        odd = sorted(found.keys() ^ set(ids))
        raise KumarError(f"{name}: its conversations are not those of the sample, beginning with {odd[0]}.")
    return {
        dimension: {external_id: found[external_id][dimension] for external_id in ids}
        for dimension in sample.dimensions
    }


def dimension_of(column: str) -> str:
    """The slug of the dimension a column holds: prefixes go, `caredfor` is `cared_for`."""
    for prefix in COLUMN_PREFIXES:
        column = column.removeprefix(prefix)
    return COLUMN_NAMES.get(column, column)


def _add_self_reports(files: KumarFolder, block: KumarBlock) -> str:
    """Adds the rater `self`: what the person who shared the problem said on six scales, of the sample's replies."""
    name = "original_data/perceived_empathy_self_ratings.csv"
    values: Values = {dimension: {} for dimension in SELF_REPORTED}
    others = 0
    wanted = set(block.ids)
    for row in files.rows(name):
        external_id = _id(row, PERCEIVED_EMPATHY, name)
        if external_id not in wanted:
            others += 1
            continue
        if external_id in values[SELF_REPORTED[0]]:
            raise KumarError(f"{name}: {external_id} comes twice.")
        columns = {dimension_of(column): column for column in row}
        for dimension in SELF_REPORTED:
            column = columns.get(dimension, dimension)
            values[dimension][external_id] = number_of(cell_of(row, column, name), column, name)
    block.raters[SELF] = values
    matched = len(values[SELF_REPORTED[0]])
    return f"{matched} self-reports belong to conversations of the sample; {others} others are left out."


def _epitome_block(files: KumarFolder, rows: Sequence[Mapping[str, str]]) -> KumarBlock:
    """EPITOME's crowd gave evidence with its levels; they are the same levels as in the file of ratings."""
    name = "original_data/sample_epitome.csv"
    block = _block(files, EPITOME, [_post_and_reply(row, name) for row in rows])
    evidence: dict[str, dict[str, tuple[str, ...]]] = {dimension: {} for dimension in EPITOME.dimensions}
    for row in rows:
        external_id = _id(row, EPITOME, name)
        for dimension in EPITOME.dimensions:
            level = number_of(cell_of(row, f"level_{dimension}", name), f"level_{dimension}", name)
            if level != block.raters[CROWD][dimension][external_id]:
                raise KumarError(f"{name}: {dimension} of {external_id} differs from the crowd's ratings.")
            passages = [passage.strip() for passage in cell_of(row, f"rationales_{dimension}", name).split("|")]
            evidence[dimension][external_id] = tuple(passage for passage in passages if passage)
    block.evidence[CROWD] = evidence
    return block


def _single_annotators(files: KumarFolder, lend_an_ear: KumarBlock) -> tuple[KumarBlock, list[KumarRater]]:
    """The people behind the crowd's means, numbered in the order in which they come in the file."""
    name = "original_data/sample_lend_an_ear_annotations.csv"
    block = KumarBlock(CROWD_BLOCK, "Lend an Ear, single annotators", LEND_AN_EAR.slug, lend_an_ear.dataset, {})
    raters: dict[str, KumarRater] = {}
    known = set(block.ids)
    for row in files.rows(name):
        person, external_id = cell_of(row, "user_id", name), _id(row, LEND_AN_EAR, name)
        source = f"annotator {person}"
        rater = raters.setdefault(person, KumarRater(f"crowd{len(raters) + 1:03d}", "crowd", source=source)).name
        if external_id not in known:
            raise KumarError(f"{name}: {external_id} is no conversation of the sample.")
        times = block.given_at.setdefault(rater, {})
        if external_id in times:
            raise KumarError(f"{name}: the annotator {person} rated {external_id} twice.")
        times[external_id] = _time(cell_of(row, "time_created", name), name)
        values = block.raters.setdefault(rater, {dimension: {} for dimension in LEND_AN_EAR.dimensions})
        evidence = block.evidence.setdefault(rater, {dimension: {} for dimension in LEND_AN_EAR.dimensions})
        for dimension in LEND_AN_EAR.dimensions:
            text, passage = cell_of(row, dimension, name), cell_of(row, f"{dimension}_example", name)
            if text:
                values[dimension][external_id] = number_of(text, dimension, name)
                evidence[dimension][external_id] = (passage,) if passage.strip() else ()
    return block, list(raters.values())


def _time(text: str, name: str) -> datetime:
    """The file names no time zone; its times are taken for UTC."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        raise KumarError(f"{name}: expected a time in the column time_created, found {text!r}.") from None


# --- Conversations ----------------------------------------------------------------------------------------------------


def _empathetic_dialogues(files: KumarFolder) -> Iterator[ConversationRecord]:
    """One row for each turn. The seeker's prompt, told apart in the file, is their first turn; `_comma_` is a comma."""
    name = "original_data/sample_empatheticdialogues.csv"
    talks: dict[str, list[dict[str, str]]] = {}
    for row in files.rows(name):
        talks.setdefault(_id(row, EMPATHETIC_DIALOGUES, name), []).append(row)
    for number, (external_id, rows) in enumerate(talks.items(), start=1):
        rows.sort(key=lambda row: number_of(cell_of(row, "utterance_idx", name), "utterance_idx", name))
        if len({row["utterance_idx"] for row in rows}) < len(rows):
            raise KumarError(f"{name}: a turn of {external_id} comes twice.")
        seeker = cell_of(rows[0], "speaker_idx", name)
        turns = [_turn(Role.SEEKER, cell_of(rows[0], "prompt", name))]
        for row in rows:
            role = Role.SEEKER if cell_of(row, "speaker_idx", name) == seeker else Role.SUPPORTER
            turns.append(_turn(role, cell_of(row, "utterance", name)))
        if not all(turn.text.strip() for turn in turns):
            raise KumarError(f"{name}: a turn of {external_id} has no text.")
        yield ConversationRecord(number, external_id, turns, metadata=_metadata(rows[0], "context", "response_length"))


def _turn(role: Role, raw: str) -> TurnRecord:
    text = raw.replace(COMMA_MARK, ",")
    return TurnRecord(role, "", text, raw if text != raw else None)


def _post_and_reply(row: Mapping[str, str], name: str) -> ConversationRecord:
    post, reply = cell_of(row, "seeker_post", name), cell_of(row, "response_post", name)
    turns = [TurnRecord(Role.SEEKER, "", post), TurnRecord(Role.SUPPORTER, "", reply)]
    return ConversationRecord(0, _id(row, EPITOME, name), turns, metadata=_metadata(row, "rp_id", "response_length"))


def _perceived_empathy(files: KumarFolder) -> Iterator[ConversationRecord]:
    """Ids and lengths only: the conversations were not published."""
    name = "original_data/sample_perceived_empathy_annotations.csv"
    for number, row in enumerate(files.rows(name), start=1):
        external_id = _id(row, PERCEIVED_EMPATHY, name)
        yield ConversationRecord(number, external_id, [], metadata=_metadata(row, "response_length"))


def _lend_an_ear(files: KumarFolder) -> Iterator[ConversationRecord]:
    name = "original_data/sample_lend_an_ear_conversations.csv"
    maker = TurnMaker(ColumnMapping({"transcript": "full_conversation"}))
    for number, row in enumerate(files.rows(name), start=1):
        external_id = _id(row, LEND_AN_EAR, name)
        try:
            turns = maker.turns(Row(number, row))
        except TurnError as fault:
            raise KumarError(f"{name}: {external_id} {fault}.") from None
        yield ConversationRecord(number, external_id, turns, metadata=_metadata(row, "response_length"))


def _metadata(row: Mapping[str, str], *columns: str) -> dict[str, object]:
    """The columns that are there and not empty; whole numbers as numbers."""
    found = {column: row[column] for column in columns if row.get(column)}
    return {column: int(text) if text.isdecimal() else text for column, text in found.items()}
