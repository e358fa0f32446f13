"""Invitations to a study: made, shown once, taken back, renewed, used once.

The role is the row's, whatever else is sent along. A token is nowhere but in the link: the database has its hash.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import Role, User
from apps.accounts.services.users import register_user
from apps.common.models import AuditEntry
from apps.studies.models import Invitation, InvitationState, MemberRole, Membership, Study, StudyStatus
from apps.studies.services.people import PeopleError, change_member_role, enrol, join_as_rater

DEAD = {
    InvitationState.USED: gettext_lazy("This invitation was used already. Each one works for one person, once."),
    InvitationState.EXPIRED: gettext_lazy("This invitation has expired."),
    InvitationState.REVOKED: gettext_lazy("This invitation was taken back."),
}
RANK = {MemberRole.RATER: 0, MemberRole.RESEARCHER: 1, MemberRole.OWNER: 2}


class InvitationError(PeopleError):
    """The invitation cannot be used, or changed, like this; the message says why."""


class DeadInvitationError(InvitationError):
    """Nobody can use the invitation any more; `state` says why, None where the study is closed."""

    def __init__(self, message: str, state: InvitationState | None) -> None:
        super().__init__(message)
        self.state = state


class ForeignInvitationError(InvitationError):
    """The invitation is for another address."""

    def __init__(self) -> None:
        super().__init__(_("This invitation is for another e-mail address."))


class Effect(StrEnum):
    """What accepting an invitation does to a person's part in the study."""

    JOIN = "join"
    RAISE = "raise"
    RATE_TOO = "rate-too"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class NewInvitation:
    """An invitation with its token, which nobody can see again."""

    invitation: Invitation
    token: str = field(repr=False)


@transaction.atomic
def create_invitations(
    *,
    study: Study,
    role: str,
    kind: str = "",
    emails: Sequence[str] = (),
    number: int = 1,
    days: int,
    by: User,
) -> list[NewInvitation]:
    """One invitation for each address, or `number` of them for anybody who has the link; each works once."""
    tokens = [Invitation.new_token() for _number in range(len(emails) or number)]
    addresses = list(emails) or [""] * number
    expires_at = timezone.now() + timedelta(days=days)
    invitations = Invitation.objects.bulk_create(
        Invitation(
            study=study,
            role=MemberRole(role),
            rater_kind=kind if role == MemberRole.RATER else "",
            email=email.strip().lower(),
            token_hash=Invitation.digest_of(token),
            created_by=by,
            expires_at=expires_at,
        )
        for email, token in zip(addresses, tokens, strict=True)
    )
    details = {"role": str(role), "number": len(invitations)} | ({"emails": addresses} if emails else {})
    AuditEntry.objects.create(actor=by, action="invitation.create", subject=study.slug, details=details)
    return [NewInvitation(*pair) for pair in zip(invitations, tokens, strict=True)]


@transaction.atomic
def revoke_invitation(*, invitation: Invitation, by: User) -> None:
    """The link stops working at once. Revoking it again changes nothing; a used one raises InvitationError."""
    invitation = _locked(invitation)
    if invitation.revoked_at is not None:
        return
    _refuse_used(invitation)
    invitation.revoked_at = timezone.now()
    invitation.revoked_by = by
    invitation.save(update_fields=["revoked_at", "revoked_by", "updated_at"])
    _remember("invitation.revoke", invitation, by)


@transaction.atomic
def renew_invitation(*, invitation: Invitation, days: int, by: User) -> NewInvitation:
    """A new link in place of the old one, which dies. Raises InvitationError where it was used or revoked."""
    invitation = _locked(invitation)
    _refuse_used(invitation)
    if invitation.revoked_at is not None:
        raise InvitationError(_("This invitation was revoked. Make a new one."))
    token = Invitation.new_token()
    invitation.token_hash = Invitation.digest_of(token)
    invitation.expires_at = timezone.now() + timedelta(days=days)
    invitation.save(update_fields=["token_hash", "expires_at", "updated_at"])
    _remember("invitation.renew", invitation, by)
    return NewInvitation(invitation, token)


