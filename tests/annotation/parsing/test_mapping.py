"""Which column of a ratings file means what."""

import pytest

from apps.annotation.parsing.mapping import MappingQuestion, complete_mapping, parse_maps, suggested_fields
from apps.annotation.parsing.values import DimensionScale, Scales
from apps.corpus.parsing.records import FileError
from apps.frameworks.scales import PointSpec

POINTS = (PointSpec(1), PointSpec(2))


def scales(*keys: str) -> Scales:
    return Scales(DimensionScale(*key.split("/"), POINTS) for key in keys)


KIND = scales("kind/warmth", "kind/cared_for", "kind/advice")
TWO = scales("kind/warmth", "cold/warmth", "cold/advice")


def mapped(columns, *maps, of=KIND, has_rater=True):
    return complete_mapping(parse_maps(maps), columns, of, has_rater=has_rater)


def test_a_wide_file_is_guessed_from_slugs_and_known_prefixes():
    mapping = mapped(["", "conv_id", "level_warmth", "m_caredfor", "full_conversation", "response_length"])
    assert mapping.columns == {"item": "conv_id"}
    assert mapping.dimensions == {"kind/warmth": "level_warmth", "kind/cared_for": "m_caredfor"}
    assert mapping.is_wide


def labelled(*dimensions: tuple[str, str, str]) -> Scales:
    """Scales of (framework, slug, label); the framework `lend` is called Lend an Ear."""
    names = {"lend": "Lend an Ear", "epi": "EPITOME"}
    return Scales(
        (DimensionScale(framework, slug, POINTS, label=label, framework_name=names[framework])
         for framework, slug, label in dimensions),
        by_label=True,
    )  # fmt: skip


LEND = labelled(
    ("lend", "emotional", "Emotional reactions"), ("lend", "self", "Self-oriented"), ("lend", "shows", "Demonstrating")
)
BOTH = labelled(("lend", "emotional", "Emotional reactions"), ("epi", "er", "Emotional Reactions"), ("epi", "q", "Q"))


@pytest.mark.parametrize(
    "headers",
    [
        ["Emotional reactions", "Self-oriented", "Demonstrating"],
        ["emotional_reactions", "SELF ORIENTED", " demonstrating "],
        ["Emotional-Reactions", "selfOriented", "Lend an Ear: Demonstrating"],
        ["lend/emotional", "Lend_an_ear self-oriented", "m_demonstrating"],
    ],
)
def test_a_header_may_be_a_label_or_nearly_so_with_or_without_its_framework(headers):
    mapping = mapped(["Conversation", *headers], of=LEND)
    assert mapping.dimensions == dict(zip(["lend/emotional", "lend/self", "lend/shows"], headers, strict=True))


def test_evidence_may_follow_a_label():
    mapping = mapped(["item", "Self-oriented", "Self-oriented quote"], of=LEND)
    assert mapping.evidence == {"lend/self": "Self-oriented quote"}


def test_a_label_that_two_frameworks_share_is_asked_about_and_the_rest_is_suggested():
    columns = ["nr", "emotional reactions", "Q"]
    with pytest.raises(MappingQuestion) as asked:
        mapped(columns, of=BOTH, has_rater=False)
    assert [(one.field, one.text) for one in asked.value.questions] == [
        (
            "dimension.lend/emotional",
            "The column emotional reactions may be a dimension of several frameworks: Lend an Ear: Emotional reactions "
            "or EPITOME: Emotional Reactions. Choose it for the one it is.",
        ),
        ("item", "Choose the column that holds the conversation’s id."),
        ("rater", "Whose ratings are these? Choose the column that says it, or give one rater’s name."),
    ]
    assert "--map dimension.lend/emotional=emotional reactions or --map" in str(asked.value)
    assert suggested_fields({}, columns, BOTH, has_rater=False) == {"dimension.epi/q": "Q"}
    told = mapped(["item", "EPITOME: emotional reactions"], of=BOTH)
    assert told.dimensions == {"epi/er": "EPITOME: emotional reactions"}


def test_a_slug_that_is_the_label_of_another_dimension_is_not_guessed():
    crossed = labelled(("lend", "care", "Support"), ("lend", "support", "Care"))
    with pytest.raises(MappingQuestion, match="may be several dimensions"):
        mapped(["item", "support"], of=crossed)


def test_what_a_form_says_has_no_column_is_not_asked_about_again():
    maps = ["dimension.epi/q=Q", "evidence.lend/emotional=", "evidence.epi/er=", "evidence.epi/q="]
    mapping = mapped(["item", "Q", "emotional reactions quote"], *maps, of=BOTH)
    assert (mapping.dimensions, mapping.evidence) == ({"epi/q": "Q"}, {})


