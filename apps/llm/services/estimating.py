"""About how many tokens a run takes, what they cost, and how long it lasts: before anything is sent."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.llm.models import Endpoint, Exchange, ExchangeState, PromptVersion
from apps.llm.prompts import PromptError
from apps.llm.services.rendering import Renderer, turns_of
from apps.llm.services.run_items import Question, Scale, Sieved
from apps.llm.templates import TemplateError

# Where nothing was answered yet: a short rationale, two quotes and a score; and a server that takes its time.
TOKENS_BY_SCALE = 120
SECONDS_BY_CALL = 5.0
# So many of the latest answers tell what is to be expected.
ANSWERS_ASKED = 200
# A sum of parts rounds a little otherwise than the whole: that close to the limit, the prompt itself is rendered.
CLOSE = 4


class EstimateError(ValueError):
    """A prompt of the version cannot be made; the message says why."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of a whole run. Tokens are by a rule of thumb; `cost` is None where the endpoint has no prices.

    seconds: at the endpoint's limits, if nothing fails. is_measured: length and time of every answer are taken from
    what this endpoint answered to this prompt, when it was asked as many scales at once.
    """

    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    seconds: float
    is_measured: bool


class PromptSizes:
    """About how many tokens each prompt of a version has.

    A prompt has the conversation in it once, and is otherwise the same for each conversation: so one prompt is
    rendered for each scale, and the others are as much longer or shorter as their conversations are.
    """

    def __init__(self, version: PromptVersion, found: Sieved) -> None:
        """Raises EstimateError where a prompt cannot be made."""
        self._renderer = Renderer(version)
        self._sizes = found.sizes
        self._bases: dict[Scale, int] = {}
        first = {question.scale: question for question in reversed(found.questions)}
        turns = turns_of(question.item.conversation_id for question in first.values())
        for scale, question in first.items():
            conversation_id = question.item.conversation_id
            try:
                prompt = self._renderer.prompt(turns[conversation_id], scale.framework_id, scale.dimension_id)
            except (PromptError, TemplateError) as error:
                raise EstimateError(str(error)) from error
            self._bases[scale] = prompt.estimated_tokens - self._sizes[conversation_id]

    def of(self, question: Question) -> int:
        return self._bases[question.scale] + self._sizes[question.item.conversation_id]

    def too_long(self, questions: Sequence[Question], endpoint: Endpoint) -> set[int]:
        """Items of which a prompt does not fit the endpoint together with its answer; it is not cut."""
        if endpoint.context_tokens is None:
            return set()
        room = endpoint.context_tokens - endpoint.reply_tokens
        gone = {question.item.pk for question in questions if self.of(question) > room + CLOSE}
        close = [
            question
            for question in questions
            if abs(self.of(question) - room) <= CLOSE and question.item.pk not in gone
        ]
        turns = turns_of(question.item.conversation_id for question in close) if close else {}
        for question in close:
            scale = question.scale
            prompt = self._renderer.prompt(turns[question.item.conversation_id], scale.framework_id, scale.dimension_id)
            if prompt.estimated_tokens > room:
                gone.add(question.item.pk)
        return gone


def estimate_of(
    questions: Sequence[Question], sizes: PromptSizes, *, version: PromptVersion, endpoint: Endpoint, samples: int
) -> Estimate:
    """Of asking each question `samples` times, no repair and no second attempt counted.

    One query, and one for each framework of the version.
    """
    n_calls = len(questions) * samples
    input_tokens = sum(map(sizes.of, questions)) * samples
    expected = _Expected(version, endpoint)
    asked = Counter(question.scale for question in questions)
    output_tokens = round(sum(expected.tokens(scale) * n for scale, n in asked.items()) * samples)
    busy = sum(expected.seconds(scale) * n for scale, n in asked.items()) * samples
    return Estimate(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=endpoint.cost_of(input_tokens, output_tokens),
        seconds=_seconds(endpoint, n_calls, input_tokens + output_tokens, busy),
        is_measured=bool(asked) and all(map(expected.is_measured, asked)),
    )


class _Expected:
    """Length and time of an answer: by those of the same framework; where it has none, of one with as many scales."""

    def __init__(self, version: PromptVersion, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._tokens: dict[int, list[int]] = {}
        self._latencies: dict[int, list[int]] = {}
        frameworks = version.frameworks.order_by("pk").annotate(n_scales=Count("dimensions"))
        self._sizes = dict(frameworks.values_list("pk", "n_scales"))
        for framework_id in self._sizes:
            rows = _answers(version, endpoint, framework_id)
            self._tokens[framework_id] = [tokens for _latency, tokens in rows if tokens is not None]
            self._latencies[framework_id] = [latency for latency, _tokens in rows if latency is not None]

    def is_measured(self, scale: Scale) -> bool:
        return bool(self._known(self._tokens, scale))

    def tokens(self, scale: Scale) -> float:
        known = self._known(self._tokens, scale)
        return fmean(known) if known else min(TOKENS_BY_SCALE * scale.n_scales, self._endpoint.reply_tokens)

    def seconds(self, scale: Scale) -> float:
        known = self._known(self._latencies, scale)
        return fmean(known) / 1000 if known else SECONDS_BY_CALL

    def _known(self, found: Mapping[int, list[int]], scale: Scale) -> list[int]:
        if own := found.get(scale.framework_id):
            return own
        alike = (
            framework_id
            for framework_id, n_scales in self._sizes.items()
            # One scale at a time is one scale, whatever framework it is of.
            if scale.dimension_id is not None or n_scales == scale.n_scales
        )
        return [number for framework_id in alike for number in found[framework_id]]


def _answers(version: PromptVersion, endpoint: Endpoint, framework_id: int) -> list[tuple[int | None, int | None]]:
    """(milliseconds, tokens) of the endpoint's latest answers to first requests of the version about a framework."""
    rows = Exchange.objects.filter(
        endpoint=endpoint,
        state=ExchangeState.ANSWERED,
        is_repair=False,  # it asks for what is left only
        call__framework=framework_id,
        call__run__model_rater__version=version,
    )
    return list(rows.order_by("-pk").values_list("latency_ms", "output_tokens")[:ANSWERS_ASKED])


def _seconds(endpoint: Endpoint, n_calls: int, tokens: int, busy: float) -> float:
    """The slowest of the limits decides. busy: seconds that all answers take one after another."""
    times = [busy / endpoint.max_concurrent]
    if endpoint.requests_per_minute:
        times.append(n_calls / endpoint.requests_per_minute * 60)
    if endpoint.tokens_per_minute:
        times.append(tokens / endpoint.tokens_per_minute * 60)
    return max(times)


def duration_in_words(seconds: float) -> str:
    """About so long, to read: seconds below a minute and a half, minutes below two hours, else hours."""
    if seconds < 90:
        n = max(1, round(seconds))
        return ngettext("%(n)d second", "%(n)d seconds", n) % {"n": n}
    if seconds < 7200:
        return _("%(n)d minutes") % {"n": round(seconds / 60)}
    return _("%(n)d hours") % {"n": round(seconds / 3600)}
