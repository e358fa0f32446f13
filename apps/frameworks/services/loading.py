"""Loading a framework: a new one, the same again, or a new version."""

from dataclasses import dataclass

from django.db import models, transaction
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.frameworks.models import Dimension, Framework, Polarity, ScalePoint
from apps.frameworks.scales import FrameworkSpec


class Outcome(models.TextChoices):
    CREATED = "created", _("created")
    UNCHANGED = "unchanged", _("unchanged")
    REPLACED = "replaced", _("replaced, nothing used it yet")
    NEW_VERSION = "new version", _("new version")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What became of a spec: the version that says it, and how that came about."""

    framework: Framework
    outcome: Outcome


@transaction.atomic
def load_framework(*, spec: FrameworkSpec, builtin: bool = False, actor: User | None = None) -> Loaded:
    """Store what the spec says, unless a version of the framework says exactly that already.

    A change makes a new version. Only where the newest version is of the same origin (built in or not) and nothing at
    all refers to it (no rating has frozen it, no block was given it) does the change take its place under its number.
    """
    versions = [*Framework.objects.select_for_update().filter(slug=spec.slug).order_by("-version")]
    same = next((version for version in versions if version.content_hash == spec.content_hash), None)
    if same is not None:
        return Loaded(same, Outcome.UNCHANGED)
    newest = versions[0] if versions else None
    if newest is None:
        loaded = Loaded(_store(spec, version=1, builtin=builtin), Outcome.CREATED)
    elif newest.is_builtin == builtin and _gave_way(newest):
        loaded = Loaded(_store(spec, version=newest.version, builtin=builtin), Outcome.REPLACED)
    else:
        loaded = Loaded(_store(spec, version=newest.version + 1, builtin=builtin), Outcome.NEW_VERSION)
    AuditEntry.objects.create(
        actor=actor,
        action="framework.load",
        subject=f"{spec.slug} version {loaded.framework.version}",
        details={"outcome": loaded.outcome.value, "content_hash": spec.content_hash, "builtin": builtin},
    )
    return loaded


def _gave_way(framework: Framework) -> bool:
    """Delete the version if nothing refers to it, and say whether it is gone.

    Who refers to it (blocks, ratings) lives in higher apps, all of which protect what they use; so the attempt is the
    test.
    """
    if framework.is_frozen:
        return False
    try:
        with transaction.atomic():
            framework.delete()
    except models.ProtectedError:
        return False
    return True


def _store(spec: FrameworkSpec, *, version: int, builtin: bool) -> Framework:
    framework = Framework.objects.create(
        slug=spec.slug,
        version=version,
        name=spec.name,
        description=spec.description,
        citation=spec.citation,
        url=spec.url,
        stem=spec.stem,
        language=spec.language,
        is_builtin=builtin,
        content_hash=spec.content_hash,
    )
    dimensions = Dimension.objects.bulk_create(
        Dimension(
            framework=framework,
            slug=dimension.slug,
            position=position,
            label=dimension.label,
            question=dimension.question,
            guideline=dimension.guideline,
            level=dimension.level,
            minimum=dimension.minimum,
            maximum=dimension.maximum,
            polarity=Polarity.of(dimension.polarity),
            example_low=dimension.example_low,
            example_middle=dimension.example_middle,
            example_high=dimension.example_high,
            source=dimension.source,
        )
        for position, dimension in enumerate(spec.dimensions)
    )
    ScalePoint.objects.bulk_create(
        ScalePoint(dimension=dimension, value=point.value, label=point.label, position=position)
        for dimension, described in zip(dimensions, spec.dimensions, strict=True)
        for position, point in enumerate(described.points)
    )
    return framework
