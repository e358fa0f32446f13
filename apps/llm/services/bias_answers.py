"""What a run's answers say for the checks for bias: arrays scale by scale, aligned by item, less what is excluded."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from apps.frameworks.models import Dimension
from apps.llm.bias import ScaleAnswers, score_of
from apps.llm.models import OPEN_CALL_STATES, CallAnswer, Run
from apps.llm.services.comparable import excluded_items
from apps.llm.services.expert_scores import expert_values
from apps.llm.services.rendering import turns_of
from apps.measures.aggregates import lower_median
from apps.measures.arrays import FloatArray
from apps.measures.scale import Level, Scale
from apps.studies.models import Item, ItemRole

# Texts are read for so many conversations at a time.
CONVERSATIONS_AT_ONCE = 1_000
ROWS_AT_ONCE = 5_000

Place = tuple[int, int]  # dimension, item


@dataclass
class _Read:
    """Valid answers of one dimension and item: sample -> value, None for "cannot tell"."""

    original: dict[Place, dict[int, float | None]] = field(default_factory=dict)
    again: dict[Place, dict[int, float | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunAnswers:
    """scales: every scale the run asks about, in order, with their labels beside. n_excluded: items whose answers are
    left out because the rater is excluded from them; is_excluded: from all.
    """

    scales: tuple[ScaleAnswers, ...]
    labels: tuple[tuple[str, str], ...]  # name of the framework, label of the dimension
    n_items: int
    n_excluded: int
    is_excluded: bool


def answers_of(run: Run) -> RunAnswers:
    """Answers about main items: repeated and practice ones would count a conversation twice, or the wrong one.

    Of several reversed runs the last that asked a question answers it. Queries by thousands of answers and texts.
    """
    excluded = excluded_items(run)
    is_excluded = None in excluded
    read = _Read() if is_excluded else _read(run, excluded)
    items = sorted({item for _dimension, item in read.original})
    asked = Item.objects.filter(pk__in=[pk for pk in excluded if pk], calls__run=run, role=ItemRole.MAIN).distinct()
    words = _words_of(items)
    experts = _experts(run)
    dimensions = list(_dimensions(run))
    slugs = _framework_slugs(dimensions)
    scales = [
        _scale_answers(slugs[one.framework_id], one, items, read, run.model_rater.samples, words, experts)
        for one in dimensions
    ]
    return RunAnswers(
        scales=tuple(scales),
        labels=tuple((one.framework.name, one.label) for one in dimensions),
        n_items=len(items),
        n_excluded=asked.count(),
        is_excluded=is_excluded,
    )


def _read(run: Run, excluded: set[int | None]) -> _Read:
    rows = (
        CallAnswer.objects.filter(call__run__in=[run.pk, *run.reversed_runs.values_list("pk", flat=True)])
        .filter(fault="", call__item__role=ItemRole.MAIN)
        .exclude(call__state__in=OPEN_CALL_STATES)
        .order_by("call__run_id", "pk")
        .values_list("call__run_id", "dimension_id", "call__item_id", "call__sample", "value")
    )
    read = _Read()
    for run_id, dimension_id, item_id, sample, value in rows.iterator(chunk_size=ROWS_AT_ONCE):
        if item_id not in excluded:
            kept = read.original if run_id == run.pk else read.again
            kept.setdefault((dimension_id, item_id), {})[sample] = value
    return read


def _dimensions(run: Run) -> Iterator[Dimension]:
    yield from (
        Dimension.objects.filter(framework__prompt_versions=run.model_rater.version_id)
        .select_related("framework")
        .prefetch_related("points")
        .order_by("framework__name", "framework_id", "position")
    )


def _framework_slugs(dimensions: Iterable[Dimension]) -> dict[int, str]:
    """framework -> its slug, with its version where the run asks about two of it."""
    frameworks = {one.framework_id: one.framework for one in dimensions}
    times = Counter(framework.slug for framework in frameworks.values())
    return {
        pk: framework.slug if times[framework.slug] == 1 else f"{framework.slug}@{framework.version}"
        for pk, framework in frameworks.items()
    }


def _scale_answers(
    framework: str,
    dimension: Dimension,
    items: Sequence[int],
    read: _Read,
    samples: int,
    words: Mapping[int, float],
    experts: Mapping[Place, float],
) -> ScaleAnswers:
    scale = Scale(tuple(sorted(dimension.scale_points)), Level(dimension.level))
    draws = np.full((len(items), samples), np.nan)
    cannot_tell = np.zeros(len(items), dtype=np.int64)
    original, again = np.full(len(items), np.nan), np.full(len(items), np.nan)
    for row, item in enumerate(items):
        place = dimension.pk, item
        given = read.original.get(place, {})
        for sample, value in given.items():
            if value is None:
                cannot_tell[row] += 1
            else:
                draws[row, sample] = value
        original[row], again[row] = _asked_again(given, read.again.get(place, {}))
    return ScaleAnswers(
        framework=framework,
        dimension=dimension.slug,
        scale=scale,
        scores=score_of(draws, cannot_tell, scale),
        draws=draws,
        original=original,
        reversed=again,
        experts=np.array([experts.get((dimension.pk, item), np.nan) for item in items], dtype=np.float64),
        words=np.array([words[item] for item in items], dtype=np.float64),
    )


def _asked_again(given: Mapping[int, float | None], again: Mapping[int, float | None]) -> tuple[float, float]:
    """The answers to the first sample that both orders have a value for: one answer is set beside one answer."""
    for sample, value in sorted(again.items()):
        first = given.get(sample)
        if value is not None and first is not None:
            return first, value
    return np.nan, np.nan


def _experts(run: Run) -> dict[Place, float]:
    """The lower median of the experts on each dimension and item: always a point that one of them gave."""
    found: dict[Place, float] = {}
    for (_block, dimension_id), by_item in expert_values(study=run.study).items():
        medians = lower_median(_rows(list(by_item.values())))
        found |= {(dimension_id, item): float(value) for item, value in zip(by_item, medians, strict=True)}
    return found


def _rows(values: Sequence[Sequence[float]]) -> FloatArray:
    """Rows of different lengths as one array, filled with NaN."""
    table = np.full((len(values), max(map(len, values), default=0)), np.nan)
    for row, given in zip(table, values, strict=True):
        row[: len(given)] = given
    return table


def _words_of(items: Sequence[int]) -> dict[int, float]:
    """item -> words between white space in the supporter's turns; NaN where the supporter has no turn."""
    found: dict[int, float] = {}
    for start in range(0, len(items), CONVERSATIONS_AT_ONCE):
        some = Item.objects.filter(pk__in=items[start : start + CONVERSATIONS_AT_ONCE])
        conversations = dict(some.values_list("pk", "conversation_id"))
        turns = turns_of(conversations.values())
        for item, conversation_id in conversations.items():
            said = [turn.text for turn in turns[conversation_id] if turn.role == "supporter"]
            found[item] = float(sum(len(text.split()) for text in said)) if said else np.nan
    return found
