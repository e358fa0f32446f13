"""The conversations that a block takes from its dataset: those that fit the choice, all of them or a sample."""

from collections.abc import Iterator
from dataclasses import dataclass

from apps.corpus.models import Dataset
from apps.studies.allocation import sample_items
from apps.studies.selection import Choice, Trait, Traits, is_taken, tally_traits

CONVERSATIONS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Selection:
    """`keys`: primary keys of the conversations taken, in the order of the dataset."""

    n_conversations: int
    n_fitting: int
    keys: list[int]


def select_conversations(*, dataset: Dataset, choice: Choice, sample_size: int | None, seed: int) -> Selection:
    """What a block takes, in at most two queries whatever the size of the dataset.

    The choice comes first and the sample is drawn from what fits. It is drawn by external ids: the same dataset
    imported elsewhere gives the same sample. Raises AllocationError where fewer fit than the sample asks for.
    """
    n_conversations, fitting = _fitting(dataset, choice)
    keys = [fitting[name] for name in sample_items(fitting, sample_size, seed)] if sample_size else [*fitting.values()]
    return Selection(n_conversations, len(fitting), keys)


def _fitting(dataset: Dataset, choice: Choice) -> tuple[int, dict[str, int]]:
    """(conversations of the dataset, external id -> key of those that fit)."""
    if not choice:
        everything = dict(dataset.conversations.order_by("position").values_list("external_id", "pk"))
        return len(everything), everything
    taken = {external_id: pk for external_id, pk, traits in _with_traits(dataset) if is_taken(traits, choice)}
    return dataset.conversations.count(), taken


def traits_of(*, dataset: Dataset) -> list[Trait]:
    """The names by which conversations of the dataset can be chosen, with their values and counts, in one query."""
    return tally_traits(traits for _, _, traits in _with_traits(dataset))


def _with_traits(dataset: Dataset) -> Iterator[tuple[str, int, Traits]]:
    rows = dataset.conversations.order_by("position").values_list(
        "external_id", "pk", "metadata", "factors", "language"
    )
    for external_id, pk, metadata, factors, language in rows.iterator(chunk_size=CONVERSATIONS_AT_ONCE):
        yield external_id, pk, Traits(metadata, factors, language)
