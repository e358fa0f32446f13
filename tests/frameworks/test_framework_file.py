from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.frameworks.framework_file import FrameworkProblems, dump_framework, parse_framework, read_framework
from apps.frameworks.scales import DimensionSpec, FrameworkSpec, PointSpec
from apps.frameworks.yaml_tree import MAX_BYTES, Problem
from tests.frameworks.specs import SMALL, changed, framework_specs, property_test


def problems_of(text: str) -> list[Problem]:
    with pytest.raises(FrameworkProblems) as caught:
        parse_framework(text)
    return caught.value.problems


def test_a_file_becomes_a_spec_field_by_field():
    assert parse_framework(SMALL) == FrameworkSpec(
        slug="calm-scales",
        name="Calm scales",
        citation="Made up for the tests",
        url="https://example.org/calm",
        stem="Think of the whole conversation.",
        language="en",
        dimensions=(
            DimensionSpec(
                slug="calm",
                label="Calm",
                question="How calm is the supporter?",
                guideline="Count the tone. Leave out the content.",
                points=(PointSpec(1, "Not at all"), PointSpec(2), PointSpec(3, "Very")),
                level="ordinal",
                polarity="+",
                example_low="Hurry up!",
                example_high="We have time.",
            ),
            DimensionSpec(
                slug="kind",
                label="Kind",
                question="Which kind of reply is it?",
                guideline="Choose one. Choose other when in doubt.",
                points=(PointSpec(1, "Question"), PointSpec(2, "Other")),
                level="nominal",
                polarity="none",
            ),
        ),
    )


@property_test
@given(framework_specs)
def test_a_dumped_spec_parses_back_equal(spec: FrameworkSpec):
    again = parse_framework(dump_framework(spec))
    assert again == spec
    assert again.content_hash == spec.content_hash


@property_test
@given(st.text(max_size=200) | st.text(alphabet="-:[]{}&*!|>'\"%@`#,? \nab1", max_size=60))
def test_any_text_is_parsed_or_refused_with_problems(text: str):
    with pytest.raises(FrameworkProblems) as caught:
        parse_framework(text)
    assert caught.value.problems


@property_test
@given(st.sampled_from(SMALL.splitlines()), st.text(alphabet="-:[]{}'\"#, \nab1", max_size=12))
def test_a_file_with_a_spoilt_line_is_refused_or_still_a_framework(line: str, rubbish: str):
    try:
        spec = parse_framework(SMALL.replace(line, rubbish, 1))
    except FrameworkProblems:
        return
    assert parse_framework(dump_framework(spec)) == spec


@property_test
@given(st.binary(max_size=100))
def test_any_bytes_are_refused_with_problems(data: bytes):
    with pytest.raises(FrameworkProblems):
        read_framework(data)


