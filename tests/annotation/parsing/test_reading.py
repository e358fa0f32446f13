"""A file of ratings, row by row. CASES 9."""

import io
import json
from dataclasses import replace

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.annotation.evidence import Quote
from apps.annotation.parsing.mapping import complete_mapping, parse_maps
from apps.annotation.parsing.reading import (
    MAIN_ROLE,
    MAX_RATER_NAME,
    Expected,
    ParsedFile,
    RaterFacts,
    Told,
    read_ratings,
)
from apps.annotation.parsing.values import Answer, DimensionScale, Scales
from apps.corpus.parsing.records import FileError
from apps.corpus.parsing.rows import open_table
from apps.frameworks.scales import PointSpec
from apps.studies.models import ItemRole, Rater

LIKERT = tuple(PointSpec(value) for value in (1, 2, 3, 4, 5))
SCALES = Scales([DimensionScale("kind", "warmth", LIKERT), DimensionScale("kind", "advice", LIKERT)])
EXPECTED = Expected(
    block="main",
    scales=SCALES,
    items={(f"c{number}", "main"): number for number in range(1, 6)} | {("c1", "repeat"): 9, ("-7", "main"): 7},
    raters={"expert1": RaterFacts("expert"), "means": RaterFacts("crowd", is_aggregate=True)},
    kinds={"expert": "expert", "crowd": "crowd", "llm": "llm"},
)
EXPERT = Told(rater="expert1")


def parse(data: str | bytes, told: Told = EXPERT, maps=(), expected: Expected = EXPECTED) -> ParsedFile:
    table = open_table(io.BytesIO(data.encode() if isinstance(data, str) else data))
    mapping = complete_mapping(parse_maps(maps), table.columns, expected.scales, has_rater=bool(told.rater))
    return read_ratings(table, mapping, expected, told)


def values(found: ParsedFile) -> dict[tuple[str, str], float | None]:
    return {(one.item[0], one.dimension.removeprefix("kind/")): one.answer.value for one in found.ratings}


def problems(found: ParsedFile) -> list[str]:
    return [str(problem) for problem in found.problems.shown]


# --- Both shapes ------------------------------------------------------------------------------------------------------


def test_a_wide_file():
    found = parse("item,warmth,advice\nc1,3,4\nc2,3.0,5\n")
    assert values(found) == {("c1", "warmth"): 3, ("c1", "advice"): 4, ("c2", "warmth"): 3, ("c2", "advice"): 5}
    assert {one.rater for one in found.ratings} == {"expert1"}
    assert all(one.comment is None and one.evidence is None for one in found.ratings)
    assert (found.rows, found.problems.total) == (2, 0)


def test_a_long_file_with_raters_of_its_own():
    found = parse("item,rater,dimension,value\nc1,expert1,warmth,3\nc1,gpt,kind/warmth,2\n", Told(kind="llm"))
    assert problems(found) == ["row 2, rater: expert1 is llm here but expert elsewhere; expected one and the same"]
    assert [(one.rater, one.answer.value) for one in found.ratings] == [("gpt", 2)]
    assert found.raters == {"gpt": RaterFacts("llm")}


def test_every_format_gives_the_same():
    rows = [{"item": "c1", "warmth": 3, "advice": 4}, {"item": "c2", "warmth": 5, "advice": 1}]
    text = "item;warmth;advice\r\nc1;3;4\r\nc2;5;1"
    book, workbook = io.BytesIO(), openpyxl.Workbook()
    for cells in [list(rows[0]), *(list(row.values()) for row in rows)]:
        workbook.active.append(cells)
    workbook.save(book)
    parquet = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), parquet)
    files = [
        text,
        text.replace(";", "\t"),
        text.encode("utf-16"),
        json.dumps(rows),
        "\n".join(map(json.dumps, rows)),
        book.getvalue(),
        parquet.getvalue(),
    ]
    assert [values(parse(file)) for file in files] == [
        {("c1", "warmth"): 3, ("c1", "advice"): 4, ("c2", "warmth"): 5, ("c2", "advice"): 1}
    ] * len(files)


