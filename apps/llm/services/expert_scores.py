"""What the experts of a study say, for examples, baselines and checks: finished ratings, less what is excluded."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db.models import Exists, OuterRef

from apps.annotation.models import Rating
from apps.studies.models import Exclusion, ItemRole, RaterKind, Study

ScaleKey = tuple[int, int]  # block, dimension
Values = Mapping[int, Sequence[float]]  # item -> the experts' values


def expert_values(*, study: Study) -> dict[ScaleKey, dict[int, list[float]]]:
    """(block, dimension) -> main item -> its experts' values, in ascending order; "cannot tell" is none. One query.

    Aggregates of experts are left out: they are no expert. So are excluded raters, and ratings excluded singly.
    """
    in_force = Exclusion.objects.in_force().filter(rater=OuterRef("rater"))
    whole, single = in_force.filter(item=None), in_force.filter(item=OuterRef("item"))
    rows = (
        Rating.objects.finished()
        .filter(
            rater__study=study,
            rater__kind=RaterKind.EXPERT,
            rater__is_aggregate=False,
            item__role=ItemRole.MAIN,
            value__isnull=False,
        )
        .exclude(Exists(whole))
        .exclude(Exists(single))
        .order_by("item_id", "value")
        .values_list("item__block_id", "dimension_id", "item_id", "value")
    )
    found: dict[ScaleKey, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for block_id, dimension_id, item_id, value in rows:
        if value is not None:
            found[block_id, dimension_id][item_id].append(value)
    return {key: dict(items) for key, items in found.items()}
