"""What a rater sees of one item: the conversation, every scale of the block, and their own answers so far.

Nobody else's answer is read here. Nor does the screen hold what could tell a rater which condition, which known
answer or which repetition is before them: the conversation's id, title, metadata, factors and reference, the item's
role, the block's title.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count

from apps.annotation.evidence import Quote
from apps.annotation.models import Evidence, Rating
from apps.annotation.services.skipping import skip_reasons
from apps.corpus.models import SpeakerRole, Turn
from apps.frameworks.models import Dimension, Framework, ScalePoint
from apps.studies.models import (
    FINISHED_STATES,
    Assignment,
    AssignmentState,
    Block,
    BlockGroup,
    Item,
    Study,
    StudyStatus,
)

CANNOT_TELL = "cannot-tell"


@dataclass(frozen=True, slots=True)
class EvidencePart:
    """A passage chosen as evidence, and where it stands: half-open offsets in code points of the turn of that index."""

    text: str
    turn: int | None = None
    start: int | None = None
    end: int | None = None

    @property
    def line(self) -> str:
        """The passage on one line, as the plain form shows it."""
        return " ".join(self.text.split())

    def as_quote(self) -> Quote:
        return Quote(self.text, self.turn, self.start, self.end)


@dataclass(slots=True)
class ScalePart:
    """One scale with the rater's answer. `value_text` is "" where there is none, also where they cannot tell."""

    dimension: Dimension
    number: int
    points: list[ScalePoint]
    value_text: str = ""
    cannot_tell: bool = False
    comment: str = ""
    evidence: list[EvidencePart] = field(default_factory=list)
    based_on: int = 0
    errors: list[str] = field(default_factory=list)
    is_stored: bool = False

    @property
    def is_done(self) -> bool:
        """Whether an answer is stored. What was only typed is not."""
        return self.is_stored

    @property
    def answer(self) -> str:
        """The answer as the form writes it: a point, `cannot-tell`, or "" for none."""
        return CANNOT_TELL if self.cannot_tell else self.value_text

    @property
    def evidence_json(self) -> str:
        """A list of {"turn", "start", "end", "text"}; the first three are null for a passage that was not found."""
        return json.dumps(
            [{"turn": one.turn, "start": one.start, "end": one.end, "text": one.text} for one in self.evidence],
            ensure_ascii=False,
        )

    @property
    def evidence_text(self) -> str:
        """The passages one on a line, for the form without a script."""
        return "\n".join(one.line for one in self.evidence)


