"""What the three SDKs have in common: one request through their client, its answer read as plain JSON. Pure.

Loaded with the first provider, not before: the HTTP library takes a moment.
"""

import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import httpx2

from apps.llm.addresses import is_loopback
from apps.llm.prompts import Message
from apps.llm.providers.failures import scrubbed, status_failure
from apps.llm.providers.protocol import Completion, ErrorKind, Parameters, ProviderError, Target

CONNECT_SECONDS = 10.0
LONGEST_REASON = 60
LONGEST_SENTENCE = 1000
# All that a request may say beside its body. An SDK adds what variables of its own name, and that is for no endpoint.
HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "anthropic-version",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
        "x-api-key",
        "x-goog-api-client",
        "x-goog-api-key",
    }
)
HEADER_BEGINNINGS = ("x-stainless-",)


class Sent(NamedTuple):
    """The server's answer with a status of 200 or so, not read yet."""

    status: int
    text: str


class Answer(NamedTuple):
    """What an answer says, whatever the provider."""

    text: str
    finish_reason: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


class UnreadableAnswer(Exception):  # noqa: N818 - reads as what happened
    """The answer is not in the form of its protocol; the message is a sentence."""


class SdkProvider(ABC):
    """One model on one server through an SDK's client. It knows the key, and shows it nowhere."""

    def __init__(self, target: Target, key: str, transport: httpx2.BaseTransport | None = None) -> None:
        """transport: one that answers by itself, for tests."""
        self.target = target
        self._key = key
        self._http = _http_client(target, transport)

    def __del__(self) -> None:
        # When nobody holds it any more: a provider that is kept no longer may still be asking.
        if hasattr(self, "_http"):
            self.close()

    def close(self) -> None:
        """Closes its connections; it cannot be asked afterwards."""
        self._http.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.target.model} at {self.target.base_url or 'its provider'}>"

    @abstractmethod
    def request_body(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, parameters: Parameters
    ) -> dict[str, Any]:
        """What is sent, as it stands in the request."""

    @abstractmethod
    def _send(self, body: dict[str, Any]) -> Sent:
        """Sends it through the SDK. Raises whatever the SDK raises."""

    @abstractmethod
    def _read(self, found: dict[str, Any]) -> Answer:
        """Reads the answer's JSON. Raises UnreadableAnswer; a KeyError, TypeError or the like is taken for one."""

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, parameters: Parameters
    ) -> Completion:
        """Sends one request and waits for its answer. Raises ProviderError, and nothing else."""
        started = time.monotonic()
        try:
            sent = self._send(self.request_body(messages, schema, parameters))
            answer = self._answer(sent)
        except Exception as error:
            failure = self._failure(error)
            # Without its cause: that may hold the key, and whoever logs it would tell.
            raise self._told(failure, _milliseconds_since(started)) from None
        return Completion(
            text=scrubbed(answer.text, self._key),
            finish_reason=scrubbed(answer.finish_reason, self._key)[:LONGEST_REASON],
            input_tokens=_tokens(answer.input_tokens),
            output_tokens=_tokens(answer.output_tokens),
            raw=scrubbed(sent.text, self._key),
            http_status=sent.status,
            latency_ms=_milliseconds_since(started),
        )

    def _answer(self, sent: Sent) -> Answer:
        try:
            found = json.loads(sent.text)
        except (ValueError, RecursionError):
            raise _unreadable("The server's answer is not JSON.", sent) from None
        if not isinstance(found, dict):
            raise _unreadable("The server's answer is not a JSON object.", sent)
        try:
            return self._read(found)
        except UnreadableAnswer as error:
            raise _unreadable(str(error), sent) from None
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            raise _unreadable("The server's answer lacks the fields of a completion.", sent) from None

    def _failure(self, error: Exception) -> ProviderError:
        """What an SDK's exception means, told by what it holds: they all rest on the same HTTP library."""
        if isinstance(error, ProviderError):
            return error
        response = getattr(error, "response", None)
        if isinstance(response, httpx2.Response):
            # Scrubbed first: a sentence repeats a part of it, and half a key in it would not be found any more.
            return status_failure(response.status_code, scrubbed(response.text, self._key), response.headers)
        *_, broken = _chain(error)
        if isinstance(broken, httpx2.ConnectTimeout):
            return ProviderError(ErrorKind.PASSING, "The server could not be reached in time.", is_unsent=True)
        if isinstance(broken, httpx2.TimeoutException):
            return ProviderError(ErrorKind.PASSING, f"No answer within {self.target.timeout_seconds:g} seconds.")
        if isinstance(broken, httpx2.ConnectError):
            sentence = f"The server could not be reached: {_reason(broken)}."
            return ProviderError(ErrorKind.PASSING, sentence, is_unsent=True)
        if isinstance(broken, (httpx2.RequestError, OSError)):
            return ProviderError(ErrorKind.PASSING, f"The connection broke: {_reason(broken)}.")
        return ProviderError(ErrorKind.REFUSED, f"The request could not be made: {_reason(broken)}.")

    def _told(self, failure: ProviderError, latency_ms: int) -> ProviderError:
        return ProviderError(
            failure.kind,
            scrubbed(failure.message, self._key)[:LONGEST_SENTENCE],
            http_status=failure.http_status,
            retry_after=failure.retry_after,
            raw=scrubbed(failure.raw, self._key),
            latency_ms=latency_ms,
            is_unsent=failure.is_unsent,
        )


def _http_client(target: Target, transport: httpx2.BaseTransport | None) -> httpx2.Client:
    """The client a provider sends with.

    It follows no redirects, and does not send through a proxy what stays on this machine: text goes to the address that
    the endpoint names, and to no other.
    """
    return httpx2.Client(
        transport=transport,
        timeout=timeout_of(target),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
        follow_redirects=False,
        trust_env=not is_loopback(target.base_url),
        event_hooks={"request": [_leave_out_other_headers]},
    )


def _leave_out_other_headers(request: httpx2.Request) -> None:
    for name in {name.lower() for name in request.headers}:
        if name not in HEADERS and not name.startswith(HEADER_BEGINNINGS):
            del request.headers[name]


def keep_quiet(sdk: str) -> None:
    """An SDK and its HTTP library say no more than warnings, whatever its variables ask for: below, they print texts.

    Called when the SDK is loaded, which is when it reads those variables.
    """
    for name in (sdk, "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)


def timeout_of(target: Target) -> httpx2.Timeout:
    """How long to wait for the answer, and much less for a server that is not there."""
    return httpx2.Timeout(target.timeout_seconds, connect=min(target.timeout_seconds, CONNECT_SECONDS))


def _unreadable(sentence: str, sent: Sent) -> ProviderError:
    return ProviderError(ErrorKind.PASSING, sentence, http_status=sent.status, raw=sent.text)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it stands for, down to that of the HTTP library; an SDK's own says less."""
    yield error
    while error.__cause__ is not None and not isinstance(error, httpx2.RequestError):
        error = error.__cause__
        yield error


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}, {error}".strip(" ,.")


def _tokens(number: Any) -> int | None:
    """A number of tokens as the server counts them, however many; None for anything else."""
    is_number = isinstance(number, int) and not isinstance(number, bool)
    return number if is_number and number >= 0 else None


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
