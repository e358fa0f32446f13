"""What stands on the pages of scales and raters, from rows and tables."""

import numpy as np
import pytest

from apps.dashboard.agreement.cells import Flip, cell_of
from apps.dashboard.agreement.heat_map import heat_map
from apps.dashboard.agreement.query import Query
from apps.dashboard.agreement.rater_parts import RaterRows, Sort, listed_raters, rater_lines
from apps.dashboard.agreement.scale_page import scale_figures
from apps.dashboard.agreement.scale_parts import (
    Among,
    Place,
    choices_of,
    confusion_rows,
    disputes,
    group_table,
    marks_of,
    usual_pair,
)
from apps.measures.pairs import Convention
from apps.measures.scale import Level
from apps.reliability.agreement import Settings, analyse
from apps.reliability.benchmarks import Estimate
from apps.reliability.confusions import confusion_of
from apps.reliability.labels import (
    BlockLabel,
    DimensionLabel,
    FrameworkLabel,
    PointLabel,
    ScaleLabel,
)
from apps.reliability.matrix import Kind
from tests.reliability.conftest import KEY, make_table

KINDS = {
    "gpt": Kind.LLM,
    "claude": Kind.LLM,
    "mean": Kind.CROWD,
    "me": Kind.SELF,
    "panel": Kind.REFERENCE,
    **{f"w{number}": Kind.CROWD for number in range(1, 40)},
}
COLUMNS = {
    "expert1": [1, 2, 3, 4, 5, 1],
    "expert2": [1, 2, 3, 5, 5, 2],
    "expert3": [1, 1, 3, 4, 4, 3],
    "gpt": [2, 1, 4, 4, 3, 5],
}


def rows_of(table, convention=Convention.SCALE):
    return analyse([table], Settings(convention=convention, resamples=0)).rows


def heat(table, statistic="kappa_quadratic"):
    return heat_map(
        rows_of(table), rows_of(table, Convention.OBSERVED), table.raters, statistic=statistic, threshold=0.6
    )


# --- Each with each ---------------------------------------------------------------------------------------------------


def test_a_heat_map_is_the_same_turned_over_and_holds_the_rows():
    table = make_table(COLUMNS, kinds=KINDS)
    found = heat(table)
    assert [side.name for side in found.sides] == ["experts:median", "expert1", "expert2", "expert3", "gpt"]
    assert found.n_pairs == 10
    values = {frozenset((row.a, row.b)): row.value for row in rows_of(table) if row.statistic == "kappa_quadratic"}
    for i, row in enumerate(found.rows):
        for j, cell in enumerate(row.cells):
            assert cell.cell == found.rows[j].cells[i].cell
            assert cell.is_self == (i == j)
            a, b = row.side.name, found.sides[j].name
            if frozenset((a, b)) in values and i != j:
                assert cell.cell is not None
                assert cell.cell.estimate.value == values[frozenset((a, b))]


def test_a_bias_has_the_other_sign_turned_over_and_f1_one_direction():
    """Each cell is the mean of its column less that of its row; F1 takes the row as the truth."""
    table = make_table(COLUMNS, kinds=KINDS)
    found = heat(table, "bias")
    means = {name: np.mean(values) for name, values in COLUMNS.items()}
    for i, row in enumerate(found.rows):
        for j, cell in enumerate(row.cells):
            a, b = row.side.name, found.sides[j].name
            if a in means and b in means and i != j:
                assert cell.cell is not None
                assert cell.cell.estimate.value == pytest.approx(means[b] - means[a])
    assert found.rows[0].cells[1].is_without
    assert found.rows[1].cells[0].is_without
    one_way = heat(table, "f1_weighted")
    assert one_way.rows[1].cells[2].cell is not None
    assert one_way.rows[2].cells[1].cell is None
    assert one_way.n_pairs == found.n_pairs == 10


def test_a_rater_meets_their_group_without_themselves():
    table = make_table(COLUMNS, kinds=KINDS)
    found = heat(table)
    cell = found.rows[0].cells[1]
    [row] = [
        row
        for row in rows_of(table)
        if row.statistic == "kappa_quadratic" and row.a == "experts-without-expert1:median"
    ]
    assert cell.is_without
    assert found.has_without
    assert cell.cell is not None
    assert cell.cell.estimate.value == row.value


