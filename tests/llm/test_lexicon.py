"""The lexical rules: what each counts, and that more of it never gives a lower point."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.frameworks.framework_file import read_framework
from apps.llm.lexicon import (
    RULES,
    Counts,
    Cue,
    Rule,
    count,
    intensity,
    is_english,
    point_of,
    supporter_speaks,
    words_of,
)
from apps.llm.transcript import PromptTurn
from apps.llm.word_lists import entries
from tests.llm.made import property_test

FIVE = (1.0, 2.0, 3.0, 4.0, 5.0)
SEVEN = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
THREE = (0.0, 1.0, 2.0)

# The worked examples of docs/baselines.md: scale, points, seeker, what the supporter says turn by turn -> cues, units,
# point.
WORKED = [
    (
        ("empathetic-dialogues", "empathy"),
        FIVE,
        "My cat died.",
        ["I'm so sorry. That must hurt."],
        (3, 1, 5.0),
    ),
    (
        ("empathetic-dialogues", "relevance"),
        FIVE,
        "My sister moved to Canada last week.",
        ["Has your sister settled in Canada yet?"],
        (2, 4, 5.0),
    ),
    (("epitome", "emotional_reactions"), THREE, "I failed.", ["Hang in there. It will work out."], (1, 1, 1.0)),
    (
        ("epitome", "interpretations"),
        THREE,
        "I failed.",
        ["You must feel crushed. I know what that's like."],
        (2, 1, 2.0),
    ),
    (("epitome", "explorations"), THREE, "I failed.", ["Do you want to talk? Tell me more."], (2, 1, 2.0)),
    (("perceived-empathy", "practical"), SEVEN, "I failed.", ["You could ask for help."], (1, 1, 4.0)),
    (
        ("lend-an-ear", "validating_emotions"),
        FIVE,
        "I am angry.",
        ["That makes sense.", "What did you do?", "Go on."],
        (1, 3, 2.0),
    ),
    (
        ("lend-an-ear", "encouraging_elaboration"),
        FIVE,
        "I am angry.",
        ["What happened?", "Well, that's office life.", "Take your time.", "I see."],
        (2, 4, 3.0),
    ),
    (
        ("lend-an-ear", "demonstrating_understanding"),
        FIVE,
        "I am angry.",
        ["So you sat there.", "What now?"],
        (1, 2, 3.0),
    ),
    (
        ("lend-an-ear", "advice_giving"),
        FIVE,
        "I am angry.",
        ["Try a walk. You should tell her.", "Tell me more.", "Hm.", "I see.", "Yes."],
        (2, 5, 3.0),
    ),
    (
        ("lend-an-ear", "self_oriented"),
        FIVE,
        "I am angry.",
        ["When my boss did that, I just left and never went back there."],
        (2, 13, 5.0),
    ),
    (
        ("lend-an-ear", "dismissing_emotions"),
        FIVE,
        "I am angry.",
        ["At least you have work.", "Hm.", "I see.", "Yes.", "And then?"],
        (1, 5, 3.0),
    ),
]


def talk(seeker: str, said: list[str]) -> tuple[PromptTurn, ...]:
    return (PromptTurn("seeker", seeker), *(PromptTurn("supporter", text) for text in said))


@pytest.mark.parametrize(
    ("key", "points", "seeker", "said", "expected"), WORKED, ids=[str(one[0][1]) for one in WORKED]
)
def test_each_rule_by_hand(key, points, seeker, said, expected):
    rule = RULES[key]
    counts = count(rule, talk(seeker, said))
    assert (counts.cues, counts.units, point_of(intensity(rule, counts), points)) == expected


def test_every_rule_has_a_worked_example():
    assert {one[0] for one in WORKED} == set(RULES)


def test_the_documentation_has_each_example_as_it_is_tested(settings):
    text = (settings.BASE_DIR / "docs/baselines.md").read_text(encoding="utf-8")
    for (framework, dimension), _points, _seeker, said, (cues, units, point) in WORKED:
        [line] = [
            line for line in text.splitlines() if line.startswith(f"| `{framework}/{dimension}` | ") and '"' in line
        ]
        assert all(f'"{turn}"' in line for turn in said)
        assert f"| {cues}, {units} " in line
        assert line.removesuffix(" |").removesuffix(" of 7").endswith(f"| {point:g}")
        rule = RULES[framework, dimension]
        assert f"| {rule.full:g} " in line


@pytest.mark.parametrize("slug", sorted({framework for framework, _dimension in RULES}))
def test_rules_are_for_ordinal_scales_of_the_catalog_and_its_high_example_is_never_below_the_low_one(slug, settings):
    spec = read_framework((settings.BASE_DIR / f"apps/frameworks/catalog/{slug}.yaml").read_bytes())
    scales = {one.slug: one for one in spec.dimensions}
    for (framework, dimension), rule in RULES.items():
        if framework != slug:
            continue
        scale = scales[dimension]
        assert scale.level == "ordinal"
        found = [
            intensity(rule, count(rule, talk(spec.description, [text])))
            for text in (scale.example_low, scale.example_middle, scale.example_high)
        ]
        assert found[0] <= min(found[1:]), dimension


@pytest.mark.parametrize(
    ("share", "points", "point"),
    [
        (0, FIVE, 1),
        (0.19, FIVE, 1),
        (0.2, FIVE, 2),
        (0.6, FIVE, 4),
        (0.8, FIVE, 5),
        (1, FIVE, 5),
        (0.33, THREE, 0),
        (1 / 3, THREE, 1),
        (2 / 3, THREE, 2),
        (3 / 7, SEVEN, 4),
        (0.5, (0.0, 0.1, 4.5), 0.1),
    ],
)
def test_an_intensity_is_cut_into_equal_parts_and_a_limit_belongs_to_the_part_above(share, points, point):
    assert point_of(share, points) == point


def test_nothing_to_count_against_is_no_intensity():
    assert intensity(Rule(Cue.ADVICE, 1), Counts(0, 0)) == 0.0


# --- Properties -------------------------------------------------------------------------------------------------------

rules = st.sampled_from(sorted(RULES.values(), key=str))
scales = st.lists(st.floats(-9, 9).map(lambda value: round(value, 1)), min_size=2, max_size=9, unique=True).map(sorted)
texts = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            ["you", "should", "try", "to", "I", "me", "at least", "sorry", "go", "on", "?", ".", "cat", "don’t"]
        ),
        max_size=12,
    ).map(" ".join),
)
talks = st.lists(st.tuples(st.sampled_from(["seeker", "supporter", "other"]), texts), max_size=6).map(
    lambda turns: tuple(PromptTurn(role, text) for role, text in turns)
)
# A cue of each kind, as a sentence at the end of a turn.
SENTENCES = {
    Cue.INVITATIONS: "tell me more",
    Cue.ADVICE: "you should",
    Cue.FIRST_PERSON: "myself",
    Cue.VALIDATION: "that makes sense",
    Cue.CONCERN: "i'm sorry",
    Cue.DISMISSAL: "cheer up",
    Cue.UNDERSTANDING: "i hear you",
    Cue.EMPATHY: "lonely",
}


@property_test
@given(rule=rules, points=scales, turns=talks)
def test_the_result_is_always_a_declared_point(rule, points, turns):
    counts = count(rule, turns)
    assert counts.cues >= 0
    assert 0 <= intensity(rule, counts) <= 1
    assert point_of(intensity(rule, counts), points) in points


@property_test
@given(rule=rules, points=scales, cues=st.integers(0, 50), units=st.integers(0, 50))
def test_more_cues_never_lower_the_point_and_more_units_never_raise_it(rule, points, cues, units):
    def rated(cues: int, units: int) -> float:
        return point_of(intensity(rule, Counts(cues, units)), points)

    assert rated(cues, units) <= rated(cues + 1, units)
    if units:
        assert rated(cues, units) >= rated(cues, units + 1)


@property_test
@given(rule=rules, points=scales, turns=talks, seeker=st.text("abc", min_size=4, max_size=9))
def test_a_cue_more_at_the_end_of_a_turn_never_lowers_the_point(rule, points, turns, seeker):
    sentence = SENTENCES.get(rule.cue, seeker)
    turns = (PromptTurn("seeker", seeker), *turns, PromptTurn("supporter", "Well."))
    more = (*turns[:-1], PromptTurn("supporter", f"Well. {sentence}."))
    before, after = count(rule, turns), count(rule, more)
    assert point_of(intensity(rule, before), points) <= point_of(intensity(rule, after), points)
    if rule.cue is not Cue.SHARED_WORDS:
        assert after.cues == before.cues + 1


# --- Words ------------------------------------------------------------------------------------------------------------


def test_only_what_the_supporter_says_is_counted():
    turns = (
        PromptTurn("seeker", "You should. I? Me?"),
        PromptTurn("other", "Try it! Why?"),
        PromptTurn("supporter", "Hm."),
    )
    for rule in RULES.values():
        assert count(rule, turns).cues == 0


def test_case_and_curly_apostrophes_make_no_difference():
    for text in ("I'm sorry", "I’M SORRY", "i‘m sorry"):
        assert count(Rule(Cue.CONCERN, 1), talk("", [text])) == Counts(1, 1)
    assert words_of("Don’t 3 x_y STOP") == ["don't", "x", "y", "stop"]


def test_a_phrase_ends_where_its_words_end():
    assert count(Rule(Cue.FIRST_PERSON, 1), talk("", ["Mime in a mine: imagine it's I."])) == Counts(2, 7)
    assert count(Rule(Cue.DISMISSAL, 1), talk("", ["Chat leastways, at  least."])) == Counts(1, 1)


def test_of_entries_that_overlap_the_longest_counts_once():
    assert count(Rule(Cue.CONCERN, 1), talk("", ["So sorry to hear it."])) == Counts(1, 1)


@pytest.mark.parametrize(
    ("text", "cues"),
    [
        ("Go for a walk.", 1),
        ("Please stop. Just rest!", 2),
        ("Tell me more. Go on.", 0),
        ("Do you know why? Don't they care?", 0),
        ("Don't quit.", 1),
        ("Try to sleep.", 1),
        ("I stop there.", 0),
    ],
)
def test_an_imperative_opens_a_sentence_and_invitations_advise_nothing(text, cues):
    assert count(Rule(Cue.ADVICE, 1), talk("", [text])).cues == cues


def test_a_turn_without_a_word_is_no_turn():
    turns = talk("Hm.", ["...", "", "What now?"])
    assert count(Rule(Cue.INVITATIONS, 1), turns) == Counts(1, 1)
    assert supporter_speaks(turns)
    assert not supporter_speaks(talk("Hm.", ["...", " ", "123"]))


@pytest.mark.parametrize(
    ("language", "english"),
    [("", True), ("en", True), ("en-GB", True), ("EN_us", True), ("English", True), ("de", False), ("enm", False)],
)
def test_a_conversation_without_a_language_is_taken_for_english(language, english):
    assert is_english(language) is english


def test_lists_are_lower_case_words_without_doubles():
    for name in ("invitations", "advice", "imperatives", "first_person", "validation", "concern", "dismissal"):
        for entry in entries(name):
            assert entry == entry.lower()
            assert words_of(entry) == entry.split()
    with pytest.raises(KeyError):
        entries("nothing")
