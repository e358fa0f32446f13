"""The addresses of the agreement pages: one for each view, and nothing that breaks them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.dashboard.agreement.query import GROUPS, Expected, Fault, Offer, Pairs, Query, Trouble, parse
from apps.measures.pairs import PAIR_STATISTICS, Convention
from apps.reliability.selection import DataSelection

NAMES = st.text(min_size=1, max_size=12)
OFFER = Offer(
    frameworks={"main": ["warmth", "epitome"], "more": ["epitome"]},
    raters={"expert1": "experts", "expert2": "experts", "gpt & co=1": "llms", "crowd001": "crowd"},
    traits={"meta.topic": ["grief", "work", ""], "factor.model": ["a", "b&c"], "language": ["en", "de"]},
)


@st.composite
def queries(draw):
    """Every view that OFFER allows."""
    block = draw(st.sampled_from(["", *OFFER.frameworks]))
    metadata = {
        name: draw(st.lists(st.sampled_from(values), unique=True)) for name, values in sorted(OFFER.traits.items())
    }
    return Query(
        block=block,
        framework=draw(st.sampled_from(["", *OFFER.frameworks_of(block)])),
        groups=tuple(group for group in GROUPS if draw(st.booleans())),
        raters=tuple(sorted(draw(st.lists(st.sampled_from(sorted(OFFER.raters)), unique=True)))),
        selection=DataSelection.of(metadata, with_excluded=draw(st.booleans())),
        repeats=draw(st.booleans()),
        stars=draw(st.booleans()),
        convention=draw(st.sampled_from(Convention)),
        statistic=draw(st.sampled_from(PAIR_STATISTICS)),
        threshold=draw(st.integers(0, 10_000).map(lambda number: number / 10_000)),
        columns=draw(st.sampled_from(Pairs)),
        page=draw(st.integers(1, 999_999)),
    )


@given(queries())
def test_every_view_has_an_address_that_leads_back_to_it(query):
    assert parse(query.pairs(), OFFER) == (query, ())


@given(queries(), st.randoms())
def test_the_order_of_parameters_does_not_matter(query, random):
    pairs = query.pairs()
    random.shuffle(pairs)
    assert parse(pairs, OFFER)[0].encoded() == query.encoded()


KNOWN = ["block", "framework", "group", "rater", "meta.topic", "repeats", "excluded", "convention", "threshold", "page"]


@given(st.lists(st.tuples(st.sampled_from(KNOWN) | NAMES, st.sampled_from(["main", "1", "0.5", "grief"]) | st.text())))
def test_whatever_is_asked_leads_to_a_view_with_an_address_of_its_own(pairs):
    query, _faults = parse(pairs, OFFER)
    assert parse(query.pairs(), OFFER) == (query, ())


AS_USUAL = {("convention", "scale"), ("repeats", "0"), ("excluded", "0"), ("stars", "1")}


@given(st.lists(st.tuples(NAMES, st.text(min_size=1))))
def test_nothing_that_is_asked_is_passed_over_in_silence(pairs):
    """Every parameter is either followed or named."""
    query, faults = parse(pairs, OFFER)
    followed = {name for name, _value in query.pairs()} | {"block", "pairs", "page"}
    assert {name for name, _value in pairs} <= followed | {fault.parameter for fault in faults} | {
        name for name, value in pairs if (name, value) in AS_USUAL
    }


def test_stars_can_be_switched_off_and_on_again():
    query, faults = parse([("stars", "0")], OFFER)
    assert (query, faults) == (Query(stars=False), ())
    assert query.encoded() == "stars=0"
    assert query.but(stars=True).encoded() == ""
    assert query.filters() == []


def test_the_usual_view_has_the_plain_address():
    assert Query().encoded() == ""
    usual = [("block", ""), ("convention", "scale"), ("statistic", "kappa_quadratic"), ("threshold", "0.60")]
    assert parse(usual, OFFER) == (Query(), ())


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("block", "mian"), ("main", "more")),
        (("framework", "empathy"), ("warmth", "epitome")),
        (("group", "expert"), GROUPS),
        (("convention", "published"), ("scale", "observed")),
        (("statistic", "alpha"), PAIR_STATISTICS),
        (("threshold", "0,6"), (Expected.SHARE,)),
        (("threshold", "1.5"), (Expected.SHARE,)),
        (("threshold", "nan"), (Expected.SHARE,)),
        (("page", "0"), (Expected.COUNT,)),
        (("repeats", "yes"), ("1", "0")),
        (("stars", "no"), ("1", "0")),
        (("meta.topic", "joy"), ("grief", "work", "")),
        (("pairs", "every"), ("benchmark", "all")),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(pair, expected):
    query, faults = parse([pair], OFFER)
    assert query == Query()
    assert faults == (Fault(*pair, Trouble.UNKNOWN_VALUE, tuple(expected)),)


def test_a_framework_of_another_block_is_not_one_of_this():
    query, [fault] = parse([("block", "more"), ("framework", "warmth")], OFFER)
    assert query == Query(block="more")
    assert fault.expected == ("epitome",)


def test_a_name_that_is_none_is_named():
    query, [fault] = parse([("bloc", "main")], OFFER)
    assert query == Query()
    assert (fault.parameter, fault.trouble) == ("bloc", Trouble.UNKNOWN_NAME)
    _query, [fault] = parse([("meta.mood", "low")], OFFER)
    assert fault.expected == tuple(OFFER.traits)


def test_of_two_values_where_there_can_be_one_the_first_counts():
    query, [fault] = parse([("block", "main"), ("block", "more")], OFFER)
    assert query.block == "main"
    assert fault.trouble == Trouble.GIVEN_TWICE


def test_a_value_left_empty_asks_for_conversations_without_one():
    query, faults = parse([("meta.topic", "")], OFFER)
    assert faults == ()
    assert query.selection == DataSelection.of({"meta.topic": [""]})


@given(queries())
def test_every_filter_can_be_taken_back_alone_and_all_at_once(query):
    for name, value in query.filters():
        left = query.without(name, value)
        assert sorted(left.pairs()) == sorted(pair for pair in query.on_page(1).pairs() if pair != (name, value))
    assert query.cleared().filters() == []
    assert replace(query.cleared(), page=query.page).threshold == query.threshold


@given(queries())
def test_a_change_begins_at_the_first_page(query):
    assert query.but(statistic="mae").page == 1