def test_whoever_may_contain_the_other_is_not_compared():
    table = make_table(
        {"mean": [1, 2, 3], "w1": [1, 2, 4], "w2": [2, 2, 3], "gpt": [1, 3, 3]}, kinds=KINDS, aggregates=("mean",)
    )
    found = heat(table)
    names = [side.name for side in found.sides]
    assert names == ["crowd:mean", "mean", "gpt"]
    assert found.rows[0].cells[1].cell is None
    assert found.rows[1].cells[2].cell is not None


def test_what_is_undefined_is_counted():
    # CASES 18.
    found = heat(make_table({"expert1": [3, 3], "expert2": [3, 3], "gpt": [1, 2]}, kinds=KINDS))
    cell = found.rows[1].cells[2].cell
    assert cell is not None
    assert cell.estimate.value is None
    assert cell.estimate.reason == "no variation"
    assert found.n_undefined == 1


def test_the_other_convention_stands_beside_where_it_differs():
    # CASES 20.
    a, b = [1, 1, 7, 7, 1, 2], [1, 7, 7, 7, 2, 2]
    table = make_table({"expert1": a, "expert2": b}, points=tuple(float(n) for n in range(1, 8)))
    cell = heat(table).rows[0].cells[1].cell
    assert cell is not None
    assert cell.estimate.value == pytest.approx(0.6159, abs=5e-5)
    assert cell.other is not None
    assert cell.other.value == pytest.approx(0.4828, abs=5e-5)


# --- Groups, benchmark ------------------------------------------------------------------------------------------------


def test_the_groups_stand_side_by_side_with_their_notes():
    table = make_table({"expert1": [3, 3], "expert2": [3, 3], "gpt": [1, 2], "claude": [1, 3]}, kinds=KINDS)
    agreement = analyse([table], Settings(resamples=0))
    found = group_table(agreement.rows, agreement.notes)
    assert [(column.name, column.n_raters) for column in found.columns] == [("experts", 2), ("llms", 2)]
    assert found.columns[0].notes == (agreement.notes[0].text,)
    assert "no variation" in found.columns[0].notes[0]
    sections = dict(found.sections)
    assert [row.statistic for row in sections["raw"]] == ["percent_agreement"]
    by_name = {row.a: row for row in agreement.rows if row.statistic == "percent_agreement" and not row.b}
    for column, cell in zip(found.columns, sections["raw"][0].cells, strict=True):
        assert cell is not None
        assert cell.estimate.value == by_name[column.name].value
    assert sum(len(rows) for rows in sections.values()) == 17


def test_a_side_stands_within_above_or_below_the_experts():
    columns = {"expert1": [1, 2, 3, 4, 5], "expert2": [1, 2, 3, 4, 4], "expert3": [1, 2, 3, 5, 5]}
    columns |= {"gpt": [5, 4, 3, 2, 1], "claude": [1, 2, 3, 4, 5]}
    table = make_table(columns, kinds=KINDS)
    figures = scale_figures(table, rows_of(table), (), (), Query())
    assert figures.benchmark is not None
    places = {line.side.name: line.place for line in figures.sides}
    assert places == {"gpt": Place.BELOW, "claude": Place.ABOVE}
    assert len(figures.expert_pairs) == 3
    assert (figures.n_items, figures.n_raters, figures.n_ratings) == (5, 5, 25)


def test_without_two_experts_nobody_can_be_placed():
    table = make_table({"expert1": [1, 2, 3], "gpt": [1, 3, 3]}, kinds=KINDS)
    figures = scale_figures(table, rows_of(table), (), (), Query())
    assert [line.place for line in figures.sides] == [Place.UNKNOWN]


# --- Two raters -------------------------------------------------------------------------------------------------------


def test_the_first_matrix_is_that_of_an_expert_and_a_model_who_share_most():
    columns = {"expert1": [1, None, None], "expert2": [1, 2, 3], "gpt": [1, 1, 1], "mean": [1.5, 2, 2]}
    assert usual_pair(make_table(columns, kinds=KINDS, aggregates=("mean",))) == ("expert2", "gpt")
    workers = {"w1": [1, None, 2], "w2": [None, 2, None], "w3": [1, None, 2]}
    assert usual_pair(make_table(workers, kinds=KINDS)) == ("w1", "w3")
    assert usual_pair(make_table({"expert1": [1, 2]})) is None
    halves = {"mean": [1.5, 2], "me": [1, 2]}
    assert usual_pair(make_table(halves, kinds=KINDS, aggregates=("mean",))) == ("me", "mean")


