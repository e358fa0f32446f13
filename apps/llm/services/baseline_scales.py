"""What the two baselines rate on each scale of a study, and what they used for it. Reads only."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from django.utils.translation import gettext as _

from apps.frameworks.models import Dimension, Framework
from apps.llm.baseline_figures import figures_of, most_frequent
from apps.llm.lexicon import RULES, Counts, Cue, Rule, count, intensity, is_english, point_of, supporter_speaks
from apps.llm.services.expert_scores import ScaleKey, Values, expert_values
from apps.llm.services.rendering import Turns, has_text, turns_of
from apps.measures.scale import Level, Scale
from apps.studies.models import Block, BlockFramework, Item, ItemRole, Study

CONVERSATIONS_AT_ONCE = 1000


class LeftOut(StrEnum):
    """Why a scale is not rated."""

    NO_EXPERTS = "no_experts"
    NO_RULE = "no_rule"
    NO_ITEMS = "no_items"


class Unrated(StrEnum):
    """Why an item is not rated."""

    NO_TEXT = "no_text"
    OTHER_LANGUAGE = "other_language"
    NO_SUPPORTER = "no_supporter"


@dataclass(frozen=True, slots=True)
class StudyScale:
    """A scale as a block of the study uses it."""

    block: Block
    framework: Framework
    dimension: Dimension

    @property
    def key(self) -> ScaleKey:
        return self.block.pk, self.dimension.pk

    @property
    def scale(self) -> Scale:
        return Scale(tuple(sorted(self.dimension.scale_points)), Level(self.dimension.level))


@dataclass(slots=True)
class ScaleRatings:
    """item -> value and remark on one scale, and what stands in `Baseline.details` about it."""

    dimension_id: int
    values: dict[int, float] = field(default_factory=dict)
    remarks: dict[int, str] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


def scales_of(study: Study) -> list[StudyScale]:
    """In the order of the study; three queries."""
    used = BlockFramework.objects.filter(block__study=study).select_related("block")
    frameworks = Framework.objects.filter(blocks__study=study).distinct().with_scales().in_bulk()
    return [
        StudyScale(one.block, frameworks[one.framework_id], dimension)
        for one in used.order_by("block__position", "position")
        for dimension in frameworks[one.framework_id].dimensions.all()
    ]


def constant_ratings(study: Study) -> Iterator[ScaleRatings]:
    """The experts' most frequent point for every main item of the block, with text or without."""
    experts = expert_values(study=study)
    items = _main_items(study)
    for one in scales_of(study):
        found = _begun(one)
        given = experts.get(one.key)
        if not given:
            found.details["left_out"] = LeftOut.NO_EXPERTS
        else:
            most = most_frequent(given)
            found.values = dict.fromkeys((item.pk for item in items[one.block.pk]), most.point)
            found.details |= {"point": most.point, "count": most.count, "total": most.total}
            _compare(found, given, one.scale, study)
        yield found


def lexical_ratings(study: Study) -> Iterator[ScaleRatings]:
    """What the rule of the scale makes of the words of each main item."""
    experts = expert_values(study=study)
    items = _main_items(study)
    counted: _Counted | None = None
    scales = scales_of(study)
    for one in scales:
        found = _begun(one)
        rule = rule_of(one)
        if rule is None:
            found.details["left_out"] = LeftOut.NO_RULE
        else:
            if counted is None or counted.block_id != one.block.pk:
                rules = [rule_of(other) for other in scales if other.block.pk == one.block.pk]
                counted = _counted(one.block.pk, items[one.block.pk], [rule for rule in rules if rule])
            _rate(found, rule, counted, one.scale)
            _compare(found, experts.get(one.key, {}), one.scale, study)
        yield found


def rule_of(one: StudyScale) -> Rule | None:
    """None on a scale without a rule; on a nominal scale more cues mean nothing."""
    return None if one.dimension.is_nominal else RULES.get((one.framework.slug, one.dimension.slug))


def _begun(one: StudyScale) -> ScaleRatings:
    names = f"{one.block.slug}/{one.framework.slug}/{one.dimension.slug}"
    return ScaleRatings(
        one.dimension.pk, details={"block": one.block.pk, "dimension": one.dimension.pk, "scale": names}
    )


def _rate(found: ScaleRatings, rule: Rule, counted: "_Counted", scale: Scale) -> None:
    for item_id, of_cues in counted.counts.items():
        counts = of_cues[rule.cue]
        found.values[item_id] = point_of(intensity(rule, counts), scale.points)
        found.remarks[item_id] = _("Cues: %(cues)d. %(unit)s: %(units)d.") % {
            "cues": counts.cues,
            "unit": unit_in_words(rule),
            "units": counts.units,
        }
    found.details |= {"cue": rule.cue, "full": rule.full, "unrated": dict(counted.unrated)}


def unit_in_words(rule: Rule) -> str:
    words = {
        "turns": _("Turns of the supporter"),
        "words": _("Words of the supporter"),
        "content_words": _("Different content words of the supporter"),
    }
    return words[rule.unit]


def _compare(found: ScaleRatings, experts: Values, scale: Scale, study: Study) -> None:
    found.details["items"] = len(found.values)
    if not found.values:
        found.details["left_out"] = LeftOut.NO_ITEMS
    elif experts:
        found.details["figures"] = figures_of(found.values, experts, scale, seed=study.seed)


# --- What is counted in a block's conversations -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _MainItem:
    pk: int
    conversation_id: int
    language: str


@dataclass(slots=True)
class _Counted:
    """item -> cue -> counts, for items that can be rated by their words; and why the others cannot."""

    block_id: int
    counts: dict[int, dict[Cue, Counts]] = field(default_factory=dict)
    unrated: Counter[str] = field(default_factory=Counter)


def _main_items(study: Study) -> Mapping[int, list[_MainItem]]:
    rows = Item.objects.filter(block__study=study, role=ItemRole.MAIN).order_by("block_id", "position")
    found: dict[int, list[_MainItem]] = defaultdict(list)
    columns = rows.values_list("block_id", "pk", "conversation_id", "conversation__language")
    for block_id, pk, conversation_id, language in columns:
        found[block_id].append(_MainItem(pk, conversation_id, language))
    return found


def _counted(block_id: int, items: Iterable[_MainItem], rules: Sequence[Rule]) -> _Counted:
    found = _Counted(block_id)
    rest = iter(items)
    while batch := list(islice(rest, CONVERSATIONS_AT_ONCE)):
        turns = turns_of(item.conversation_id for item in batch)
        for item in batch:
            reason = _unrated(item, turns[item.conversation_id])
            if reason:
                found.unrated[reason] += 1
            else:
                found.counts[item.pk] = {rule.cue: count(rule, turns[item.conversation_id]) for rule in rules}
    return found


def _unrated(item: _MainItem, turns: Turns) -> Unrated | None:
    if not has_text(turns):
        return Unrated.NO_TEXT
    if not is_english(item.language):
        return Unrated.OTHER_LANGUAGE
    return None if supporter_speaks(turns) else Unrated.NO_SUPPORTER