@pytest.mark.parametrize(
    ("old", "new", "field", "line", "expected"),
    [
        ("slug: calm-scales", "slug: Calm scales", "slug", 1, "small letters and digits"),
        ("slug: calm-scales", f"slug: {'a' * 81}", "slug", 1, "at most 80 characters; it has 81"),
        ("slug: calm-scales", "slug: [a]", "slug", 1, "a single value, not a list or mapping"),
        ("name: Calm scales", "name:", "name", 2, "is missing"),
        ("name: Calm scales", 'name: " "', "name", 2, "must not be empty"),
        ("name: Calm scales", "name: 7", "name", 2, 'YAML reads "7" otherwise: put it in quotes'),
        ("name: Calm scales", "name: 2026-01-01", "name", 2, "put it in quotes"),
        ("name: Calm scales", "name: !!python/name:os.system x", "name", 2, "put it in quotes"),
        ("name: Calm scales", 'name: "a\\0b"', "name", 2, "control character U+0000"),
        ("name: Calm scales", 'name: "a\\uD800b"', "name", 2, "control character U+D800"),
        ("name: Calm scales", f"name: {'n' * 201}", "name", 2, "at most 200 characters"),
        ("citation: Made up for the tests\n", "", "citation", 1, "is missing"),
        ("https://example.org/calm", "javascript:alert(1)", "url", 4, "begins with https:// or http://"),
        ("stem: Think", "lang: en\nstem: Think", "lang", 5, "is not a field"),
        ("stem: Think", "language: english!\nstem: Think", "language", 5, "a language tag such as en"),
        ("stem: Think", "name: Again\nstem: Think", "name", 5, "is there twice"),
        ("stem: Think of the whole conversation.", "stem: yes", "stem", 5, 'put "yes" in quotes'),
        ("    label: Calm\n", "", "dimensions[0].label", 7, "is missing"),
        ("    question: How calm is the supporter?\n", "", "dimensions[0].question", 7, "is missing"),
        ("    guideline: Count the tone. Leave out the content.\n", "", "dimensions[0].guideline", 7, "is missing"),
        ('    polarity: "+"\n', "", "dimensions[0].polarity", 7, "is missing: it must be one of +, -, none"),
        ('polarity: "+"', "polarity: up", "dimensions[0].polarity", 11, 'one of +, -, none, not "up"'),
        ('polarity: "+"', "polarity: no", "dimensions[0].polarity", 11, "read by YAML as true or false"),
        ("level: nominal", "level: norminal", "dimensions[1].level", 23, 'one of ordinal, nominal, not "norminal"'),
        ('polarity: "+"', 'polarity: "+"\n    minimum: 0', "dimensions[0].minimum", 12, "first point, 1; it is 0"),
        ('polarity: "+"', 'polarity: "+"\n    maximum: 5', "dimensions[0].maximum", 12, "last point, 3; it is 5"),
        ('polarity: "+"', 'polarity: "+"\n    maximum: x', "dimensions[0].maximum", 12, "must be a number"),
        ("      - {value: 2}\n      - {value: 3, label: Very}\n", "", "dimensions[0].points", 13, "at least 2 entries"),
        ("{value: 2}", "{value: 0}", "dimensions[0].points[1].value", 14, "greater than the point before it, 1"),
        ("{value: 2}", "{value: 1}", "dimensions[0].points[1].value", 14, "it is 1"),
        ("{value: 2}", "{value: two}", "dimensions[0].points[1].value", 14, 'such as 3 or 0.5, not "two"'),
        ("{value: 2}", "{value: '2'}", "dimensions[0].points[1].value", 14, "must be a number"),
        ("{value: 2}", "{value: yes}", "dimensions[0].points[1].value", 14, "read by YAML as true or false"),
        ("{value: 2}", "{value: .nan}", "dimensions[0].points[1].value", 14, "must be a number"),
        ("{value: 2}", "{value: .inf}", "dimensions[0].points[1].value", 14, "must be a number"),
        ("{value: 2}", "{value: 1:30}", "dimensions[0].points[1].value", 14, "must be a number"),
        ("{value: 2}", "{value: 010}", "dimensions[0].points[1].value", 14, "must be a number"),
        ("{value: 2}", f"{{value: {'9' * 5000}}}", "dimensions[0].points[1].value", 14, "must be a number"),
        ("{value: 2}", "{}", "dimensions[0].points[1].value", 14, "is missing"),
        ("{value: 2}", "2", "dimensions[0].points[1]", 14, "a mapping of names and values"),
        ("{value: 2}", "{value: 2, words: a}", "dimensions[0].points[1].words", 14, "the fields here are value, label"),
        ("{value: 2}", "{value: 2, label: no}", "dimensions[0].points[1].label", 14, 'put "no" in quotes'),
        ("{value: 2}", "{value: 2, label: VERY}", "dimensions[0].points[2].label", 15, "is used before"),
        (
            "{value: 2}",
            "{value: 2, label: '3'}",
            "dimensions[0].points[1].label",
            14,
            "other than the point's value, 2",
        ),
        ("      low: Hurry up!", "      lowest: Hurry up!", "dimensions[0].examples.lowest", 17, "is not a field"),
        ("slug: kind", "slug: calm", "dimensions[1].slug", 19, 'is used before: "calm"'),
        ("level: nominal", 'level: nominal\n    polarity: "-"', "dimensions[1].polarity", 24, "must be none"),
        ("{value: 1, label: Question}", "{value: 1}", "dimensions[1].points[0].label", 25, "is missing"),
    ],
)
def test_each_wrong_field_is_named_with_its_line_and_what_was_expected(old, new, field, line, expected):
    problems = problems_of(changed(old, new))
    assert [(problem.field, problem.line) for problem in problems] == [(field, line)]
    assert expected in str(problems[0])
    where, _, rest = str(problems[0]).partition(": ")
    assert where.startswith(f"Line {line}")
    assert rest.startswith(f"{field} ")


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("", None, "must be a mapping"),
        ("# nothing\n", None, "must be a mapping"),
        ("- slug: a\n", 1, "must be a mapping"),
        ("just words", 1, "must be a mapping"),
        ("slug: a\nname: [1, 2\n", 3, "is not valid YAML"),
        ("slug: a\n  name: b\n", 2, "begin fields that belong together in one column"),
        ("slug: a\nname: Calm: a scale\n", 2, "put text that holds a colon in quotes"),
        ("slug: a\n---\nslug: b\n", 2, "is not valid YAML"),
        ("slug: a\npolarity: -\n", 2, 'a minus on its own must stand in quotes: "-"'),
        ("slug: a\nname: a\x07b\n", 2, "the character U+0007"),
        ("slug: &a b\nname: *a\n", 1, "must not use anchors or aliases"),
        ("slug: b\nname: *a\n", 2, "must not use anchors or aliases"),
        ("a: " + "[" * 50_000, 1, "nested deeper than 12 levels"),
    ],
)
def test_a_file_that_is_no_framework_is_refused_with_one_problem(text, line, expected):
    (problem,) = problems_of(text)
    assert problem.field == ""
    assert problem.line == line
    assert expected in str(problem)