def test_rows_of_a_matrix_carry_shares_and_totals():
    table = make_table({"expert1": [1, 1, 1, 2], "gpt": [1, 1, 2, 5]}, kinds=KINDS)
    points = [PointLabel(value, "") for value in table.scale.points]
    first, second, *others = confusion_rows(confusion_of(table, "expert1", "gpt"), points)
    assert [cell.count for cell in first.cells] == [2, 1, 0, 0, 0]
    assert [cell.share for cell in first.cells] == pytest.approx([2 / 3, 1 / 3, 0, 0, 0])
    assert [cell.shade for cell in first.cells] == [4, 2, 0, 0, 0]
    assert first.cells[0].is_same
    assert not first.cells[1].is_same
    assert first.total == 3
    assert second.cells[4].share == 1
    assert all(cell.share is None for row in others for cell in row.cells)


# --- Disputes ---------------------------------------------------------------------------------------------------------


def test_what_may_be_asked_for_depends_on_who_is_there():
    everybody = make_table({**COLUMNS, "claude": [1] * 6, "w1": [1] * 6, "w2": [1] * 6}, kinds=KINDS)
    assert choices_of(everybody) == [
        Among.EXPERTS,
        Among.CROWD,
        Among.MODELS,
        Among.EVERYBODY,
        Among.EXPERTS_MODELS,
        Among.EXPERTS_CROWD,
    ]
    assert choices_of(make_table({"expert1": [1], "gpt": [1]}, kinds=KINDS)) == [Among.EVERYBODY, Among.EXPERTS_MODELS]
    assert choices_of(make_table({"expert1": [1]})) == []
    assert choices_of(make_table({"expert1": [1], "expert2": [1]})) == [Among.EXPERTS]


def test_disputes_between_two_groups_carry_both_values():
    found = disputes(make_table(COLUMNS, kinds=KINDS), Among.EXPERTS_MODELS)
    assert found.sides == ("experts:median", "gpt")
    first = found.items[0]
    assert (first.item, first.a, first.b, first.value) == ("i005", 2.0, 5.0, 3.0)
    assert len(found.items) == 6


def test_disputes_among_all_leave_out_aggregates():
    table = make_table({"expert1": [1, 1], "gpt": [1, 2], "mean": [5, 1]}, kinds=KINDS, aggregates=("mean",))
    assert [one.item for one in disputes(table, Among.EVERYBODY).items] == ["i001", "i000"]


def test_disputes_that_are_not_offered_are_refused():
    with pytest.raises(ValueError, match="no two sides"):
        disputes(make_table({"expert1": [1]}), Among.EXPERTS_MODELS)
    nominal = make_table({"expert1": [1], "expert2": [2], "gpt": [2]}, kinds=KINDS, level=Level.NOMINAL)
    assert Among.EXPERTS_MODELS not in choices_of(nominal)
    assert disputes(nominal, Among.EXPERTS).items[0].value == 1


def test_marks_stand_at_their_point_and_values_between_at_the_nearest():
    table = make_table({"expert1": [2, None], "gpt": [5, 1], "mean": [2.5, 3.33]}, kinds=KINDS, aggregates=("mean",))
    marks = marks_of(table, 0)
    assert [[mark.rater.name for mark in at if mark.rater] for at in marks] == [[], ["expert1"], ["mean"], [], ["gpt"]]
    assert marks[2][0].between == 2.5
    assert marks[1][0].between is None
    assert sum(len(at) for at in marks_of(table, 1)) == 2


def test_a_large_crowd_is_counted_at_each_point():
    columns = {f"w{number}": [1 + number % 2] for number in range(1, 20)} | {"expert1": [1]}
    marks = marks_of(make_table(columns, kinds=KINDS), 0)
    assert [(mark.rater.name if mark.rater else None, mark.n) for mark in marks[0]] == [("expert1", 1), (None, 9)]
    assert [(mark.rater, mark.n) for mark in marks[1]] == [(None, 10)]
    assert all(at == () for at in marks[2:])


# --- Raters -----------------------------------------------------------------------------------------------------------


def label_of(key=KEY):
    dimension = DimensionLabel(key.dimension, "Empathy", "How much?", "ordinal", "+", ())
    framework = FrameworkLabel(key.framework, 1, "Warmth", "", "", "en", "", (dimension,))
    return ScaleLabel(BlockLabel(key.block, "Main", "letters", "", "", ((key.framework, 1),)), framework, dimension)


