"""Whether a study's agreement is computed while somebody waits, or by a job."""

from django.db.models import Count

from apps.annotation.models import Rating
from apps.reliability.agreement import DEFAULT_RESAMPLES
from apps.reliability.costs import MOST_RATINGS, TableSize, is_quick
from apps.reliability.matrix import Kind, RaterKey
from apps.reliability.services.labelling import labels_of
from apps.studies.models import Item, ItemRole, Study


def computes_quickly(study: Study, *, resamples: int = DEFAULT_RESAMPLES) -> bool:
    """Whether `take_snapshot` surely takes less than a second, whatever the selection. A few queries, none of them over
    more than MOST_RATINGS ratings."""
    ratings = Rating.objects.filter(rater__study=study).order_by()
    n_ratings = ratings[: MOST_RATINGS + 1].count()
    if n_ratings > MOST_RATINGS:
        return False
    raters: dict[str, set[RaterKey]] = {}
    columns = ("item__block__slug", "rater__name", "rater__kind", "rater__is_aggregate")
    for block, name, kind, is_aggregate in ratings.values_list(*columns).distinct():
        raters.setdefault(block, set()).add(RaterKey(name, Kind(kind), is_aggregate))
    main = Item.objects.filter(block__study=study, role=ItemRole.MAIN).order_by()
    n_items = dict(main.values_list("block__slug").annotate(Count("pk")))
    sizes = [
        TableSize(
            n_items.get(scale.block.slug, 0),
            len(scale.dimension.points),
            tuple(sorted(raters[scale.block.slug], key=lambda rater: rater.order)),
        )
        for scale in labels_of(study).scales()
        if scale.block.slug in raters
    ]
    return is_quick(sizes, n_ratings=n_ratings, resamples=resamples)
