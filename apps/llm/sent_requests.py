"""The messages in a stored request, whichever provider's protocol it was written in. Pure."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from apps.llm.replies import storable_text


class SentMessage(NamedTuple):
    role: str
    text: str


def sent_messages(request: str) -> list[SentMessage]:
    """What was said to the model, in order; empty where the text is no request of a known form."""
    body = _loaded(request)
    if not isinstance(body, dict):
        return []
    return [message for message in _messages(body) if message.text]


def indented(text: str) -> str:
    """JSON with its members below each other; anything else as it is."""
    body = _loaded(text)
    return text if body is None else storable_text(json.dumps(body, ensure_ascii=False, indent=2))


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _messages(body: dict[str, Any]) -> Iterator[SentMessage]:
    for name in ("system", "systemInstruction"):
        if body.get(name):
            yield SentMessage("system", _text(body[name]))
    for name in ("messages", "contents"):
        rows = body.get(name)
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict):
                yield SentMessage(str(row.get("role") or "user"), _text(row.get("content", row)))


def _text(content: Any) -> str:
    """The words of a text, of an object with parts, or of a list of parts."""
    if isinstance(content, str):
        return storable_text(content)  # JSON can name half a surrogate pair, which is no character
    if isinstance(content, dict):
        return _text(content.get("text") or content.get("parts") or "")
    if isinstance(content, list):
        return "\n".join(_text(part) for part in content)
    return ""
