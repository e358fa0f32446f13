"""A conversation through a form and back: what a browser does to text is undone, buttons do what they say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.corpus.draft import (
    MAX_PAIRS,
    MAX_TURNS,
    ConversationDraft,
    acted,
    draft_of,
    is_too_large,
    new_draft,
    posted_draft,
    record_of,
    restored,
)
from apps.corpus.parsing.records import ConversationRecord, Role, TurnRecord

# No deadline: the machine may be busy with other tests.
property_test = settings(max_examples=60, deadline=None)

# Line ends of every kind, and what is easily lost: spaces at the ends, joiners, directions, half-width and emoji.
line_ends = ["\r\n", "\n", "\r", "\x0c", "\x85", "\u2028"]
marks = [
    " ",
    "\t",
    "\u200b",
    "\u200d",
    "\u202e",
    "\u0627\u0644",
    "\U0001f469\u200d\U0001f680",
    "\ufeff",
    "&",
    "<b>",
    '"',
]
tricky = st.sampled_from(line_ends + marks)
letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.lists(tricky | letters, max_size=12).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
turns = st.builds(
    TurnRecord,
    role=st.sampled_from([str(role) for role in Role]),
    speaker=texts,
    text=texts,
    raw_text=st.none() | texts,
)
records = st.builds(
    ConversationRecord,
    row=st.just(0),
    external_id=texts,
    turns=st.lists(turns, max_size=5),
    title=texts,
    language=texts,
    reference=texts,
    belief=texts,
    pair=texts,
    parent=texts,
    metadata=st.dictionaries(texts, values, max_size=4),
    factors=st.dictionaries(texts, texts, max_size=3),
)


def through_a_browser(draft: ConversationDraft) -> list[tuple[str, str]]:
    """The form as it is sent: lines of input lose their line ends, those of text areas become CR LF."""

    def line(text: str) -> str:
        return text.replace("\r", "").replace("\n", "")

    def area(text: str) -> str:
        return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")

    fields = [("csrfmiddlewaretoken", "x"), ("revision", draft.revision)]
    for name, text in draft.about.items():
        fields.append((name, area(text) if name in ("reference", "belief") else line(text)))
    for turn in draft.turns:
        start = f"turns-{turn.key}-"
        fields += [(start + "origin", turn.origin), (start + "role", turn.role)]
        fields += [(start + "speaker", line(turn.speaker)), (start + "text", area(turn.text))]
    for kind, pairs in (("metadata", draft.metadata), ("factors", draft.factors)):
        for pair in pairs:
            start = f"{kind}-{pair.key}-"
            fields += [(start + "origin", pair.origin), (start + "kind", pair.kind)]
            fields += [(start + "name", line(pair.name)), (start + "value", area(pair.value))]
    return fields


def sent(draft: ConversationDraft, stored: ConversationRecord) -> ConversationDraft:
    return restored(posted_draft(through_a_browser(draft)), stored)


# --- There and back -----------------------------------------------------------------------------------------------


@property_test
@given(records)
def test_a_form_sent_as_it_was_shown_says_what_is_stored_to_the_last_character(record):
    again = record_of(sent(draft_of(record), record))
    assert again.content == record.content
    assert again.content_hash == record.content_hash
    assert again.external_id == record.external_id


@property_test
@given(records, st.lists(st.tuples(st.sampled_from(["up", "down", "below"]), st.integers(0, 6)), max_size=5))
def test_turns_that_are_moved_keep_their_texts_whatever_line_ends_they_have(record, acts):
    draft = draft_of(record)
    n_added = 0
    for name, key in acts:
        before = len(draft.turns)
        draft = acted(sent(draft, record), f"{name}:{key}")
        n_added += len(draft.turns) - before
    kept = [turn for turn in record_of(sent(draft, record)).turns if turn.text or turn.speaker or turn.raw_text]
    shown = [turn for turn in record.turns if turn.text or turn.speaker or turn.raw_text]
    assert sorted(kept, key=repr) == sorted(shown, key=repr)
    assert len(draft.turns) == len(record.turns) + n_added


@property_test
@given(records)
def test_moving_a_turn_down_and_up_again_changes_nothing(record):
    draft = acted(sent(acted(draft_of(record), "down:0"), record), "up:1")
    assert record_of(sent(draft, record)).content == record.content


@property_test
@given(texts)
def test_a_text_that_is_typed_is_kept_with_plain_line_ends(text):
    draft = posted_draft([("external_id", "a"), ("turns-0-role", "seeker"), ("turns-0-text", text)])
    assert record_of(draft).turns == [TurnRecord("seeker", "", text.replace("\r\n", "\n").replace("\r", "\n"))]


def record(*texts: str, **about) -> ConversationRecord:
    turns = [TurnRecord("seeker" if index % 2 == 0 else "supporter", "", text) for index, text in enumerate(texts)]
    return ConversationRecord(row=0, external_id="a", turns=turns, **about)


def test_the_rows_count_in_the_order_in_which_they_are_sent():
    fields = [("turns-n2-role", "seeker"), ("turns-n2-text", "first"), ("turns-0-role", "other"), ("turns-0-text", "x")]
    assert [turn.text for turn in posted_draft(fields).turns] == ["first", "x"]


def test_names_that_are_no_rows_are_not_read():
    fields = [("turns--text", "a"), ("turns-0-words", "b"), ("turns-a_b-text", "c"), ("xturns-0-text", "d")]
    assert posted_draft(fields).turns == ()


def test_the_text_before_a_clean_up_goes_with_its_turn_until_the_text_is_changed():
    stored = ConversationRecord(
        row=0, external_id="a", turns=[TurnRecord("seeker", "", "one,", "one_comma_"), TurnRecord("other", "", "two")]
    )
    moved = sent(acted(draft_of(stored), "down:0"), stored)
    assert [turn.raw_text for turn in record_of(moved).turns] == [None, "one_comma_"]
    fields = [(name, "One," if value == "one," else value) for name, value in through_a_browser(draft_of(stored))]
    assert [turn.raw_text for turn in record_of(restored(posted_draft(fields), stored)).turns] == [None, None]


@pytest.mark.parametrize("origin", ["2", "-1", "x", "999999999", "1" * 40, "²"])
def test_an_origin_that_is_none_of_the_stored_turns_is_no_origin(origin):
    stored = record("a\r\nb")
    draft = posted_draft([("turns-0-role", "seeker"), ("turns-0-text", "a\r\nb"), ("turns-0-origin", origin)])
    assert restored(draft, stored).turns[0].text == "a\nb"


def test_values_that_are_no_text_stay_what_they_are():
    stored = record("hi", metadata={"n": 3, "list": [1, {"x": None}], "text": "3", "float": 3.0})
    assert [(pair.name, pair.value, pair.kind) for pair in draft_of(stored).metadata] == [
        ("n", "3", "json"),
        ("list", '[1, {"x": null}]', "json"),
        ("text", "3", "text"),
        ("float", "3.0", "json"),
    ]
    assert record_of(sent(draft_of(stored), stored)).content == stored.content


@pytest.mark.parametrize("value", ["{", "[1", '{"a": 1, "a": 2}', "[" * 100_000, "", "nothing"])
def test_json_that_is_none_is_refused(value):
    draft = posted_draft([("metadata-0-name", "n"), ("metadata-0-value", value), ("metadata-0-kind", "json")])
    with pytest.raises(ValueError, match=r"^(is|names)"):
        record_of(draft)


# --- Buttons ------------------------------------------------------------------------------------------------------


def texts_of(draft: ConversationDraft) -> list[str]:
    return [turn.text for turn in draft.turns]


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        ("up:1", ["b", "a", "c"]),
        ("down:1", ["a", "c", "b"]),
        ("up:0", ["a", "b", "c"]),
        ("down:2", ["a", "b", "c"]),
        ("below:0", ["a", "", "b", "c"]),
        ("add-turn", ["a", "b", "c", ""]),
        ("remove:1", ["a", "c"]),
        ("remove:7", ["a", "b", "c"]),
        ("up:", ["a", "b", "c"]),
        ("dance:1", ["a", "b", "c"]),
        ("", ["a", "b", "c"]),
    ],
)
def test_a_button_of_a_turn(act, expected):
    draft = acted(draft_of(record("a", "b", "c")), act)
    assert texts_of(draft) == expected
    assert [turn.key for turn in draft.turns] == [str(index) for index in range(len(expected))]


def test_a_new_turn_answers_the_one_before_it():
    assert [turn.role for turn in acted(new_draft("a"), "add-turn").turns] == ["seeker", "supporter", "seeker"]
    assert [turn.role for turn in acted(new_draft("a"), "below:0").turns] == ["seeker", "supporter", "supporter"]
    assert [turn.role for turn in acted(ConversationDraft(), "add-turn").turns] == ["seeker"]


@pytest.mark.parametrize("kind", ["metadata", "factors"])
def test_names_and_values_are_added_and_removed(kind):
    draft = acted(acted(ConversationDraft(), f"add-{kind}"), f"add-{kind}")
    assert [pair.key for pair in draft.pairs(kind)] == ["0", "1"]
    assert [pair.key for pair in acted(draft, f"remove-{kind}:0").pairs(kind)] == ["0"]
    other = "factors" if kind == "metadata" else "metadata"
    assert draft.pairs(other) == ()


def test_a_form_has_bounds():
    draft = draft_of(record(*["x"] * MAX_TURNS))
    assert len(acted(draft, "add-turn").turns) == len(acted(draft, "below:3").turns) == MAX_TURNS
    pairs = draft_of(record("x", metadata={str(number): "x" for number in range(MAX_PAIRS)}))
    assert len(acted(pairs, "add-metadata").metadata) == MAX_PAIRS


@pytest.mark.parametrize(
    ("big", "expected"),
    [
        (record(*["x"] * MAX_TURNS), False),
        (record(*["x"] * (MAX_TURNS + 1)), True),
        (record("é" * 2 * 1024 * 1024), True),
        (record("x", factors={str(number): "x" for number in range(MAX_PAIRS + 1)}), True),
    ],
)
def test_what_no_form_can_hold_is_known_before(big, expected):
    assert is_too_large(big) is expected