def test_an_alias_bomb_is_refused_without_being_built():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in pairwise("abcdefghi"):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    bomb = "\n".join(lines)
    assert "anchors or aliases" in str(problems_of(bomb)[0])


def test_a_file_over_256_kb_is_refused_whatever_its_letters_weigh():
    assert "no larger than 256 kB" in str(problems_of("#" + "é" * (MAX_BYTES // 2))[0])
    with pytest.raises(FrameworkProblems, match="no larger than 256 kB"):
        read_framework(SMALL.encode() + b"#" * MAX_BYTES)


def test_a_problem_names_the_scale_as_the_file_does():
    text = changed('    polarity: "+"\n', "").replace("{value: 2}", "{value: two}")
    lacking, wrong = problems_of(text)
    assert str(lacking) == ('Line 7, scale "Calm": dimensions[0].polarity is missing: it must be one of +, -, none.')
    assert 'scale "Calm": dimensions[0].points[1].value must be a number' in str(wrong)
    nameless = changed("  - slug: calm\n    label: Calm\n", "  - {[a, b]: c}\n  - level: ordinal\n")
    assert "scale" not in "".join(map(str, problems_of(nameless)))


def test_every_problem_is_reported_at_once_in_the_order_of_lines():
    text = changed("name: Calm scales", "nam: Calm scales")
    text = changed("{value: 2}", "{value: two}", text)
    text = changed("label: Kind", "label: no", text)
    assert [(problem.field, problem.line) for problem in problems_of(text)] == [
        ("name", 1),
        ("nam", 2),
        ("dimensions[0].points[1].value", 14),
        ("dimensions[1].label", 20),
    ]


def test_more_than_101_points_are_refused_and_101_are_fine():
    many = "\n".join(f"      - {{value: {value}}}" for value in range(102))
    old = SMALL[SMALL.index("      - {value: 1, label: Not") : SMALL.index("    examples:")]
    assert "at most 101 points; there are 102" in str(problems_of(changed(old, many + "\n"))[0])
    fewer = many.rsplit("\n", 1)[0] + "\n"
    assert len(parse_framework(changed(old, fewer)).dimensions[0].points) == 101


def test_utf_8_with_a_byte_order_mark_and_windows_line_ends_reads_the_same():
    assert read_framework(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode()) == parse_framework(SMALL)


def test_bytes_that_are_not_utf_8_are_refused_naming_the_byte():
    with pytest.raises(FrameworkProblems, match=r"Line 2: The file must be UTF-8 text; byte 14 \(0xe9\) is not"):
        read_framework(b"slug: a\nname: \xe9\n")


def test_an_optional_field_left_empty_is_as_good_as_left_out():
    text = changed('polarity: "+"', 'polarity: "+"\n    level:\n    minimum:\n    source: ~')
    text = changed("stem: Think", "language:\ndescription:\nstem: Think", text)
    assert parse_framework(text) == parse_framework(SMALL)


def test_stated_ends_that_agree_with_the_points_are_fine():
    text = changed('polarity: "+"', 'polarity: "+"\n    minimum: 1\n    maximum: 3')
    assert parse_framework(text) == parse_framework(SMALL)


def test_a_dump_shows_each_point_on_one_line():
    assert "  - {value: 1, label: Not at all}\n" in dump_framework(parse_framework(SMALL))


def test_the_hash_depends_on_what_is_said_and_not_on_the_layout():
    spec = parse_framework(SMALL)
    assert parse_framework("# a comment\n" + SMALL).content_hash == spec.content_hash
    assert parse_framework(changed("label: Very}", "label: Very much}")).content_hash != spec.content_hash
