"""The calls of a run as they are read: listed and filtered; one with its requests, its answers, and their places."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from django.db.models import OuterRef, Q, QuerySet

from apps.annotation.services.screens import turns_shown
from apps.common.counting import counted
from apps.corpus.models import Turn
from apps.frameworks.models import Dimension
from apps.llm.answers import point_text
from apps.llm.fault_words import FAULTS
from apps.llm.long_texts import LongText, beginning_of
from apps.llm.models import Call, CallAnswer, Exchange, Run
from apps.llm.sent_requests import SentMessage, indented, sent_messages


class Filter(NamedTuple):
    """What of a run's calls is asked for; "" and None: everything. words: part of the conversation's external id."""

    state: str = ""
    dimension_id: int | None = None
    fault: str = ""
    words: str = ""


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call in the list. answers: what it says, scale by scale."""

    call: Call
    answers: list[CallAnswer]

    @property
    def said(self) -> str:
        """The score of a single scale; "" where there are several, or none that is valid."""
        if self.call.dimension_id is None or len(self.answers) != 1:
            return ""
        return score_text(self.answers[0])

    @property
    def n_valid(self) -> int:
        return sum(answer.is_valid for answer in self.answers)

    @property
    def faults(self) -> list[str]:
        return sorted({str(FAULTS[answer.fault]) for answer in self.answers if answer.fault})


@dataclass(frozen=True, slots=True)
class ShownExchange:
    exchange: Exchange
    messages: list[SentMessage]

    @property
    def shown_messages(self) -> list[tuple[str, LongText]]:
        """The role of each, and its text."""
        return [(message.role, beginning_of(message.text)) for message in self.messages]

    @property
    def request(self) -> LongText:
        return beginning_of(indented(self.exchange.request))

    @property
    def reply(self) -> LongText:
        return beginning_of(self.exchange.reply)

    @property
    def raw(self) -> LongText:
        return beginning_of(indented(self.exchange.raw))


class Passage(NamedTuple):
    """A quote of an answer. turn: where it stands, None where it stands nowhere; number: that turn's place."""

    text: LongText
    turn: int | None
    number: int | None
    is_ambiguous: bool
    is_exact: bool


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    answer: CallAnswer
    score: str
    passages: list[Passage]

    @property
    def fault(self) -> str:
        return str(FAULTS.get(self.answer.fault, ""))

    @property
    def rationale(self) -> LongText:
        return beginning_of(self.answer.rationale)


class Piece(NamedTuple):
    text: str
    is_quoted: bool


class ShownTurn(NamedTuple):
    turn: Turn
    pieces: list[Piece]


@dataclass(frozen=True, slots=True)
class ShownCall:
    call: Call
    exchanges: list[ShownExchange]
    answers: list[ShownAnswer]
    turns: list[ShownTurn]
    previous: int | None
    next: int | None


def score_text(answer: CallAnswer) -> str:
    """A valid answer's score as it is written; "" for one that cannot tell, or is invalid."""
    return "" if answer.value is None else point_text(answer.value)


def scales_of(run: Run) -> QuerySet[Dimension]:
    """Those that the run asks about, in the order of the frameworks."""
    asked = Dimension.objects.filter(framework__prompt_versions=run.model_rater.version_id)
    return asked.select_related("framework").order_by("framework", "position")


def calls_of(run: Run, chosen: Filter = EVERYTHING) -> QuerySet[Call]:
    """In the order of the run, each with its conversation and scale, and `n_requests`."""
    calls = Call.objects.filter(run=run)
    if chosen.state:
        calls = calls.filter(state=chosen.state)
    if chosen.dimension_id is not None:
        # A call about a whole framework has every scale of it.
        framework = Dimension.objects.filter(pk=chosen.dimension_id).values("framework")
        whole = Q(dimension=None, framework__in=framework)
        calls = calls.filter(Q(dimension=chosen.dimension_id) | whole)
    if chosen.fault:
        calls = calls.filter(pk__in=CallAnswer.objects.filter(call__run=run, fault=chosen.fault).values("call"))
    if chosen.words:
        calls = calls.filter(item__conversation__external_id__icontains=chosen.words)
    return (
        calls.select_related("item__conversation", "item__block", "dimension", "framework")
        .annotate(n_requests=counted(Exchange.objects.filter(call=OuterRef("pk")), by="call"))
        .order_by("position")
    )


