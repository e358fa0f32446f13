"""What a person has to do in their studies."""

from django.db.models import Case, Exists, IntegerField, OuterRef, QuerySet, Value, When

from apps.accounts.models import User
from apps.annotation.models import Rating
from apps.common.counting import counted
from apps.studies.models import (
    FINISHED_STATES,
    Assignment,
    AssignmentState,
    BlockGroup,
    Invitation,
    Item,
    Rater,
    Study,
    StudyStatus,
)
from apps.studies.services.blindness import sees_ratings

# Active studies first, closed ones last.
URGENCY = {StudyStatus.ACTIVE: 0, StudyStatus.DRAFT: 1, StudyStatus.CLOSED: 2}


def to_rate(user: User) -> QuerySet[Rater]:
    """The person as a rater of each study they rate in, with the study. One query.

    Adds `n_done` items handed in, `n_given` items they ever had, `n_skipped`, `n_items` in the blocks for their kind,
    and `is_shared`: whether raters share those items out, so that `n_items` is not what this one is to rate.
    """
    own = Assignment.objects.filter(rater=OuterRef("pk"))
    groups = BlockGroup.objects.filter(block__study=OuterRef("study"), kind=OuterRef("kind"))
    items = Item.objects.filter(block__study=OuterRef("study"), block__groups__kind=OuterRef("kind"))
    return (
        Rater.objects.filter(user=user, left_at=None, study__in=Study.objects.visible_to(user))
        .select_related("study")
        .annotate(
            n_done=counted(own.filter(state__in=FINISHED_STATES), by="rater"),
            n_given=counted(own, by="rater"),
            n_skipped=counted(own.filter(state=AssignmentState.SKIPPED), by="rater"),
            n_items=counted(items, by="block__study"),
            is_shared=Exists(groups.exclude(overlap=None)),
        )
        .order_by(_urgency("study__status"), "-study__updated_at", "pk")
    )


def run_by(user: User) -> QuerySet[Study]:
    """The studies whose design and results the person works with. One query.

    Adds `is_managed` (they may change it), `sees_ratings`, and counts: `n_blocks`, `n_people` who rate on the site,
    `n_done` items these handed in, `n_brought_in` raters whose ratings came in finished, `n_open_invitations`.
    """
    people = Rater.objects.filter(study=OuterRef("pk"), user__isnull=False, left_at=None)
    has_ratings = Exists(Rating.objects.filter(rater=OuterRef("pk")))
    brought_in = Rater.objects.filter(has_ratings, study=OuterRef("pk"), user=None)
    done = Assignment.objects.filter(rater__study=OuterRef("pk"), state__in=FINISHED_STATES)
    invitations = Invitation.objects.open().filter(study=OuterRef("pk"))
    return (
        Study.objects.readable_by(user)
        .with_counts()
        .annotate(
            is_managed=Exists(Study.objects.managed_by(user).filter(pk=OuterRef("pk"))),
            sees_ratings=sees_ratings(user),
            n_people=counted(people, by="study"),
            n_done=counted(done, by="rater__study"),
            n_brought_in=counted(brought_in, by="study"),
            n_open_invitations=counted(invitations, by="study"),
        )
        .order_by(_urgency("status"), "-updated_at", "pk")
    )


def _urgency(field: str) -> Case:
    return Case(
        *[When(**{field: status}, then=Value(rank)) for status, rank in URGENCY.items()], output_field=IntegerField()
    )
