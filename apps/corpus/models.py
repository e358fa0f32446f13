"""What is rated: datasets of conversations of turns."""

import hashlib
import re

from django.conf import settings
from django.db import models
from django.db.models import OuterRef, Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.common.counting import counted
from apps.common.models import OPEN_STATES, Job, JobState, StoredFile, TimeStamped

LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


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
            return self.filter(Q(owner=user) | Q(owner=None))
        return self.none()

    def editable_by(self, user: User) -> "DatasetQuerySet":
        """Admins may change every dataset; researchers their own. Those of the site are the admins' to change."""
        if user.is_admin:
            return self.all()
        return self.filter(owner=user) if user.is_researcher else self.none()

    def with_counts(self) -> "DatasetQuerySet":
        """Adds `n_conversations`."""
        conversations = Conversation.objects.filter(dataset=OuterRef("pk"))
        return self.annotate(n_conversations=counted(conversations, by="dataset"))


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
    frozen_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When a study that uses it was first activated"
    )

    objects = DatasetQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_frozen(self) -> bool:
        """Whether its conversations may no longer change: they are what an active study is about."""
        return self.frozen_at is not None

    def is_editable_by(self, user: User) -> bool:
        """Whether the person may change what is said of it, and, while it is not frozen, its conversations."""
        return user.is_admin or (user.is_researcher and self.owner_id == user.pk)


class ConversationQuerySet(models.QuerySet["Conversation"]):
    def matching(self, text: str) -> "ConversationQuerySet":
        """Conversations whose id or title contains `text`, whatever the case."""
        return self.filter(Q(external_id__icontains=text) | Q(title__icontains=text))

    def with_counts(self) -> "ConversationQuerySet":
        """Adds `n_turns`, system turns included."""
        return self.annotate(n_turns=counted(Turn.objects.filter(conversation=OuterRef("pk")), by="conversation"))


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

    objects = ConversationQuerySet.as_manager()

    class Meta:
        ordering = ["dataset_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "external_id"], name="corpus_conversation_external_id"),
            models.UniqueConstraint(fields=["dataset", "position"], name="corpus_conversation_position"),
        ]

    def __str__(self) -> str:
        return self.title or self.external_id

    @property
    def revision(self) -> str:
        """Tells whether it still is what somebody has seen: another for other content, and for another id."""
        return hashlib.sha256(f"{self.content_hash} {self.external_id}".encode()).hexdigest()

    @property
    def is_rated(self) -> bool:
        """Whether ratings stand on its text. The reverse relations are those of higher apps: a yes or no is asked."""
        return self.items.filter(ratings__isnull=False).exists()

    @property
    def language_tag(self) -> str:
        """The language as HTML understands it (BCP 47, for example `en` or `pt-BR`), "" where it is something else."""
        return self.language if LANGUAGE_TAG.fullmatch(self.language) else ""

    def previous(self) -> "Conversation | None":
        """The one before it in the dataset."""
        earlier = Conversation.objects.filter(dataset=self.dataset_id, position__lt=self.position)
        return earlier.order_by("-position").first()

    def next(self) -> "Conversation | None":
        """The one after it in the dataset."""
        later = Conversation.objects.filter(dataset=self.dataset_id, position__gt=self.position)
        return later.order_by("position").first()


class Turn(models.Model):
    """One speaker's message. Consecutive turns of one speaker stay apart."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    index = models.PositiveIntegerField()
    role = models.CharField(max_length=10, choices=SpeakerRole)
    speaker = models.CharField(max_length=100, blank=True, help_text="The label in the source, as it stood there")
    text = models.TextField()
    raw_text = models.TextField(null=True, blank=True, help_text="The text before a clean-up, where one changed it")

    class Meta:
        ordering = ["conversation_id", "index"]
        constraints = [models.UniqueConstraint(fields=["conversation", "index"], name="corpus_turn_index")]

    def __str__(self) -> str:
        return f"{self.index} {self.get_role_display()}"


class ConversationUploadQuerySet(models.QuerySet["ConversationUpload"]):
    def open_to(self, user: User) -> "ConversationUploadQuerySet":
        """Admins may open every upload, researchers their own."""
        if user.is_admin:
            return self.all()
        return self.filter(owner=user) if user.is_researcher else self.none()

    def waiting_for(self, dataset: Dataset) -> "ConversationUploadQuerySet":
        """Those into the dataset that are not imported: not asked for yet, refused or cancelled."""
        begun = [*OPEN_STATES, JobState.DONE]
        return self.filter(dataset_slug=dataset.slug).filter(Q(job=None) | ~Q(job__state__in=begun))


class ConversationUpload(TimeStamped):
    """A file of conversations on its way into a dataset: looked at, mapped, and then imported by a job."""

    source = models.ForeignKey(StoredFile, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    file_name = models.CharField(max_length=255, help_text="Kept when the file itself is gone")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="conversation_uploads")
    dataset_slug = models.SlugField(max_length=80, help_text="The dataset is made by the import if it is new")
    dataset_name = models.CharField(max_length=200, blank=True)
    dataset_about = models.JSONField(default=dict, blank=True, help_text="Description, source, licence of a new one")
    format = models.CharField(max_length=10, blank=True, help_text="Empty: told by content")
    encoding = models.CharField(max_length=40, blank=True, help_text="Empty: by byte order mark, else UTF-8")
    mapping = models.JSONField(default=dict, blank=True, help_text="ColumnMapping as its owner left it")
    skip_problem_rows = models.BooleanField(default=False)
    labels_listed = models.JSONField(
        default=dict, blank=True, help_text="Speaker labels not known that its owner was shown, each with its count"
    )
    job = models.OneToOneField(Job, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    objects = ConversationUploadQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.file_name} into {self.dataset_slug}"

    @property
    def is_running(self) -> bool:
        """Whether its import waits or runs: nothing about it may change meanwhile."""
        return self.job is not None and self.job.is_open

    @property
    def is_imported(self) -> bool:
        return self.job is not None and self.job.state == JobState.DONE


class SavedMapping(TimeStamped):
    """A column mapping kept under a name, for the next file of the same make."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="saved_mappings")
    name = models.CharField(max_length=100)
    mapping = models.JSONField(default=dict)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="corpus_savedmapping_name")]

    def __str__(self) -> str:
        return self.name
