"""Who takes part in a study, as what, and how they leave.

Every change takes the study's lock, so that two owners who remove each other take turns.
"""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.studies.models import (
    READING_ROLES,
    AssignmentState,
    MemberRole,
    Membership,
    Rater,
    RaterKind,
    Study,
)
from apps.studies.services.raters import add_rater
from apps.studies.services.slots import OPEN_STATES

# A model or a baseline is nobody who can be invited.
KINDS_OF_PEOPLE = (RaterKind.EXPERT, RaterKind.CROWD, RaterKind.SELF, RaterKind.REFERENCE)


class PeopleError(ValueError):
    """It cannot be done; the message says why, to whoever asked for it."""


class UnknownPersonError(PeopleError):
    """Nobody with that address has an account."""


class LastOwnerError(PeopleError):
    """The act would leave the study without an owner."""

    def __init__(self) -> None:
        super().__init__(_("This is the last owner of the study. Make somebody else an owner first."))


@transaction.atomic
def add_member(*, study: Study, email: str, role: str, kind: str = "", by: User | None) -> Membership:
    """Somebody who has an account joins at once; `kind` is that of the rater, for the role of rater.

    Raises UnknownPersonError where nobody active has the address, PeopleError where the person cannot join like this.
    """
    user = User.objects.filter(email__iexact=email.strip(), is_active=True).first()
    if user is None:
        raise UnknownPersonError(_("Nobody with the address %(email)s has an account.") % {"email": email.strip()})
    return enrol(study=study, user=user, role=role, kind=kind, by=by)


@transaction.atomic
def enrol(*, study: Study, user: User, role: str, kind: str = "", by: User | None) -> Membership:
    """A person who is no member becomes one, and with the role of rater a rater of that kind, under a pseudonym.

    Raises PeopleError where the person is a member already, or has rated in the study and left.
    """
    _lock(study)
    if study.memberships.filter(user=user).exists():
        raise PeopleError(_("%(person)s is a member of this study already.") % {"person": user})
    membership = Membership.objects.create(study=study, user=user, role=MemberRole(role))
    if membership.role == MemberRole.RATER:
        _become_rater(study, user, kind, by)
    _remember("member.add", study, user, by, role=membership.role)
    return membership


@transaction.atomic
def change_member_role(*, membership: Membership, role: str, kind: str = "", by: User | None) -> None:
    """Who becomes a rater gets a pseudonym; who is one already stays one, and blind, until they give up rating.

    Who is an owner no longer has no way back by links to the results that they made: these are revoked. Raises
    LastOwnerError, and PeopleError where somebody who left as a rater would have to rate.
    """
    study = membership.study
    _lock(study)
    _look_again(membership)
    before, after = membership.role, MemberRole(role)
    if before == after:
        return
    _keep_an_owner(membership)
    membership.role = after
    membership.save(update_fields=["role", "updated_at"])
    if before == MemberRole.OWNER:
        _revoke_invitations(membership, by)
    if after == MemberRole.RATER:
        _become_rater(study, membership.user, kind, by)
    _remember("member.role", study, membership.user, by, before=before, after=after.value)


@transaction.atomic
def remove_member(*, membership: Membership, by: User | None) -> None:
    """The person can no longer open the study.

    Ratings stay in every statistic and export under the same pseudonym (CASES 27); items that were begun become free. A
    rater who has done nothing yet leaves no trace, and may be invited again. Invitations to the results that the person
    made are revoked: they could come back by them. Raises LastOwnerError.
    """
    study, user = membership.study, membership.user
    _lock(study)
    _look_again(membership)
    _keep_an_owner(membership)
    # Locked, so that nobody is taken for idle who is being given an item just now.
    rater = study.raters.select_for_update(no_key=True).filter(user=user, left_at=None).first()
    if rater is not None:
        # Whoever could read the results may have seen them: they must not come back as a new rater.
        if membership.role == MemberRole.RATER and not _has_worked(rater):
            rater.delete()
        else:
            _leave(rater)
    _revoke_invitations(membership, by)
    membership.delete()
    _remember("member.remove", study, user, by, role=membership.role, rater=rater.name if rater else "")


@transaction.atomic
def join_as_rater(*, study: Study, user: User, kind: str, by: User | None = None) -> Rater:
    """A member, or an admin, rates as well; until they give that up, they see no results (see `blindness`).

    Raises PeopleError where the person has left as a rater, or `kind` is no kind of person.
    """
    _lock(study)
    _membership, joined = Membership.objects.get_or_create(study=study, user=user, defaults={"role": MemberRole.RATER})
    if joined:
        _remember("member.add", study, user, by or user, role=MemberRole.RATER)
    return _become_rater(study, user, kind, by or user)


@transaction.atomic
def leave_as_rater(*, study: Study, user: User) -> None:
    """The person gives up rating, for good; who was a member only to rate is none any more.

    What was submitted counts on under the pseudonym; items that were begun become free for others. Raises PeopleError
    where the person does not rate in the study.
    """
    _lock(study)
    rater = study.raters.filter(user=user, left_at=None).first()
    if rater is None:
        raise PeopleError(_("You do not rate in this study."))
    _leave(rater)
    study.memberships.filter(user=user, role=MemberRole.RATER).delete()
    _remember("rater.leave", study, user, user, rater=rater.name)


def _lock(study: Study) -> None:
    Study.objects.select_for_update().get(pk=study.pk)


def _look_again(membership: Membership) -> None:
    """The role as it is now that the study is locked. Raises PeopleError where somebody else removed the person."""
    try:
        membership.refresh_from_db(fields=["role"])
    except Membership.DoesNotExist:
        raise PeopleError(_("%(person)s no longer takes part in this study.") % {"person": membership.user}) from None


def _revoke_invitations(membership: Membership, by: User | None) -> None:
    now = timezone.now()
    made = membership.study.invitations.open().filter(created_by=membership.user, role__in=READING_ROLES)
    made.update(revoked_at=now, revoked_by=by, updated_at=now)


def _keep_an_owner(membership: Membership) -> None:
    others = membership.study.memberships.filter(role=MemberRole.OWNER, user__is_active=True).exclude(pk=membership.pk)
    if membership.role == MemberRole.OWNER and not others.exists():
        raise LastOwnerError


def _become_rater(study: Study, user: User, kind: str, by: User | None) -> Rater:
    rater = study.raters.filter(user=user).first()
    if rater is None:
        if kind not in KINDS_OF_PEOPLE:
            raise PeopleError(_("Choose as which kind of rater."))
        return add_rater(study=study, kind=kind, user=user, actor=by)
    if rater.left_at is not None:
        raise PeopleError(
            _("%(person)s has given up rating in this study, and whoever did cannot rate in it again.")
            % {"person": user}
        )
    return rater


def _has_worked(rater: Rater) -> bool:
    return (
        rater.assignments.exists()
        or rater.exclusions.exists()
        # The reverse relation is that of `annotation.Rating`: only whether there is one is asked.
        or Rater.objects.filter(pk=rater.pk, ratings__isnull=False).exists()
    )


def _leave(rater: Rater) -> None:
    rater.left_at = timezone.now()
    rater.save(update_fields=["left_at", "updated_at"])
    rater.assignments.filter(state__in=OPEN_STATES).update(
        state=AssignmentState.LAPSED, reserved_until=None, updated_at=timezone.now()
    )


def _remember(action: str, study: Study, user: User, by: User | None, **details: str) -> None:
    AuditEntry.objects.create(actor=by, action=action, subject=study.slug, details={"person": user.email, **details})
