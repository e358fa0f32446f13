"""Reading a model's reply, strictly: an answer is one that was allowed, or it is invalid. The rules:
docs/language-models.md. Pure."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from apps.llm.answers import (
    CANNOT_TELL,
    EVIDENCE,
    MEMBERS,
    RATIONALE,
    SCORE,
    AllowedAnswers,
    framework_form,
    scale_form,
)
from apps.llm.faults import REPAIRS, Fault
from apps.llm.json_reading import JsonNumber, JsonObject, Reading, Unreadable, read_object

MAX_SHOWN = 60  # characters of a reply that a reason shows
MAX_QUOTES = 50  # of one answer
MAX_REPEATED = 2000  # characters of a reply that the repair call shows
NO_REPLY = "(no reply)"
MAX_EXTRA = 50  # keys that were not asked for and are named

# A number as JSON writes it: no plus sign, no leading zero, no other digits than these.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ScaleAnswer:
    """What a reply says on one scale: a declared point, cannot_tell, or nothing that counts, and then why.

    Rationale and evidence are kept in each case, and are storable. `notes` are sentences on what else was not as
    asked, and does not touch the score. An invalid answer has a fault, and a sentence as its reason.
    """

    slug: str
    score: float | None = None
    is_cannot_tell: bool = False
    rationale: str = ""
    evidence: tuple[str, ...] = ()
    fault: Fault | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        return self.fault is None


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a reply says on each scale that was asked for, in the order asked.

    reading: how its JSON was found; None if none was, and then every answer has the same reason.
    extra: what else stood in its outermost object, storable.
    """

    answers: tuple[ScaleAnswer, ...]
    reading: Reading | None = None
    extra: tuple[str, ...] = ()

    @property
    def invalid(self) -> tuple[ScaleAnswer, ...]:
        return tuple(answer for answer in self.answers if not answer.is_valid)

    def answer(self, slug: str) -> ScaleAnswer:
        """The answer on a scale. Raises KeyError where the scale was not asked for."""
        return {answer.slug: answer for answer in self.answers}[slug]


def storable_text(text: str) -> str:
    """The text with a replacement character (U+FFFD) for each NUL and lone surrogate, which no database stores."""
    return _NOT_STORABLE.sub("\ufffd", text)


# --- Reading ------------------------------------------------------------------------------------------------------


def parse_scale_reply(text: str, allowed: AllowedAnswers) -> ParsedReply:
    """The reply to a prompt for one scale. Whatever the text is, nothing is raised."""
    try:
        root, reading = read_object(text)
    except Unreadable as error:
        return ParsedReply((_invalid(allowed, error.fault, str(error)),))
    return ParsedReply((_answer(root, allowed),), reading, _others(root, MEMBERS))


def parse_framework_reply(text: str, scales: Sequence[AllowedAnswers]) -> ParsedReply:
    """The reply to a prompt for several scales: each stands for itself. Whatever the text is, nothing is raised."""
    try:
        root, reading = read_object(text)
    except Unreadable as error:
        return ParsedReply(tuple(_invalid(allowed, error.fault, str(error)) for allowed in scales))
    answers = tuple(_member_answer(root, allowed) for allowed in scales)
    return ParsedReply(answers, reading, _others(root, [allowed.slug for allowed in scales]))


def _invalid(allowed: AllowedAnswers, fault: Fault, reason: str) -> ScaleAnswer:
    return ScaleAnswer(allowed.slug, fault=fault, reason=reason)


def _others(found: JsonObject, known: Iterable[str]) -> tuple[str, ...]:
    expected = set(known)
    others = [_cut(storable_text(key)) for key in found.keys if key not in expected]
    more = [f"and {len(others) - MAX_EXTRA:,} more"] if len(others) > MAX_EXTRA else []
    return (*others[:MAX_EXTRA], *more)


def _member_answer(root: JsonObject, allowed: AllowedAnswers) -> ScaleAnswer:
    slug, values = allowed.slug, root.values(allowed.slug)
    if not values:
        return _invalid(allowed, Fault.MISSING, f"“{slug}” is missing.")
    if len(values) > 1:
        return _invalid(allowed, Fault.REPEATED, f"“{slug}” stands {len(values)} times.")
    if not isinstance(values[0], JsonObject):
        reason = f"“{slug}” is {_shown(values[0])}; an object with a score was asked for."
        return _invalid(allowed, Fault.NOT_AN_OBJECT, reason)
    others = [f"“{key}” was not asked for." for key in _others(values[0], MEMBERS)]
    answer = _answer(values[0], allowed)
    return replace(answer, notes=(*answer.notes, *others))


def _answer(found: JsonObject, allowed: AllowedAnswers) -> ScaleAnswer:
    notes: list[str] = []
    answer = _score(found, allowed)
    return replace(
        answer,
        rationale=_rationale(found.values(RATIONALE), notes.append),
        evidence=_evidence(found.values(EVIDENCE), notes.append),
        notes=tuple(notes),
    )