def lines(table, name):
    rows = analyse([table], Settings(resamples=50)).rows
    return rater_lines(
        name,
        [table],
        {table.key: label_of()},
        RaterRows(name, rows),
        RaterRows(name, ()),
        statistic="kappa_quadratic",
        threshold=0.6,
    )


def test_a_line_takes_bias_and_agreement_with_their_intervals_from_the_rows():
    table = make_table(COLUMNS, kinds=KINDS)
    rows = analyse([table], Settings(resamples=50)).rows
    [line] = lines(table, "gpt")
    [bias] = [row for row in rows if row.statistic == "bias" and (row.a, row.b) == ("experts:median", "gpt")]
    assert (line.bias.value, line.bias.ci_low, line.bias.ci_high) == (bias.value, bias.ci_low, bias.ci_high)
    [kappa] = [
        row for row in rows if row.statistic == "kappa_quadratic" and (row.a, row.b) == ("experts:median", "gpt")
    ]
    assert line.rest is not None
    assert line.rest.estimate.value == kappa.value
    assert line.experts is None


def test_the_bias_of_a_reference_side_is_turned_round():
    table = make_table({**COLUMNS, "panel": [5, 5, 5, 5, 5, 4]}, kinds=KINDS)
    rows = analyse([table], Settings(resamples=50)).rows
    [line] = lines(table, "panel")
    [bias] = [row for row in rows if row.statistic == "bias" and (row.a, row.b) == ("panel", "experts:median")]
    assert bias.value is not None
    assert bias.ci_low is not None
    assert bias.ci_high is not None
    assert line.bias.value == -bias.value > 0
    assert (line.bias.ci_low, line.bias.ci_high) == (-bias.ci_high, -bias.ci_low)
    own = np.array([5, 5, 5, 5, 5, 4.0]) - np.array([1, 2, 3, 4, 5, 2.0])
    assert line.bias.value == pytest.approx(own.mean())
    # Beside it as the statistic of agreement it has the same sign.
    assert RaterRows("panel", rows).estimate(table.key, "bias", "experts:median") == line.bias


def test_a_crowd_worker_is_compared_with_the_others_and_the_only_other_without_an_interval():
    table = make_table({"w1": [1, 2], "w2": [2, 2]}, kinds=KINDS)
    [line] = lines(table, "w1")
    assert line.profile.yardstick == "w2"
    assert line.rest is None
    assert line.bias.value == -0.5
    assert line.bias.ci_low is None
    assert lines(table, "nobody") == []


def test_raters_are_sorted_with_the_undefined_last():
    flat = make_table(
        {"expert1": [1, 2, 3], "expert2": [1, 2, 4], "expert3": [3, 2, 1], "gpt": [1, 2, 3], "claude": [2, 2, 2]},
        kinds=KINDS,
    )
    kappas = [row for row in rows_of(flat) if row.statistic == "kappa_quadratic"]

    def names(sort, **options):
        return [line.rater.name for line in listed_raters(kappas, flat.raters, sort, **options)]

    assert names(Sort.NAME) == ["expert1", "expert2", "expert3", "claude", "gpt"]
    assert names(Sort.NAME, lowest_first=True) == ["gpt", "claude", "expert3", "expert2", "expert1"]
    by_rest = names(Sort.REST)
    assert by_rest[-2:] == ["claude", "gpt"]
    assert by_rest[2] == "expert3"
    assert names(Sort.REST, lowest_first=True)[0] == "expert3"
    assert names(Sort.EXPERTS)[:2] == ["gpt", "claude"]
    assert names(Sort.EXPERTS, lowest_first=True)[:2] == ["claude", "gpt"]


@pytest.mark.parametrize(("p_here", "p_there", "flips"), [(0.01, 0.2, [Flip.NOT_SIGNIFICANT]), (0.01, None, [])])
def test_a_test_that_does_not_exist_makes_no_conclusion(p_here, p_there, flips):
    """Full agreement has a variance of 0 on observed values, so no test: it is not called insignificant there."""
    here, there = (Estimate(1.0, 1.0, 1.0, p, p, 8, "") for p in (p_here, p_there))
    cell = cell_of(here, there, statistic="kappa_quadratic", threshold=0.6)
    assert list(cell.other.flips if cell.other else ()) == flips
