"""Every call of a run as lines of JSON: what was asked, what came back, and what was read from it, for a researcher."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from apps.llm.models import Call, CallAnswer, Exchange, Run

# A server's answer may have a million characters: so few calls are in memory at a time.
CALLS_AT_ONCE = 20


def call_lines(run: Run) -> Iterator[str]:
    """One line for each call in the order of the run, whatever its state; three queries for every CALLS_AT_ONCE.

    Texts stand as they are stored: requests are bodies without headers, and no text holds a key.
    """
    shared = _shared(run)
    last = -1
    while calls := _calls_after(run, last):
        last = calls[-1].position
        exchanges = _by_call(Exchange.objects.filter(call__in=calls).order_by("pk"))
        answers = _by_call(
            CallAnswer.objects.filter(call__in=calls).select_related("dimension").order_by("dimension__position")
        )
        for call in calls:
            line = shared | _call(call)
            line["answers"] = [_answer(answer) for answer in answers[call.pk]]
            line["exchanges"] = [_exchange(exchange) for exchange in exchanges[call.pk]]
            yield json.dumps(line, ensure_ascii=False) + "\n"


def _calls_after(run: Run, position: int) -> list[Call]:
    known = Call.objects.filter(run=run, position__gt=position).order_by("position")
    return list(known.select_related("item__conversation", "item__block", "framework", "dimension")[:CALLS_AT_ONCE])


def _by_call(rows: Iterable[Any]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        found[row.call_id].append(row)
    return found


def _shared(run: Run) -> dict[str, Any]:
    """What is the same in every line, so that a line can be read without the others."""
    rater = run.model_rater
    return {
        "run": run.pk,
        "reverses_run": run.checks_id,
        "rater": rater.rater.name,
        "rater_hash": rater.content_hash,
        "provider": rater.provider,
        "model": rater.model,
        "currency": run.endpoint.currency,
    }


def _call(call: Call) -> dict[str, Any]:
    return {
        "call": call.position + 1,
        "key": call.key,
        "block": call.item.block.slug,
        "item": call.item.conversation.external_id,
        "role": call.item.role,
        "framework": call.framework.slug,
        "framework_version": call.framework.version,
        "dimension": call.dimension.slug if call.dimension else None,
        "sample": call.sample + 1,
        "state": call.state,
        "problem": call.problem,
        "finished_at": _moment(call.finished_at),
    }


def _answer(answer: CallAnswer) -> dict[str, Any]:
    return {
        "dimension": answer.dimension.slug,
        "value": answer.value,
        "cannot_tell": answer.cannot_tell,
        "rationale": answer.rationale,
        "evidence": answer.evidence,
        "fault": answer.fault,
        "reason": answer.reason,
        "notes": answer.notes,
    }


def _exchange(exchange: Exchange) -> dict[str, Any]:
    """cost: a text, as exact as it is kept; None for what is not known."""
    return {
        "state": exchange.state,
        "is_repair": exchange.is_repair,
        "sent_at": _moment(exchange.sent_at),
        "ended_at": _moment(exchange.ended_at),
        "request_hash": exchange.request_hash,
        "request": exchange.request,
        "reply": exchange.reply,
        "raw": exchange.raw,
        "http_status": exchange.http_status,
        "problem": exchange.problem,
        "finish_reason": exchange.finish_reason,
        "latency_ms": exchange.latency_ms,
        "estimated_tokens": exchange.estimated_tokens,
        "input_tokens": exchange.input_tokens,
        "output_tokens": exchange.output_tokens,
        "cost": None if exchange.cost is None else str(exchange.cost),
        "may_be_billed": exchange.may_be_billed,
    }


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
