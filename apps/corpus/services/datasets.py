"""Making, describing, copying and deleting datasets."""

from collections.abc import Collection

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.accounts.models import User
from apps.common.models import OPEN_STATES, AuditEntry
from apps.common.reserved import RESERVED_SLUGS
from apps.common.slugs import slug_from
from apps.corpus.models import Conversation, ConversationUpload, Dataset, Turn

LONGEST_SLUG = 80
DESCRIBING = ("name", "description", "source", "licence", "owner")


class DatasetInUseError(Exception):
    """A study or an import under way needs the dataset. Nothing was deleted."""


def free_slug(name: str) -> str:
    """A short name made from a name, which no dataset and no page of the site has."""
    wanted = slug_from(name)[: LONGEST_SLUG - 5].strip("-_") or "dataset"
    # "talks-2" is in the way of "talks" no more than it helps: all that begin alike are few.
    taken = {*Dataset.objects.filter(slug__startswith=wanted).values_list("slug", flat=True), *RESERVED_SLUGS}
    number = 1
    slug = wanted
    while slug in taken:
        number += 1
        slug = f"{wanted}-{number}"
    return slug


@transaction.atomic
def create_dataset(*, dataset: Dataset, actor: User) -> Dataset:
    """Store a new, empty dataset. Raises IntegrityError where its slug was taken meanwhile."""
    dataset.save(force_insert=True)
    _note(dataset, actor, "dataset.create", owner=_owner_of(dataset))
    return dataset


@transaction.atomic
def edit_dataset(*, dataset: Dataset, actor: User) -> list[str]:
    """Store what is said about a dataset; returns which fields have changed.

    Its slug never changes: files, addresses and commands name it.
    """
    stored = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    changed = [name for name in DESCRIBING if getattr(stored, name) != getattr(dataset, name)]
    if changed:
        dataset.save(update_fields=[*changed, "updated_at"])
        details = {"owner": _owner_of(dataset)} if "owner" in changed else {}
        _note(dataset, actor, "dataset.edit", changed=changed, **details)
    return changed


@transaction.atomic
def delete_dataset(*, dataset: Dataset, actor: User) -> None:
    """Delete a dataset with its conversations. Raises DatasetInUseError where a study or an import needs it."""
    dataset = Dataset.objects.select_for_update().get(pk=dataset.pk)
    if dataset.blocks.exists():
        raise DatasetInUseError(gettext("A study uses this dataset, so it cannot be deleted."))
    if ConversationUpload.objects.filter(dataset_slug=dataset.slug, job__state__in=OPEN_STATES).exists():
        raise DatasetInUseError(gettext("An import into this dataset is under way. Wait for its end, or cancel it."))
    turns = Turn.objects.filter(conversation__dataset=dataset)
    lost = {"conversations": dataset.conversations.count(), "turns": turns.count()}
    # Row by row, Django would fetch 600,000 turns first to see who refers to them. Nothing does: no study uses them,
    # and the database itself refuses to leave a reference behind.
    turns._raw_delete(turns.db)
    dataset.conversations.all()._raw_delete(turns.db)
    dataset.delete()
    _note(dataset, actor, "dataset.delete", **lost)


@transaction.atomic
def copy_dataset(*, dataset: Dataset, copy: Dataset, actor: User) -> Dataset:
    """Store `copy`, a new dataset, with all conversations of `dataset`: not frozen, whatever `dataset` is.

    Raises IntegrityError where its slug was taken meanwhile.
    """
    dataset = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    copy.save(force_insert=True)
    _copy_conversations(dataset, copy)
    _copy_turns(dataset, copy)
    count = copy.conversations.count()
    _note(copy, actor, "dataset.copy", copied_from=dataset.slug, conversations=count, owner=_owner_of(copy))
    return copy


def _copy_conversations(source: Dataset, copy: Dataset) -> None:
    """Inside the database, so that a large dataset is copied within a request."""
    own = ("id", "dataset_id", "created_at", "updated_at")
    table, names = _table_and_columns(Conversation, leave_out=own)
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    statement = (
        f"INSERT INTO {table} (dataset_id, created_at, updated_at, {', '.join(names)}) "  # noqa: S608 - our own names
        f"SELECT %s, %s, %s, {', '.join(names)} FROM {table} WHERE dataset_id = %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [copy.pk, now, now, source.pk])


def _copy_turns(source: Dataset, copy: Dataset) -> None:
    table, names = _table_and_columns(Turn, leave_out=("id", "conversation_id"))
    conversations, _ = _table_and_columns(Conversation)
    taken = ", ".join(f"turn.{name}" for name in names)
    statement = (
        f"INSERT INTO {table} (conversation_id, {', '.join(names)}) "  # noqa: S608 - our own names
        f"SELECT fresh.id, {taken} FROM {table} turn "
        f"JOIN {conversations} old ON old.id = turn.conversation_id AND old.dataset_id = %s "
        f"JOIN {conversations} fresh ON fresh.dataset_id = %s AND fresh.external_id = old.external_id"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [source.pk, copy.pk])


def _table_and_columns(model: type[Conversation | Turn], *, leave_out: Collection[str] = ()) -> tuple[str, list[str]]:
    quote = connection.ops.quote_name
    columns = [str(field.column) for field in model._meta.concrete_fields]
    return quote(model._meta.db_table), [quote(column) for column in columns if column not in leave_out]


def _owner_of(dataset: Dataset) -> str | None:
    return None if dataset.owner is None else dataset.owner.email


def _note(dataset: Dataset, actor: User, action: str, **details: object) -> None:
    AuditEntry.objects.create(actor=actor, action=action, subject=dataset.slug, details=details)
