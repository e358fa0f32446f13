"""Loading a framework: a new one, the same again, or a new version."""

from dataclasses import dataclass

from django.db import models, transaction
from django.utils.translation import gettext
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


class BuiltinFrameworkError(Exception):
    """Somebody other than an admin was about to change a framework that comes with Accord. Nothing was stored."""

    def __init__(self, slug: str) -> None:
        super().__init__(
            gettext("%(slug)s comes with Accord, so only an admin may load a new version of it: choose another slug.")
            % {"slug": slug}
        )


@transaction.atomic
def load_framework(*, spec: FrameworkSpec, builtin: bool = False, actor: User | None = None) -> Loaded:
    """Store what the spec says, unless a version of the framework says exactly that already.

    A change makes a new version. Only where the newest version is of the same origin (built in or not), nothing at
    all refers to it (no rating has frozen it, no block was given it), and it is the actor's own to change, does the
    change take its place under its number. No `actor`: somebody with access to the server, who may do all.
    Raises BuiltinFrameworkError.
    """
    versions = [*Framework.objects.select_for_update().filter(slug=spec.slug).order_by("-version")]
    same = next((version for version in versions if version.content_hash == spec.content_hash), None)
    if same is not None:
        return Loaded(same, Outcome.UNCHANGED)
    if not _may_do_all(actor) and any(version.is_builtin for version in versions):
        raise BuiltinFrameworkError(spec.slug)
    newest = versions[0] if versions else None
    if newest is None:
        loaded = Loaded(_store(spec, version=1, builtin=builtin, actor=actor), Outcome.CREATED)
    elif newest.is_builtin == builtin and _may_replace(actor, newest) and _gave_way(newest):
        loaded = Loaded(_store(spec, version=newest.version, builtin=builtin, actor=actor), Outcome.REPLACED)
    else:
        loaded = Loaded(_store(spec, version=newest.version + 1, builtin=builtin, actor=actor), Outcome.NEW_VERSION)
    AuditEntry.objects.create(
        actor=actor,
        action="framework.load",
        subject=f"{spec.slug} version {loaded.framework.version}",
        details={"outcome": loaded.outcome.value, "content_hash": spec.content_hash, "builtin": builtin},
    )
    return loaded


def rehearse_loading(*, spec: FrameworkSpec, actor: User) -> Loaded:
    """What `load_framework` would do now, done and taken back: the version comes with its scales, to be shown.

    Raises BuiltinFrameworkError.
    """
    with transaction.atomic():
        loaded = load_framework(spec=spec, actor=actor)
        shown = Framework.objects.with_scales().get(pk=loaded.framework.pk)
        transaction.set_rollback(True)
    return Loaded(shown, loaded.outcome)


def _may_do_all(actor: User | None) -> bool:
    return actor is None or actor.is_admin


def _may_replace(actor: User | None, framework: Framework) -> bool:
    """Nobody takes away what a colleague has loaded."""
    return _may_do_all(actor) or (actor is not None and framework.loaded_by_id == actor.pk)


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


def _store(spec: FrameworkSpec, *, version: int, builtin: bool, actor: User | None) -> Framework:
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
        loaded_by=actor,
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
