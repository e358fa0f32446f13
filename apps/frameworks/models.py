"""Published sets of rating scales, in versions that freeze on first use."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from apps.common.models import TimeStamped
from apps.frameworks.scales import DimensionSpec, FrameworkSpec, PointSpec, PolarityName


class Level(models.TextChoices):
    """Level of measurement. Ordinal here means numeric, ordered points."""

    ORDINAL = "ordinal", _("ordinal")
    NOMINAL = "nominal", _("nominal")


class Polarity(models.IntegerChoices):
    """Whether more is better. A composite reverses a negative dimension: min + max - x."""

    POSITIVE = 1, _("more is better")
    NEUTRAL = 0, _("neither")
    NEGATIVE = -1, _("less is better")

    @classmethod
    def of(cls, name: PolarityName) -> "Polarity":
        """The polarity by its name in a framework file: `+`, `-` or `none`."""
        return {"+": cls.POSITIVE, "-": cls.NEGATIVE, "none": cls.NEUTRAL}[name]

    @property
    def name_in_files(self) -> PolarityName:
        names: dict[int, PolarityName] = {1: "+", -1: "-", 0: "none"}
        return names[self.value]


class FrameworkQuerySet(models.QuerySet["Framework"]):
    def latest_versions(self) -> "FrameworkQuerySet":
        """Only the newest version of each framework."""
        newest = Framework.objects.filter(slug=models.OuterRef("slug")).order_by("-version").values("pk")[:1]
        return self.filter(pk=models.Subquery(newest))

    def version_of(self, slug: str, version: int | None = None) -> "FrameworkQuerySet":
        """The one version of a framework, the newest where none is named; empty where there is none."""
        if version is None:
            return self.latest_versions().filter(slug=slug)
        return self.filter(slug=slug, version=version)

    def that_come_with_accord(self, slug: str) -> "FrameworkQuerySet":
        """The built-in versions of a framework; empty where it is somebody's own."""
        return self.filter(slug=slug, is_builtin=True)

    def with_dimension_counts(self) -> "FrameworkQuerySet":
        """Ordered by name, whatever its case, each with its `dimension_count`."""
        # Counting groups the rows, and Django drops a model's own order from grouped queries.
        return self.annotate(dimension_count=models.Count("dimensions")).order_by(Lower("name"), "slug", "-version")

    def with_scales(self) -> "FrameworkQuerySet":
        """Dimensions and their points come along: two queries, however many there are."""
        return self.prefetch_related(models.Prefetch("dimensions", Dimension.objects.with_points()))


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
    loaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.PROTECT,
        related_name="frameworks_loaded",
        help_text="Empty: loaded with a command, by somebody with access to the server",
    )
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

    def other_versions(self) -> FrameworkQuerySet:
        """The framework's other versions, the newest first."""
        return Framework.objects.filter(slug=self.slug).exclude(pk=self.pk).order_by("-version")

    def as_spec(self) -> FrameworkSpec:
        """What this version says, as plain data: equal to what its file was read into."""
        return FrameworkSpec(
            slug=self.slug,
            name=self.name,
            citation=self.citation,
            dimensions=tuple(dimension.as_spec() for dimension in self.dimensions.all()),
            url=self.url,
            description=self.description,
            stem=self.stem,
            language=self.language,
        )


class DimensionQuerySet(models.QuerySet["Dimension"]):
    def with_points(self) -> "DimensionQuerySet":
        """In the framework's order, each with its points: one query more, however many there are."""
        points = models.Prefetch("points", ScalePoint.objects.order_by("position"))
        return self.order_by("framework_id", "position").prefetch_related(points)


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

    objects = DimensionQuerySet.as_manager()

    class Meta:
        ordering = ["framework_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["framework", "slug"], name="frameworks_dimension_slug"),
            models.UniqueConstraint(fields=["framework", "position"], name="frameworks_dimension_position"),
            models.CheckConstraint(condition=Q(minimum__lt=F("maximum")), name="frameworks_dimension_min_below_max"),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def is_nominal(self) -> bool:
        return self.level == Level.NOMINAL

    @property
    def polarity_name(self) -> PolarityName:
        """`+`, `-` or `none`, as in a framework file."""
        return Polarity(self.polarity).name_in_files

    @property
    def scale_points(self) -> tuple[float, ...]:
        """The values of the declared points, in the order of the scale."""
        return tuple(point.value for point in self.points.all())

    def labelled_examples(self) -> list[tuple[str, str]]:
        """The example replies, each under the point it stands for; the middle of an ordinal scale may have no words."""
        points = [*self.points.all()]
        middle = points[len(points) // 2] if len(points) % 2 else None
        examples = ((points[0], self.example_low), (middle, self.example_middle), (points[-1], self.example_high))
        return [(str(point or _("in between")), text) for point, text in examples if text]

    def as_spec(self) -> DimensionSpec:
        return DimensionSpec(
            slug=self.slug,
            label=self.label,
            question=self.question,
            guideline=self.guideline,
            points=tuple(PointSpec(point.value, point.label) for point in self.points.all()),
            level="nominal" if self.is_nominal else "ordinal",
            polarity=self.polarity_name,
            example_low=self.example_low,
            example_middle=self.example_middle,
            example_high=self.example_high,
            source=self.source,
        )


class ScalePoint(models.Model):
    """One point of a scale: its value, and the words beside it where the scale labels it."""

    dimension = models.ForeignKey(Dimension, on_delete=models.CASCADE, related_name="points")
    value = models.FloatField()
    label = models.CharField(max_length=200, blank=True)
    position = models.PositiveSmallIntegerField(help_text="Order on the scale; never taken from sorting labels")

    class Meta:
        ordering = ["dimension_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["dimension", "value"], name="frameworks_scalepoint_value"),
            models.UniqueConstraint(fields=["dimension", "position"], name="frameworks_scalepoint_position"),
        ]

    def __str__(self) -> str:
        return f"{self.value_text} {self.label}".strip()

    @property
    def value_text(self) -> str:
        """The value as a person writes it: 3 and 2.5, not 3.0."""
        return str(int(self.value)) if self.value.is_integer() else str(self.value)
