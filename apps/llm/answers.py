"""What a model may answer on a scale, and how it is told so: in words, and as a JSON schema. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from apps.frameworks.scales import DimensionSpec

CANNOT_TELL = "cannot_tell"

RATIONALE = "rationale"
EVIDENCE = "evidence"
SCORE = "score"
# The reasons come before the score, so that the score can follow from them.
MEMBERS = (RATIONALE, EVIDENCE, SCORE)

_ONE = '{"rationale": "...", "evidence": ["...", "..."], "score": "..."}'


@dataclass(frozen=True, slots=True)
class AllowedAnswers:
    """The answers one scale takes: the values of its points in the order they are shown, and perhaps cannot_tell."""

    slug: str
    points: tuple[float, ...]
    cannot_tell: bool = False

    @classmethod
    def to_scale(
        cls, dimension: DimensionSpec, *, cannot_tell: bool = False, is_reversed: bool = False
    ) -> "AllowedAnswers":
        """Those of a framework's scale; reversed, the last point comes first."""
        points = tuple(point.value for point in dimension.points)
        return cls(dimension.slug, points[::-1] if is_reversed else points, cannot_tell)

    @property
    def words(self) -> tuple[str, ...]:
        """Each answer as it is written in a prompt and in the schema: `1`, `2.5`, `cannot_tell`."""
        return (*map(point_text, self.points), *([CANNOT_TELL] if self.cannot_tell else []))

    def point(self, number: Decimal) -> float | None:
        """The declared point that is exactly this number, or None. Nothing is rounded: 3.0 is 3, 3.0000001 is not."""
        return next((float(point) for point in self.points if Decimal(repr(float(point))) == number), None)


def point_text(value: float) -> str:
    """A point as a person writes it: 3 and 2.5, not 3.0."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


# --- In words -----------------------------------------------------------------------------------------------------


def scale_form(answers: AllowedAnswers) -> str:
    """The form of an answer on one scale."""
    rules = _member_rules(f'- "score": {_score_rule(answers)}')
    return f"Answer with one JSON object and nothing else, in this form:\n{_ONE}\n{rules}"


def framework_form(scales: Sequence[AllowedAnswers]) -> str:
    """The form of an answer on several scales: one object with a member for each."""
    rows = ",\n".join(f'  "{answers.slug}": {_ONE}' for answers in scales)
    scores = "\n".join(f'  - for "{answers.slug}": {_score_rule(answers)}' for answers in scales)
    rules = _member_rules(f'- "score":\n{scores}')
    return f"Answer with one JSON object and nothing else, in this form:\n{{\n{rows}\n}}\n{rules}"


def _member_rules(score: str) -> str:
    return (
        '- "rationale": first, in two or three sentences, what in the conversation decides the score.\n'
        '- "evidence": the passages this rests on, copied word for word from the conversation; [] if there are none.\n'
        f"{score}"
    )


def _score_rule(answers: AllowedAnswers) -> str:
    points = ", ".join(f'"{point_text(point)}"' for point in answers.points)
    rule = f"exactly one of {points}, and nothing in between"
    if not answers.cannot_tell:
        return f"{rule}."
    return f'{rule}; or "{CANNOT_TELL}" if the conversation gives nothing to judge by.'


# --- As a schema --------------------------------------------------------------------------------------------------


def scale_schema(answers: AllowedAnswers) -> dict[str, Any]:
    """The JSON schema of an answer on one scale. The order of its members matters: keep it as text, not sorted.

    The allowed scores are texts ("3"): an enum of numbers, or of numbers and a word, is refused by some providers.
    """
    return _closed_object(
        {
            RATIONALE: {"type": "string"},
            EVIDENCE: {"type": "array", "items": {"type": "string"}},
            SCORE: {"type": "string", "enum": list(answers.words)},
        }
    )


def framework_schema(scales: Sequence[AllowedAnswers]) -> dict[str, Any]:
    """The JSON schema of an answer on several scales."""
    return _closed_object({answers.slug: scale_schema(answers) for answers in scales})


def _closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
