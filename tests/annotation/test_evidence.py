"""A quote is found where it stands, and its offsets are those of the stored text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.annotation import evidence
from apps.annotation.evidence import Place, Quote, TurnText, find_quote, fold, place_quote, spans

SEEKER = TurnText(0, False, "I lost it. That is all.")
SUPPORTER = TurnText(1, True, "I’m so  sorry —\nthat is “hard”. 😀 That is all.")
TURNS = [SEEKER, SUPPORTER]

texts = st.text(alphabet=st.sampled_from("ab \n\t\u00a0'’\"“«😀e\u0301"), max_size=30)


def quoted(place: Place, turns=TURNS) -> str:
    return next(turn.text for turn in turns if turn.number == place.turn)[place.start : place.end]


def test_an_exact_quote_is_found_in_code_points():
    place = find_quote("😀", TURNS)
    assert place == Place(1, SUPPORTER.text.index("😀"), SUPPORTER.text.index("😀") + 1)


def test_the_supporter_is_searched_before_the_seeker():
    assert find_quote("That is all.", TURNS).turn == 1
    assert find_quote("I lost it.", TURNS) == Place(0, 0, 10)


def test_an_exact_match_of_the_seeker_goes_before_a_folded_one_of_the_supporter():
    turns = [TurnText(0, False, "don't go"), TurnText(1, True, "don’t go")]
    assert find_quote("don't go", turns).turn == 0


def test_white_space_and_quotation_marks_are_folded():
    place = find_quote(' I\'m so sorry — that is "hard".\n', TURNS)
    assert quoted(place) == "I’m so  sorry —\nthat is “hard”."


def test_quotation_marks_typed_around_the_quote_are_dropped():
    assert quoted(find_quote('"that is “hard”."', TURNS)) == "that is “hard”."


def test_a_single_word_is_found_as_a_whole_word_only():
    turns = [TurnText(0, True, "a final note, then not"), TurnText(1, False, "na, 3 of 30")]
    assert find_quote("na", turns) == Place(1, 0, 2)
    assert find_quote("no", turns) is None
    assert find_quote("not", turns) == Place(0, 19, 22)
    assert find_quote("3", turns) == Place(1, 4, 5)
    assert find_quote("inal note, th", turns) == Place(0, 3, 16)


def test_a_combining_mark_belongs_to_its_letter():
    turns = [TurnText(0, True, "cafe\u0301s, I\u0307A")]
    assert [find_quote(quote, turns) for quote in ("s", "cafe", "A")] == [None, None, None]
    assert find_quote("cafe\u0301s", turns) == Place(0, 0, 6)


def test_a_script_without_spaces_has_no_whole_words():
    assert find_quote("难过", [TurnText(0, True, "我很难过了")]) == Place(0, 2, 4)


def test_what_is_not_there_is_not_found():
    assert find_quote("I'm not sorry", TURNS) is None
    assert find_quote("i lost it", TURNS) is None
    assert find_quote("anything", []) is None


def test_a_blank_quote_is_found_nowhere():
    assert [find_quote(blank, TURNS) for blank in ("", " ", "\n\t", '""', '" "')] == [None] * 5


def test_a_stated_place_is_kept_when_the_text_stands_there():
    turns = [TurnText(3, True, "so so so")]
    assert place_quote(Quote("so", 3, 6, 8), turns) == Place(3, 6, 8)


def test_a_stated_place_that_does_not_hold_the_text_is_looked_for():
    turns = [TurnText(3, True, "so so so")]
    assert place_quote(Quote("so", 3, 1, 3), turns) == Place(3, 0, 2)
    assert place_quote(Quote("so", 9, 0, 2), turns) == Place(3, 0, 2)
    assert place_quote(Quote("", 3, 2, 2), turns) is None


@given(st.lists(texts, min_size=1, max_size=4), st.data())
def test_any_passage_of_several_words_is_found_and_equals_its_quote(turn_texts, data):
    turns = [TurnText(index, index % 2 == 1, text) for index, text in enumerate(turn_texts)]
    text = data.draw(st.sampled_from(turn_texts))
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    place = find_quote(quote, turns)
    if len(quote.split()) > 1:
        assert quoted(place, turns) == quote
    if not quote.strip():
        assert place is None


@given(texts, texts)
def test_a_place_always_covers_a_passage_that_folds_to_the_quote(text, quote):
    turns = [TurnText(0, True, text)]
    place = find_quote(quote, turns)
    if place is not None:
        assert 0 <= place.start < place.end <= len(text)
        found = fold(text[place.start : place.end])[0]
        wanted = fold(quote)[0]
        assert found in (wanted, wanted.strip(" "), wanted.strip(" ")[1:-1].strip(" "))


@given(texts)
def test_folding_maps_every_character_to_its_origin(text):
    folded, origins = fold(text)
    assert len(folded) == len(origins)
    assert origins == sorted(set(origins))
    assert "  " not in folded


def every_place(quote: str, text: str) -> list[tuple[int, int]]:
    """The rule without any bound: each offset is tried, a single word counts as a whole word only."""
    is_word = not any(character.isspace() for character in quote.strip())
    places = []
    for start in range(len(text) - len(quote) + 1):
        end = start + len(quote)
        if text[start:end] != quote:
            continue
        if is_word and (evidence._within_word(text, start) or evidence._within_word(text, end)):
            continue
        places.append((start, end))
    return places


@given(texts, texts.filter(bool))
def test_every_place_is_found_in_ordinary_text(text, quote):
    assert list(spans(quote, text)) == every_place(quote, text)


@given(st.lists(st.sampled_from(["a", "b", " "])).map("".join), st.sampled_from(["a", "aa", "a a", "ab", "a b a"]))
def test_places_overlap(text, quote):
    assert list(spans(quote, text)) == every_place(quote, text)


def test_places_that_are_not_all_given_are_places(monkeypatch):
    monkeypatch.setattr(evidence, "MOST_COMPARED", 6)
    text = "no " * 20
    found = list(spans("no no", text))
    assert found[:2] == [(0, 5), (3, 8)]
    assert set(found) < set(every_place("no no", text))


@pytest.mark.parametrize("length", [1, 50, 2_000, 200_000])
def test_letters_repeated_without_end_are_looked_through_a_bounded_number_of_times(length):
    class Text(str):
        n_looks = 0

        def find(self, *args):
            Text.n_looks += 1
            return super().find(*args)

    assert list(spans("a" * length, Text("a" * 1_000_000))) == []
    assert Text.n_looks <= evidence.MOST_INSIDE_WORDS + 1
    assert Text.n_looks * length <= evidence.MOST_COMPARED + 2_000_000
