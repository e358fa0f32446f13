"""Leaving ratings out of every statistic, and taking that back. The ratings themselves stay."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.studies.models import Exclusion, ExclusionReason, Item, Rater


class ExclusionError(ValueError):
    """The exclusion cannot be made or taken back; the message says why."""


@transaction.atomic
def exclude(
    *,
    rater: Rater,
    item: Item | None = None,
    reason: ExclusionReason = ExclusionReason.HAND,
    explanation: str = "",
    by: User | None,
) -> Exclusion:
    """Leaves out a rater, or with `item` the rater's ratings of that item.

    Raises ExclusionError when the item is of another study or the same exclusion is in force already.
    """
    Rater.objects.select_for_update().get(pk=rater.pk)
    if item is not None and item.block.study_id != rater.study_id:
        raise ExclusionError(f"{rater} and the item are not of one study")
    if Exclusion.objects.in_force().filter(rater=rater, item=item).exists():
        raise ExclusionError(f"{rater} is excluded already")
    exclusion = Exclusion.objects.create(rater=rater, item=item, reason=reason, explanation=explanation, created_by=by)
    _remember("rater.exclude", exclusion, by)
    return exclusion


@transaction.atomic
def revert(*, exclusion: Exclusion, by: User | None) -> Exclusion:
    """Takes an exclusion back; the row stays, with who did it and when. Raises ExclusionError the second time.

    No run or rule makes it anew: what somebody decided stays decided.
    """
    exclusion = Exclusion.objects.select_for_update(of=("self",)).select_related("rater__study").get(pk=exclusion.pk)
    if exclusion.reverted_at is not None:
        raise ExclusionError(_("This exclusion was taken back already."))
    exclusion.reverted_at = timezone.now()
    exclusion.reverted_by = by
    exclusion.save(update_fields=["reverted_at", "reverted_by"])
    _remember("exclusion.revert", exclusion, by)
    return exclusion


def counts_again(exclusion: Exclusion) -> bool:
    """Whether a rating counts again by its having been taken back: there may be none, or another leaves it out too."""
    in_force = Exclusion.objects.in_force().filter(rater=exclusion.rater_id).order_by()
    if in_force.filter(item=None).exists():
        return False
    # The relation is that of annotation.Rating.
    rated = Item.objects.filter(ratings__rater=exclusion.rater_id).exclude(pk__in=in_force.values("item"))
    return (rated if exclusion.item_id is None else rated.filter(pk=exclusion.item_id)).exists()


def _remember(action: str, exclusion: Exclusion, by: User | None) -> None:
    AuditEntry.objects.create(
        actor=by,
        action=action,
        subject=f"{exclusion.rater.study.slug}/{exclusion.rater.name}",
        details={
            "exclusion": exclusion.pk,
            "item": exclusion.item_id,
            "reason": exclusion.reason,
            "explanation": exclusion.explanation,
        },
    )
