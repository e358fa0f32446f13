"""Published sets of rating scales, in versions that freeze on first use."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.common.models import TimeStamped


class Level(models.TextChoices):
    """Level of measurement. Ordinal here means numeric, ordered points."""

    ORDINAL = "ordinal", _("ordinal")
    NOMINAL = "nominal", _("nominal")


class Polarity(models.IntegerChoices):
    """Whether more is better. A composite reverses a negative dimension: min + max - x."""

    POSITIVE = 1, _("more is better")
    NEUTRAL = 0, _("neither")
    NEGATIVE = -1, _("less is better")


class FrameworkQuerySet(models.QuerySet["Framework"]):
    def latest_versions(self) -> "FrameworkQuerySet":
        """Only the newest version of each framework."""
        newest = Framework.objects.filter(slug=models.OuterRef("slug")).order_by("-version").values("pk")[:1]
        return self.filter(pk=models.Subquery(newest))


class Framework(TimeStamped):
    """A published set of scales. A row is one version; what a version says never changes once it was used."""

    slug = models.SlugField(max_length=80)
    version = models.PositiveIntegerField(default=1)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    citation = models.TextField(help_text="The publication the scales come from")
    url = models.URLField(blank=True, help_text="Where the publication is found")
    stem = models.TextField(blank=True, help_text="Words that all questions of the framework share")
    language = models.CharField(max_length=35, default="en", help_text="Language of the scales, as a BCP 47 tag")
    is_builtin = models.BooleanField(default=False)
    content_hash = models.CharField(max_length=64, editable=False, help_text="SHA-256 of what the version says")
    frozen_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="When a rating first used it")

    objects = FrameworkQuerySet.as_manager()

    class Meta:
        ordering = ["name", "-version"]
        constraints = [models.UniqueConstraint(fields=["slug", "version"], name="frameworks_framework_slug_version")]

    def __str__(self) -> str:
        return f"{self.name} (version {self.version})"

    @property
    def is_frozen(self) -> bool:
        return self.frozen_at is not None


class Dimension(models.Model):
    """One scale of a framework: a question with declared points."""

    framework = models.ForeignKey(Framework, on_delete=models.CASCADE, related_name="dimensions")
    slug = models.CharField(max_length=80)
    position = models.PositiveSmallIntegerField()
    label = models.CharField(max_length=200)
    question = models.TextField()
    guideline = models.TextField()
    level = models.CharField(max_length=10, choices=Level, default=Level.ORDINAL)
    minimum = models.FloatField()
    maximum = models.FloatField()
    polarity = models.SmallIntegerField(choices=Polarity, default=Polarity.POSITIVE)
    example_low = models.TextField(blank=True)
    example_middle = models.TextField(blank=True)
    example_high = models.TextField(blank=True)
    source = models.TextField(blank=True, help_text="Where the scale comes from, when not the framework's citation")

    class Meta:
        ordering = ["framework", "position"]
        constraints = [
            models.UniqueConstraint(fields=["framework", "slug"], name="frameworks_dimension_slug"),
            models.UniqueConstraint(fields=["framework", "position"], name="frameworks_dimension_position"),
            models.CheckConstraint(condition=Q(minimum__lt=F("maximum")), name="frameworks_dimension_min_below_max"),
        ]

    def __str__(self) -> str:
        return self.label


class ScalePoint(models.Model):
    """One point of a scale: its value, and the words beside it where the scale labels it."""

    dimension = models.ForeignKey(Dimension, on_delete=models.CASCADE, related_name="points")
    value = models.FloatField()
    label = models.CharField(max_length=200, blank=True)
    position = models.PositiveSmallIntegerField(help_text="Order on the scale; never taken from sorting labels")

    class Meta:
        ordering = ["dimension", "position"]
        constraints = [
            models.UniqueConstraint(fields=["dimension", "value"], name="frameworks_scalepoint_value"),
            models.UniqueConstraint(fields=["dimension", "position"], name="frameworks_scalepoint_position"),
        ]

    def __str__(self) -> str:
        return f"{self.value:g} {self.label}".strip()
