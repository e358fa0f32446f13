"""What every provider of models offers Accord, whatever its SDK looks like: one request, one completion. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from apps.llm.prompts import Message


class ErrorKind(StrEnum):
    """What becomes of a call whose request failed."""

    PASSING = "passing"  # 408, 409, 5xx, a timeout, a connection that broke: tried again later
    RATE = "rate"  # 429: tried again, and the endpoint is left alone meanwhile
    KEY = "key"  # no key, 401, 403: the run pauses
    QUOTA = "quota"  # the account has nothing left (a 429 or 402 that says so): the run pauses
    NOT_FOUND = "not_found"  # 404: the run pauses
    REFUSED = "refused"  # 400 and every other 4xx: this call has failed
    SETUP = "setup"  # the package is not installed, say: the run pauses


# What a provider's protocol has no place for, so that its adapter never sends it.
NEVER_SENT: Mapping[str, frozenset[str]] = {"anthropic": frozenset({"temperature", "seed"})}


def can_send(provider: str, parameter: str) -> bool:
    """Whether the provider's adapter sends the parameter (`temperature` or `seed`) where it is given."""
    return parameter not in NEVER_SENT.get(provider, frozenset())


@dataclass(frozen=True, slots=True)
class Target:
    """A model on a server: what an endpoint says, as plain data."""

    provider: str
    base_url: str
    model: str
    key_variable: str = ""
    response_format: str = "json_schema"
    max_tokens_name: str = "max_tokens"
    timeout_seconds: float = 120


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is sent beside the messages. None: not sent, so left to the provider."""

    max_tokens: int
    temperature: float | None = None
    seed: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Those that are sent."""
        found = {"max_tokens": self.max_tokens, "temperature": self.temperature, "seed": self.seed}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer. `text` may be empty; tokens are None where the server did not say."""

    text: str
    finish_reason: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    raw: str = ""
    http_status: int | None = 200
    latency_ms: int = 0


class ProviderError(Exception):
    """A request that brought no completion. The message never holds the key."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        http_status: int | None = None,
        retry_after: float | None = None,
        raw: str = "",
        latency_ms: int = 0,
        is_unsent: bool = False,
    ) -> None:
        """is_unsent: there was no connection, so that the server knows nothing of the request."""
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.http_status = http_status
        self.retry_after = retry_after
        self.raw = raw
        self.latency_ms = latency_ms
        self.is_unsent = is_unsent

    @property
    def may_be_billed(self) -> bool:
        """Whether the model may have worked on it: no answer in time, one that broke off, or one nobody can read."""
        without_answer = self.http_status is None or self.http_status < 400 or self.http_status in (408, 504)
        return self.kind is ErrorKind.PASSING and without_answer and not self.is_unsent


class Provider(Protocol):
    """One model on one server. Safe to call from several threads; it never retries by itself."""

    def request_body(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, parameters: Parameters
    ) -> dict[str, Any]:
        """What `complete` sends, as JSON to be stored; without the key."""
        ...

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, parameters: Parameters
    ) -> Completion:
        """Sends one request and waits for its answer. Raises ProviderError, and nothing else."""
        ...
