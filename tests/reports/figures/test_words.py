import pytest

from apps.reports.figures import words
from apps.reports.figures.figure import Figure, slug_of


@pytest.mark.parametrize(
    ("value", "text"), [(0.125, "0.12"), (-0.5, "−0.50"), (-0.001, "0.00"), (0, "0.00"), (1, "1.00")]
)
def test_numbers_have_two_decimals_and_no_zero_below_zero(value, text):
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [(0.598, 0.6, "0.598"), (0.6, 0.6, "0.60"), (0.59999, 0.6, "0.59999"), (0.3, 0.6, "0.30"), (0.602, 0.6, "0.60")],
)
def test_a_number_beside_a_limit_never_rounds_across_it(value, limit, text):
    assert words.number_beside(value, limit) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.001, "<1 %"), (0.125, "12 %"), (0.5, "50 %"), (0.999, ">99 %"), (1, "100 %")],
)
def test_shares_never_round_to_nothing_or_to_all(share, text):
    assert words.percent(share) == text


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-0.4, 1, [-0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-2, 2, [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2]),
        (-3, 3, [-3, -2, -1, 0, 1, 2, 3]),
    ],
)
def test_ticks_are_round_and_as_many_decimals_suffice_as_they_are_shown_with(low, high, expected):
    assert words.steps_between(low, high) == expected


def test_lists_and_counts_read_as_english():
    assert [words.listed(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert words.range_of_counts([]) == "no items"
    assert words.range_of_counts([1]) == "1 item"
    assert words.range_of_counts([50, 48, 50]) == "48 to 50 items"


def test_long_text_is_broken_between_words_and_loses_none():
    text = "one two three four five six"
    lines = words.wrapped(text, 10, 60)
    assert len(lines) > 1
    assert " ".join(lines) == text
    assert words.wrapped("x" * 100, 10, 60) == ["x" * 100]


def test_slugs_keep_letters_of_every_language():
    assert slug_of("raters", "main", "Café 1", "") == "raters-main-café-1"
    assert slug_of("a/b", "../c") == "a-b-c"


def test_a_table_has_a_cell_for_every_column():
    with pytest.raises(ValueError, match="a row of x has not 2 cells"):
        Figure("x", "t", "c", "s", ("a", "b"), (("1",),), {}, {})


@pytest.mark.parametrize(
    ("name", "text"),
    [("experts", "the experts"), ("experts:median", "the experts' median"), ("all", "all raters"), ("gpt", "gpt")],
)
def test_a_group_has_its_article_within_a_sentence(name, text):
    assert words.in_sentence(name) == text


@pytest.mark.parametrize(
    ("count", "total", "text"),
    [
        (0, 6, "none of 6 scales"),
        (2, 6, "2 of 6 scales"),
        (6, 6, "all 6 scales"),
        (1, 1, "the one scale that can be compared"),
        (0, 1, "no scale (1 can be compared)"),
    ],
)
def test_parts_of_all_are_said_in_words(count, total, text):
    assert words.part_of(count, total, "scale") == text


def test_how_sure_figures_are_is_said_as_far_as_it_is_so():
    assert words.how_sure(True, "5 items to a pair") == "; 95 % intervals over items; 5 items to a pair"
    assert words.how_sure(False, "5 items to a pair") == "; 5 items to a pair"
    assert words.how_sure(False, "no items to a pair", has_values=False) == ""
