"""Who may see ratings: nobody who still gives them sees another rater's, until discussion is open (DESIGN.md, 5)."""

from dataclasses import dataclass
from typing import cast

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet
from django.db.models.expressions import Combinable

from apps.accounts.models import User
from apps.studies.models import FINISHED_STATES, Item, Rater, RaterKind, Study


def may_see_ratings(*, user: User, study: Study) -> bool:
    """Whether a person may see other raters' values, and any figure made from them.

    Owners, researchers and admins may, unless they rate in the study themselves: then not before discussion is open
    and nothing is sealed, or they have left it as a rater. Tables and figures of a whole study have its models in
    them, so somebody who rates waits for these to be unsealed as well.
    """
    if not study.is_readable_by(user):
        return False
    if not study.raters.filter(user=user, left_at=None).exists():
        return True
    return study.discussion_open and not has_sealed_scores(study)


def has_sealed_scores(study: Study) -> bool:
    """Whether there are models whose scores are kept from everybody who rates."""
    return study.model_scores_sealed and study.raters.filter(kind=RaterKind.LLM).exists()


def sees_ratings(user: User) -> "ExpressionWrapper[Combinable]":
    """`may_see_ratings` as an expression over studies that the person works with (`Study.objects.readable_by`)."""
    rates = Exists(Rater.objects.filter(study=OuterRef("pk"), user=user, left_at=None))
    models = Exists(Rater.objects.filter(study=OuterRef("pk"), kind=RaterKind.LLM))
    is_sealed = Q(model_scores_sealed=True) & Q(models)
    sees = ~Q(rates) | (Q(discussion_open=True) & ~is_sealed)
    return ExpressionWrapper(cast("Combinable", sees), output_field=BooleanField())


@dataclass(frozen=True, slots=True)
class Sight:
    """What of a study's ratings somebody may see item by item, whether or not they work with the whole of it.

    `rater` is who looks, where they rate at present. `is_whole`: every item and every rater, as for those who work
    with the study. Else what a rater may discuss: the items they handed in themselves, in their own order, and no
    model while the models' scores are sealed.
    """

    study: Study
    rater: Rater | None
    is_whole: bool

    def items(self) -> QuerySet[Item]:
        """In the order of the study; for a rater in the order in which they got them."""
        items = Item.objects.filter(block__study=self.study)
        if self.is_whole:
            return items.order_by("block__position", "position")
        # One filter over one assignment: in two, another rater's would do.
        own = items.filter(assignments__rater=self.rater, assignments__state__in=FINISHED_STATES)
        return own.order_by("assignments__position")

    def raters(self) -> QuerySet[Rater]:
        raters = self.study.raters.order_by()
        is_sealed = self.study.model_scores_sealed and not self.is_whole
        return raters.exclude(kind=RaterKind.LLM) if is_sealed else raters


def sight_of(*, user: User, study: Study) -> Sight | None:
    """What of the ratings of single items a person may see; None: nothing.

    Whoever `may_see_ratings` sees everything. Who rates sees others' ratings while discussion is open, and so do
    owners and researchers who rate, for as long as models' scores are sealed.
    """
    rater = study.raters.filter(user=user, left_at=None).first()
    if may_see_ratings(user=user, study=study):
        return Sight(study, rater, is_whole=True)
    return Sight(study, rater, is_whole=False) if may_discuss(user=user, study=study) else None


def may_discuss(*, user: User, study: Study) -> bool:
    """Whether a rater of the study may see how others rated what they have handed in themselves."""
    if not study.discussion_open or not Study.objects.visible_to(user).filter(pk=study.pk).exists():
        return False
    return study.raters.filter(user=user, left_at=None).exists()
