from dataclasses import replace

import pytest
from django.utils import timezone

from apps.common.models import AuditEntry
from apps.frameworks.framework_file import parse_framework
from apps.frameworks.models import Dimension, Framework, Polarity, ScalePoint
from apps.frameworks.services.freezing import freeze_frameworks
from apps.frameworks.services.loading import Outcome, load_framework
from apps.studies.models import BlockFramework, Study
from tests.frameworks.specs import SMALL, changed

pytestmark = pytest.mark.django_db

SPEC = parse_framework(SMALL)
OTHER_WORDS = parse_framework(changed("Count the tone.", "Count the tone of voice."))


def versions() -> list[int]:
    return [*Framework.objects.filter(slug=SPEC.slug).order_by("version").values_list("version", flat=True)]


def put_into_block(framework: Framework, study: Study) -> None:
    BlockFramework.objects.create(block=study.blocks.get(), framework=framework, position=9)


def test_a_new_framework_is_stored_as_version_1_and_says_what_the_spec_says(ada):
    loaded = load_framework(spec=SPEC, actor=ada)
    assert loaded.outcome == Outcome.CREATED
    framework = Framework.objects.with_scales().get()
    assert framework == loaded.framework
    assert (framework.version, framework.is_builtin, framework.is_frozen) == (1, False, False)
    assert framework.as_spec() == SPEC
    assert framework.content_hash == SPEC.content_hash
    calm = framework.dimensions.get(slug="calm")
    assert (calm.minimum, calm.maximum, calm.polarity) == (1, 3, Polarity.POSITIVE)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject) == (ada, "framework.load", "calm-scales version 1")
    assert entry.details == {"outcome": "created", "content_hash": SPEC.content_hash, "builtin": False}


def test_the_same_again_changes_nothing_and_leaves_no_trace():
    first = load_framework(spec=SPEC)
    again = load_framework(spec=SPEC)
    assert (again.framework, again.outcome) == (first.framework, Outcome.UNCHANGED)
    assert versions() == [1]
    assert AuditEntry.objects.count() == 1


def test_a_change_takes_the_place_of_a_version_that_nothing_uses():
    load_framework(spec=SPEC)
    loaded = load_framework(spec=OTHER_WORDS)
    assert loaded.outcome == Outcome.REPLACED
    assert versions() == [1]
    assert Framework.objects.with_scales().get().as_spec() == OTHER_WORDS
    assert Dimension.objects.count() == 2
    assert ScalePoint.objects.count() == 5


def test_a_change_of_a_frozen_version_makes_a_new_one_and_leaves_the_old_as_it_was():
    first = load_framework(spec=SPEC).framework
    freeze_frameworks(framework_ids=[first.pk])
    loaded = load_framework(spec=OTHER_WORDS)
    assert (loaded.outcome, loaded.framework.version) == (Outcome.NEW_VERSION, 2)
    assert [framework.as_spec() for framework in Framework.objects.with_scales().order_by("version")] == [
        SPEC,
        OTHER_WORDS,
    ]


def test_a_change_of_a_version_that_a_block_uses_makes_a_new_one_though_nothing_is_rated_yet(grief):
    first = load_framework(spec=SPEC).framework
    put_into_block(first, grief)
    loaded = load_framework(spec=OTHER_WORDS)
    assert (loaded.outcome, loaded.framework.version) == (Outcome.NEW_VERSION, 2)
    assert Framework.objects.with_scales().get(pk=first.pk).as_spec() == SPEC


def test_content_of_an_older_version_is_found_there_instead_of_coming_back_as_a_third():
    first = load_framework(spec=SPEC).framework
    freeze_frameworks(framework_ids=[first.pk])
    load_framework(spec=OTHER_WORDS)
    again = load_framework(spec=SPEC)
    assert (again.framework, again.outcome) == (first, Outcome.UNCHANGED)
    assert versions() == [1, 2]


def test_built_in_and_own_wordings_never_replace_each_other_and_loading_both_again_is_quiet():
    """An owner who loads the published wordings keeps them when the built-in catalog is loaded at the next start."""
    assert load_framework(spec=SPEC, builtin=True).outcome == Outcome.CREATED
    assert load_framework(spec=OTHER_WORDS).outcome == Outcome.NEW_VERSION
    assert load_framework(spec=SPEC, builtin=True).outcome == Outcome.UNCHANGED
    assert load_framework(spec=replace(SPEC, stem="New"), builtin=True).outcome == Outcome.NEW_VERSION
    assert versions() == [1, 2, 3]


def test_versions_are_counted_for_each_framework_alone():
    load_framework(spec=SPEC)
    assert load_framework(spec=replace(SPEC, slug="other-scales")).framework.version == 1


def test_freezing_dates_only_what_was_not_frozen_before(django_assert_num_queries):
    early, late = timezone.now() - timezone.timedelta(days=2), timezone.now()
    one = load_framework(spec=SPEC).framework
    two = load_framework(spec=replace(SPEC, slug="other-scales")).framework
    three = load_framework(spec=replace(SPEC, slug="unused-scales")).framework
    assert freeze_frameworks(framework_ids=[one.pk], at=early) == 1
    with django_assert_num_queries(1):
        assert freeze_frameworks(framework_ids=[one.pk, two.pk], at=late) == 1
    assert freeze_frameworks(framework_ids=[one.pk, two.pk]) == 0
    for framework, frozen_at in [(one, early), (two, late), (three, None)]:
        framework.refresh_from_db()
        assert framework.frozen_at == frozen_at
