"""The design of a study: what is rated, by whom, on which frameworks.

Rows are ordered by the ids of what they belong to (`study_id`): by the relation itself, Django would join that model's
own ordering into every query.
"""

import hashlib
import secrets
from typing import NamedTuple

from django.conf import settings
from django.db import models
from django.db.models import Count, Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.common.counting import counted
from apps.common.models import TimeStamped
from apps.corpus.models import Conversation, Dataset
from apps.frameworks.models import Framework


class StudyStatus(models.TextChoices):
    DRAFT = "draft", _("Draft")
    ACTIVE = "active", _("Active")
    CLOSED = "closed", _("Closed")


class MemberRole(models.TextChoices):
    """What a person may do in one study."""

    OWNER = "owner", _("Owner")
    RESEARCHER = "researcher", _("Researcher")
    RATER = "rater", _("Rater")


READING_ROLES = (MemberRole.OWNER, MemberRole.RESEARCHER)


KIND_MEANINGS = {
    "expert": _("trained in what the scales ask"),
    "crowd": _("anybody, for example recruited on a platform"),
    "llm": _("a model, each version a rater of its own"),
    "self": _("took part in the conversation and rates it from within"),
    "reference": _("what the others are measured against"),
    "baseline": _("a simple rule that a model should beat"),
}


class RaterKind(models.TextChoices):
    EXPERT = "expert", _("Expert")
    CROWD = "crowd", _("Crowd")
    LLM = "llm", _("Language model")
    SELF = "self", _("Self-report")
    REFERENCE = "reference", _("Reference")
    BASELINE = "baseline", _("Baseline")

    @property
    def meaning(self) -> str:
        """Who is of the kind, in half a sentence."""
        return str(KIND_MEANINGS[self])


class ItemRole(models.TextChoices):
    MAIN = "main", _("Main")
    PRACTICE = "practice", _("Practice")
    GOLD = "gold", _("Gold")
    ATTENTION = "attention", _("Attention check")
    REPEAT = "repeat", _("Repeat")


class AssignmentState(models.TextChoices):
    ASSIGNED = "assigned", _("Assigned")
    IN_PROGRESS = "in_progress", _("In progress")
    SUBMITTED = "submitted", _("Submitted")
    SKIPPED = "skipped", _("Skipped")
    LAPSED = "lapsed", _("Lapsed")
    SURPLUS = "surplus", _("Surplus")


FINISHED_STATES = (AssignmentState.SUBMITTED, AssignmentState.SURPLUS)


class ExclusionReason(models.TextChoices):
    HAND = "hand", _("Decided by hand")
    RULE = "rule", _("Quality rule")
    LEAKAGE = "leakage", _("Shown to the model as an example")


class StudyQuerySet(models.QuerySet["Study"]):
    def visible_to(self, user: User) -> "StudyQuerySet":
        """Studies the person may know of: every one for admins, else those they are a member of."""
        if user.is_admin:
            return self.all()
        return self.filter(memberships__user=user) if user.is_active else self.none()

    def readable_by(self, user: User) -> "StudyQuerySet":
        """Studies whose design and results the person works with: as owner, researcher, or admin."""
        if user.is_admin:
            return self.all()
        if not user.is_active:
            return self.none()
        # One filter over one membership: in two, another person's role would do.
        return self.filter(memberships__user=user, memberships__role__in=READING_ROLES)

    def managed_by(self, user: User) -> "StudyQuerySet":
        """Studies whose design, texts, status and people the person may change: as owner or admin."""
        if user.is_admin:
            return self.all()
        if not user.is_active:
            return self.none()
        return self.filter(memberships__user=user, memberships__role=MemberRole.OWNER)

    def with_counts(self) -> "StudyQuerySet":
        """Adds `n_blocks`, `n_items` and `n_raters`."""
        return self.annotate(
            n_blocks=counted(Block.objects.filter(study=OuterRef("pk")), by="study"),
            n_items=counted(Item.objects.filter(block__study=OuterRef("pk")), by="block__study"),
            n_raters=counted(Rater.objects.filter(study=OuterRef("pk")), by="study"),
        )


