"""Ratings of people, imports and models alike. Written only by `annotation.services.recording`.

Rows are ordered by the ids of what they belong to: by the relation itself, Django would join that model's own ordering,
and so on up to the study, in every query.
"""

from django.conf import settings
from django.db import models
from django.db.models import BooleanField, Case, Exists, OuterRef, Q, When
from django.utils import timezone

from apps.common.models import Job, StoredFile, TimeStamped
from apps.corpus.models import Turn
from apps.frameworks.models import Dimension
from apps.studies.models import Assignment, Block, Item, Rater


class RatingQuerySet(models.QuerySet["Rating"]):
    def finished(self) -> "RatingQuerySet":
        """What counts in statistics and exports: everything but drafts.

        A rating is a draft while its rater's work on the item is not handed in: reserved, begun, skipped or lapsed.
        Imported ratings and those of models and demonstrations belong to no assignment, and count.
        """
        unfinished = Assignment.objects.unfinished().filter(rater=OuterRef("rater"), item=OuterRef("item"))
        # In a CASE, PostgreSQL looks each rating's assignment up. Of the plain NOT EXISTS it makes a join, expects a
        # single row to be left where there are as many drafts as items, and takes minutes over the joins that follow.
        return self.filter(Case(When(Exists(unfinished), then=False), default=True, output_field=BooleanField()))


class Rating(TimeStamped):
    """One rater's value for one item on one dimension, or that they cannot tell. Never cascaded away."""

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="ratings")
    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="ratings")
    dimension = models.ForeignKey(Dimension, on_delete=models.PROTECT, related_name="ratings")
    value = models.FloatField(null=True, blank=True)
    cannot_tell = models.BooleanField(default=False)
    comment = models.TextField(blank=True)

    objects = RatingQuerySet.as_manager()

    class Meta:
        ordering = ["item_id", "rater_id", "dimension_id"]
        constraints = [
            models.UniqueConstraint(fields=["item", "rater", "dimension"], name="annotation_rating_once"),
            models.CheckConstraint(
                condition=Q(value__isnull=False, cannot_tell=False) | Q(value__isnull=True, cannot_tell=True),
                name="annotation_rating_value_or_cannot_tell",
            ),
        ]

    def __str__(self) -> str:
        value = "cannot tell" if self.value is None else f"{self.value:g}"
        return f"{self.rater_id} on {self.item_id}/{self.dimension_id}: {value}"


class RatingEvent(models.Model):
    """One change of a rating, the first included: what it became, when, and by whose hand."""

    rating = models.ForeignKey(Rating, on_delete=models.PROTECT, related_name="events")
    at = models.DateTimeField(default=timezone.now, editable=False)
    value = models.FloatField(null=True, blank=True)
    cannot_tell = models.BooleanField(default=False)
    comment = models.TextField(blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="rating_events"
    )
    origin = models.CharField(max_length=20, help_text="screen, import, model ...")

    class Meta:
        ordering = ["rating_id", "pk"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} rating {self.rating_id}"


class Draw(models.Model):
    """One of several answers from which a model's rating is made."""

    rating = models.ForeignKey(Rating, on_delete=models.PROTECT, related_name="draws")
    index = models.PositiveSmallIntegerField()
    value = models.FloatField(null=True, blank=True)
    cannot_tell = models.BooleanField(default=False)
    rationale = models.TextField(blank=True)

    class Meta:
        ordering = ["rating_id", "index"]
        constraints = [models.UniqueConstraint(fields=["rating", "index"], name="annotation_draw_index")]

    def __str__(self) -> str:
        return f"draw {self.index} of rating {self.rating_id}"


class Evidence(models.Model):
    """A quote that supports a rating: half-open offsets in Unicode code points of the stored turn text.

    A quote that was not found in the conversation is kept, without a turn.
    """

    rating = models.ForeignKey(Rating, on_delete=models.PROTECT, related_name="evidence")
    quote = models.TextField()
    turn = models.ForeignKey(Turn, null=True, blank=True, on_delete=models.PROTECT, related_name="evidence")
    start = models.PositiveIntegerField(null=True, blank=True)
    end = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["rating_id", "pk"]
        verbose_name_plural = "evidence"
        constraints = [
            models.CheckConstraint(
                condition=Q(turn__isnull=True, start__isnull=True, end__isnull=True)
                | Q(turn__isnull=False, start__isnull=False, end__gt=models.F("start")),
                name="annotation_evidence_found_or_not",
            )
        ]

    def __str__(self) -> str:
        return self.quote[:60]


class RatingUpload(TimeStamped):
    """A file of finished ratings on its way into a block: looked at, mapped, and then imported by a job."""

    source = models.ForeignKey(StoredFile, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    file_name = models.CharField(max_length=255, help_text="Kept when the file itself is gone")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="rating_uploads")
    block = models.ForeignKey(Block, on_delete=models.PROTECT, related_name="rating_uploads")
    rater = models.CharField(max_length=80, blank=True, help_text="Whose ratings; empty: a column says it")
    kind = models.CharField(max_length=10, blank=True, help_text="Of raters that are new")
    is_aggregate = models.BooleanField(default=False)
    empty_is_missing = models.BooleanField(default=False)
    skip_problem_rows = models.BooleanField(default=False)
    format = models.CharField(max_length=10, blank=True)
    encoding = models.CharField(max_length=40, blank=True)
    maps = models.JSONField(default=list, blank=True, help_text="Texts field=column")
    job = models.OneToOneField(Job, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.file_name} into {self.block}"
