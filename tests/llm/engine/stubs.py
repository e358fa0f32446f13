"""A provider without a network, and replies as models write them."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apps.llm.models import Exchange, Run
from apps.llm.prompts import Message
from apps.llm.providers.protocol import Completion, ErrorKind, Parameters, ProviderError
from apps.llm.services.claiming import Claimer, Claims
from apps.llm.services.reading import Outcome
from apps.llm.services.storing import store

Reply = str | Completion | Exception
Sent = tuple[tuple[Message, ...], Mapping[str, Any] | None, Parameters]


class StubProvider:
    """Answers with the replies in order, the last of them for ever; or as a function of what was sent says."""

    def __init__(self, *replies: Reply, by: Callable[[Sent], Reply] | None = None) -> None:
        self.replies = list(replies) or [answer()]
        self.by = by
        self.sent: list[Sent] = []
        self._lock = threading.Lock()

    def request_body(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, parameters: Parameters
    ) -> dict[str, Any]:
        return {"messages": [message._asdict() for message in messages], "schema": schema} | parameters.as_dict()

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, parameters: Parameters
    ) -> Completion:
        with self._lock:
            self.sent.append((tuple(messages), schema, parameters))
            reply = self.by(self.sent[-1]) if self.by else self.replies.pop(0)
            if not self.by and not self.replies:
                self.replies.append(reply)
        if isinstance(reply, Exception):
            raise reply
        return completion(reply) if isinstance(reply, str) else reply


def answer(score: Any = "3", rationale: str = "Because it is so.", evidence: Sequence[str] = ()) -> str:
    """A reply on one scale."""
    return json.dumps({"rationale": rationale, "evidence": list(evidence), "score": score})


def framework_answer(scores: Mapping[str, Any]) -> str:
    """A reply on several scales."""
    return json.dumps({slug: json.loads(answer(score)) for slug, score in scores.items()})


def completion(text: str, **fields: Any) -> Completion:
    raw = json.dumps({"choices": [{"message": {"content": text}}]})
    values = {"finish_reason": "stop", "input_tokens": 100, "output_tokens": 20, "raw": raw, "latency_ms": 5}
    return Completion(text, **values | fields)


def error(kind: ErrorKind, message: str = "The server said no.", **fields: Any) -> ProviderError:
    return ProviderError(kind, message, **fields)


def claims(run: Run, wanted: int = 100) -> Claims:
    return Claimer(run.endpoint_id).claim(wanted)


def outcomes(found: Claims, *replies: Reply) -> list[Outcome]:
    """Each claim with its reply; the last reply for all that follow."""
    results = [completion(reply) if isinstance(reply, str) else reply for reply in replies or [answer()]]
    return [
        Outcome(
            claimed,
            results[min(number, len(results) - 1)],  # type: ignore[arg-type]
            Exchange.objects.values_list("sent_at", flat=True).get(pk=claimed.exchange_id),
        )
        for number, claimed in enumerate(found.claimed)
    ]


def answer_once(run: Run, *replies: Reply, wanted: int = 100) -> list[Outcome]:
    """Claim, answer and store once; without threads."""
    found = outcomes(claims(run, wanted), *replies)
    store(found)
    return found


def at_once_due(run: Run) -> None:
    """Nothing waits any more: as if the time had passed."""
    run.calls.update(not_before=None)
    type(run.endpoint).objects.filter(pk=run.endpoint_id).update(held_until=None, failed_in_a_row=0)
