from apps.reliability.confusions import confusion_of
from apps.reports.figures.confusion import confusion_figure
from apps.reports.figures.palettes import PAPER
from tests.reports.figures.conftest import (
    CAST,
    CROWD,
    EXPERTS,
    KEY,
    check,
    data,
    labels_of,
    make_table,
    palettes,
    texts,
)

COLUMNS = {"expert1": [1, 1, 1, 3, 5], "expert2": [1, 1, 2, 5, 5], "expert3": [None] * 5, "crowd": [1.5, 2, 3, 3, 5]}


def drawn(a="expert1", b="expert2", palette=PAPER, points=(1, 2, 3, 4, 5)):
    table = make_table(COLUMNS, [*EXPERTS, CROWD], points)
    return confusion_figure(confusion_of(table, a, b), KEY, labels_of(CAST), palette)


@palettes
def test_counts_and_shares_of_the_row(palette):
    figure = drawn(palette=palette)
    check(figure)
    for narrow in (False, True):
        cells = {
            (datum["a"], datum["b"]): (datum["count"], datum["share"])
            for datum in data(figure.spec_of(narrow=narrow), "rect")
            if "count" in datum
        }
        assert cells[1, 1] == (2, 2 / 3)
        assert cells[1, 2] == (1, 1 / 3)
        assert cells[3, 5] == (1, 1)
        # Rows that expert1 never gave have no cells, so no share that would divide by nothing.
        assert {a for a, _ in cells} == {1, 3, 5}
        assert texts(figure.spec_of(narrow=narrow)).count("never given") == 2
    assert figure.rows[0] == ("1", "2 (67 %)", "1 (33 %)", "0 (0 %)", "0 (0 %)", "0 (0 %)", "3")
    assert figure.rows[1] == ("2", *["never given"] * 5, "0")


def test_the_summary_says_who_is_higher():
    assert drawn().summary == (
        "Of 5 items rated by both, 60 % have the same point and 80 % are at most one point apart; expert2 is higher on "
        "2 and lower on 0."
    )
    assert drawn("expert2", "expert1").summary.endswith("expert1 is higher on 0 and lower on 2.")


def test_without_a_matrix_the_reason_is_said():
    for b, reason in (("crowd", "values between points"), ("expert3", "no shared items")):
        figure = drawn(b=b)
        check(figure)
        assert f"No matrix: {reason}" in texts(figure.spec)
        assert figure.summary == f"There is no matrix of expert1 and {b}: {reason}."


@palettes
def test_eleven_points_fit(palette):
    check(drawn(palette=palette, points=tuple(range(11))))
