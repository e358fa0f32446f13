"""Which items a run asks about, which it leaves out and why, and the questions that this makes."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import models
from django.db.models import Count, Q
from django.utils.translation import gettext_lazy as _

from apps.frameworks.models import Framework
from apps.llm.models import Call, CallState, ModelRater, PromptVersion, RunState
from apps.llm.services.model_raters import WHOLE
from apps.llm.services.prompting import leaked_items
from apps.llm.services.rendering import has_text, turns_of
from apps.llm.services.same_text import text_key
from apps.llm.templates import Use
from apps.llm.tokens import estimate_tokens
from apps.llm.transcript import marked_off
from apps.studies.allocation import sample_items
from apps.studies.models import BlockFramework, Item, ItemRole, Study

# Conversations whose texts are in memory at once.
CONVERSATIONS_AT_ONCE = 2_000
ITEMS_TOGETHER = 20  # asked about on one scale before the next
# As long as the mark that a prompt makes of its conversation.
SOME_MARK = "0" * 12


class LeftOut(models.TextChoices):
    """Why a run does not ask about an item."""

    BLOCK = "block", _("in a block without these frameworks")
    NO_TEXT = "no_text", _("no text to rate")
    EXAMPLE = "example", _("shown to the model as an example")
    TWIN = "twin", _("the same conversation is asked about in another block")
    SAMPLE = "sample", _("not in the sample")
    ASKED = "asked", _("this rater was asked about it already")
    TOO_LONG = "too_long", _("its prompt is too long for the endpoint")


@dataclass(frozen=True, slots=True)
class RunSelection:
    """What a run is to ask about. Empty blocks: every block of the study; empty frameworks: every one of the version.

    A conversation, or one that says the same, that several blocks have on the same scales is asked about in the first
    of them, unless blocks are named: asking the same once more only costs.

    sample_size: so many items of those that can be asked about, drawn by the seed; None: all of them. with_examples:
    also the conversations that the prompt shows as examples; they are excluded from statistics all the same.
    """

    blocks: tuple[int, ...] = ()
    frameworks: tuple[int, ...] = ()
    roles: tuple[str, ...] = (ItemRole.MAIN.value,)
    sample_size: int | None = None
    seed: int = 2026
    with_examples: bool = False


class RunItem(NamedTuple):
    pk: int
    block_id: int
    block: str
    conversation_id: int
    external_id: str
    role: str

    @property
    def lot(self) -> str:
        """What it draws by: the same on every machine."""
        return f"{self.block}/{self.role}/{self.external_id}"


class Scale(NamedTuple):
    """What one call asks: a scale, or with `dimension_id` None a whole framework."""

    framework_id: int
    framework: str
    version: int
    dimension_id: int | None
    dimension: str
    n_scales: int


class Question(NamedTuple):
    """An item on one scale, or on a whole framework."""

    item: RunItem
    scale: Scale

    def key(self, sample: int) -> str:
        """Of the call that asks it for the sample-th time."""
        scale = self.scale
        return f"{self.item.pk}/{scale.framework}@{scale.version}/{scale.dimension}/{sample}"


@dataclass(frozen=True, slots=True)
class Sieved:
    """The questions of a run in the order in which they are asked, and what is left out.

    sizes: conversation -> about its tokens in a prompt, for those that are asked about.
    """

    questions: tuple[Question, ...]
    left_out: tuple[tuple[RunItem, LeftOut], ...]
    sizes: dict[int, int]


def sieved(*, study: Study, version: PromptVersion, selection: RunSelection, model_rater: ModelRater | None) -> Sieved:
    """What the rater can be asked about and was not yet. Without a rater, nothing was asked.

    A constant number of queries, but for one more for every CONVERSATIONS_AT_ONCE conversations.
    """
    sieve = _Sieve(_items(study, selection))
    scales = _scales_by_block(study, scales_of(version, selection.frameworks))
    sieve.leave_out(LeftOut.BLOCK, (item for item in sieve.items if item.block_id not in scales))
    conversations = {item.conversation_id for item in sieve.items}
    # A block that is named is asked about as it is: nothing of it has a twin.
    texts = texts_of(conversations, with_keys=len(scales) > 1 and not selection.blocks)
    sizes = {pk: text.tokens for pk, text in texts.items()}
    sieve.leave_out(LeftOut.NO_TEXT, (item for item in sieve.items if item.conversation_id not in sizes))
    if not selection.with_examples:
        leaked = leaked_items(version)
        sieve.leave_out(LeftOut.EXAMPLE, (item for item in sieve.items if item.pk in leaked))
    scales_of_items = _scales_of_items(sieve.items, scales, texts)
    sieve.leave_out(LeftOut.TWIN, (item for item in sieve.items if not scales_of_items[item.pk]))
    # Before what was asked is left out: so a seed takes the same items of every rater, whatever each was asked.
    drawn = _drawn(sieve.items, selection)
    sieve.leave_out(LeftOut.SAMPLE, (item for item in sieve.items if item.pk not in drawn))
    asked = asked_of(model_rater) if model_rater is not None else set()
    questions = [
        Question(item, scale)
        for item in sieve.items
        for scale in scales_of_items[item.pk]
        if (item.pk, scale.framework_id, scale.dimension_id) not in asked
    ]
    open_items = {question.item.pk for question in questions}
    sieve.leave_out(LeftOut.ASKED, (item for item in sieve.items if item.pk not in open_items))
    return Sieved(tuple(questions), tuple(sieve.left_out), sizes)


def without_items(found: Sieved, too_long: Collection[int]) -> Sieved:
    """The same less the items whose prompts do not fit."""
    if not too_long:
        return found
    gone = {question.item.pk: question.item for question in found.questions if question.item.pk in too_long}
    return Sieved(
        tuple(question for question in found.questions if question.item.pk not in gone),
        (*found.left_out, *((item, LeftOut.TOO_LONG) for item in gone.values())),
        found.sizes,
    )


def in_asking_order(questions: Sequence[Question]) -> list[Question]:
    """A few items of a block at a time, and of these scale by scale.

    Neighbours then begin with the same words, which many servers need not read, or bill, again; and a run that stops
    early has nearly all of its items on every scale.
    """
    items: dict[int, int] = {}  # item -> its place in its block
    sizes: Counter[int] = Counter()  # block -> items so far
    for question in questions:
        if question.item.pk not in items:
            items[question.item.pk] = sizes[question.item.block_id]
            sizes[question.item.block_id] += 1
    blocks = {block_id: place for place, block_id in enumerate(sizes)}
    scales = {scale: place for place, scale in enumerate(dict.fromkeys(question.scale for question in questions))}

    def place(question: Question) -> tuple[int, int, int, int]:
        at = items[question.item.pk]
        return blocks[question.item.block_id], at // ITEMS_TOGETHER, scales[question.scale], at

    return sorted(questions, key=place)


def counted(left_out: Iterable[tuple[RunItem, LeftOut]]) -> dict[str, int]:
    """reason -> how many items, in the order of the reasons; those that do not occur are left out."""
    counts = Counter(reason for _item, reason in left_out)
    return {reason.value: counts[reason] for reason in LeftOut if counts[reason]}


def scales_of(version: PromptVersion, frameworks: Sequence[int] = ()) -> dict[int, list[Scale]]:
    """framework -> what is asked of it, for those that are chosen; empty: all of the version. Three queries."""
    chosen = version.frameworks.filter(pk__in=frameworks) if frameworks else version.frameworks.all()
    return {framework.pk: list(_scales(framework, Use(version.use))) for framework in chosen.with_scales()}


def _scales(framework: Framework, use: Use) -> Iterator[Scale]:
    dimensions = list(framework.dimensions.all())
    if use is Use.FRAMEWORK:
        yield Scale(framework.pk, framework.slug, framework.version, None, WHOLE, len(dimensions))
        return
    for dimension in dimensions:
        yield Scale(framework.pk, framework.slug, framework.version, dimension.pk, dimension.slug, 1)


class ShownText(NamedTuple):
    """What is known of a text when it is gone again: about its tokens, and a key that equal texts share; b"" for none
    was asked for."""

    tokens: int
    key: bytes


def text_sizes(conversation_ids: Collection[int]) -> dict[int, int]:
    """conversation -> about the tokens that it takes in a prompt; without those that have no text."""
    return {pk: text.tokens for pk, text in texts_of(conversation_ids, with_keys=False).items()}


def texts_of(conversation_ids: Collection[int], *, with_keys: bool) -> dict[int, ShownText]:
    """conversation -> what is known of its text; without those that have none."""
    ordered = sorted(conversation_ids)
    texts: dict[int, ShownText] = {}
    for start in range(0, len(ordered), CONVERSATIONS_AT_ONCE):
        for pk, turns in turns_of(ordered[start : start + CONVERSATIONS_AT_ONCE]).items():
            if has_text(turns):
                tokens = estimate_tokens(marked_off(turns, SOME_MARK, "conversation"))
                texts[pk] = ShownText(tokens, text_key(turns) if with_keys else b"")
    return texts


def asked_of(model_rater: ModelRater) -> set[tuple[int, int, int | None]]:
    """(item, framework, dimension) that the rater is being asked or was asked, in runs that are no checks. One query.

    What was cancelled before its last sample can be asked again, whole; so can what failed or is invalid in a run that
    was cancelled, since that is not tried again there.
    """
    without_answer = Q(state__in=(CallState.FAILED, CallState.INVALID), run__state=RunState.CANCELLED)
    lost = Q(state=CallState.CANCELLED) | without_answer
    rows = (
        Call.objects.filter(run__model_rater=model_rater, run__checks=None)
        .order_by()
        .values_list("run_id", "item_id", "framework_id", "dimension_id")
        .annotate(n_lost=Count("pk", filter=lost))
        .filter(n_lost=0)
    )
    return {(item_id, framework_id, dimension_id) for _run, item_id, framework_id, dimension_id, _lost in rows}


class _Sieve:
    """Items that are still in, in order, and those that fell through, each with its reason."""

    def __init__(self, items: list[RunItem]) -> None:
        self.items = items
        self.left_out: list[tuple[RunItem, LeftOut]] = []

    def leave_out(self, reason: LeftOut, items: Iterable[RunItem]) -> None:
        gone = list(items)
        self.left_out += [(item, reason) for item in gone]
        out = {item.pk for item in gone}
        self.items = [item for item in self.items if item.pk not in out]


def _items(study: Study, selection: RunSelection) -> list[RunItem]:
    rows = Item.objects.filter(block__study=study, role__in=selection.roles)
    if selection.blocks:
        rows = rows.filter(block__in=selection.blocks)
    ordered = rows.order_by("block__position", "position")
    return [
        RunItem(*row)
        for row in ordered.values_list(
            "pk", "block_id", "block__slug", "conversation_id", "conversation__external_id", "role"
        )
    ]


def _scales_by_block(study: Study, scales: dict[int, list[Scale]]) -> dict[int, list[Scale]]:
    """block -> what is asked about its items, in the order of its screen; blocks of which nothing is asked are not
    there."""
    found: dict[int, list[Scale]] = defaultdict(list)
    rows = BlockFramework.objects.filter(block__study=study).order_by("block_id", "position")
    for block_id, framework_id in rows.values_list("block_id", "framework_id"):
        if framework_id in scales:
            found[block_id] += scales[framework_id]
    return dict(found)


def _scales_of_items(
    items: Sequence[RunItem], scales: dict[int, list[Scale]], texts: dict[int, ShownText]
) -> dict[int, list[Scale]]:
    """item -> what is asked about it; nothing that an item of a block before it has asked of the same text.

    Only main items have twins: a repeat is the same conversation on purpose, and so are two of one text in one block.
    Texts without keys have none.
    """
    found: dict[int, list[Scale]] = {}
    asked_in: dict[tuple[bytes, int], int] = {}  # text and framework -> the block that has it asked
    for item in items:
        of_block, key = scales[item.block_id], texts[item.conversation_id].key
        if not key or item.role != ItemRole.MAIN:
            found[item.pk] = of_block
            continue
        found[item.pk] = [
            scale
            for scale in of_block
            if asked_in.setdefault((key, scale.framework_id), item.block_id) == item.block_id
        ]
    return found


def _drawn(items: Sequence[RunItem], selection: RunSelection) -> set[int]:
    if selection.sample_size is None or selection.sample_size >= len(items):
        return {item.pk for item in items}
    by_lot = {item.lot: item.pk for item in items}
    return {by_lot[lot] for lot in sample_items(by_lot, selection.sample_size, selection.seed)}
