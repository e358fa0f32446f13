"""Scales, frameworks and conversations of these tests."""

from hypothesis import settings

from apps.frameworks.scales import DimensionSpec, FrameworkSpec, PointSpec
from apps.llm.answers import AllowedAnswers
from apps.llm.prompts import PromptTurn

# No deadline: the machine may be busy with other tests.
property_test = settings(max_examples=200, deadline=None)

FIVE = AllowedAnswers("empathy", (1.0, 2.0, 3.0, 4.0, 5.0), cannot_tell=True)
HALVES = AllowedAnswers("fluency", (0.0, 0.1, 4.5))
SCALES = (FIVE, HALVES)

FRAMEWORK = FrameworkSpec(
    slug="calm-scales",
    name="Calm scales",
    citation="Made up for the tests",
    stem="Think of the whole conversation.",
    dimensions=(
        DimensionSpec(
            slug="calm",
            label="Calm",
            question="How calm is the supporter?",
            guideline="Count the tone. Leave out the content.",
            points=(PointSpec(1, "Not at all"), PointSpec(2), PointSpec(3, "Very")),
            example_low="Hurry up!",
            example_high="We have time.",
        ),
        DimensionSpec(
            slug="kind",
            label="Kind of reply",
            question="Which kind of reply is it?",
            guideline="Choose one.",
            points=(PointSpec(0, "Question"), PointSpec(0.5, "Both"), PointSpec(1, "Other")),
            level="nominal",
        ),
    ),
)

TURNS = (
    PromptTurn("seeker", "I lost it.\n\nAll of it."),
    PromptTurn("supporter", "  What did you lose? 😀 "),
    PromptTurn("other", "Hello", "Dr\nWho"),
)
