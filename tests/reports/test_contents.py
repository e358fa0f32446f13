import re
from dataclasses import replace

import pytest

from apps.measures.pairs import Convention
from apps.reliability.notes import Note
from apps.reports.contents import ReportOptions, Stars, group_of_side
from tests.reports.made import content_of, study_tables


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"convention": "best"}, "Unknown convention best; expected one of scale, observed."),
        ({"parts": ["pairs", "trios"]}, "Unknown part trios; expected one of pairs, groups, retests."),
        ({"statistics": ["kappa"]}, "Unknown statistic kappa; expected one of kappa_unweighted, kappa_linear,"),
        ({"groups": ["robots"]}, "Unknown group robots; expected one of experts, crowd,"),
        ({"formats": ["csv", "doc"]}, "Unknown format doc; expected one of csv, json, xlsx,"),
        ({"stars": "many"}, "Unknown star rule many; expected one of p_adjusted, p_value, none."),
        ({"threshold": 1.5}, "The threshold is 1.5; expected a number from 0 to 1."),
        ({"colour": "red"}, "Unknown option colour."),
    ],
)
def test_a_wrong_choice_is_one_sentence(wrong, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        ReportOptions.from_dict(wrong)


def test_options_survive_json():
    import json

    options = ReportOptions(
        convention=Convention.OBSERVED,
        groups=("experts",),
        raters=("-1",),
        stars=Stars.NONE,
        threshold=0.4,
        all_figures=True,
    )
    assert ReportOptions.from_dict(json.loads(json.dumps(options.as_dict()))) == options
    assert ReportOptions.from_dict({}) == ReportOptions()


def shown(**chosen):
    return content_of(study_tables(), resamples=0, options=ReportOptions(**chosen)).rows


def test_narrowing_leaves_out_rows_and_changes_no_figure():
    everything = content_of(study_tables(), resamples=0).rows
    for chosen in (
        {"parts": ("groups",)},
        {"statistics": ("mae", "bias")},
        {"groups": ("experts", "llms")},
        {"raters": ("gpt",)},
        {"block": "letters", "framework": "care", "parts": ("pairs",)},
    ):
        rows = shown(**chosen)
        assert rows
        assert len(rows) < len(everything)
        assert set(rows) <= set(everything)


def test_parts_statistics_groups_and_raters_choose_what_they_name():
    assert {row.b for row in shown(parts=("groups",))} == {""}
    assert {row.statistic for row in shown(statistics=("mae", "bias"))} == {"mae", "bias"}
    sides = {name for row in shown(groups=("experts", "llms")) for name in (row.a, row.b)}
    assert {"e1", "gpt", "experts:median", "experts", "experts-without-e1:median"} <= sides
    assert "crowd" not in sides
    assert all("gpt" in (row.a, row.b) for row in shown(raters=("gpt",)))
    assert shown(block="elsewhere") == ()


def test_notes_stay_with_their_groups():
    content = content_of(study_tables(), resamples=0)
    assert content.notes == ()
    noted = replace(content.agreement, notes=(Note("letters", "care", "warmth", "experts", "Odd."),))
    assert len(replace(content, agreement=noted).notes) == 1
    assert replace(content, agreement=noted, options=ReportOptions(parts=("pairs",))).notes == ()


@pytest.mark.parametrize(
    ("side", "group"),
    [
        ("gpt", "llms"),
        ("experts", "experts"),
        ("experts:median", "experts"),
        ("crowd-without-w1:mean", "crowd"),
        ("all", ""),
        ("experts:mine", "llms"),
    ],
)
def test_a_rater_comes_before_a_group_of_that_name(side, group):
    assert group_of_side(side, {"gpt": "llms", "experts:mine": "llms"}) == group
