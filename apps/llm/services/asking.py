"""What a call asks, made into a request: messages, schema, and what is needed to read the reply."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from apps.frameworks.models import Dimension
from apps.llm.answers import AllowedAnswers, framework_schema, scale_schema
from apps.llm.models import CallAnswer, Endpoint, Exchange, ExchangeState, ModelRater, Run
from apps.llm.prompts import Message, Prompt, PromptError, PromptTooLongError
from apps.llm.providers.protocol import Parameters, Provider
from apps.llm.replies import (
    NO_REPLY,
    ParsedReply,
    parse_framework_reply,
    parse_scale_reply,
    repair_message,
    scales_to_repair,
    shown_reply,
    storable_text,
)
from apps.llm.services.rendering import Renderer, Turns, turns_of
from apps.llm.templates import TemplateError
from apps.llm.versions import request_hash

logger = logging.getLogger(__name__)

# Conversations whose turns are kept: neighbours in a run share them.
KEPT_CONVERSATIONS = 64


@dataclass(frozen=True, slots=True)
class Question:
    """A call as far as it decides what is asked."""

    call_id: int
    run_id: int
    item_id: int
    conversation_id: int
    framework_id: int
    dimension_id: int | None
    sample: int
    is_repair: bool
    attempts: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What is sent for a call. scales: those this request asks for; dimensions: slug -> key, all of the call.

    request: the body as JSON to be stored; request_hash: of what is asked, and of whom.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    scales: tuple[AllowedAnswers, ...]
    dimensions: Mapping[str, int]
    is_framework: bool
    prompt_tokens: int
    parameters: Parameters
    request: str = ""
    request_hash: str = ""

    def parse(self, reply: str) -> ParsedReply:
        """What the reply says on the scales asked for. Whatever the text is, nothing is raised."""
        return parse_reply(reply, self.scales, is_framework=self.is_framework)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """What is known of a call that is to be repaired: its last first reply, and the scales with a valid answer."""

    reply: str
    answered: frozenset[int]


def parse_reply(reply: str, scales: Sequence[AllowedAnswers], *, is_framework: bool) -> ParsedReply:
    return parse_framework_reply(reply, scales) if is_framework else parse_scale_reply(reply, scales[0])


def parameters_of(run: Run, sample: int) -> Parameters:
    """What is sent beside the messages. Each sample has a seed of its own, or all would be the same."""
    sent = run.model_rater.parameters
    seed = sent.get("seed")
    return Parameters(
        max_tokens=int(sent.get("max_tokens", run.endpoint.reply_tokens)),
        temperature=sent.get("temperature"),
        seed=None if seed is None else seed + sample,
    )


class Asker:
    """Makes requests for one stretch of work: prompts, frameworks and turns are read once."""

    def __init__(self) -> None:
        self._renderers: dict[tuple[int, bool], Renderer] = {}
        self._turns: dict[int, Turns] = {}
        self._dimensions: dict[int, dict[str, int]] = {}

    def ask(self, questions: Sequence[Question], runs: Mapping[int, Run], provider: Provider) -> dict[int, Asked | str]:
        """call -> its request, or a sentence why there can be none.

        Queries: one for turns not known yet and two for repairs, whatever their number; a few for a new rater.
        """
        self._learn(questions)
        earlier = _earlier([question.call_id for question in questions if question.is_repair])
        found: dict[int, Asked | str] = {}
        for question in questions:
            found[question.call_id] = self._request_for(question, runs[question.run_id], earlier, provider)
        return found

    def _request_for(
        self, question: Question, run: Run, earlier: Mapping[int, "_Earlier"], provider: Provider
    ) -> Asked | str:
        try:
            asked = self._asked(question, run, earlier.get(question.call_id))
            return _written(asked, run.model_rater, question.sample, provider)
        except (PromptError, TemplateError) as error:  # their sentences are for people
            return str(error)
        except Exception:  # a fault of ours ends this call, and no other
            logger.exception("Call %s could not be asked", question.call_id)
            return _("Something went wrong inside Accord. The server's log says what, under call %(number)s.") % {
                "number": question.call_id
            }

    def _learn(self, questions: Sequence[Question]) -> None:
        if missing := {question.conversation_id for question in questions} - self._turns.keys():
            if len(self._turns) > KEPT_CONVERSATIONS:
                self._turns.clear()
                missing = {question.conversation_id for question in questions}
            self._turns |= turns_of(missing)
        if frameworks := {question.framework_id for question in questions} - self._dimensions.keys():
            rows = Dimension.objects.filter(framework__in=frameworks).order_by("framework_id", "position")
            for framework_id, slug, pk in rows.values_list("framework_id", "slug", "pk"):
                self._dimensions.setdefault(framework_id, {})[slug] = pk

    def _renderer(self, run: Run) -> Renderer:
        key = (run.model_rater_id, run.is_check)
        if key not in self._renderers:
            version = run.model_rater.version
            self._renderers[key] = Renderer(version, run.endpoint, is_reversed=run.is_check)
        return self._renderers[key]

    def _asked(self, question: Question, run: Run, earlier: _Earlier | None) -> Asked:
        turns = self._turns[question.conversation_id]
        prompt = self._renderer(run).prompt(turns, question.framework_id, question.dimension_id)
        dimensions = self._dimensions.get(question.framework_id, {})
        asked = Asked(
            messages=prompt.messages,
            schema=prompt.schema,
            scales=prompt.scales,
            dimensions={allowed.slug: dimensions[allowed.slug] for allowed in prompt.scales},
            is_framework=question.dimension_id is None,
            prompt_tokens=prompt.estimated_tokens,
            parameters=parameters_of(run, question.sample),
        )
        return asked if earlier is None else _repairing(asked, prompt, earlier, run.endpoint)


def _written(asked: Asked, rater: ModelRater, sample: int, provider: Provider) -> Asked:
    """With the body and the hash that its exchange keeps."""
    body = provider.request_body(asked.messages, asked.schema, asked.parameters)
    hashed = request_hash(
        provider=rater.provider,
        base_url=rater.base_url,
        model=rater.model,
        parameters=asked.parameters.as_dict(),
        messages=asked.messages,
        schema=asked.schema,
        sample=sample,
    )
    return replace(asked, request=storable_text(json.dumps(body, ensure_ascii=False)), request_hash=hashed)


def _earlier(call_ids: list[int]) -> dict[int, _Earlier]:
    if not call_ids:
        return {}
    answered: dict[int, set[int]] = {}
    rows = CallAnswer.objects.filter(call__in=call_ids, fault="")
    for call_id, dimension_id in rows.values_list("call_id", "dimension_id"):
        answered.setdefault(call_id, set()).add(dimension_id)
    first = Exchange.objects.filter(call__in=call_ids, is_repair=False, state=ExchangeState.ANSWERED).order_by("pk")
    # The last of them counts: a call that was tried anew has several.
    replies = dict(first.values_list("call_id", "reply"))
    return {pk: _Earlier(reply, frozenset(answered.get(pk, ()))) for pk, reply in replies.items()}


def _repairing(asked: Asked, prompt: Prompt, earlier: _Earlier, endpoint: Endpoint) -> Asked:
    """The same request, the reply that it got, and a message that asks for what is still without a valid answer.

    Where the reply makes it too long for the endpoint, it is left out.
    """
    wanted = [allowed for allowed in asked.scales if asked.dimensions[allowed.slug] not in earlier.answered]
    first = parse_reply(earlier.reply, asked.scales, is_framework=asked.is_framework)
    slugs = {allowed.slug for allowed in wanted}
    first = replace(first, answers=tuple(answer for answer in first.answers if answer.slug in slugs))
    scales = tuple(scales_to_repair(first, wanted))
    if not scales:
        return asked
    message = Message("user", repair_message(first, scales, is_framework=asked.is_framework))
    schema = framework_schema(scales) if asked.is_framework else scale_schema(scales[0])
    context = endpoint.context_tokens
    for reply in (shown_reply(earlier.reply), NO_REPLY):
        messages = (*asked.messages, Message("assistant", reply), message)
        tokens = replace(prompt, messages=messages, schema=schema).estimated_tokens
        if context is None or tokens + endpoint.reply_tokens <= context:
            break
    if context is not None and tokens + endpoint.reply_tokens > context:
        raise PromptTooLongError(tokens, endpoint.reply_tokens, context)
    return replace(asked, messages=messages, schema=schema, scales=scales, prompt_tokens=tokens)