def _score(found: JsonObject, allowed: AllowedAnswers) -> ScaleAnswer:
    """The answer as far as its score goes."""
    for key in MEMBERS:
        if (times := len(found.values(key))) > 1:
            return _invalid(allowed, Fault.REPEATED, f"“{key}” stands {times} times.")
    values = found.values(SCORE)
    if not values:
        return _invalid(allowed, Fault.MISSING, "“score” is missing.")
    (value,) = values
    if allowed.cannot_tell and isinstance(value, str) and value.strip() == CANNOT_TELL:
        return ScaleAnswer(allowed.slug, is_cannot_tell=True)
    if (point := _point(value, allowed)) is not None:
        return ScaleAnswer(allowed.slug, point)
    reason = f"“score” is {_shown(value)}, which is none of the allowed answers: {', '.join(allowed.words)}."
    return _invalid(allowed, Fault.NOT_ALLOWED, reason)


def _point(value: Any, allowed: AllowedAnswers) -> float | None:
    literal = value.literal if isinstance(value, JsonNumber) else value.strip() if isinstance(value, str) else ""
    if not _NUMBER.fullmatch(literal):
        return None
    try:
        return allowed.point(Decimal(literal))
    except InvalidOperation:  # an exponent beyond what Decimal holds, so beyond every point
        return None


def _rationale(values: list[Any], note: Callable[[str], None]) -> str:
    if not values or values[0] is None:
        return ""
    if not isinstance(values[0], str):
        note(f"“rationale” is {_shown(values[0])} and no text; it is left out.")
        return ""
    return _storable(values[0], RATIONALE, note)


def _evidence(values: list[Any], note: Callable[[str], None]) -> tuple[str, ...]:
    """The quotes that are texts and not blank. One text in place of a list is a list of one."""
    if not values or values[0] is None:
        return ()
    entries = [values[0]] if isinstance(values[0], str) else values[0]
    if not isinstance(entries, list):
        note(f"“evidence” is {_shown(entries)} and no list of texts; it is left out.")
        return ()
    texts = [entry for entry in entries if isinstance(entry, str)]
    if len(texts) < len(entries):
        note(f"“evidence” holds {len(entries) - len(texts)} entries that are no text; they are left out.")
    quotes = [text for text in texts if text.strip()]
    if len(quotes) > MAX_QUOTES:
        note(f"“evidence” holds {len(quotes):,} quotes; the first {MAX_QUOTES} are kept.")
    return tuple(_storable(text, EVIDENCE, note) for text in quotes[:MAX_QUOTES])


def _storable(text: str, member: str, note: Callable[[str], None]) -> str:
    stored = storable_text(text)
    if stored != text:
        note(f"“{member}” holds characters that cannot be stored; they are replaced.")
    return stored


# --- What a reason shows of a reply -------------------------------------------------------------------------------


def _shown(value: Any) -> str:
    """A value as it stood there, cut short; a list or an object by its kind only."""
    if isinstance(value, JsonObject):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, JsonNumber):
        return _cut(value.literal)
    return _cut(
        storable_text(json.dumps(storable_text(value) if isinstance(value, str) else value, ensure_ascii=False))
    )


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


# --- The one repair call ------------------------------------------------------------------------------------------


def scales_to_repair(parsed: ParsedReply, scales: Sequence[AllowedAnswers]) -> list[AllowedAnswers]:
    """Those of the scales whose answer is invalid, in the order given: what the repair call asks for."""
    invalid = {answer.slug for answer in parsed.invalid}
    return [allowed for allowed in scales if allowed.slug in invalid]


def shown_reply(reply: str) -> str:
    """The model's own reply between the question and what is wrong with it: its beginning, and never blank, which
    servers refuse."""
    text = reply.strip()
    if len(text) > MAX_REPEATED:
        text = f"{text[:MAX_REPEATED].rstrip()} […]"
    return text or NO_REPLY


def repair_message(parsed: ParsedReply, scales: Sequence[AllowedAnswers], *, is_framework: bool) -> str:
    """The message that asks once more, for the invalid answers only: what was wrong, and the form expected.

    scales: those of the first prompt, in its order. Every allowed answer is shown and none is favoured; nothing of
    what the model wrote is repeated. Raises ValueError where nothing is invalid.
    """
    wanted = scales_to_repair(parsed, scales)
    if not wanted:
        raise ValueError("There is nothing to repair: every answer is valid.")
    form = framework_form(wanted) if is_framework else scale_form(wanted[0])
    return "\n".join(
        [
            "Your reply could not be used:",
            *(f"- {sentence}" for sentence in _sentences(parsed, is_framework)),
            "",
            "Judge by the conversation, the scale and its points alone. No answer is preferred to another.",
            form,
        ]
    )


def _sentences(parsed: ParsedReply, is_framework: bool) -> list[str]:
    """One sentence where the reply could not be read at all, else one for each scale."""
    faults = {answer.slug: answer.fault for answer in parsed.invalid if answer.fault}
    if parsed.reading is None or not is_framework:
        return list(dict.fromkeys(REPAIRS[fault] for fault in faults.values()))
    return [f"For “{slug}”: {REPAIRS[fault]}" for slug, fault in faults.items()]
