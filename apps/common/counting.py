"""Counting what belongs to each row of a query."""

from typing import Any

from django.db.models import Count, QuerySet, Subquery
from django.db.models.functions import Coalesce


def counted(rows: QuerySet[Any], *, by: str) -> Coalesce:
    """An annotation: how many of `rows`, which `by` ties to an OuterRef, there are for the outer row; 0 for none.

    A subquery: several counts by joins would multiply each other, and only the rows of one page are counted for.
    """
    return Coalesce(Subquery(rows.order_by().values(by).annotate(n=Count("pk")).values("n")), 0)
