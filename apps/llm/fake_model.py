"""How the fake model behaves: how slow it is, how often it fails, and what it counts. Pure; it knows no network.

The same requests in the same order meet the same faults.
"""

import json
import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from apps.llm.fake_answers import MALFORMATIONS, Answering, Question, lot, written

FAULTS = ("429", "500", "503", "hang", "drop", "malformed", "fenced", "prose", "array")
KEPT_BODIES = 1000  # the last requests, for tests to look at

_STATUS_FAULTS = {
    "429": "Too many requests for the fake model.",
    "500": "The fake model stumbled.",
    "503": "The fake model is overloaded.",
}


class ScriptError(ValueError):
    """A script that cannot be played; the message is a sentence that names the part and what it takes."""


@dataclass(frozen=True, slots=True)
class FakeReply:
    """One reply given in turn: a text, or another status with a body of its own, or none (`hang`, `drop`)."""

    text: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None  # None: a completion with the text, or an error with it
    hang: bool = False
    drop: bool = False


@dataclass(frozen=True, slots=True)
class FakeScript:
    """How the fake model behaves. Shares of faults are drawn by seed, request, and how often it was seen before.

    replies: given in turn before anything else, a text or a FakeReply each. noise: share of scores one point off.
    """

    latency_ms: float = 0
    jitter_ms: float = 0
    seed: int = 0
    faults: Mapping[str, float] = field(default_factory=dict)
    hang_seconds: float = 30
    retry_after: str = "1"
    noise: float = 0
    api_key: str = ""
    replies: Sequence[str | FakeReply] = ()

    def __post_init__(self) -> None:
        for name, share in self.faults.items():
            if name not in FAULTS:
                raise ScriptError(f"Unknown fault “{name}”: known are {', '.join(FAULTS)}.")
            if not 0 <= share <= 1:
                raise ScriptError(f"The share of “{name}” must be from 0 to 1.")
        if sum(self.faults.values()) > 1 + 1e-9:
            raise ScriptError("The shares of the faults add up to more than 1.")
        if not 0 <= self.noise <= 1:
            raise ScriptError("The noise must be from 0 to 1.")
        for name in ("latency_ms", "jitter_ms", "hang_seconds"):
            if not 0 <= getattr(self, name) <= 3_600_000:
                raise ScriptError(f"{name} must be from 0 to 3,600,000.")

    def fault(self, draw: str) -> str:
        """The fault that a request meets, or ''."""
        left = lot(self.seed, "fault", draw)
        for name, share in self.faults.items():
            if left < share:
                return name
            left -= share
        return ""

    def wait_seconds(self, draw: str) -> float:
        return (self.latency_ms + self.jitter_ms * lot(self.seed, "wait", draw)) / 1000


def parse_faults(text: str) -> dict[str, float]:
    """Shares by name from `429=0.05,malformed=0.1`. Raises ScriptError; whether they fit, the script decides."""
    shares: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, share = part.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            raise ScriptError(f"“{part}” is no fault: write a name and a share, such as 429=0.05.") from None
    return shares


class Planned(NamedTuple):
    """What becomes of one request: a reply and how long it takes."""

    reply: FakeReply
    seconds: float
    fault: str = ""


class FakeModel:
    """What the server knows of its requests. Every method may be called from any thread."""

    def __init__(self, script: FakeScript) -> None:
        self.script = script
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Forgets everything it has seen; those in flight go on."""
        with self._lock:
            self._requests = self._answered = self._refused = 0
            self._in_flight = self._max_in_flight = 0
            self._faults: Counter[str] = Counter()
            self._seen: Counter[str] = Counter()
            self._replies = deque(self.script.replies)
            self.bodies: deque[dict[str, Any]] = deque(maxlen=KEPT_BODIES)

    def stats(self) -> dict[str, Any]:
        """Counts of requests for completions; `repeated` are distinct requests that came more than once."""
        with self._lock:
            return {
                "requests": self._requests,
                "answered": self._answered,
                "refused": self._refused,
                "faults": dict(self._faults),
                "in_flight": self._in_flight,
                "max_in_flight": self._max_in_flight,
                "distinct": len(self._seen),
                "repeated": sum(times > 1 for times in self._seen.values()),
            }

    def plan(self, raw: bytes) -> Planned:
        """How a request is answered; it is in flight from now on."""
        key = sha256(raw).hexdigest()
        body = json_object(raw)
        with self._lock:
            self._requests += 1
            self._in_flight += 1
            self._max_in_flight = max(self._max_in_flight, self._in_flight)
            self._seen[key] += 1
            draw = f"{key} {self._seen[key]}"
            scripted = self._replies.popleft() if self._replies else None
            if body is not None:
                self.bodies.append(body)
        seconds = self.script.wait_seconds(draw)
        if scripted is not None:
            return Planned(FakeReply(scripted) if isinstance(scripted, str) else scripted, seconds)
        if body is None or not isinstance(body.get("messages"), list):
            return Planned(FakeReply("The request holds no JSON object with messages.", status=400), 0)
        return self._drawn(body, draw, seconds)

    def land(self, planned: Planned) -> None:
        """The request is about to get its reply, or none."""
        with self._lock:
            self._in_flight = max(self._in_flight - 1, 0)
            reply = planned.reply
            if planned.fault:
                self._faults[planned.fault] += 1
            if reply.status == 200 and not reply.hang and not reply.drop:
                self._answered += 1

    def refuse(self) -> None:
        with self._lock:
            self._requests += 1
            self._refused += 1

    def _drawn(self, body: dict[str, Any], draw: str, seconds: float) -> Planned:
        fault = self.script.fault(draw)
        if fault in _STATUS_FAULTS:
            headers = {"Retry-After": self.script.retry_after} if fault == "429" else {}
            return Planned(FakeReply(_STATUS_FAULTS[fault], status=int(fault), headers=headers), seconds, fault)
        if fault in ("hang", "drop"):
            return Planned(FakeReply(hang=fault == "hang", drop=fault == "drop"), seconds, fault)
        return Planned(FakeReply(self._text(body, draw, fault)), seconds, fault)

    def _text(self, body: dict[str, Any], draw: str, fault: str) -> str:
        question = Question.of(body["messages"])
        answering = Answering(question, self.script.seed, self.script.noise, draw)
        answer = answering.value(_schema_of(body) or question.schema)
        by = lot(self.script.seed, "malformed", draw)
        if fault == "malformed":
            fault = MALFORMATIONS[int(by * len(MALFORMATIONS))]
        return written(answer, fault=fault, by=lot(self.script.seed, "scale", draw))


def json_object(raw: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(raw)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _schema_of(body: Mapping[str, Any]) -> dict[str, Any] | None:
    form = body.get("response_format")
    if not isinstance(form, dict):
        return None
    inner = form.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, dict) else form.get("schema")
    return schema if isinstance(schema, dict) else None
