"""What a rater has typed or clicked for one scale, read from the fields of the form."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext

from apps.annotation.services.screens import CANNOT_TELL, EvidencePart, ScalePart
from apps.frameworks.models import ScalePoint
from apps.frameworks.scales import NUMBER
from apps.studies.models import Study

LONGEST_COMMENT = 5_000
LONGEST_PASSAGE = 5_000
MOST_PASSAGES = 50


@dataclass(slots=True)
class Answer:
    """An answer as it was sent. None for comment or evidence: its field was not sent, what stands there stays.

    `value` is None also where nothing was chosen; `is_given` tells that from "cannot tell". `errors` are sentences for
    the rater; an answer with any is not to be written.
    """

    value: float | None = None
    cannot_tell: bool = False
    value_text: str = ""
    comment: str | None = None
    evidence: list[EvidencePart] | None = None
    based_on: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def is_given(self) -> bool:
        return self.cannot_tell or self.value is not None

    @property
    def has_support(self) -> bool:
        return bool(self.comment or self.evidence)


def read_answer(*, fields: Mapping[str, str], dimension: int, study: Study) -> Answer:
    """The answer for the dimension with this primary key; what cannot be meant or is not asked for is in `errors`.

    Whether the value is a point of the scale is not known here: `record_rating` knows.
    """
    answer = Answer()
    _read_value(answer, fields.get(f"value-{dimension}", "").strip(), study)
    _read_comment(answer, fields.get(f"comment-{dimension}"), study)
    _read_evidence(answer, fields.get(f"evidence-{dimension}"), study)
    based_on = fields.get(f"based-on-{dimension}", "").strip() or "0"
    # An author who says nothing has seen nothing: what stands there is then not overwritten unseen.
    if based_on.isascii() and based_on.isdecimal() and len(based_on) < 10:
        answer.based_on = int(based_on)
    else:
        answer.errors.append(gettext("This page is damaged. Open it anew."))
    return answer


def complete(answer: Answer, scale: ScalePart) -> None:
    """Takes over from what stands what the answer leaves open; says what it lacks, or does not fit the scale."""
    if answer.is_given:
        if answer.value is not None and answer.value not in [point.value for point in scale.points]:
            points = ", ".join(point.value_text for point in scale.points)
            answer.errors.append(gettext("Choose one of %(points)s.") % {"points": points})
    elif scale.is_stored:
        answer.cannot_tell = scale.cannot_tell
        answer.value = None if scale.cannot_tell else float(scale.value_text)
        answer.value_text = scale.value_text
    elif answer.has_support:
        answer.errors.append(gettext("Choose a point first: a comment or evidence belongs to one."))
    if answer.evidence is not None:
        answer.evidence = with_places(answer.evidence, scale.evidence)


def with_places(evidence: Sequence[EvidencePart], standing: Iterable[EvidencePart]) -> list[EvidencePart]:
    """The passages; one without a place that stands there already, as a line of the plain form, keeps that place."""
    known: dict[str, list[EvidencePart]] = {}
    for one in standing:
        known.setdefault(one.line, []).append(one)
    return [known[one.line].pop(0) if one.turn is None and known.get(one.line) else one for one in evidence]


def is_changed(answer: Answer, scale: ScalePart) -> bool:
    """Whether the answer says anything else than what stands on the scale."""
    if not answer.is_given:
        return False
    value_text = "" if answer.cannot_tell else answer.value_text
    stands = scale.is_stored and (scale.value_text, scale.cannot_tell) == (value_text, answer.cannot_tell)
    return (
        not stands
        or (answer.comment is not None and answer.comment != scale.comment)
        or (answer.evidence is not None and answer.evidence != scale.evidence)
    )


def _read_value(answer: Answer, text: str, study: Study) -> None:
    if text == CANNOT_TELL:
        answer.cannot_tell = True
        if not study.allow_cannot_tell:
            answer.errors.append(gettext("This study asks for a point on every scale."))
    elif text and NUMBER.fullmatch(text) and len(text) < 20:
        # Adding zero turns -0.0 into 0.0.
        answer.value = float(text) + 0.0
        answer.value_text = ScalePoint(value=answer.value).value_text
    elif text:
        answer.errors.append(gettext("Choose one of the points of the scale."))


def _read_comment(answer: Answer, text: str | None, study: Study) -> None:
    if text is None:
        return
    text = _plain(text)
    if text and not study.allow_comments:
        answer.errors.append(gettext("This study takes no comments."))
        return
    if problem := _text_problem(text, LONGEST_COMMENT):
        answer.errors.append(problem)
    answer.comment = text


def _read_evidence(answer: Answer, text: str | None, study: Study) -> None:
    if text is None:
        return
    text = _plain(text)
    if text in ("", "[]"):
        answer.evidence = []
        return
    if not study.allow_evidence:
        answer.errors.append(gettext("This study takes no evidence."))
        return
    try:
        passages = _from_json(text) if text.startswith("[{") else _from_lines(text)
    except ValueError:
        answer.errors.append(gettext("The evidence could not be read. Choose the passages again."))
        return
    if len(passages) > MOST_PASSAGES:
        answer.errors.append(gettext("At most %(number)s passages can be kept.") % {"number": MOST_PASSAGES})
    problems = (_text_problem(one.text, LONGEST_PASSAGE) for one in passages)
    answer.errors += list(dict.fromkeys(problem for problem in problems if problem))
    answer.evidence = passages


def _from_lines(text: str) -> list[EvidencePart]:
    return [EvidencePart(line.strip()) for line in text.splitlines() if line.strip()]


def _from_json(text: str) -> list[EvidencePart]:
    """Raises ValueError for what is no list of {"text", "turn", "start", "end"}."""
    try:
        passages = json.loads(text)
    except RecursionError as problem:
        raise ValueError("nested too deep") from problem
    found = []
    for passage in passages:
        if not isinstance(passage, dict) or not isinstance(passage.get("text"), str):
            raise ValueError("a passage is an object with a text")
        place = [passage.get(name) for name in ("turn", "start", "end")]
        if not all(number is None or type(number) is int for number in place):
            raise ValueError("a place is whole numbers")
        if passage["text"].strip():
            found.append(EvidencePart(passage["text"], *place))
    return found


def _plain(text: str) -> str:
    """As it is stored: forms send line breaks as CR LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _text_problem(text: str, longest: int) -> str:
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return gettext("The text holds a character that cannot be stored. Type it anew.")
    if len(text) > longest:
        return gettext("The text is too long: at most %(number)s characters can be kept.") % {"number": longest}
    return ""