def effect_of(*, invitation: Invitation, user: User) -> Effect:
    """What accepting would do. It never lowers a role, and never undoes that somebody has given up rating."""
    membership = Membership.objects.filter(study=invitation.study_id, user=user).first()
    if membership is None:
        return Effect.JOIN
    if RANK[MemberRole(invitation.role)] > RANK[MemberRole(membership.role)]:
        return Effect.RAISE
    is_rater = invitation.study.raters.filter(user=user).exists()
    return Effect.RATE_TOO if invitation.role == MemberRole.RATER and not is_rater else Effect.NOTHING


@transaction.atomic
def accept_invitation(*, invitation: Invitation, user: User) -> Effect:
    """The person takes the part that the invitation offers; it is used up, unless it offers nothing new.

    Of two who accept at the same moment one wins. Raises DeadInvitationError, ForeignInvitationError, and PeopleError
    where the person has given up rating in the study.
    """
    invitation = _locked_open(invitation)
    if not invitation.is_for(user):
        raise ForeignInvitationError
    study, kind = invitation.study, invitation.rater_kind
    effect = effect_of(invitation=invitation, user=user)
    if effect == Effect.NOTHING:
        return effect
    invitation.used_at = timezone.now()
    invitation.used_by = user
    invitation.save(update_fields=["used_at", "used_by", "updated_at"])
    if effect == Effect.JOIN:
        enrol(study=study, user=user, role=invitation.role, kind=kind, by=user)
    elif effect == Effect.RAISE:
        membership = study.memberships.select_related("user", "study").get(user=user)
        change_member_role(membership=membership, role=invitation.role, kind=kind, by=user)
    else:
        join_as_rater(study=study, user=user, kind=kind, by=user)
    _remember("invitation.accept", invitation, user)
    return effect


@transaction.atomic
def register_and_accept(*, invitation: Invitation, email: str, name: str, password: str) -> User:
    """A new person, an annotator of the site, who joins at once; both or neither.

    Raises what `accept_invitation` raises, and ValidationError where there cannot be such a person.
    """
    invitation = _locked_open(invitation)
    user = register_user(email=invitation.email or email, name=name, password=password, role=Role.ANNOTATOR)
    accept_invitation(invitation=invitation, user=user)
    return user


def check_open(invitation: Invitation) -> None:
    """Raises DeadInvitationError, in words for whoever holds the link."""
    state = invitation.state
    if state != InvitationState.OPEN:
        raise DeadInvitationError(str(DEAD[state]), state)
    if invitation.role == MemberRole.RATER and invitation.study.status == StudyStatus.CLOSED:
        raise DeadInvitationError(_("The study is closed: there is nothing to rate any more."), None)


def _locked(invitation: Invitation) -> Invitation:
    rows = Invitation.objects.select_for_update(of=("self",)).select_related("study")
    locked = rows.filter(pk=invitation.pk).first()
    if locked is None:
        raise DeadInvitationError(_("The study of this invitation was deleted."), None)
    return locked


def _locked_open(invitation: Invitation) -> Invitation:
    locked = _locked(invitation)
    if locked.token_hash != invitation.token_hash:  # renewed since its link was looked up
        raise DeadInvitationError(str(DEAD[InvitationState.REVOKED]), InvitationState.REVOKED)
    check_open(locked)
    return locked


def _refuse_used(invitation: Invitation) -> None:
    if invitation.used_at is not None:
        raise InvitationError(_("This invitation was used already."))


def _remember(action: str, invitation: Invitation, by: User) -> None:
    AuditEntry.objects.create(
        actor=by,
        action=action,
        subject=invitation.study.slug,
        details={"invitation": invitation.pk, "role": str(invitation.role), "email": invitation.email},
    )