def rows_of(calls: Sequence[Call]) -> list[CallRow]:
    """The calls of a page with their answers; one query."""
    answers: dict[int, list[CallAnswer]] = {call.pk: [] for call in calls}
    for answer in CallAnswer.objects.filter(call__in=answers).order_by("call_id", "dimension__position"):
        answers[answer.call_id].append(answer)
    return [CallRow(call, answers[call.pk]) for call in calls]


def show_call(call: Call, chosen: Filter = EVERYTHING) -> ShownCall:
    """A constant number of queries, whatever was asked and answered. Its neighbours are those of the chosen calls."""
    turns = turns_shown(call.item)
    numbers = {turn.index: number for number, turn in enumerate(turns, start=1)}
    found = CallAnswer.objects.filter(call=call).select_related("dimension").order_by("dimension__position")
    answers = [
        ShownAnswer(answer, score_text(answer), [_passage(quote, numbers) for quote in answer.evidence])
        for answer in found
    ]
    spans = _spans([quote for answer in found for quote in answer.evidence])
    exchanges = [
        ShownExchange(exchange, sent_messages(exchange.request))
        for exchange in Exchange.objects.filter(call=call).order_by("pk")
    ]
    return ShownCall(
        call=call,
        exchanges=exchanges,
        answers=answers,
        turns=[ShownTurn(turn, cut(turn.text, spans.get(turn.index, []))) for turn in turns],
        previous=_neighbour(call, chosen, "-position", position__lt=call.position),
        next=_neighbour(call, chosen, "position", position__gt=call.position),
    )


def texts_of_call(call: Call) -> Iterator[str]:
    """Everything that was sent for a call and came back, whole, as a text to keep. One query."""
    for number, exchange in enumerate(
        Exchange.objects.filter(call=call).order_by("pk").iterator(chunk_size=1), start=1
    ):
        yield f"=== Request {number}, {exchange.sent_at:%Y-%m-%d %H:%M:%S} UTC ===\n{indented(exchange.request)}\n\n"
        yield f"=== Reply to request {number} ===\n{exchange.reply}\n\n"
        yield f"=== The server's whole answer to request {number} ===\n{indented(exchange.raw)}\n\n"


def cut(text: str, spans: Sequence[tuple[int, int]]) -> list[Piece]:
    """The text in pieces, those within a span marked; spans may overlap, and reach beyond its end."""
    edges = sorted({0, len(text), *(min(max(edge, 0), len(text)) for span in spans for edge in span)})
    pieces: list[Piece] = []
    for start, end in pairwise(edges):
        is_quoted = any(first <= start and end <= last for first, last in spans)
        if pieces and pieces[-1].is_quoted == is_quoted:
            pieces[-1] = Piece(pieces[-1].text + text[start:end], is_quoted)
        else:
            pieces.append(Piece(text[start:end], is_quoted))
    return pieces


def _spans(quotes: Sequence[Mapping[str, Any]]) -> dict[int, list[tuple[int, int]]]:
    """turn -> where quotes stand in it."""
    found: dict[int, list[tuple[int, int]]] = {}
    for quote in quotes:
        if quote.get("turn") is not None:
            found.setdefault(int(quote["turn"]), []).append((int(quote["start"]), int(quote["end"])))
    return found


def _passage(quote: Mapping[str, Any], numbers: Mapping[int, int]) -> Passage:
    turn = quote.get("turn")
    number = None if turn is None else numbers.get(int(turn))
    return Passage(
        text=beginning_of(str(quote.get("text", ""))),
        turn=turn if number is not None else None,
        number=number,
        is_ambiguous=bool(quote.get("ambiguous")),
        is_exact=quote.get("match") == "exact",
    )


def _neighbour(call: Call, chosen: Filter, order: str, **where: int) -> int | None:
    return calls_of(call.run, chosen).filter(**where).order_by(order).values_list("pk", flat=True).first()
