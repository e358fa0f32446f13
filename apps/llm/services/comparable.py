"""Which answers of a run the checks for bias compare: so only about those is a run asked again."""

from django.db.models import Exists, OuterRef, QuerySet

from apps.llm.models import Call, CallAnswer, CallState, Run
from apps.studies.models import Exclusion, ItemRole


def excluded_items(run: Run) -> set[int | None]:
    """Items from which the run's rater is excluded by now; None among them: from all of the study. One query."""
    in_force = Exclusion.objects.in_force().filter(rater=run.model_rater.rater_id)
    return set(in_force.values_list("item_id", flat=True))


def calls_to_ask_again(run: Run) -> QuerySet[Call]:
    """First samples about main items that say a score on a scale at least, less what is excluded.

    Repeated and practice items would count a conversation twice, or the wrong one; and beside “cannot tell” no score
    can be set. In the query itself; one more for the exclusions.
    """
    excluded = excluded_items(run)
    if None in excluded:
        return Call.objects.none()
    said = CallAnswer.objects.filter(call=OuterRef("pk"), fault="", value__isnull=False)
    return Call.objects.filter(
        Exists(said),
        run=run,
        sample=0,
        item__role=ItemRole.MAIN,
        state__in=(CallState.DONE, CallState.INVALID),  # of a whole framework, other scales than the invalid one count
    ).exclude(item__in=excluded)
