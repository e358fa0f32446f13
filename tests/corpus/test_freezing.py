"""A dataset that a study has begun to use keeps its conversations as they are."""

import io
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.corpus.models import Dataset
from apps.corpus.services.freezing import DatasetFrozenError, freeze_datasets, thaw_datasets
from apps.corpus.services.importing import ImportRefusedError, SourceFile, import_files
from tests.conftest import make_dataset

pytestmark = pytest.mark.django_db

FIRST = "id,post,reply\n1,a,b\n"
LONGER = FIRST + "2,c,d\n3,e,f\n"


def import_text(text: str, **options):
    dataset = Dataset.objects.filter(slug="talks").first() or Dataset(slug="talks", name="Talks")
    return import_files(dataset=dataset, files=[SourceFile("talks.csv", io.BytesIO(text.encode()))], **options)


@pytest.fixture
def frozen() -> Dataset:
    import_text(FIRST)
    dataset = Dataset.objects.get(slug="talks")
    freeze_datasets(dataset_ids=[dataset.pk], at=datetime(2026, 3, 5, 12, tzinfo=UTC))
    dataset.refresh_from_db()
    return dataset


def test_freezing_marks_the_datasets_named_and_keeps_the_first_date():
    one, two, other = (make_dataset(slug, conversations=0) for slug in ("one", "two", "other"))
    first = timezone.now()
    assert freeze_datasets(dataset_ids=[one.pk], at=first) == 1
    assert freeze_datasets(dataset_ids=[one.pk, two.pk]) == 1
    for dataset in (one, two, other):
        dataset.refresh_from_db()
    assert (one.frozen_at, two.is_frozen, other.is_frozen) == (first, True, False)


def test_thawing_lets_the_datasets_named_change_again():
    one, two = (make_dataset(slug, conversations=0) for slug in ("one", "two"))
    freeze_datasets(dataset_ids=[one.pk, two.pk])
    assert thaw_datasets(dataset_ids=[one.pk]) == 1
    assert list(Dataset.objects.filter(frozen_at=None)) == [one]


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_import_that_would_add_to_a_frozen_dataset_is_refused_in_one_sentence(frozen, dry_run):
    with pytest.raises(DatasetFrozenError) as refused:
        import_text(LONGER, dry_run=dry_run)
    assert str(refused.value) == (
        "The dataset Talks is frozen since 5 Mar 2026, because a study that uses it was activated: make a new "
        "dataset for the 2 conversations that are not in it."
    )
    assert frozen.conversations.count() == 1


def test_problem_rows_that_may_be_skipped_do_not_open_a_frozen_dataset(frozen):
    with pytest.raises(DatasetFrozenError, match="for the 1 conversation that is not in it"):
        import_text("id,post,reply\n2,c,d\n3,,f\n", skip_problem_rows=True)
    assert frozen.conversations.count() == 1


def test_the_same_file_again_is_there_already_though_the_dataset_is_frozen(frozen):
    result = import_text(FIRST)
    assert (result.added, result.skipped) == (0, 1)


def test_a_conflict_with_a_frozen_dataset_is_still_told_as_a_conflict(frozen):
    with pytest.raises(ImportRefusedError):
        import_text("id,post,reply\n1,a,other\n")


def test_an_import_looks_at_the_dataset_as_it_is_stored_not_as_it_was_read(frozen):
    stale = Dataset.objects.get(pk=frozen.pk)
    stale.frozen_at = None
    with pytest.raises(DatasetFrozenError):
        import_files(dataset=stale, files=[SourceFile("talks.csv", io.BytesIO(LONGER.encode()))])


def test_the_command_ends_with_one_line(frozen, tmp_path):
    file = tmp_path / "talks.csv"
    file.write_text(LONGER)
    with pytest.raises(CommandError, match=r"^The dataset Talks is frozen since .* Nothing was imported\.$"):
        call_command("import_conversations", str(file), dataset="talks")
    assert frozen.conversations.count() == 1


def test_a_frozen_dataset_without_a_number_is_refused_in_other_words(frozen):
    assert str(DatasetFrozenError(frozen)) == (
        "The dataset Talks is frozen since 5 Mar 2026, because a study that uses it was activated: its "
        "conversations can no longer change."
    )
