"""People who sign in, and the keys with which their programs do."""

import hashlib
import secrets
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.common.models import TimeStamped

API_KEY_PREFIX_LENGTH = 8


class Role(models.TextChoices):
    """What a person may do on the site; what they may do in a study is a study's membership."""

    ADMIN = "admin", _("Admin")
    RESEARCHER = "researcher", _("Researcher")
    ANNOTATOR = "annotator", _("Annotator")


class UserQuerySet(models.QuerySet["User"]):
    def active_admins(self) -> "UserQuerySet":
        return self.filter(is_active=True, role=Role.ADMIN)

    def matching(self, text: str) -> "UserQuerySet":
        """People whose address or name holds `text`."""
        return self.filter(models.Q(email__icontains=text) | models.Q(name__icontains=text))


class UserManager(BaseUserManager.from_queryset(UserQuerySet)):  # type: ignore[misc]
    """Users are found and made by e-mail address, whatever its case."""

    def get_by_natural_key(self, username: str | None) -> "User":
        found: User = self.get(email__iexact=username)
        return found

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = User(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser, TimeStamped):
    """A person. Deactivated instead of deleted: their ratings stay theirs."""

    email = models.EmailField(_("e-mail address"), unique=True)
    name = models.CharField(_("name"), max_length=150, blank=True)
    role = models.CharField(_("role"), max_length=20, choices=Role, default=Role.ANNOTATOR)
    is_active = models.BooleanField(_("active"), default=True)
    deactivated_at = models.DateTimeField(null=True, blank=True, editable=False)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    class Meta:
        ordering = ["email"]
        constraints = [models.UniqueConstraint(Lower("email"), name="accounts_user_email_any_case")]

    def __str__(self) -> str:
        return self.name or self.email

    @property
    def is_admin(self) -> bool:
        return self.is_active and self.role == Role.ADMIN

    @property
    def is_researcher(self) -> bool:
        """Whether the person works with studies and datasets: researchers do, and admins can all they can."""
        return self.is_active and self.role in (Role.ADMIN, Role.RESEARCHER)


class ApiKey(TimeStamped):
    """A key for the REST API. Only its hash is stored; the key itself is shown once."""

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="api_keys")
    name = models.CharField(max_length=100, help_text="What the key is for")
    prefix = models.CharField(max_length=API_KEY_PREFIX_LENGTH, help_text="The first characters, to tell keys apart")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}...)"

    @property
    def is_usable(self) -> bool:
        return self.revoked_at is None and self.user.is_active

    @staticmethod
    def digest_of(key: str) -> str:
        # Keys are 256 random bits: a plain hash cannot be guessed backwards, and lookups stay one indexed query.
        return hashlib.sha256(key.encode()).hexdigest()

    @staticmethod
    def new_key() -> str:
        return secrets.token_urlsafe(32)

    def revoke(self) -> None:
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at", "updated_at"])