@dataclass(slots=True)
class FrameworkPart:
    """The scales of one framework, in its place on the screen."""

    framework: Framework
    number: int
    scales: list[ScalePart]

    @property
    def n_scales(self) -> int:
        return len(self.scales)

    @property
    def n_done(self) -> int:
        return sum(scale.is_done for scale in self.scales)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the item stands. `number` counts the rater's items from 1, in the order in which they got them.

    `total` is None where raters share the items out among them: how many will be one's own, nobody knows.
    """

    number: int
    total: int | None
    block_number: int
    n_blocks: int


@dataclass(frozen=True, slots=True)
class ConversationPart:
    """What of a conversation a rater may know beside its turns."""

    language_tag: str


@dataclass(slots=True)
class Screen:
    """The rating screen of one item. `alert` is a sentence on top of it, for example why a submit was refused."""

    study: Study
    block: Block
    item: Item
    conversation: ConversationPart
    assignment: Assignment | None
    turns: list[Turn]
    frameworks: list[FrameworkPart]
    place: Place
    previous: Assignment | None = None
    next: Assignment | None = None
    saved_at: datetime | None = None
    is_preview: bool = False
    is_editable: bool = True
    alert: str = ""
    skip_reason: str = ""
    preview_previous: int | None = None
    preview_next: int | None = None

    @property
    def scales(self) -> list[ScalePart]:
        return [scale for part in self.frameworks for scale in part.scales]

    @property
    def n_scales(self) -> int:
        return sum(part.n_scales for part in self.frameworks)

    @property
    def n_done(self) -> int:
        return sum(part.n_done for part in self.frameworks)

    @property
    def missing(self) -> list[ScalePart]:
        """The scales without a stored answer."""
        return [scale for scale in self.scales if not scale.is_done]

    @property
    def is_submitted(self) -> bool:
        return self.assignment is not None and self.assignment.state in FINISHED_STATES

    @property
    def is_lapsed(self) -> bool:
        return self.assignment is not None and self.assignment.state == AssignmentState.LAPSED

    @property
    def skip_reasons(self) -> list[tuple[str, str]]:
        return skip_reasons()


def load_screen(*, assignment: Assignment, is_editable: bool | None = None) -> Screen:
    """The screen of a rater's item, in a constant number of queries.

    `assignment` comes with its rater's study, its item's block and conversation. Unless told otherwise the screen can
    be written on while the study is active.
    """
    item, rater, study = assignment.item, assignment.rater, assignment.rater.study
    frameworks = frameworks_of(item.block)
    latest = _fill_in(frameworks, _own_ratings(assignment), _own_evidence(assignment))
    neighbours = rater.assignments.exclude(state=AssignmentState.SKIPPED)
    return Screen(
        study=study,
        block=item.block,
        item=item,
        conversation=_conversation(item),
        assignment=assignment,
        turns=turns_shown(item),
        frameworks=frameworks,
        place=_place(assignment),
        previous=neighbours.filter(position__lt=assignment.position).order_by("-position").first(),
        next=neighbours.filter(position__gt=assignment.position).order_by("position").first(),
        saved_at=latest,
        is_editable=study.status == StudyStatus.ACTIVE if is_editable is None else is_editable,
    )


def load_preview(*, study: Study, number: int) -> Screen | None:
    """The screen of the study's item `number`, from 1 in the order of blocks and items, without anybody's answers.

    None: there is no such item.
    """
    items = Item.objects.filter(block__study=study).order_by("block__position", "position")
    n_items = items.count()
    if not 1 <= number <= n_items:
        return None
    item = items.select_related("block", "conversation")[number - 1]
    blocks = list(study.blocks.order_by("position").values_list("pk", flat=True))
    return Screen(
        study=study,
        block=item.block,
        item=item,
        conversation=_conversation(item),
        assignment=None,
        turns=turns_shown(item),
        frameworks=frameworks_of(item.block),
        place=Place(
            number=number,
            total=n_items,
            block_number=blocks.index(item.block_id) + 1,
            n_blocks=len(blocks),
        ),
        is_preview=True,
        is_editable=False,
        preview_previous=number - 1 if number > 1 else None,
        preview_next=number + 1 if number < n_items else None,
    )


def turns_shown(item: Item) -> list[Turn]:
    """The conversation as raters see it: without system turns."""
    return list(
        Turn.objects.filter(conversation=item.conversation_id).exclude(role=SpeakerRole.SYSTEM).order_by("index")
    )


def _conversation(item: Item) -> ConversationPart:
    return ConversationPart(language_tag=item.conversation.language_tag)


def frameworks_of(block: Block) -> list[FrameworkPart]:
    """The scales of a block, unanswered: three queries, however many frameworks, scales and points."""
    used = [row.framework for row in block.block_frameworks.select_related("framework").order_by("position")]
    dimensions: dict[int, list[Dimension]] = {framework.pk: [] for framework in used}
    for dimension in Dimension.objects.filter(framework__in=used).with_points():
        dimensions[dimension.framework_id].append(dimension)
    parts: list[FrameworkPart] = []
    number = 0
    for place, framework in enumerate(used, start=1):
        scales = []
        for dimension in dimensions[framework.pk]:
            number += 1
            dimension.framework = framework
            scales.append(ScalePart(dimension, number, [*dimension.points.all()]))
        parts.append(FrameworkPart(framework, place, scales))
    return parts


def _own_ratings(assignment: Assignment) -> dict[int, Rating]:
    ratings = Rating.objects.filter(item=assignment.item_id, rater=assignment.rater_id)
    return {rating.dimension_id: rating for rating in ratings.order_by().annotate(n_events=Count("events"))}


def _own_evidence(assignment: Assignment) -> dict[int, list[EvidencePart]]:
    rows = Evidence.objects.filter(rating__item=assignment.item_id, rating__rater=assignment.rater_id).order_by("pk")
    found: dict[int, list[EvidencePart]] = {}
    for rating_id, text, turn, start, end in rows.values_list("rating_id", "quote", "turn__index", "start", "end"):
        found.setdefault(rating_id, []).append(EvidencePart(text, turn, start, end))
    return found


def _fill_in(
    frameworks: Sequence[FrameworkPart], ratings: dict[int, Any], evidence: dict[int, list[EvidencePart]]
) -> datetime | None:
    """Puts the answers on their scales; when the latest of them was saved."""
    for part in frameworks:
        for scale in part.scales:
            rating = ratings.get(scale.dimension.pk)
            if rating is not None:
                scale.is_stored = True
                scale.value_text = "" if rating.value is None else ScalePoint(value=rating.value).value_text
                scale.cannot_tell = rating.cannot_tell
                scale.comment = rating.comment
                scale.evidence = evidence.get(rating.pk, [])
                scale.based_on = rating.n_events
    return max((rating.updated_at for rating in ratings.values()), default=None)


def _place(assignment: Assignment) -> Place:
    rater, item = assignment.rater, assignment.item
    groups = BlockGroup.objects.filter(block__study=rater.study_id, kind=rater.kind).order_by("block__position")
    overlaps = dict(groups.values_list("block_id", "overlap"))
    is_shared = any(overlap is not None for overlap in overlaps.values())
    n_items = Item.objects.filter(block__in=overlaps).count()
    return Place(
        number=assignment.position + 1,
        total=None if is_shared else n_items,
        block_number=list(overlaps).index(item.block_id) + 1 if item.block_id in overlaps else 1,
        n_blocks=max(1, len(overlaps)),
    )
