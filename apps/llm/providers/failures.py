"""What went wrong with a request, as a ProviderError: by status, and by what the server says of it. Pure."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from apps.llm.providers.protocol import ErrorKind, ProviderError

HIDDEN = "[key]"
SHORTEST_KEY = 4  # anything shorter is no secret, and would tear words apart
LONGEST_KEPT = 1_000_000  # characters of what a server sends; a reply of a fifth of it is too long to be read
LONGEST_SAID = 500  # characters of a server's own words that a sentence repeats

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
# The account is empty: words of error codes and messages, whatever the status. A provider that says "quota" of a limit
# by the minute is not meant.
_EMPTY_ACCOUNT = re.compile(
    r"insufficient[_ ](?:quota|credits?|balance|funds)|billing_(?:hard_limit|not_active)|credit balance is too low",
    re.I,
)
_DAILY_QUOTA = re.compile(r'"quotaId"\s*:\s*"[^"]*PerDay')
_BAD_KEY = re.compile(r"API_KEY_INVALID|API key not valid|API key expired", re.I)
# A text that a filter did not let through, as gateways and providers say it of one request: codes, then words.
_FILTERED = re.compile(
    r"content_(?:filter|policy)|responsibleaipolicy|moderation|"
    r"(?:input|prompt|content|request|message)s? (?:was|were|has been|have been) flagged|"
    r"content (?:filter|policy|management policy)|violat\w+ (?:our |the )?(?:\w+ )?(?:usage )?(?:polic|guideline)",
    re.I,
)
# What speaks of the account all the same, and so of every request.
_NO_LEAVE = re.compile(r"\bkeys?\b|permission|forbidden|not authori[sz]ed|unauthori[sz]ed|\baccess\b|account", re.I)
_DELAY = re.compile(r'"retryDelay"\s*:\s*"([0-9.]+)s"')
_KINDS = {
    401: ErrorKind.KEY,
    402: ErrorKind.QUOTA,
    403: ErrorKind.KEY,
    404: ErrorKind.NOT_FOUND,
    408: ErrorKind.PASSING,
    409: ErrorKind.PASSING,
    429: ErrorKind.RATE,
}
_SENTENCES = {
    ErrorKind.PASSING: "The server could not answer just now (status {status}).",
    ErrorKind.RATE: "The server asks to be sent fewer requests (status {status}).",
    ErrorKind.KEY: "The server does not take the key (status {status}).",
    ErrorKind.QUOTA: "The account has nothing left (status {status}).",
    ErrorKind.NOT_FOUND: "The server has nothing at this address, or no such model (status {status}).",
    ErrorKind.REFUSED: "The server refused the request (status {status}).",
}


def scrubbed(text: str, key: str) -> str:
    """The text without the key, however it is spelled in JSON or in an address; and storable in any database.

    So no text that is read out of a scrubbed reply has the key in it, and neither has what is kept of the reply.
    """
    if len(key) >= SHORTEST_KEY:
        text = _spellings(key).sub(HIDDEN, text)
    return _NOT_STORABLE.sub("\ufffd", text[:LONGEST_KEPT])


@lru_cache(maxsize=64)
def _spellings(key: str) -> re.Pattern[str]:
    return re.compile("".join(map(_spelling, key)))


def _spelling(sign: str) -> str:
    """A character of a key as itself, as `\\u006b` or as `%6b`; with more backslashes where JSON stands within JSON."""
    code = ord(sign)
    escaped = rf"\\{{1,8}}u(?i:{code:04x})|%(?i:{code:02x})"
    if sign == "\\":
        return rf"(?:\\{{1,8}}u(?i:{code:04x})|\\{{1,8}}|%(?i:{code:02x}))"
    return rf"(?:{escaped}|\\{{0,8}}{re.escape(sign)})"


def status_failure(status: int, text: str, headers: Mapping[str, str], *, now: datetime | None = None) -> ProviderError:
    """What an answer with another status than 200 means. headers: their names in lower case, or in any if the mapping
    does not tell them apart."""
    said = _said(text)
    kind = _kind(status, text, said)
    sentence = _SENTENCES[kind].format(status=status)
    if said:
        sentence = f"{sentence} It says: {said}"
    wait = retry_after(headers, now=now)
    if wait is None and (delay := _DELAY.search(text)):
        wait = _number(delay[1])
    return ProviderError(kind, sentence, http_status=status, retry_after=wait, raw=text)


def _kind(status: int, text: str, said: str) -> ErrorKind:
    if status in (400, 403) and _is_filtered(text, said):
        return ErrorKind.REFUSED
    if status in (400, 403, 429):
        if _EMPTY_ACCOUNT.search(f"{said} {_codes(text)}") or (status == 429 and _DAILY_QUOTA.search(text)):
            return ErrorKind.QUOTA
        if status == 400 and _BAD_KEY.search(text):
            return ErrorKind.KEY
    if status in _KINDS:
        return _KINDS[status]
    if 300 <= status < 400:
        return ErrorKind.NOT_FOUND  # moved; nothing is sent to an address that no endpoint names
    return ErrorKind.REFUSED if 400 <= status < 500 else ErrorKind.PASSING


def _is_filtered(text: str, said: str) -> bool:
    """Whether this one text was not let through: the next may be, so neither key nor account is at fault.

    OpenRouter puts what its moderation found beside the message; others say it in a code, or in words.
    """
    error = _error(text)
    found = error.get("metadata") if isinstance(error, dict) else None
    if isinstance(found, dict) and ("flagged_input" in found or "reasons" in found):
        return True
    words = f"{said} {_codes(text)}"
    return bool(_FILTERED.search(words)) and not _NO_LEAVE.search(words)


def _error(text: str) -> Any:
    """The part of a body that tells of the error: `{"error": {...}}`, `[{"error": ...}]`, or all of it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    return found.get("error", found) if isinstance(found, dict) else found


def _said(text: str) -> str:
    """The server's own words on one line, at most so many characters of them."""
    error = _error(text)
    if isinstance(error, dict):
        error = next((error[name] for name in ("message", "detail", "error") if isinstance(error.get(name), str)), "")
    words = error if isinstance(error, str) else "" if text.lstrip().startswith(("{", "[", "<")) else text
    line = " ".join(words.split())
    return line if len(line) <= LONGEST_SAID else f"{line[:LONGEST_SAID]}…"


def _codes(text: str) -> str:
    error = _error(text)
    return " ".join(str(error.get(name, "")) for name in ("code", "type")) if isinstance(error, dict) else ""


# --- How long to wait -----------------------------------------------------------------------------------------------


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds to wait, as `retry-after-ms` or `retry-after` say (seconds, or a date); None if neither is readable."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    if (seconds := _number(text)) is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
