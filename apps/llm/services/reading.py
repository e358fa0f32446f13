"""What came back for a call, read: answers with the places of their quotes. Nothing is stored here."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.annotation.evidence import TurnText
from apps.corpus.models import SpeakerRole, Turn
from apps.llm.evidence import EvidenceMatcher, MatchedQuote
from apps.llm.faults import Fault
from apps.llm.json_reading import Reading
from apps.llm.providers.protocol import Completion, ErrorKind, ProviderError
from apps.llm.replies import ParsedReply, ScaleAnswer, storable_text
from apps.llm.services.claiming import Claimed
from apps.llm.tokens import MOST_BELIEVED, believed

logger = logging.getLogger(__name__)

# What providers call an answer that ended at its longest.
CUT_SHORT = frozenset({"length", "max_tokens", "max_output_tokens"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a claimed call: a completion or an error. sent_at: when it was really sent."""

    claimed: Claimed
    result: Completion | ProviderError
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer on one scale, its quotes as `CallAnswer.evidence` keeps them."""

    dimension_id: int
    answer: ScaleAnswer
    evidence: list[dict[str, Any]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """An outcome and the answers of its reply, none where there is none; problem: what is invalid, in sentences."""

    outcome: Outcome
    answers: tuple[ReadAnswer, ...] = ()
    problem: str = ""


def failed_inside(outcome: Outcome) -> Outcome:
    """The outcome as a fault of ours: its call fails, and is not sent again by itself."""
    message = _("Something went wrong inside Accord. The server's log says what, under request %(number)s.")
    error = ProviderError(ErrorKind.REFUSED, message % {"number": outcome.claimed.exchange_id})
    return Outcome(outcome.claimed, error, outcome.sent_at)


def read_outcomes(outcomes: Sequence[Outcome], meanwhile: Callable[[], None] = lambda: None) -> list[ReadOutcome]:
    """Every outcome read, in one query for the turns that quotes are looked for in. One that cannot be read fails.

    meanwhile: done again and again between them, since many quotes in long conversations take their time.
    """
    parsed: list[tuple[Outcome, ParsedReply | None]] = []
    for outcome in outcomes:
        try:
            parsed.append((outcome, _parsed(outcome)))
        except Exception:  # a fault of ours ends this call, and no other
            logger.exception("The answer to request %s could not be read", outcome.claimed.exchange_id)
            parsed.append((failed_inside(outcome), None))
    matchers = _matchers(
        outcome.claimed.question.conversation_id
        for outcome, reply in parsed
        if reply is not None and any(answer.evidence for answer in reply.answers)
    )
    return [_read(outcome, reply, matchers, meanwhile) for outcome, reply in parsed]


def usage_problem(completion: Completion) -> str:
    """What is not believed of the tokens that the server counts, in a sentence; "" for nothing."""
    counts = (completion.input_tokens, completion.output_tokens)
    if all(count is None or believed(count) is not None for count in counts):
        return ""
    return _(
        "The server says that this request took more than %(most)s tokens. That is not believed: how many it took is "
        "taken for not known."
    ) % {"most": f"{MOST_BELIEVED:,}"}


def _parsed(outcome: Outcome) -> ParsedReply | None:
    if isinstance(outcome.result, ProviderError):
        return None
    return outcome.claimed.asked.parse(outcome.result.text)


def _read(
    outcome: Outcome,
    reply: ParsedReply | None,
    matchers: Mapping[int, EvidenceMatcher],
    meanwhile: Callable[[], None],
) -> ReadOutcome:
    if reply is None:
        return ReadOutcome(outcome)
    quotes = list(dict.fromkeys(text for answer in reply.answers for text in answer.evidence))
    found: dict[str, dict[str, Any]] = {}
    matcher = matchers.get(outcome.claimed.question.conversation_id)
    for text in quotes:
        meanwhile()
        if matcher is None:
            continue
        try:
            found[text] = _quote(matcher.match(text))
        except Exception:  # as above
            logger.exception("The quotes of request %s could not be looked for", outcome.claimed.exchange_id)
            return ReadOutcome(failed_inside(outcome))
    answers = tuple(
        ReadAnswer(
            outcome.claimed.asked.dimensions[answer.slug],
            answer,
            [found[text] for text in answer.evidence if text in found],
            _notes(reply) if number == 0 else (),
        )
        for number, answer in enumerate(reply.answers)
    )
    return ReadOutcome(outcome, answers, _problem(outcome, reply))


def _notes(reply: ParsedReply) -> tuple[str, ...]:
    """What there is to say of the reply as a whole; it is kept with the first of its answers."""
    found = {
        Reading.FENCED: _("The answer stood between code fences."),
        Reading.PROSE: _("The answer stood in other text."),
        Reading.ARRAY: _("The answer was the only element of an array."),
    }
    where = [found[reply.reading]] if reply.reading in found else []
    return (*where, *(_("“%(key)s” was not asked for.") % {"key": key} for key in reply.extra))


def _problem(outcome: Outcome, reply: ParsedReply) -> str:
    sentences = list(dict.fromkeys(_sentence(outcome, answer) for answer in reply.invalid))
    result = outcome.result
    is_cut = isinstance(result, Completion) and result.finish_reason.lower() in CUT_SHORT
    if is_cut and any(answer.fault in (Fault.CUT_OFF, Fault.EMPTY, Fault.NO_JSON) for answer in reply.invalid):
        sentences.append(
            _("The answer reached its longest, %(most)s tokens, and was cut off there.")
            % {"most": outcome.claimed.asked.parameters.max_tokens}
        )
    return storable_text(" ".join(sentences))


def _sentence(outcome: Outcome, answer: ScaleAnswer) -> str:
    """With the scale's name where the reply is for several and the fault is of one."""
    if outcome.claimed.asked.is_framework and answer.fault in (Fault.NOT_ALLOWED, Fault.REPEATED):
        return f"{answer.slug}: {answer.reason}"
    return answer.reason


def _matchers(conversation_ids: Iterable[int]) -> dict[int, EvidenceMatcher]:
    wanted = set(conversation_ids)
    if not wanted:
        return {}
    rows = Turn.objects.filter(conversation__in=wanted).exclude(role=SpeakerRole.SYSTEM)
    turns: dict[int, list[TurnText]] = {pk: [] for pk in wanted}
    for conversation_id, index, role, text in rows.order_by("conversation_id", "index").values_list(
        "conversation_id", "index", "role", "text"
    ):
        turns[conversation_id].append(TurnText(index, role == SpeakerRole.SUPPORTER, text))
    return {pk: EvidenceMatcher(texts) for pk, texts in turns.items()}


def _quote(found: MatchedQuote) -> dict[str, Any]:
    """The model's words, and the first place where they stand."""
    place = found.places[0] if found.places else None
    return {
        "text": found.text,
        "turn": place.turn if place else None,
        "start": place.start if place else None,
        "end": place.end if place else None,
        "match": found.match.value if found.match else "",
        "ambiguous": found.is_ambiguous,
        "absent": found.is_absent,
    }
