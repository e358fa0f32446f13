"""Freezing: while studies that have begun use a dataset, its conversations stay what they are."""

from collections.abc import Collection
from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext

from apps.corpus.models import Dataset


class DatasetFrozenError(Exception):
    """Conversations of a frozen dataset were to be added, changed or taken away. Nothing was stored."""

    def __init__(self, dataset: Dataset, *, added: int = 0) -> None:
        self.dataset = dataset
        self.added = added
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        since = {
            "dataset": self.dataset.name,
            "date": date_format(timezone.localtime(self.dataset.frozen_at), "DATE_FORMAT"),
            "added": self.added,
        }
        if not self.added:
            return (
                gettext(
                    "The dataset %(dataset)s is frozen since %(date)s, because a study that uses it was activated: "
                    "its conversations can no longer change."
                )
                % since
            )
        return (
            ngettext(
                "The dataset %(dataset)s is frozen since %(date)s, because a study that uses it was activated: make a "
                "new dataset for the %(added)d conversation that is not in it.",
                "The dataset %(dataset)s is frozen since %(date)s, because a study that uses it was activated: make a "
                "new dataset for the %(added)d conversations that are not in it.",
                self.added,
            )
            % since
        )


def freeze_datasets(*, dataset_ids: Collection[int], at: datetime | None = None) -> int:
    """Fix the conversations of the datasets, as of now or `at`; those frozen before keep their date.

    Whoever activates a study calls this in the same transaction. One UPDATE, which waits for imports and edits under
    way; returns how many datasets it froze.
    """
    return Dataset.objects.filter(pk__in=dataset_ids, frozen_at=None).update(frozen_at=at or timezone.now())


def thaw_datasets(*, dataset_ids: Collection[int]) -> int:
    """Let the conversations change again; returns how many datasets it thawed.

    Which studies use a dataset is known to a higher app: it names only those that no study that has begun uses.
    """
    return Dataset.objects.filter(pk__in=dataset_ids, frozen_at__isnull=False).update(frozen_at=None)


def refuse_if_frozen(dataset: Dataset, *, added: int = 0) -> None:
    """Raises DatasetFrozenError where the dataset, read under its lock, is frozen."""
    if dataset.is_frozen:
        raise DatasetFrozenError(dataset, added=added)
