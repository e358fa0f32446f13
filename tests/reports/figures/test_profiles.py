from dataclasses import dataclass, replace

import pytest

from apps.reliability.benchmarks import Estimate
from apps.reliability.matrix import Kind, RaterKey
from apps.reliability.profiles import Profile, profile_of
from apps.reports.figures.palettes import PAPER
from apps.reports.figures.profiles import rater_profile_figure
from tests.reports.figures.conftest import (
    CAST,
    EXPERTS,
    HOSTILE,
    KEY,
    MODELS,
    check,
    data,
    drawn_values,
    labels_of,
    make_table,
    palettes,
    said,
    texts,
)

COLUMNS = {"expert1": [1, 2, 3], "expert2": [1, 2, 3], "expert3": [1, 2, 3], "gemini": [2, 4, 5]}
RATERS = [*EXPERTS, MODELS[0]]


@dataclass(frozen=True)
class Line:
    profile: Profile
    bias: Estimate


def line(columns=COLUMNS, raters=RATERS, name="gemini", **bias) -> Line:
    table = make_table(columns, raters)
    column = next(place for place, rater in enumerate(table.raters) if rater.name == name)
    profile = profile_of(table, column)
    own = Estimate(profile.bias.value, None, None, None, None, profile.bias.n_items, profile.bias.reason or "")
    return Line(profile, replace(own, **bias))


def drawn(lines, palette=PAPER, rater=MODELS[0]):
    return rater_profile_figure(rater, lines, labels_of(CAST), palette)


@palettes
def test_use_and_bias_are_those_of_the_profile(palette):
    figure = drawn([line(ci_low=1.2, ci_high=2.1)], palette)
    check(figure)
    for narrow in (False, True):
        spec = figure.spec_of(narrow=narrow)
        assert drawn_values(spec) == {"gemini": pytest.approx(5 / 3)}
        assert [(d["low"], d["high"]) for d in data(spec, "rule") if "low" in d] == [(1.2, 2.1)]
        bars = {bar["point"]: bar["share"] for bar in data(spec, "rect") if bar.get("who") == "gemini"}
        assert bars == {1: 0, 2: pytest.approx(1 / 3), 3: 0, 4: pytest.approx(1 / 3), 5: pytest.approx(1 / 3)}
    assert figure.rows == (
        ("Empathy", "Warmth", "3", "2, 4, 5", "the median of the experts", "1.67 (1.20 to 2.10)", "3"),
    )
    assert figure.summary == "On Empathy gemini rates higher than the others on average, by 1.67."


def test_the_axis_has_zero_in_its_middle_and_room_for_every_interval():
    spec = drawn([line(ci_low=-0.4, ci_high=2.6)]).spec
    domains = [layer["encoding"]["x"]["scale"]["domain"] for layer in spec["layer"]]
    assert [-3.0, 3.0] in domains
    assert {"−3", "0", "+3"} <= set(texts(spec))


def test_an_undefined_bias_is_said():
    alone = line({**COLUMNS, "gemini": [None, None, None]})
    figure = drawn([alone])
    check(figure)
    assert "not defined: no shared items" in said(figure.spec)
    assert "no ratings" in texts(figure.spec)
    assert figure.summary == "The bias of gemini is not defined on the one scale: no shared items."
    assert figure.rows[0][3] == "none"


def test_nobody_to_compare_with():
    figure = drawn([line({"gemini": [1, 2]}, [MODELS[0]])])
    check(figure)
    assert figure.rows[0][4] == "nobody to compare with"


def test_an_expert_is_compared_with_the_other_experts():
    figure = drawn([line(name="expert1")], rater=EXPERTS[0])
    check(figure)
    assert "the median of the other experts" in figure.caption


def test_scales_are_named_at_the_two_ends():
    other = line({**COLUMNS, "gemini": [1, 1, 1]})
    low = Line(replace(other.profile, key=KEY._replace(dimension="low")), other.bias)
    assert drawn([line(), low]).summary == (
        "On average gemini rates higher than the others on 1 and lower on 1 of 2 scales; from −1.00 on low to +1.67 on "
        "Empathy."
    )


def test_no_scale_and_a_name_that_is_markup():
    assert drawn([]).summary == "gemini has rated on no scale."
    hostile = RaterKey(HOSTILE, Kind.LLM)
    columns = {**COLUMNS, HOSTILE: [1, 1, 2]}
    check(drawn([line(columns, [*EXPERTS, MODELS[0], hostile], HOSTILE)], rater=hostile))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([1, 2, 3], "On Empathy gemini rates as high as the others on average."),
        ([1, 1, 2], "On Empathy gemini rates lower than the others on average, by 0.67."),
    ],
)
def test_a_single_scale_is_said_without_counts(values, sentence):
    one = line(COLUMNS | {"gemini": values})
    assert rater_profile_figure(MODELS[0], [one], labels_of(CAST), PAPER).summary == sentence