def test_suggestions_keep_what_was_said_and_forbid_what_was_forbidden():
    given = parse_maps(["item=", "dimension.self="])
    columns = ["item", "Self-oriented", "Demonstrating", "who"]
    assert suggested_fields(given, columns, LEND, has_rater=True) == {"dimension.lend/shows": "Demonstrating"}


def test_evidence_columns_are_guessed_beside_their_dimension():
    mapping = mapped(["id", "warmth", "warmth_example", "advice", "rationales_advice", "cared_for_example"])
    assert mapping.evidence == {"kind/warmth": "warmth_example", "kind/advice": "rationales_advice"}


def test_a_long_file_has_a_dimension_and_a_value():
    mapping = mapped(["Item", "Rater", "Dimension", "Score", "Comment"], has_rater=False)
    assert mapping.columns == {
        "item": "Item",
        "rater": "Rater",
        "dimension": "Dimension",
        "value": "Score",
        "comment": "Comment",
    }
    assert not mapping.is_wide


def test_a_more_telling_header_is_taken_for_the_item():
    assert mapped(["id", "user_id", "conversation_id", "warmth"]).columns["item"] == "conversation_id"


def test_a_named_rater_leaves_a_rater_column_alone():
    assert "rater" not in mapped(["item", "rater", "warmth"]).columns


def test_what_is_given_goes_before_a_guess():
    mapping = mapped(["item", "code", "warmth", "w2", "advice"], "item=code", "dimension.warmth=w2")
    assert mapping.columns["item"] == "code"
    assert mapping.dimensions == {"kind/warmth": "w2"}


def test_an_empty_column_forbids_the_guess():
    assert "comment" not in mapped(["item", "dimension", "value", "comment"], "comment=").columns


def test_a_long_file_may_be_read_as_a_wide_one_when_told():
    mapping = mapped(["item", "dimension", "value", "warmth"], "dimension.warmth=warmth")
    assert mapping.dimensions == {"kind/warmth": "warmth"}
    assert mapping.columns == {"item": "item"}


def test_the_exact_slug_goes_before_a_prefixed_one():
    assert mapped(["item", "m_warmth", "warmth"]).dimensions == {"kind/warmth": "warmth"}


def test_dimensions_of_two_frameworks_are_told_apart_by_the_framework():
    mapping = mapped(["item", "kind/warmth", "cold.warmth"], of=TWO)
    assert mapping.dimensions == {"kind/warmth": "kind/warmth", "cold/warmth": "cold.warmth"}
    mapping = mapped(["item", "w"], "dimension.cold/warmth=w", "evidence.cold/warmth=w", of=TWO)
    assert mapping.as_dict() == {"item": "item", "dimension.cold/warmth": "w", "evidence.cold/warmth": "w"}
    assert mapping.used() == {"item", "w"}


@pytest.mark.parametrize(
    ("columns", "maps", "of", "words"),
    [
        (["item", "warmth"], ["item=nr"], KIND, r"no column nr \(for item\)\. Its headers are: item, warmth"),
        (["item", "other"], [], KIND, r"No column holds ratings: .+ The headers are: item, other\."),
        (["nr", "warmth"], [], KIND, r"No column is mapped to the field item .+ The headers are: nr, warmth\."),
        (
            ["item", "warmth"],
            [],
            TWO,
            r"may be a dimension of several frameworks.+dimension\.kind/warmth=warmth",
        ),
        (["item", "m_warmth", "level_warmth"], [], KIND, r"may both be kind/warmth\. Say which: --map dimension\.kind"),
        (["item", "w"], ["dimension.wrmth=w"], KIND, r"dimension\.wrmth: wrmth is no dimension of the block"),
        (
            ["item", "a", "b"],
            ["dimension.warmth=a", "dimension.kind/warmth=b"],
            KIND,
            r"The columns a and b are both given for dimension\.kind/warmth",
        ),
        (["item", "w"], ["evidence.warmth=w"], KIND, r"no column of values for kind/warmth"),
        (["item", "warmth", "say"], ["comment=say"], KIND, r"The field comment belongs to a long file"),
        (["item", "value"], ["value=value"], KIND, r"No column holds ratings"),
        (["item", "who", "warmth"], ["rater=who"], KIND, r"given by name and by the column who"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused_with_the_headers_seen(columns, maps, of, words):
    with pytest.raises(FileError, match=words):
        mapped(columns, *maps, of=of)


def test_somebody_must_have_rated():
    with pytest.raises(FileError, match="Whose ratings are these"):
        mapped(["item", "warmth"], has_rater=False)


@pytest.mark.parametrize(
    ("maps", "words"),
    [
        (["item"], "item is not of the form field=column"),
        (["=x"], "not of the form"),
        (["points=x"], "points is not a field. Expected one of: item, rater, dimension, value"),
        (["dimension.=x"], "is not a field"),
        (["item=a", "item=b"], "The field item is given twice"),
    ],
)
def test_maps_are_checked(maps, words):
    with pytest.raises(FileError, match=words):
        parse_maps(maps)
