"""What the site holds on one person. Every query asks for that person's rows only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from axes.models import AccessAttempt
from django.db.models import OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.annotation.models import Rating
from apps.common.counting import counted
from apps.common.models import AuditEntry
from apps.dashboard.own_ratings import OwnPassage, OwnRating
from apps.studies.models import FINISHED_STATES, Assignment, Membership, Rater, Study

RATINGS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Part:
    """A person's part in one study: as a member, as a rater, or both."""

    study: Study
    membership: Membership | None
    rater: Rater | None


def studies_of(user: User) -> QuerySet[Study]:
    """Studies the person takes part in, or has rated in."""
    return Study.objects.filter(Q(memberships__user=user) | Q(raters__user=user)).distinct().order_by("title", "pk")


def with_parts(user: User, studies: Sequence[Study]) -> list[Part]:
    """The person's part in each of the studies, in their order. The rater comes with `n_ratings`, `n_done`."""
    memberships = {row.study_id: row for row in user.memberships.filter(study__in=studies)}
    own = Assignment.objects.filter(rater=OuterRef("pk"), state__in=FINISHED_STATES)
    raters = user.raters.filter(study__in=studies).annotate(
        n_ratings=counted(Rating.objects.filter(rater=OuterRef("pk")), by="rater"), n_done=counted(own, by="rater")
    )
    found = {rater.study_id: rater for rater in raters}
    return [Part(study, memberships.get(study.pk), found.get(study.pk)) for study in studies]


def belongings_of(user: User) -> list[tuple[str, int]]:
    """What else is kept, by name, with how many rows there are."""
    return [
        (_("API keys"), user.api_keys.count()),
        (_("Datasets you own"), user.datasets.count()),
        (_("Files you uploaded that are still kept"), user.stored_files.count()),
        (_("Uploads of conversations"), user.conversation_uploads.count()),
        (_("Uploads of ratings"), user.rating_uploads.count()),
        (_("Saved mappings"), user.saved_mappings.count()),
        (_("Background work you started"), user.jobs.count()),
        (_("Reports you asked for"), user.reports.count()),
        (_("Invitations you made"), user.invitations_made.count()),
        (
            _("Failed attempts to sign in with your address, kept for a week"),
            AccessAttempt.objects.filter(username=user.email).count(),
        ),
    ]


def acts_of(user: User) -> QuerySet[AuditEntry]:
    """What the person did, and what was done to their account or their part in a study, newest first."""
    on_them = Q(subject=user.email) | Q(details__person=user.email) | Q(details__email=user.email)
    return AuditEntry.objects.filter(Q(actor=user) | on_them).select_related("actor")


def own_ratings(user: User) -> Iterator[OwnRating]:
    """The person's own ratings in all studies, by study, block and item. Read as a stream."""
    own = Assignment.objects.filter(rater__user=user).order_by()
    rows = own.values_list("rater_id", "item_id", "position", "state")
    in_hand = {(rater, item): (position + 1, state) for rater, item, position, state in rows}
    ratings = (
        Rating.objects.filter(rater__user=user)
        .select_related("rater", "item__block__study", "dimension__framework")
        .prefetch_related("evidence__turn")
        .order_by("item__block__study_id", "item__block__position", "item__position", "dimension_id")
    )
    for rating in ratings.iterator(chunk_size=RATINGS_AT_ONCE):
        block, framework = rating.item.block, rating.dimension.framework
        place, state = in_hand.get((rating.rater_id, rating.item_id), (None, ""))
        yield OwnRating(
            study=block.study.title,
            rater=rating.rater.name,
            block=block.position + 1,
            item=rating.item_id,
            place=place,
            state=state,
            framework=framework.slug,
            framework_version=framework.version,
            dimension=rating.dimension.slug,
            value=rating.value,
            cannot_tell=rating.cannot_tell,
            comment=rating.comment,
            evidence=[
                OwnPassage(
                    quote=passage.quote,
                    turn=passage.turn.index if passage.turn else None,
                    start=passage.start,
                    end=passage.end,
                )
                for passage in rating.evidence.all()
            ],
            created_at=rating.created_at,
            updated_at=rating.updated_at,
        )
