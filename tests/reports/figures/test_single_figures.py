import pytest
from django.core.management import call_command

from apps.measures.scale import Level, Scale
from apps.reliability.agreement import Settings, analyse
from apps.reliability.matrix import Kind, RaterKey, RatingTable
from apps.reliability.services.labelling import labels_of as words_of
from apps.reliability.services.loading import load_tables
from apps.reports.figures import single_figures as limits
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import PAPER
from apps.reports.figures.single_figures import Chosen, single_figures
from apps.studies.models import Study
from tests.reports.figures.conftest import CAST, KEY, check, drawn_values, labels_of, make_table, row, study_rows

COLUMNS = {"expert1": [1, 2, 3, 4], "expert2": [1, 2, 3, 5], "expert3": [2, 2, 3, 4], "crowd": [1.5, 2, 2, 4]}
COLUMNS |= {"gemini": [2, 3, 4, 5], "gpt": [1, 1, 1, 1]}


def planned(columns=COLUMNS, cast=CAST, rows=(), **chosen):
    return single_figures(rows, [make_table(columns, cast)], labels_of(cast), Chosen(**chosen))


def names(found):
    return [one.name for one in found.figures]


def drawn(found):
    return {one.name: one.drawn(PAPER) for one in found.figures}


def crowd_of(n):
    return [*CAST[:3], *(RaterKey(f"w{number}", Kind.CROWD) for number in range(n))]


def test_all_figures_of_one_scale_and_its_raters():
    found = planned(rows=study_rows())
    assert names(found) == [
        "distribution-main-warmth-empathy",
        "raters-main-warmth-empathy",
        "confusion-main-warmth-empathy-experts-median-gemini",
        "confusion-main-warmth-empathy-experts-median-gpt",
        *(f"rater-{rater.name}" for rater in CAST),
    ]
    assert [one.folder for one in found.figures] == ["scales"] * 4 + ["raters"] * 6
    assert {one.heading for one in found.figures[:4]} == {"Empathy"}
    assert found.left_out == ("Matrices, point by point, of 1 pair: values between points.",)
    for name, figure in drawn(found).items():
        check(figure)
        assert figure.name == name


def test_the_experts_median_stands_in_the_rows_of_a_matrix():
    figure = drawn(planned())["confusion-main-warmth-empathy-experts-median-gemini"]
    assert figure.caption.startswith("Items by the point of the experts' median (rows) and of gemini (columns)")
    assert figure.rows[0][2] == "1 (100 %)"  # the median 1, gemini 2


def test_the_bias_of_the_rows_takes_the_place_of_the_profiles():
    figures = drawn(planned(rows=[row("experts:median", "gemini", 0.9, statistic="bias")]))
    assert drawn_values(figures["rater-gemini"].spec) == {"gemini": 0.9}
    assert figures["rater-gemini"].rows[0][5] == "0.90 (0.80 to 1.00)"
    turned = drawn(planned(rows=[row("gemini", "experts:median", 0.9, statistic="bias")]))
    assert turned["rater-gemini"].rows[0][5] == "−0.90 (−1.00 to −0.80)"


def test_a_crowd_has_no_profiles_one_by_one():
    raters = crowd_of(300)
    found = planned({rater.name: [1, 2, 3] for rater in raters}, raters)
    assert [name for name in names(found) if name.startswith("rater-")] == [f"rater-expert{n}" for n in (1, 2, 3)]
    assert "Profiles of 300 crowd workers: a crowd is shown as a group, not worker by worker." in found.left_out
    assert not any("confusion" in name for name in names(found))


def test_many_raters_have_no_more_figures_than_can_be_read(monkeypatch):
    models = [RaterKey(f"m{number:03d}", Kind.LLM) for number in range(50)]
    raters = [*CAST[:3], *models]
    rows = [row("expert1", model.name, 0.5) for model in models]
    found = planned({rater.name: [1, 2, 3] for rater in raters}, raters, rows)
    assert sum(name.startswith("rater-") for name in names(found)) == limits.MOST_PROFILES
    assert sum(name.startswith("confusion-") for name in names(found)) == limits.MOST_MATRICES
    assert "raters-main-warmth-empathy" not in names(found)
    assert found.left_out == (
        "Profiles of 13 more raters: the first 40 are drawn.",
        "Heat maps of 1 scale with more than 30 raters to compare: they could not be read.",
        "Some matrices, point by point, of 1 scale: at most 8 are drawn of one scale.",
    )
    monkeypatch.setattr(limits, "MOST_FIGURES", 5)
    found = planned({rater.name: [1, 2, 3] for rater in raters}, raters)
    assert len(found.figures) == 5
    assert found.left_out[-1] == "44 more figures: a report has 5 of them at most."