class Study(TimeStamped):
    """One reliability study."""

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    instructions = models.TextField(blank=True, help_text="Shown to raters, in Markdown")
    content_warning = models.TextField(blank=True)
    support_contact = models.TextField(blank=True)
    status = models.CharField(max_length=10, choices=StudyStatus, default=StudyStatus.DRAFT)
    discussion_open = models.BooleanField(default=False, help_text="Raters may see each other's ratings")
    model_scores_sealed = models.BooleanField(default=True, help_text="People do not see the models' scores yet")
    local_only = models.BooleanField(default=False, help_text="No text may leave this machine")
    allow_evidence = models.BooleanField(default=True)
    allow_comments = models.BooleanField(default=True)
    allow_cannot_tell = models.BooleanField(default=True)
    exclusion_reopens_slots = models.BooleanField(
        default=True, help_text="An excluded rater's place goes to somebody else"
    )
    reservation_hours = models.PositiveSmallIntegerField(
        default=24, help_text="How long a rater may leave a reserved item untouched before it lapses"
    )
    seed = models.PositiveIntegerField(default=2026, help_text="Seeds sampling, order and resampling")

    objects = StudyQuerySet.as_manager()

    class Meta:
        ordering = ["title", "pk"]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.title

    def is_readable_by(self, user: User) -> bool:
        """Whether the person works with the study's design and results, rather than rates in it or less."""
        return Study.objects.readable_by(user).filter(pk=self.pk).exists()

    def is_managed_by(self, user: User) -> bool:
        """Whether the person may change the study, rather than only read it."""
        return Study.objects.managed_by(user).filter(pk=self.pk).exists()

    def has_begun(self) -> bool:
        """Whether an item was ever taken by a rater, any rating is there, or a model or a baseline was set to rate.

        The seed and the items then stay.
        """
        if self.raters.filter(assignments__isnull=False).exists() or self.raters.filter(ratings__isnull=False).exists():
            return True
        # The relations are those of llm.Run, llm.ModelRater and llm.Baseline: their rows are kept for good.
        models = self.raters.filter(model_rater__isnull=False)
        return models.exists() or self.runs.exists() or self.baselines.exists()


class Membership(TimeStamped):
    """A person's part in a study."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=MemberRole)

    class Meta:
        ordering = ["study_id", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "user"], name="studies_membership_user")]

    def __str__(self) -> str:
        return f"{self.user} as {self.role} of {self.study}"


class BlockQuerySet(models.QuerySet["Block"]):
    def with_item_counts(self) -> "BlockQuerySet":
        """Adds `n_items`."""
        return self.annotate(n_items=counted(Item.objects.filter(block=OuterRef("pk")), by="block"))

    def begun(self) -> "BlockQuerySet":
        """Blocks of which an item was taken by a rater, rated, or excluded, or a model was asked about it or shown it
        as an example: their items stay."""
        items = Item.objects.filter(block=OuterRef("pk"))
        taken, rated = items.filter(assignments__isnull=False), items.filter(ratings__isnull=False)
        excluded = items.filter(exclusions__isnull=False)
        # The relations are those of llm.Call and llm.PromptExample.
        asked, shown = items.filter(calls__isnull=False), items.filter(shown_as_example__isnull=False)
        return self.filter(Exists(taken) | Exists(rated) | Exists(excluded) | Exists(asked) | Exists(shown))


class Block(TimeStamped):
    """A dataset paired with the frameworks it is rated on."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="blocks")
    slug = models.SlugField(max_length=80)
    title = models.CharField(max_length=200)
    position = models.PositiveSmallIntegerField()
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="blocks")
    frameworks = models.ManyToManyField(Framework, through="BlockFramework", related_name="blocks")
    sample_size = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: every conversation that fits")
    metadata_filter = models.JSONField(
        default=dict, blank=True, help_text="Name of a metadata or factor -> the values taken; empty: all"
    )

    objects = BlockQuerySet.as_manager()

    class Meta:
        ordering = ["study_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "slug"], name="studies_block_slug"),
            models.UniqueConstraint(fields=["study", "position"], name="studies_block_position"),
        ]

    def __str__(self) -> str:
        return self.title