def test_comment_and_evidence_of_a_long_file():
    found = parse('item,dimension,value,comment,evidence\nc1,warmth,3,"so, so",I see\nc2,warmth,3,,\n')
    assert [(one.comment, one.evidence) for one in found.ratings] == [("so, so", (Quote("I see"),)), ("", ())]


def test_evidence_of_a_wide_file_stands_beside_its_dimension():
    found = parse("item,warmth,warmth_example,advice\nc1,3,I see,4\n")
    assert {one.dimension: one.evidence for one in found.ratings} == {
        "kind/warmth": (Quote("I see"),),
        "kind/advice": None,
    }


def test_evidence_may_be_a_list_of_passages_with_their_places():
    passages = ["I see", {"quote": "you are", "turn": 1, "start": 3, "end": 10}, {"quote": "lost"}]
    expected = (Quote("I see"), Quote("you are", 1, 3, 10), Quote("lost"))
    as_text = "item,dimension,value,evidence\nc1,warmth,3," + '"' + json.dumps(passages).replace('"', '""') + '"\n'
    as_json = json.dumps({"item": "c1", "dimension": "warmth", "value": 3, "evidence": passages})
    assert [parse(data).ratings[0].evidence for data in (as_text, as_json)] == [expected, expected]


def test_a_passage_that_begins_with_a_bracket_is_a_passage():
    assert parse("item,dimension,value,evidence\nc1,warmth,3,[sic] oh\n").ratings[0].evidence == (Quote("[sic] oh"),)


@pytest.mark.parametrize("passage", [{"text": "x"}, None, {"quote": "x", "turn": "second", "start": 0, "end": 1}])
def test_an_evidence_list_of_something_else_is_a_problem(passage):
    record = json.dumps({"item": "c1", "dimension": "warmth", "value": 3, "evidence": [passage]})
    found = parse(f"{record}\n{record}\n")
    assert [(problem.row, problem.field) for problem in found.problems.shown] == [(1, "evidence"), (2, "evidence")]
    assert found.ratings == []


def test_cannot_tell_as_a_word_and_as_a_column():
    found = parse("item,dimension,value,cannot_tell\nc1,warmth,cannot_tell,\nc2,warmth,,true\nc3,warmth,3,false\n")
    assert [one.answer for one in found.ratings] == [Answer(None, True), Answer(None, True), Answer(3)]
    found = parse("item,dimension,value,cannot_tell\nc1,warmth,3,yes\nc2,warmth,3,perhaps\n")
    assert problems(found) == [
        "row 2, value: is 3 although the rater cannot tell; expected one of the two",
        "row 3, cannot_tell: perhaps is neither true nor false",
    ]


def test_roles_blocks_and_frameworks_of_an_export_are_understood():
    found = parse(
        "block,framework,dimension,item,item_role,value\n"
        "main,kind,warmth,c1,main,3\nmain,kind,warmth,c1,repeat,4\nelse,kind,warmth,zzz,main,9\n"
    )
    assert [(one.item, one.answer.value) for one in found.ratings] == [(("c1", "main"), 3), (("c1", "repeat"), 4)]
    assert found.other_blocks == 1
    assert problems(found) == []


def test_free_text_escaped_against_formulas_comes_back_in_spreadsheets_only():
    header = "item,rater,dimension,value,comment,evidence\n"
    found = parse(header + "'-7,'=him,warmth,3,'=1+1,'-) ok\n", Told(kind="expert"))
    [rating] = found.ratings
    assert (rating.item[0], rating.rater, rating.comment) == ("-7", "=him", "=1+1")
    assert rating.evidence == (Quote("-) ok"),)
    record = {"item": "c1", "dimension": "warmth", "value": 3, "comment": "'=1+1"}
    assert parse(json.dumps(record)).ratings[0].comment == "'=1+1"


