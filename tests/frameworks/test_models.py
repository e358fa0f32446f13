from dataclasses import replace
from typing import get_args

import pytest

from apps.frameworks.framework_file import FrameworkProblems, dump_framework, parse_framework
from apps.frameworks.models import Dimension, Framework, Level, Polarity, ScalePoint
from apps.frameworks.scales import LevelName, PolarityName
from apps.frameworks.services.freezing import freeze_frameworks
from apps.frameworks.services.loading import load_framework
from apps.measures.scale import Level as MeasuredLevel
from tests.frameworks.specs import SMALL, changed

pytestmark = pytest.mark.django_db


def test_points_come_in_the_order_of_the_scale(calm):
    assert calm.dimensions.get(slug="calm").scale_points == (1, 2, 3)


@pytest.mark.parametrize(("name", "polarity"), [("+", 1), ("-", -1), ("none", 0)])
def test_polarity_has_the_same_name_in_files_and_rows(name, polarity):
    assert Polarity.of(name) == polarity
    assert Dimension(polarity=polarity).polarity_name == name


def test_examples_stand_under_their_points(calm):
    assert calm.dimensions.get(slug="calm").labelled_examples() == [
        ("1 Not at all", "Hurry up!"),
        ("3 Very", "We have time."),
    ]
    assert calm.dimensions.get(slug="kind").labelled_examples() == []


def test_the_middle_example_of_an_even_scale_stands_in_between():
    text = changed("{value: 2}", "{value: 2}\n      - {value: 2.5}")
    text = changed("      low: Hurry up!", "      middle: Well.", text)
    framework = load_framework(spec=parse_framework(text)).framework
    assert framework.dimensions.get(slug="calm").labelled_examples()[0] == ("in between", "Well.")


def test_only_the_newest_version_of_each_framework_is_the_latest(calm):
    freeze_frameworks(framework_ids=[calm.pk])
    newer = load_framework(spec=parse_framework(changed("Calm scales", "Calmer scales"))).framework
    other = load_framework(spec=parse_framework(changed("calm-scales", "other-scales"))).framework
    assert set(Framework.objects.latest_versions()) == {newer, other}
    assert Framework.objects.version_of("calm-scales").get() == newer
    assert Framework.objects.version_of("calm-scales", 1).get() == calm
    assert not Framework.objects.version_of("calm-scales", 3).exists()
    assert [*newer.other_versions()] == [calm]


def test_scales_and_points_of_many_frameworks_come_in_three_queries(calm, django_assert_num_queries):
    load_framework(spec=parse_framework(changed("calm-scales", "other-scales")))
    with django_assert_num_queries(3):
        specs = [framework.as_spec() for framework in Framework.objects.with_scales()]
    assert len(specs) == 2


def test_dimensions_bring_their_points_in_two_queries(calm, django_assert_num_queries):
    with django_assert_num_queries(2):
        points = [dimension.scale_points for dimension in calm.dimensions.with_points()]
    assert points == [(1, 2, 3), (1, 2)]


def test_levels_and_polarities_have_one_set_of_names():
    assert set(Level.values) == set(get_args(LevelName)) == set(MeasuredLevel)
    assert {polarity.name_in_files for polarity in Polarity} == set(get_args(PolarityName))


@pytest.mark.parametrize("field", ["slug", "name", "language", "url"])
def test_a_file_may_hold_as_long_texts_as_a_framework_takes(field):
    most = Framework._meta.get_field(field).max_length
    begin = {"language": "en", "url": "https://"}.get(field, "")
    spec = replace(parse_framework(SMALL), **{field: begin + "x" * (most + 1 - len(begin))})
    with pytest.raises(FrameworkProblems, match=f"{field} must have at most {most} characters; it has {most + 1}"):
        parse_framework(dump_framework(spec))


@pytest.mark.parametrize(("model", "field"), [(Dimension, "slug"), (Dimension, "label"), (ScalePoint, "label")])
def test_a_file_may_hold_as_long_texts_as_a_scale_takes(model, field):
    most = model._meta.get_field(field).max_length
    spec = parse_framework(SMALL)
    dimension = spec.dimensions[0]
    if model is ScalePoint:
        first, *others = dimension.points
        changed_dimension = replace(dimension, points=(replace(first, label="x" * (most + 1)), *others))
    else:
        changed_dimension = replace(dimension, **{field: "x" * (most + 1)})
    with pytest.raises(FrameworkProblems, match=f"{field} must have at most {most} characters; it has {most + 1}"):
        parse_framework(dump_framework(replace(spec, dimensions=(changed_dimension, *spec.dimensions[1:]))))
