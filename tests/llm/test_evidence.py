"""A model's quote is found where it stands. What is absent or ambiguous is kept, and says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.annotation.evidence import Place, TurnText, find_quote
from apps.llm.evidence import MAX_PLACES, EvidenceMatcher, Match, match_evidence
from tests.llm.made import property_test

SEEKER = TurnText(0, False, "😀 I lost it. That is all — and the Straße too.")
SUPPORTER = TurnText(1, True, "I’m so  sorry —\nthat is “hard”. I am here -- always. That is all.")
TURNS = [SEEKER, SUPPORTER]

texts = st.text(alphabet=st.sampled_from("abAB \n\t\u00a0'’\"“«-–—😀ßİe\u0301"), max_size=30)


def passage(quote: str) -> str:
    place = match_evidence(quote, TURNS).place
    return {turn.number: turn.text for turn in TURNS}[place.turn][place.start : place.end]


@pytest.mark.parametrize(
    ("quote", "match", "stored"),
    [
        ("I lost it.", Match.EXACT, "I lost it."),
        ("😀", Match.EXACT, "😀"),
        ("I'm so sorry —\nthat", Match.FOLDED, "I’m so  sorry —\nthat"),
        (' that is "hard" ', Match.FOLDED, "that is “hard”"),
        ('"I lost it."', Match.FOLDED, "I lost it."),
        ("I'm so sorry - that is", Match.DASHES, "I’m so  sorry —\nthat is"),
        ("I am here – always", Match.DASHES, "I am here -- always"),
        ("here —", Match.DASHES, "here --"),
        ("i LOST it.", Match.CASELESS, "I lost it."),
        ("THE STRASSE", Match.CASELESS, "the Straße"),
        ("“I'M SO SORRY — THAT”", Match.CASELESS, "I’m so  sorry —\nthat"),
    ],
)
def test_a_quote_is_matched_as_closely_as_it_can_be(quote, match, stored):
    found = match_evidence(quote, TURNS)
    assert (found.text, found.match, found.is_absent, found.is_ambiguous) == (quote, match, False, False)
    assert passage(quote) == stored


def test_a_quote_in_several_places_is_ambiguous_and_keeps_them_the_supporters_first():
    found = match_evidence("That is all", TURNS)
    assert (found.is_ambiguous, found.is_absent, found.place) == (True, False, None)
    assert [place.turn for place in found.places] == [1, 0]
    twice = match_evidence("so so", [TurnText(4, True, "so so so")])
    assert twice.places == (Place(4, 0, 5), Place(4, 3, 8))


def test_one_exact_place_is_not_made_ambiguous_by_a_folded_one():
    turns = [TurnText(0, False, "don't go"), TurnText(1, True, "don’t go, Don't go")]
    assert match_evidence("don't go", turns).places == (Place(0, 0, 8),)
    assert match_evidence("Don't go", turns).places == (Place(1, 10, 18),)
    assert match_evidence("don’t go", turns).places == (Place(1, 0, 8),)


def test_a_letter_that_folds_into_two_characters_parts_no_word():
    assert match_evidence("a", [TurnText(0, True, "İA")]).is_absent


@pytest.mark.parametrize("quote", ["I found it.", "I lost it… That", "", " \n", "ost", "lo"])
def test_what_is_not_there_is_absent_and_kept(quote):
    found = match_evidence(quote, TURNS)
    assert (found.text, found.places, found.is_absent, found.place, found.match) == (quote, (), True, None, None)


def test_no_turns_no_place():
    assert match_evidence("I lost it.", []).is_absent


def test_the_places_listed_are_bounded():
    found = match_evidence("a b", [TurnText(0, True, "a b " * 1000)])
    assert len(found.places) == MAX_PLACES


@property_test
@given(texts, st.lists(texts, max_size=3), st.data())
def test_any_text_is_matched_within_the_stored_text(quote, stored, data):
    turns = [TurnText(number, data.draw(st.booleans()), text) for number, text in enumerate(stored)]
    found = match_evidence(quote, turns)
    assert found.text == quote
    for place in found.places:
        assert 0 <= place.start < place.end <= len(stored[place.turn])
        piece = stored[place.turn][place.start : place.end]
        assert piece == quote if found.match is Match.EXACT else match_evidence(piece, turns).match is Match.EXACT


@property_test
@given(texts, st.lists(texts, max_size=3))
def test_what_people_find_a_model_finds_in_the_same_place(quote, stored):
    turns = [TurnText(number, number == 1, text) for number, text in enumerate(stored)]
    place = find_quote(quote, turns)
    if place is not None:
        assert match_evidence(quote, turns).places[0] == place


def test_one_matcher_finds_every_quote_as_if_it_were_alone():
    matcher = EvidenceMatcher(TURNS)
    quotes = ["i LOST it.", "I lost it.", "That is all", "nowhere", '"I lost it."']
    assert [matcher.match(quote) for quote in quotes] == [match_evidence(quote, TURNS) for quote in quotes]
