"""What makes a prompt version, and a request, the same as another: hashes; and what changed between versions. Pure."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from apps.llm.answers import point_text
from apps.llm.prompts import PROMPT_FORMAT, Message
from apps.llm.templates import PromptTemplate

Change = Literal["same", "removed", "added"]

# Up to so much is compared line by line: two texts of 50,000 characters may be 100,000 empty lines.
MOST_LINES = 1_000
MOST_STEPS = 2_000_000


class ExampleChoice(NamedTuple):
    """A conversation shown as an example for a scale: low, middle or high, its external id, its content, its score."""

    dimension: str
    slot: str
    item: str
    content_hash: str
    score: float


@dataclass(frozen=True, slots=True)
class VersionContent:
    """All that a prompt version freezes. Two with the same content are the same rater.

    framework_version: its number; framework_hash: `FrameworkSpec.content_hash`. parameters: those that are sent; one
    that is left to the provider is left out here. schemas: slug of a scale, or `-` for a whole framework -> its JSON
    schema, members in the order they are asked for. prompt_format: of the texts around the template.
    """

    template: PromptTemplate
    framework: str
    framework_version: int
    framework_hash: str
    provider: str
    base_url: str
    model: str
    parameters: Mapping[str, Any]
    schemas: Mapping[str, Mapping[str, Any]]
    examples: tuple[ExampleChoice, ...] = ()
    is_reversed: bool = False
    cannot_tell: bool = False
    prompt_format: int = PROMPT_FORMAT

    @property
    def content_hash(self) -> str:
        """SHA-256, 64 hexadecimal digits. Raises ValueError for a parameter that JSON cannot hold."""
        return _sha256(
            {
                "use": self.template.use,
                "system": self.template.system,
                "user": self.template.user,
                "framework": [self.framework, self.framework_version, self.framework_hash],
                "examples": [[*choice[:-1], _plain(choice.score)] for choice in self.examples],
                "endpoint": [self.provider, self.base_url, self.model],
                "parameters": _plain(self.parameters),
                "schemas": {slug: _in_order(schema) for slug, schema in self.schemas.items()},
                "options": [self.is_reversed, self.cannot_tell, self.prompt_format],
            }
        )


class DiffLine(NamedTuple):
    change: Change
    text: str


def diff_lines(before: Sequence[str], after: Sequence[str]) -> list[DiffLine] | None:
    """Every line of both, in order: those they share once, else what was removed before what was added.

    None where there are too many lines to read or to compare.
    """
    if max(len(before), len(after)) > MOST_LINES:
        return None
    start = _n_shared(before, after)
    end = _n_shared(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if _steps_to_compare(old, new) > MOST_STEPS:
        return None
    tail = before[len(before) - end :]
    return [*_changed("same", before[:start]), *_compared(old, new), *_changed("same", tail)]


def request_hash(
    *,
    provider: str,
    base_url: str,
    model: str,
    parameters: Mapping[str, Any],
    messages: Sequence[Message],
    schema: Mapping[str, Any] | None,
    sample: int,
) -> str:
    """SHA-256, 64 hexadecimal digits, of one request: what is sent, whereto, and which of the k samples it is.

    The order of the parameters does not matter, nor whether a whole number is written 1 or 1.0; that of the schema's
    members does, since a model answers in it. Raises ValueError for a parameter that JSON cannot hold.
    """
    return _sha256(
        {
            "endpoint": [provider, base_url, model],
            "parameters": _plain(parameters),
            "messages": [[message.role, message.content] for message in messages],
            "schema": None if schema is None else _in_order(schema),
            "sample": sample,
        }
    )


def _n_shared(before: Sequence[str], after: Sequence[str]) -> int:
    """How many lines both begin with."""
    pairs = zip(before, after, strict=False)
    return next((i for i, (old, new) in enumerate(pairs) if old != new), min(len(before), len(after)))


def _steps_to_compare(before: Sequence[str], after: Sequence[str]) -> int:
    """At most about so many: each stretch of shared lines that is found may cost a look at every pair of equal ones."""
    old, new = Counter(before), Counter(after)
    shared = old.keys() & new.keys()
    pairs = sum(old[line] * new[line] for line in shared)
    n_stretches = min(sum(old[line] for line in shared), sum(new[line] for line in shared))
    return (pairs + len(before)) * n_stretches


def _compared(before: Sequence[str], after: Sequence[str]) -> list[DiffLine]:
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    lines: list[DiffLine] = []
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            lines += _changed("same", before[start:end])
        else:
            lines += [*_changed("removed", before[start:end]), *_changed("added", after[new_start:new_end])]
    return lines


def _changed(change: Change, texts: Iterable[str]) -> list[DiffLine]:
    return [DiffLine(change, text) for text in texts]


def example_line(choice: ExampleChoice) -> str:
    """An example as a line of a version's content."""
    score = point_text(choice.score)
    return f"example for {choice.dimension}, {choice.slot}: {choice.item} = {score} ({choice.content_hash[:12]})"


def _sha256(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_compact(content).encode()).hexdigest()


def _compact(value: Any) -> str:
    """JSON in one form only: sorted, and in ASCII, so that lone surrogates do no harm. Raises ValueError."""
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except TypeError as error:
        raise ValueError(f"JSON cannot hold this: {error}.") from error


def _in_order(value: Any) -> Any:
    """A schema with its members as a list of pairs, which sorting leaves alone."""
    if isinstance(value, Mapping):
        return {"members": [[key, _in_order(member)] for key, member in value.items()]}
    return [_in_order(element) for element in value] if isinstance(value, list | tuple) else value


def _plain(value: Any) -> Any:
    """The value with whole numbers written one way: 1.0 as 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    return [_plain(element) for element in value] if isinstance(value, list | tuple) else value