class BlockFramework(models.Model):
    """A framework used in a block, in its place on the rating screen. The version is fixed here."""

    block = models.ForeignKey(Block, on_delete=models.PROTECT, related_name="block_frameworks")
    framework = models.ForeignKey(Framework, on_delete=models.PROTECT, related_name="block_frameworks")
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["block_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["block", "framework"], name="studies_blockframework_once"),
            models.UniqueConstraint(fields=["block", "position"], name="studies_blockframework_position"),
        ]

    def __str__(self) -> str:
        return f"{self.framework} in {self.block}"


class BlockGroup(TimeStamped):
    """Raters of one kind rate in a block. A kind without a row is given no items of it."""

    block = models.ForeignKey(Block, on_delete=models.PROTECT, related_name="groups")
    kind = models.CharField(max_length=10, choices=RaterKind)
    overlap = models.PositiveIntegerField(
        null=True, blank=True, help_text="Raters of this kind for each item; empty: every rater rates every item"
    )

    class Meta:
        ordering = ["block_id", "kind"]
        constraints = [
            models.UniqueConstraint(fields=["block", "kind"], name="studies_blockgroup_kind"),
            models.CheckConstraint(
                condition=Q(overlap__isnull=True) | Q(overlap__gte=1), name="studies_blockgroup_overlap_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} in {self.block}"


class Item(TimeStamped):
    """A conversation in a block."""

    block = models.ForeignKey(Block, on_delete=models.PROTECT, related_name="items")
    conversation = models.ForeignKey(Conversation, on_delete=models.PROTECT, related_name="items")
    role = models.CharField(max_length=10, choices=ItemRole, default=ItemRole.MAIN)
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["block_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["block", "conversation", "role"], name="studies_item_conversation_role"),
            models.UniqueConstraint(fields=["block", "position"], name="studies_item_position"),
        ]

    def __str__(self) -> str:
        return f"{self.conversation} in {self.block}"


class KindSummary(NamedTuple):
    kind: RaterKind
    n_raters: int
    n_ratings: int


class RaterQuerySet(models.QuerySet["Rater"]):
    def computed_here(self) -> "RaterQuerySet":
        """Models that Accord asks and baselines that it computes: their ratings come from nowhere else.

        A language model whose ratings were imported is none of them.
        """
        # The relations are those of llm.ModelRater and llm.Baseline.
        return self.filter(Q(model_rater__isnull=False) | Q(baseline__isnull=False))

    def with_rating_counts(self) -> "RaterQuerySet":
        """Adds `n_ratings`, of finished ratings. Asks `annotation.Rating` for a number by the reverse relation."""
        given = Rater.objects.filter(pk=OuterRef("pk"), ratings__isnull=False)
        drafts = Assignment.objects.unfinished().filter(rater=OuterRef("pk")).drafts()
        counts = self.annotate(n_ratings=counted(given, by="pk") - counted(drafts, by="rater"))
        return counts.order_by("study", "kind", "name")

    def summed_by_kind(self) -> list["KindSummary"]:
        """How many raters and finished ratings there are of each kind that occurs, in the order of the kinds."""
        rows = self.order_by().values_list("kind").annotate(Count("pk", distinct=True), Count("ratings"))
        found = {kind: (n_raters, n_ratings) for kind, n_raters, n_ratings in rows}
        unfinished = Assignment.objects.unfinished().filter(rater__in=self.order_by()).drafts()
        drafts = dict(unfinished.order_by().values_list("rater__kind").annotate(Count("pk")))
        return [
            KindSummary(kind, found[kind][0], found[kind][1] - drafts.get(kind, 0))
            for kind in RaterKind
            if kind in found
        ]


class Rater(TimeStamped):
    """Somebody or something that rates in one study. The name is a pseudonym: tables and exports show only it."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="raters")
    name = models.CharField(max_length=80, help_text="Pseudonym, for example expert1")
    kind = models.CharField(max_length=10, choices=RaterKind)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="raters"
    )
    is_aggregate = models.BooleanField(default=False, help_text="Its values are means or medians of several raters")
    is_simulated = models.BooleanField(default=False, help_text="Made up for a demonstration")
    source = models.TextField(blank=True, help_text="Where the ratings come from, for imported raters")
    left_at = models.DateTimeField(null=True, blank=True)

    objects = RaterQuerySet.as_manager()

    class Meta:
        ordering = ["study_id", "kind", "name"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="studies_rater_name"),
            models.UniqueConstraint(
                fields=["study", "user"], condition=Q(user__isnull=False), name="studies_rater_user"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def unfinished(self) -> "AssignmentQuerySet":
        """Work that was not handed in: reserved, begun, skipped or lapsed. What was rated so far is a draft."""
        return self.exclude(state__in=FINISHED_STATES)

    def drafts(self) -> "AssignmentQuerySet":
        """A row for each rating that its own rater gave in these assignments, rather than one for each assignment."""
        return self.filter(item__ratings__rater=F("rater"))


class Assignment(TimeStamped):
    """An item given to a rater: reserved, worked on, done."""

    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="assignments")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="assignments")
    state = models.CharField(max_length=12, choices=AssignmentState, default=AssignmentState.ASSIGNED)
    position = models.PositiveIntegerField(help_text="Order for this rater")
    reserved_until = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True, help_text="When its screen last gave a sign of life")
    wall_seconds = models.FloatField(default=0, help_text="The screen was open")
    active_seconds = models.FloatField(default=0, help_text="The screen was open and looked at")
    skip_reason = models.TextField(blank=True)
    is_flagged = models.BooleanField(default=False, help_text="The rater wants to come back to it")

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ["rater_id", "position"]
        constraints = [models.UniqueConstraint(fields=["rater", "item"], name="studies_assignment_once")]
        indexes = [models.Index(fields=["item", "state"]), models.Index(fields=["updated_at"])]

    def __str__(self) -> str:
        return f"{self.item} for {self.rater}: {self.state}"


class InvitationState(models.TextChoices):
    OPEN = "open", _("Open")
    USED = "used", _("Used")
    EXPIRED = "expired", _("Expired")
    REVOKED = "revoked", _("Revoked")


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> "InvitationQuerySet":
        """Invitations by which somebody can still join."""
        return self.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now())


class Invitation(TimeStamped):
    """A link by which one person joins a study, once, in the role that the inviter fixed.

    The token itself is nowhere in the database: whoever reads it there could join.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="invitations")
    role = models.CharField(max_length=10, choices=MemberRole)
    rater_kind = models.CharField(max_length=10, choices=RaterKind, blank=True, help_text="For the role of rater")
    email = models.EmailField(blank=True, help_text="Only the person with this address may use it; empty: anybody")
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="invitations_made")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="invitations_used"
    )
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="invitations_revoked"
    )

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.role} of {self.study}"

    @property
    def state(self) -> InvitationState:
        if self.used_at is not None:
            return InvitationState.USED
        if self.revoked_at is not None:
            return InvitationState.REVOKED
        return InvitationState.OPEN if self.expires_at > timezone.now() else InvitationState.EXPIRED

    def is_for(self, user: User) -> bool:
        """Whether the person may use it, as far as the address goes."""
        return not self.email or self.email.lower() == user.email.lower()

    @staticmethod
    def new_token() -> str:
        return secrets.token_urlsafe(32)

    @staticmethod
    def digest_of(token: str) -> str:
        # Tokens are 256 random bits: a plain hash cannot be guessed backwards, and lookups stay one indexed query.
        return hashlib.sha256(token.encode()).hexdigest()


class ExclusionQuerySet(models.QuerySet["Exclusion"]):
    def in_force(self) -> "ExclusionQuerySet":
        return self.filter(reverted_at=None)


class Exclusion(models.Model):
    """A rater, or a rater's ratings of one item, left out of every statistic: visibly, and reversibly."""

    rater = models.ForeignKey(Rater, on_delete=models.PROTECT, related_name="exclusions")
    item = models.ForeignKey(Item, null=True, blank=True, on_delete=models.PROTECT, related_name="exclusions")
    reason = models.CharField(max_length=10, choices=ExclusionReason)
    explanation = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="exclusions_made"
    )
    reverted_at = models.DateTimeField(null=True, blank=True)
    reverted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="exclusions_reverted"
    )

    objects = ExclusionQuerySet.as_manager()

    class Meta:
        ordering = ["rater_id", "pk"]

    def __str__(self) -> str:
        what = "every item" if self.item_id is None else str(self.item)
        return f"{self.rater} excluded from {what}: {self.get_reason_display()}"
