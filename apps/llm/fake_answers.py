"""What the fake model answers: JSON as the schema asks, with a quote of the conversation and scores by lot. Pure.

The same question gets the same score, whatever the order of its points and however often it is asked.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.llm.answers import CANNOT_TELL, EVIDENCE, MEMBERS, RATIONALE, SCORE

# Ways of spoiling an answer that make it no answer, for the fault "malformed".
MALFORMATIONS = ("cut off", "not json", "ten", "between", "not", "missing", "empty")

_CONVERSATION = re.compile(
    r"^=== (?P<mark>\w+) conversation begins ===\n(?P<text>.*)\n=== (?P=mark) conversation ends ===$", re.M | re.S
)
_SUPPORTER = r"^=== {mark} turn \d+, Supporter ===\n(.*?)(?=\n=== {mark} |\Z)"
_RULE = re.compile(r'"(?P<name>[^"\n]+)": exactly one of (?P<points>"[^\n]*?"), and nothing in between(?P<rest>[^\n]*)')
_NAMED_SCALE = re.compile(r"^(?:Question|Scale):[ \t]*(\S.*)$", re.M)
_MARKED_EXAMPLES = re.compile(
    r"^=== (?P<mark>\w+) (?P<name>example \d+) begins ===\n.*?^=== (?P=mark) (?P=name) ends ===$", re.M | re.S
)
_LONGEST_QUOTE = 100


def lot(*parts: object) -> float:
    """A number from 0 up to 1 that is the same for the same parts."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:7]) / 2**56


@dataclass(frozen=True, slots=True)
class Question:
    """What a prompt asks about: the conversation without its marks, a passage to quote, and the rest of the prompt."""

    conversation: str
    quote: str
    frame: str

    @classmethod
    def of(cls, messages: Sequence[Any]) -> "Question":
        """Read from the messages of a request; whatever is no text counts as empty."""
        prompt = "\n".join(content_of(message) for message in messages)
        found = _CONVERSATION.search(prompt)
        if found is None:
            return cls(prompt, "", prompt)
        mark, text = found["mark"], found["text"]
        frame = prompt[: found.start()] + prompt[found.end() :]
        frame = _MARKED_EXAMPLES.sub("", frame).replace(mark, "")
        return cls(text.replace(mark, ""), _quote(text, mark), frame)

    @property
    def scale(self) -> str:
        """What names the scale, where the prompt asks for one: the same whatever the order of its points."""
        if named := _NAMED_SCALE.findall(self.frame):
            return str(named[-1])
        return " ".join(sorted(self.frame.split()))

    @property
    def schema(self) -> dict[str, Any]:
        """The schema that the words of the prompt describe; an answer without scale if there is no such word."""
        rules = [(rule["name"], [*_words(rule["points"]), *_told(rule["rest"])]) for rule in _RULE.finditer(self.frame)]
        if not rules:
            return _answer_schema([])
        if [name for name, _ in rules] == [SCORE]:
            return _answer_schema(rules[0][1])
        return {"type": "object", "properties": {name: _answer_schema(words) for name, words in rules}}


def content_of(message: Any) -> str:
    """The text of a chat message; empty where it has none."""
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""


def _quote(text: str, mark: str) -> str:
    """The first line of what a supporter says, at most so many characters, cut at a space."""
    for said in re.findall(_SUPPORTER.format(mark=mark), text, re.M | re.S):
        line = next((line.strip() for line in said.split("\n") if line.strip()), "")
        if len(line) > _LONGEST_QUOTE:
            line = line[:_LONGEST_QUOTE].rsplit(" ", 1)[0]
        if line:
            return str(line)
    return ""


def _words(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


def _told(rest: str) -> list[str]:
    return [CANNOT_TELL] if f'"{CANNOT_TELL}"' in rest else []


def _answer_schema(words: list[str]) -> dict[str, Any]:
    kinds: dict[str, Any] = {RATIONALE: {"type": "string"}, EVIDENCE: {"type": "array"}, SCORE: {"enum": words}}
    return {"type": "object", "properties": {name: kinds[name] for name in MEMBERS}}


# --- Answers --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answering:
    """How one request is answered. noise: the share of scores that move to a neighbour; `draw` decides which ones."""

    question: Question
    seed: int
    noise: float = 0.0
    draw: str = ""

    def value(self, schema: Mapping[str, Any], scale: str = "") -> Any:
        """A value as the schema asks, with its members in the schema's order. scale: its name, where it has one."""
        if "enum" in schema:
            return self._score(schema["enum"], scale)
        if isinstance(properties := schema.get("properties"), dict):
            is_answer = SCORE in properties
            return {
                name: self.value(part if isinstance(part, dict) else {}, scale if is_answer else name)
                for name, part in properties.items()
            }
        quotes = [self.question.quote] if self.question.quote else []
        kinds = {"array": quotes, "number": 0, "integer": 0, "boolean": False, "null": None, "object": {}}
        return kinds.get(str(schema.get("type")), "A made-up reason: the supporter's words were weighed by lot.")

    def _score(self, allowed: Sequence[Any], scale: str) -> Any:
        points = sorted((word for word in allowed if word != CANNOT_TELL), key=_order)
        if not points:
            return CANNOT_TELL if allowed else ""
        name = scale or self.question.scale
        place = int(lot(self.seed, self.question.conversation, name) * len(points))
        if lot(self.seed, "noise", self.draw, name) < self.noise:
            place += 1 if lot(self.seed, "side", self.draw, name) < 0.5 else -1
        return points[min(max(place, 0), len(points) - 1)]


def _order(point: Any) -> tuple[float, str]:
    try:
        return float(point), str(point)
    except (TypeError, ValueError):
        return float("inf"), str(point)


# --- Spoiled answers ------------------------------------------------------------------------------------------------


def written(answer: Any, *, fault: str = "", by: float = 0.0) -> str:
    """The answer as the text of a reply. fault: `fenced`, `prose`, `array`, or one of MALFORMATIONS.

    by: from 0 up to 1; decides which scale of several is spoiled.
    """
    text = json.dumps(answer, ensure_ascii=False)
    match fault:
        case "fenced":
            return f"```json\n{text}\n```"
        case "prose":
            return f"Here is my rating.\n\n{text}\n\nI hope this helps."
        case "array":
            return f"[{text}]"
        case "cut off":
            return text[: len(text) * 2 // 3]
        case "not json":
            return text.removesuffix("}") + ",}"
        case "empty":
            return ""
        case "ten" | "between" | "not" | "missing":
            return json.dumps(_spoiled(answer, fault, by), ensure_ascii=False)
    return text


def _spoiled(answer: Any, fault: str, by: float) -> Any:
    if not isinstance(answer, dict) or not answer:
        return answer
    if SCORE not in answer:
        name = list(answer)[int(by * len(answer))]
        return {**answer, name: _spoiled(answer[name], fault, by)}
    if fault == "missing":
        return {name: value for name, value in answer.items() if name != SCORE}
    return {**answer, SCORE: {"ten": 10, "between": 4.5, "not": "not 3"}[fault]}
