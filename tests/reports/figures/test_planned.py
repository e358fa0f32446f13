from apps.reports.figures.planned import MOST_BYTES, PlannedFigure, named_apart


def names(*wanted):
    return [figure.name for figure in named_apart(PlannedFigure(name, make=lambda *_: None) for name in wanted)]


def test_the_second_of_a_name_has_another():
    assert names("rater-jo", "rater-jo", "rater-jo-2", "rater-jo") == [
        "rater-jo",
        "rater-jo-2",
        "rater-jo-2-2",
        "rater-jo-3",
    ]


def test_long_names_are_cut_and_stay_apart():
    found = names("字" * 80, "字" * 81, "a" * MOST_BYTES)
    assert len(set(found)) == 3
    assert all(len(name.encode()) <= MOST_BYTES for name in found)
    assert found[0].startswith("字" * 30)
    assert found[2] == "a" * MOST_BYTES