def test_what_was_chosen_narrows_the_figures():
    assert names(planned(rows=study_rows(), pairs=False)) == ["distribution-main-warmth-empathy"]
    models = planned(groups=("llms",))
    assert names(models)[1:] == ["confusion-main-warmth-empathy-gemini-gpt", "rater-gemini", "rater-gpt"]
    assert [cells[0] for cells in models.figures[0].drawn(PAPER).rows] == ["Models"]
    one = planned(raters=("gpt",))
    assert names(one)[1:] == ["confusion-main-warmth-empathy-experts-median-gpt", "rater-gpt"]
    assert [cells[0] for cells in one.figures[0].drawn(PAPER).rows] == ["gpt"]


def test_points_without_an_order_have_no_median():
    raters = CAST[:3]
    table = make_table({rater.name: [1, 2, 1] for rater in raters}, raters, (1, 2))
    nominal = RatingTable.of(KEY, Scale((1.0, 2.0), Level.NOMINAL), table.items, raters, table.values)
    rows = [row("expert1", "expert2", 0.4, statistic="kappa_unweighted")]
    found = single_figures(rows, [nominal], labels_of(raters), Chosen())
    assert "confusion-main-warmth-empathy-expert1-expert2" in names(found)
    assert not any("median" in name for name in names(found))
    heat_map = drawn(found)["raters-main-warmth-empathy"]
    assert heat_map.columns[2] == "Unweighted kappa"


def test_raters_of_a_file_have_no_yardstick():
    raters = [RaterKey(name, None) for name in ("a", "b", "c")]
    found = planned({"a": [1, 2], "b": [1, 3], "c": [2, 3]}, raters)
    assert names(found)[1:] == [f"confusion-main-warmth-empathy-{pair}" for pair in ("a-b", "a-c", "b-c")]
    assert [cells[0] for cells in found.figures[0].drawn(PAPER).rows] == ["a", "b", "c"]
    assert found.left_out == (
        "Profiles of raters: a file of ratings does not say who is an expert, so there is no yardstick.",
    )


def test_many_raters_of_a_file_are_one_distribution():
    raters = [RaterKey(f"r{number:02d}", None) for number in range(13)]
    found = planned({rater.name: [1, 2] for rater in raters}, raters)
    assert [cells[:3] for cells in found.figures[0].drawn(PAPER).rows] == [("All raters", "13", "26")]


@pytest.mark.parametrize("tables", [[], [make_table({"expert1": [None, None]}, CAST[:1])]])
def test_nothing_rated_has_no_figures(tables):
    assert single_figures([], tables, labels_of(CAST), Chosen()).figures == ()


@pytest.mark.public_data
@pytest.mark.django_db
def test_the_published_study(kumar_folder):
    """27 tables, six of them of a crowd alone; 124 raters, 116 of them crowd workers."""
    call_command("load_frameworks", verbosity=0)
    call_command("import_kumar2026", str(kumar_folder), verbosity=0)
    study = Study.objects.get(slug="kumar-2026")
    tables = list(load_tables(study=study))
    raters = sorted({rater for table in tables for rater in table.raters}, key=lambda one: one.order)
    rows = analyse(tables, Settings(resamples=0)).rows
    found = single_figures(rows, tables, FigureLabels.of(words_of(study).scales(), raters), Chosen())
    kinds = [name.partition("-")[0] for name in names(found)]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "distribution": 27,
        "raters": 21,
        "confusion": 72,
        "rater": 8,
    }
    assert len(set(names(found))) == 128
    assert found.left_out == (
        "Profiles of 116 crowd workers: a crowd is shown as a group, not worker by worker.",
        "Matrices, point by point, of 18 pairs: values between points.",
        "Matrices, point by point, of 3 pairs: no shared items.",
    )
