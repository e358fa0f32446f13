"""Registering people and changing what they may do. Every change is an audit entry."""

from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from apps.accounts.models import Role, User
from apps.accounts.services.sessions import end_sessions
from apps.common.models import AuditEntry


class LastAdminError(Exception):
    """The act would leave the site without an active admin."""

    def __init__(self) -> None:
        super().__init__(_("This is the last active admin. Make somebody else an admin first."))


def register_user(*, email: str, password: str | None, role: str, name: str = "", actor: User | None = None) -> User:
    """A new person who can sign in; without a password, once they have set one by a link (`make_password_link`).

    Raises ValidationError, nothing stored: bad address, address taken in any case, unknown role, weak password.
    """
    user = User(email=email.strip().lower(), name=name, role=role)
    if User.objects.filter(email__iexact=user.email).exists():
        raise _address_taken(user.email)
    user.full_clean(exclude=["password"], validate_unique=False, validate_constraints=False)
    if password is not None:
        validate_password(password, user)
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save()
            _audit(user, actor, "user.create", role=role)
    except IntegrityError as error:  # somebody registered the address meanwhile
        raise _address_taken(user.email) from error
    return user


@transaction.atomic
def make_password_link(*, user: User, actor: User) -> tuple[str, str]:
    """The two parts of a link by which the person sets a password, once, within PASSWORD_RESET_TIMEOUT.

    The link is nowhere stored. Raises ValueError for somebody who is deactivated.
    """
    if not user.is_active:
        raise ValueError(f"{user.email} is deactivated")
    _audit(user, actor, "user.password-link")
    return urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)


@transaction.atomic
def change_role(*, user: User, role: str, actor: User | None) -> None:
    """Raises LastAdminError if nobody would be left who can administer the site, ValueError for an unknown role."""
    new_role = Role(role)
    old_role = user.role
    if new_role == old_role:
        return
    if new_role != Role.ADMIN:
        _keep_an_admin(user)
    user.role = new_role
    user.save(update_fields=["role", "updated_at"])
    _audit(user, actor, "user.role", before=old_role, after=new_role.value)


@transaction.atomic
def deactivate_user(*, user: User, actor: User | None) -> None:
    """The person can no longer sign in: open sessions end, keys stop working; what they rated stays theirs.

    Raises LastAdminError if nobody would be left who can administer the site.
    """
    if not user.is_active:
        return
    _keep_an_admin(user)
    user.is_active = False
    user.deactivated_at = timezone.now()
    user.save(update_fields=["is_active", "deactivated_at", "updated_at"])
    ended = end_sessions(user=user)
    _audit(user, actor, "user.deactivate", sessions_ended=ended)


@transaction.atomic
def reactivate_user(*, user: User, actor: User | None) -> None:
    """The person may sign in again; keys that were not revoked work again, ended sessions stay ended."""
    if user.is_active:
        return
    user.is_active = True
    user.deactivated_at = None
    user.save(update_fields=["is_active", "deactivated_at", "updated_at"])
    _audit(user, actor, "user.reactivate")


def _keep_an_admin(user: User) -> None:
    # All admins are locked: two admins who demote each other at the same moment must take turns.
    admins = list(User.objects.active_admins().select_for_update().order_by("pk").values_list("pk", flat=True))
    if admins == [user.pk]:
        raise LastAdminError


def _address_taken(email: str) -> ValidationError:
    return ValidationError(_("The e-mail address %(email)s is already registered."), params={"email": email})


def _audit(user: User, actor: User | None, action: str, **details: str | int) -> None:
    AuditEntry.objects.create(actor=actor, action=action, subject=user.email, details=details)