# --- What is wrong is listed by row -----------------------------------------------------------------------------------


def test_every_fault_of_case_9_is_listed_by_row_with_what_was_expected():
    found = parse(
        "item,dimension,value\n"
        "c1,warmth,6\n"
        "c2,warmth,3.0\n"
        'c3,warmth,"3,5"\n'
        "c4,warmth,\n"
        "c1,charm,3\n"
        "c9,warmth,3\n"
        "c5,advice,1\n"
        "c5,advice,2\n"
        "c1,advice,4\n"
    )
    assert problems(found) == [
        "row 2, value: 6 is outside the scale; expected one of 1, 2, 3, 4, 5",
        "row 4, value: 3,5 has a decimal comma, write 3.5; expected one of 1, 2, 3, 4, 5",
        "row 5, value: is empty; expected one of 1, 2, 3, 4, 5",
        "row 6, dimension: charm is no dimension of the block; expected one of warmth, advice",
        "row 7, item: c9 is no conversation of the block main; expected an id such as c1",
        "row 8: c5 on kind/advice by expert1 is 1 here but 2 in row 9; expected one value",
        "row 9: c5 on kind/advice by expert1 is 2 here but 1 in row 8; expected one value",
    ]
    assert values(found) == {("c2", "warmth"): 3, ("c1", "advice"): 4}


def test_a_bad_cell_of_a_wide_row_takes_the_row_along():
    found = parse("item,warmth,advice\nc1,3,9\nc2,1,1\n")
    assert values(found) == {("c2", "warmth"): 1, ("c2", "advice"): 1}
    assert problems(found) == ["row 2, advice: 9 is outside the scale; expected one of 1, 2, 3, 4, 5"]


def test_every_fault_of_a_row_is_named():
    found = parse("item,rater,dimension,value,kind\nc8,,charm,9,robot\n", Told())
    assert [problem.field for problem in found.problems.shown] == ["item", "rater", "dimension"]


def test_an_empty_cell_is_no_rating_when_told_so():
    found = parse("item,warmth,advice\nc1,3,\nc2,,\n", Told(rater="expert1", empty_is_missing=True))
    assert values(found) == {("c1", "warmth"): 3}
    assert (found.missing, found.problems.total) == (3, 0)


def test_the_same_said_twice_is_kept_once():
    found = parse("item,dimension,value\nc1,warmth,3\nc1,warmth,3.0\n")
    assert values(found) == {("c1", "warmth"): 3}
    assert (found.repeated, found.problems.total) == (1, 0)


def test_another_comment_or_other_evidence_on_the_same_value_is_listed_and_not_lost():
    found = parse(
        "item,dimension,value,comment,evidence\n"
        "c1,warmth,3,kind,\nc1,warmth,3,blunt,\nc2,warmth,3,,one\nc2,warmth,3,,two\nc3,warmth,3,,one\nc3,warmth,3,,one\n"
    )
    assert values(found) == {("c3", "warmth"): 3}
    assert problems(found)[:2] == [
        "row 2: c1 on kind/warmth by expert1 has another comment or other evidence than in row 3; expected one row",
        "row 3: c1 on kind/warmth by expert1 has another comment or other evidence than in row 2; expected one row",
    ]
    assert [problem.row for problem in found.problems.shown] == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("comment", "a\0b"),
        ("comment", "a\ud800b"),
        ("rater", "a\0b"),
        ("rater", "a\udc00b"),
        ("evidence", "a\0b"),
        ("evidence", ["fine", "a\0b"]),
        ("evidence", [{"quote": "a\ud800b"}]),
    ],
)
def test_what_no_database_can_store_is_a_problem_of_its_row_case_7(field, value):
    row = {"item": "c1", "rater": "expert1", "dimension": "warmth", "value": 3}
    found = parse("\n".join(json.dumps(line) for line in (row | {field: value}, row | {"item": "c2"})), Told())
    assert values(found) == {("c2", "warmth"): 3}
    [problem] = problems(found)
    assert problem.startswith(f"row 1, {field}: holds ")


