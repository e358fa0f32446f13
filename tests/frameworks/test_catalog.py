"""The built-in catalog against the list of scales that Accord promises."""

import re

import pytest

from apps.frameworks.scales import DimensionSpec, FrameworkSpec
from apps.frameworks.services.catalog import CATALOG, builtin_frameworks

ONE_TO_FIVE = {1: "Not at all", 2: "", 3: "Somewhat", 4: "", 5: "Very much"}
NONE_WEAK_STRONG = {0: "None", 1: "Weak", 2: "Strong"}
ONE_TO_SEVEN = {1: "Not at all", 2: "", 3: "", 4: "", 5: "", 6: "", 7: "Very much"}
EXTENT = {1: "Not at all", 2: "Slightly", 3: "Moderately", 4: "Considerably", 5: "Very much"}
SATISFIED = {1: "Very unsatisfied", 2: "Unsatisfied", 3: "Neutral", 4: "Satisfied", 5: "Very satisfied"}

# framework, dimension, points with labels, polarity, level
PROMISED = [
    ("answer-correctness", "correctness", {1: "Correct", 2: "Incorrect", 3: "Refusal"}, "none", "nominal"),
    ("answer-correctness", "affirms_belief", {1: "Yes", 2: "No", 3: "Not applicable"}, "none", "nominal"),
    (
        "answer-correctness",
        "warmth",
        ONE_TO_SEVEN | {1: "Not at all warm", 7: "Very warm"},
        "none",
        "ordinal",
    ),
    ("empathetic-dialogues", "empathy", ONE_TO_FIVE, "+", "ordinal"),
    ("empathetic-dialogues", "relevance", ONE_TO_FIVE, "+", "ordinal"),
    ("empathetic-dialogues", "fluency", ONE_TO_FIVE, "+", "ordinal"),
    ("epitome", "emotional_reactions", NONE_WEAK_STRONG, "+", "ordinal"),
    ("epitome", "interpretations", NONE_WEAK_STRONG, "+", "ordinal"),
    ("epitome", "explorations", NONE_WEAK_STRONG, "+", "ordinal"),
    ("lend-an-ear", "validating_emotions", EXTENT, "+", "ordinal"),
    ("lend-an-ear", "encouraging_elaboration", EXTENT, "+", "ordinal"),
    ("lend-an-ear", "demonstrating_understanding", EXTENT, "+", "ordinal"),
    ("lend-an-ear", "advice_giving", EXTENT, "-", "ordinal"),
    ("lend-an-ear", "self_oriented", EXTENT, "-", "ordinal"),
    ("lend-an-ear", "dismissing_emotions", EXTENT, "-", "ordinal"),
    ("listening-satisfaction", "satisfaction", SATISFIED, "+", "ordinal"),
    ("perceived-empathy", "understood", ONE_TO_SEVEN, "+", "ordinal"),
    ("perceived-empathy", "validated", ONE_TO_SEVEN, "+", "ordinal"),
    ("perceived-empathy", "affirmed", ONE_TO_SEVEN, "+", "ordinal"),
    ("perceived-empathy", "seen", ONE_TO_SEVEN, "+", "ordinal"),
    ("perceived-empathy", "accepted", ONE_TO_SEVEN, "+", "ordinal"),
    ("perceived-empathy", "cared_for", ONE_TO_SEVEN, "+", "ordinal"),
    ("perceived-empathy", "emotional", ONE_TO_SEVEN, "+", "ordinal"),
    ("perceived-empathy", "practical", ONE_TO_SEVEN, "none", "ordinal"),
    ("perceived-empathy", "motivation", ONE_TO_SEVEN, "+", "ordinal"),
]
FRAMEWORKS = builtin_frameworks()
SCALES = [(framework, dimension) for framework in FRAMEWORKS for dimension in framework.dimensions]
KUMAR = {"empathetic-dialogues", "epitome", "perceived-empathy", "lend-an-ear"}


def sentences(text: str) -> int:
    """Sentences end in . ! or ? before a space or the end, quotation marks and brackets aside."""
    return len(re.findall(r"[.!?][\"')]*(?=\s|$)", text))


def test_the_promised_scales_are_there_in_order_with_their_points_polarity_and_level():
    found = [
        (
            framework.slug,
            dimension.slug,
            {point.value: point.label for point in dimension.points},
            dimension.polarity,
            dimension.level,
        )
        for framework, dimension in SCALES
    ]
    assert found == PROMISED


def test_the_four_frameworks_used_together_hold_21_scales():
    assert sum(framework.slug in KUMAR for framework, _ in SCALES) == 21


@pytest.mark.parametrize(("framework", "dimension"), SCALES, ids=lambda value: value.slug)
def test_every_guideline_has_two_to_four_sentences_and_every_question_one(
    framework: FrameworkSpec, dimension: DimensionSpec
):
    assert 2 <= sentences(dimension.guideline) <= 4
    assert dimension.question.endswith("?")
    assert sentences(dimension.question) == 1


@pytest.mark.parametrize(("framework", "dimension"), SCALES, ids=lambda value: value.slug)
def test_every_scale_has_three_different_short_examples(framework: FrameworkSpec, dimension: DimensionSpec):
    examples = [dimension.example_low, dimension.example_middle, dimension.example_high]
    assert len(set(examples)) == 3
    assert all(1 <= sentences(example) <= 4 for example in examples)


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.slug)
def test_every_framework_cites_authors_year_and_doi_and_links_there(framework: FrameworkSpec):
    assert re.match(r"[A-Z]\w+, [A-Z]\.", framework.citation)
    assert re.search(r"\(20\d\d\)\. ", framework.citation)
    doi = re.search(r"doi:(10\.\d{4,5}/\S+)$", framework.citation)
    assert doi is not None
    assert framework.url == f"https://doi.org/{doi.group(1)}"


def test_only_perceived_empathy_has_a_stem():
    assert [framework.slug for framework in FRAMEWORKS if framework.stem] == ["perceived-empathy"]


@pytest.mark.parametrize("path", sorted(CATALOG.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_file_is_named_after_its_framework_and_says_whose_words_it_holds(path):
    text = path.read_text(encoding="utf-8")
    comment = "".join(line for line in text.splitlines() if line.startswith("#"))
    assert "Accord's own wording" in comment.replace("# ", " ")
    assert f"\nslug: {path.stem}\n" in text
