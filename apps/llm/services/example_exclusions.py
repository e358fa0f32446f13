"""How many exclusions of what prompts show stand: somebody may have taken some back."""

from typing import NamedTuple

from django.db.models import Count, Exists, OuterRef, Q

from apps.llm.models import ModelRater, PromptVersion
from apps.studies.models import Exclusion, ExclusionReason


class ExampleExclusions(NamedTuple):
    """Each is of one rater and one item. n_taken_back: those that no other exclusion keeps out, either."""

    n_standing: int
    n_taken_back: int


def example_exclusions(of: PromptVersion | ModelRater) -> ExampleExclusions:
    """Of all raters of a version, or of one rater. One query."""
    raters = Q(rater__model_rater=of) if isinstance(of, ModelRater) else Q(rater__model_rater__version=of)
    standing = Exclusion.objects.in_force().filter(Q(item=OuterRef("item")) | Q(item=None), rater=OuterRef("rater"))
    found = (
        Exclusion.objects.filter(raters, reason=ExclusionReason.LEAKAGE)
        .order_by()
        .annotate(stands=Exists(standing))
        .aggregate(
            n_standing=Count("pk", filter=Q(stands=True)),
            n_taken_back=Count("pk", filter=Q(stands=False)),
        )
    )
    return ExampleExclusions(**found)