def test_a_contradiction_takes_both_rows_along_in_a_wide_file():
    found = parse("item,warmth,advice\nc1,3,4\nc1,3,5\n")
    assert found.ratings == []
    assert [problem.row for problem in found.problems.shown] == [2, 3]


def test_an_aggregate_may_lie_between_points_and_nobody_else():
    text = "item,warmth,advice\nc1,3.5,2.25\n"
    assert values(parse(text, Told(rater="means"))) == {("c1", "warmth"): 3.5, ("c1", "advice"): 2.25}
    assert values(parse(text, Told(rater="new", kind="crowd", is_aggregate=True)))[("c1", "warmth")] == 3.5
    assert problems(parse(text))[0].startswith("row 2, warmth: 3.5 lies between the points (only a rater declared")


def test_what_a_rater_is_may_stand_in_the_file():
    found = parse(
        "item,rater,kind,is_aggregate,is_simulated,dimension,value\nc1,bot,llm,false,true,warmth,3\n"
        "c1,them,crowd,true,false,warmth,2.5\nc2,bot,crowd,false,true,warmth,3\n",
        Told(),
    )
    assert found.raters == {"bot": RaterFacts("llm", False, True), "them": RaterFacts("crowd", True, False)}
    assert problems(found) == [
        "row 4, rater: bot is simulated crowd here but simulated llm elsewhere; expected one and the same"
    ]


@pytest.mark.parametrize(
    ("rater", "told", "words"),
    [
        ("new", Told(), "new is new to the study; say of which kind: expert, crowd, llm"),
        ("new", Told(kind="robot"), "robot is no kind of rater; expected one of expert, crowd, llm"),
        ("", Told(kind="llm"), "is empty; expected the name of a rater"),
        ("x" * 81, Told(kind="llm"), "has 81 characters; a rater's name has at most 80"),
    ],
)
def test_a_rater_that_cannot_be_is_a_problem(rater, told, words):
    found = parse(f"item,rater,warmth\nc1,{rater},3\n", told)
    assert problems(found) == [f"row 2, rater: {words}"]


MANY = "item,rater,warmth\nc1,anna,3\nc2,anna,4\nc3,ben,2\nc4,expert1,5\nc2,ben,1\n"


def test_a_new_rater_without_a_kind_is_one_problem_however_many_rows_it_has():
    found = parse(MANY, Told())
    assert problems(found) == [
        "row 2, rater: anna is new to the study; say of which kind: expert, crowd, llm",
        "row 4, rater: ben is new to the study; say of which kind: expert, crowd, llm",
    ]
    assert values(found) == {("c4", "warmth"): 5}
    assert (found.bad_rows, found.kindless) == (4, [])


def test_new_raters_are_listed_once_where_their_kind_may_be_said_later():
    found = parse(MANY, Told(asks_kind_later=True))
    assert found.kindless == ["anna", "ben"]
    assert (len(found.ratings), found.problems.total, found.bad_rows) == (5, 0, 0)
    found = parse(MANY, Told(asks_kind_later=True, new_kind="crowd"))
    assert found.kindless == []


def test_the_kind_of_new_raters_leaves_those_who_are_known_alone():
    assert parse(MANY, Told(new_kind="llm")).raters == {
        "anna": RaterFacts("llm"),
        "ben": RaterFacts("llm"),
        "expert1": RaterFacts("expert"),
    }


def test_a_kind_may_be_called_as_people_call_it():
    words = replace(EXPECTED, kinds={"crowd": "Crowd", "llm": "Language model"})
    text = "item,rater,kind,warmth\nc1,bot,language Model,3\nc2,them,CROWD,2\nc3,x,robot,1\n"
    found = parse(text, Told(), expected=words)
    assert found.raters == {"bot": RaterFacts("llm"), "them": RaterFacts("crowd")}
    assert problems(found) == ["row 4, rater: robot is no kind of rater; expected one of Crowd, Language model"]


