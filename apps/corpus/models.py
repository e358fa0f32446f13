"""What is rated: datasets of conversations of turns."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.common.models import TimeStamped


class SpeakerRole(models.TextChoices):
    """Who speaks. System turns (prompts, notices) are stored but are not part of the transcript raters see."""

    SEEKER = "seeker", _("Seeker")
    SUPPORTER = "supporter", _("Supporter")
    SYSTEM = "system", _("System")
    OTHER = "other", _("Other")


class DatasetQuerySet(models.QuerySet["Dataset"]):
    def visible_to(self, user: User) -> "DatasetQuerySet":
        """Admins see every dataset; researchers their own and those of the site (no owner); annotators none."""
        if user.is_admin:
            return self.all()
        if user.is_researcher:
            return self.filter(models.Q(owner=user) | models.Q(owner=None))
        return self.none()


class Dataset(TimeStamped):
    """A named set of conversations with one origin and one licence."""

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    source = models.TextField(blank=True, help_text="Where the conversations come from")
    licence = models.CharField(max_length=200, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="datasets"
    )

    objects = DatasetQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class Conversation(TimeStamped):
    """One conversation. It may have no turns: where only its ratings were published."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="conversations")
    external_id = models.CharField(max_length=255, help_text="Its id in the source, kept as text")
    position = models.PositiveIntegerField(help_text="Order of arrival in the dataset")
    title = models.CharField(max_length=500, blank=True)
    language = models.CharField(max_length=35, blank=True)
    reference = models.TextField(blank=True, help_text="The right answer, where there is one")
    belief = models.TextField(blank=True, help_text="A belief the seeker states")
    pair = models.CharField(max_length=255, blank=True, help_text="Conversations that belong together share this text")
    parent = models.CharField(max_length=255, blank=True, help_text="External id of the conversation it derives from")
    metadata = models.JSONField(default=dict, blank=True)
    factors = models.JSONField(default=dict, blank=True, help_text="Experimental conditions, name to level")
    content_hash = models.CharField(max_length=64, editable=False, help_text="SHA-256 over everything but the id")

    class Meta:
        ordering = ["dataset", "position"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "external_id"], name="corpus_conversation_external_id"),
            models.UniqueConstraint(fields=["dataset", "position"], name="corpus_conversation_position"),
        ]

    def __str__(self) -> str:
        return self.title or self.external_id


class Turn(models.Model):
    """One speaker's message. Consecutive turns of one speaker stay apart."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    index = models.PositiveIntegerField()
    role = models.CharField(max_length=10, choices=SpeakerRole)
    speaker = models.CharField(max_length=100, blank=True, help_text="The label in the source, as it stood there")
    text = models.TextField()
    raw_text = models.TextField(null=True, blank=True, help_text="The text before a clean-up, where one changed it")

    class Meta:
        ordering = ["conversation", "index"]
        constraints = [models.UniqueConstraint(fields=["conversation", "index"], name="corpus_turn_index")]

    def __str__(self) -> str:
        return f"{self.index} {self.get_role_display()}"
