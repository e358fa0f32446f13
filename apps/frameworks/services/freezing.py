"""Freezing: from its first rating on, a version of a framework says what it says."""

from collections.abc import Collection
from datetime import datetime

from django.utils import timezone

from apps.frameworks.models import Framework


def freeze_frameworks(*, framework_ids: Collection[int], at: datetime | None = None) -> int:
    """Mark the versions as used by a rating, as of now or `at`; those frozen before keep their date.

    Whoever records ratings calls this in the same transaction. One UPDATE; returns how many versions it froze.
    """
    return Framework.objects.filter(pk__in=framework_ids, frozen_at=None).update(frozen_at=at or timezone.now())