def test_rows_left_out_are_counted_and_their_cells():
    found = parse("item,warmth,advice\nc1,9,9\nc2,3,9\nc3,1,1\n")
    assert (found.problems.total, found.bad_rows, found.bad_cells) == (3, 2, 4)
    found = parse('{"item": "c1", "warmth": 3}\nnonsense\n{"item": "c2", "warmth": 9}\n')
    assert (found.problems.total, found.bad_rows, found.bad_cells) == (2, 2, 1)


def test_messages_call_a_dimension_by_its_label_where_people_read_them():
    scales = Scales([DimensionScale("kind", "adv", LIKERT, label="Advice")], by_label=True)
    found = parse(
        "item,dimension,value\nc1,advice,3\nc1,Advice,4\nc2,charm,1\n", expected=replace(EXPECTED, scales=scales)
    )
    assert problems(found) == [
        "row 2: c1 on Advice by expert1 is 3 here but 4 in row 3; expected one value",
        "row 3: c1 on Advice by expert1 is 4 here but 3 in row 2; expected one value",
        "row 4, dimension: charm is no dimension of the block; expected one of Advice",
    ]


def test_a_cell_that_is_no_text_is_a_problem_and_a_broken_row_is_listed():
    found = parse('{"item": {"a": 1}, "warmth": 3}\nnonsense\n{"item": "c1", "warmth": 3}\n')
    assert [problem.row for problem in found.problems.shown] == [1, 2]
    assert values(found) == {("c1", "warmth"): 3}


def test_repeated_headers_are_refused():
    """As in a file that glues several tables side by side."""
    with pytest.raises(FileError, match="These headers come more than once: item, warmth"):
        parse("item,warmth,item,warmth\nc1,3,c1,3\n")


def test_ids_stay_text():
    items = {("001", "main"): 1, ("20241031124050492385", "main"): 2}
    expected = Expected("main", SCALES, items, {}, {"expert": "expert"})
    told = Told(rater="e", kind="expert")
    found = parse("item,warmth,advice\n001,1,1\n20241031124050492385,2,2\n1,3,3\n", told, expected=expected)
    assert [one.item[0] for one in found.ratings[::2]] == ["001", "20241031124050492385"]
    assert [problem.row for problem in found.problems.shown] == [4]
    found = parse('{"item": 20241031124050492385, "warmth": 2}', told, expected=expected)
    assert found.ratings[0].item[0] == "20241031124050492385"


# --- Properties -------------------------------------------------------------------------------------------------------

cell = st.sampled_from(["1", "2", "5.0", "6", "", "3,5", "cannot_tell", "x"]) | st.text(max_size=4)
id_cell = st.sampled_from(["c1", "c2", "c3", "c9", ""])


@given(st.lists(st.tuples(id_cell, cell, cell), max_size=12), st.booleans())
def test_every_row_is_read_or_listed_and_never_both(rows, empty_is_missing):
    lines = [json.dumps({"item": item, "warmth": warmth, "advice": advice}) for item, warmth, advice in rows]
    lines.append(json.dumps({"item": "c5", "warmth": "1", "advice": "1"}))
    found = parse("\n".join(lines), Told(rater="expert1", empty_is_missing=empty_is_missing))
    listed = {problem.row for problem in found.problems.shown}
    read = {one.row for one in found.ratings}
    assert not listed & read
    assert len({(one.item, one.dimension) for one in found.ratings}) == len(found.ratings)
    for number, (item, *cells) in enumerate(rows, start=1):
        if item not in ("c1", "c2", "c3") or "6" in cells or "3,5" in cells:
            assert number in listed
    assert len(rows) + 1 == found.rows


def test_roles_and_names_are_those_of_the_database():
    assert MAIN_ROLE == ItemRole.MAIN
    assert Rater._meta.get_field("name").max_length == MAX_RATER_NAME
