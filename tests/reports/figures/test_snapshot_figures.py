import pytest

from apps.reliability.agreement import Settings, analyse
from apps.reliability.matrix import Kind, RaterKey
from apps.reliability.services.labelling import labels_of as words_of
from apps.reliability.services.loading import load_tables
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import PAPER
from apps.reports.figures.snapshot_figures import figures_of
from tests.reports.figures.conftest import CAST, check, drawn_values, labels_of, make_table, row, study_rows

COLUMNS = {"expert1": [1, 2, 3, 4], "expert2": [1, 2, 3, 5], "expert3": [2, 2, 3, 4], "crowd": [1.5, 2, 2, 4]}
COLUMNS |= {"gemini": [2, 3, 4, 5], "gpt": [1, 1, 1, 1]}


def test_all_figures_of_one_scale():
    table = make_table(COLUMNS, CAST)
    rows = [*study_rows(), row("experts:median", "gemini", 0.9, statistic="bias")]
    found = {one.name: one for one in figures_of(rows, [table], CAST, labels_of(CAST), PAPER)}
    assert list(found) == [
        "benchmark",
        "distribution-main-warmth-empathy",
        "raters-main-warmth-empathy",
        *(f"rater-{rater.name}" for rater in CAST),
    ]
    # The bias of the rows, with its interval, takes the place of the profile's.
    assert drawn_values(found["rater-gemini"].spec) == {"gemini": 0.9}
    assert found["rater-gemini"].rows[0][5] == "0.90 (0.80 to 1.00)"


def test_bias_turns_round_with_the_sides():
    rows = [row("gemini", "experts:median", 0.9, statistic="bias")]
    found = {one.name: one for one in figures_of(rows, [make_table(COLUMNS, CAST)], CAST, labels_of(CAST), PAPER)}
    assert found["rater-gemini"].rows[0][5] == "−0.90 (−1.00 to −0.80)"


def test_names_of_files_differ_where_those_of_raters_nearly_do_not():
    raters = [RaterKey(name, Kind.EXPERT) for name in ("Jo", "jo", "J o")]
    table = make_table({rater.name: [1, 2, 3] for rater in raters}, raters)
    names = [one.name for one in figures_of([], [table], table.raters, labels_of(raters), PAPER)]
    assert names[1:] == ["rater-j-o", "rater-jo", "rater-jo-2"]


def test_a_study_with_nothing_rated_has_no_figures():
    assert list(figures_of([], [], [], labels_of([]), PAPER)) == []


@pytest.mark.public_data
@pytest.mark.django_db
def test_the_published_study(kumar_folder):
    from django.core.management import call_command

    from apps.studies.models import Study

    call_command("load_frameworks", verbosity=0)
    call_command("import_kumar2026", str(kumar_folder), verbosity=0)
    study = Study.objects.get(slug="kumar-2026")
    tables = list(load_tables(study=study))
    rows = analyse(tables, Settings(resamples=20)).rows
    raters = sorted({rater for table in tables for rater in table.raters}, key=lambda one: one.order)
    found = list(figures_of(rows, tables, raters, FigureLabels.of(words_of(study).scales(), raters), PAPER))
    names = [one.name for one in found]
    assert names[:3] == ["benchmark", "frameworks", "alphas"]
    assert len(names) == len(set(names)) == 3 + 27 + 21 + 8
    benchmark = found[0]
    check(benchmark)
    assert len(benchmark.rows) == 21
    values = {
        (one.dimension, one.b): one.value
        for one in rows
        if one.statistic == "kappa_quadratic" and one.a == "experts:median"
    }
    drawn = {}
    for layer in benchmark.spec["layer"]:
        for datum in layer["data"]["values"]:
            if datum.get("side") in ("self", "crowd", "claude", "gemini", "gpt") and "value" in datum:
                drawn.setdefault(datum["side"], set()).add(datum["value"])
    for side, found_values in drawn.items():
        assert found_values == {value for (_, b), value in values.items() if b == side and value is not None}
