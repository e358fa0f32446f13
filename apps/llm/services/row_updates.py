"""Changing many rows to different values in one statement that is prepared once."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, models


def update_rows(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Set the fields named in `columns` of the rows with these primary keys: (primary key, *values) each.

    `bulk_update` builds an expression for every value; with a dozen fields that takes longer than the writing.
    """
    fields: list[Any] = [model._meta.get_field(name) for name in columns]
    key: Any = model._meta.pk
    values = [
        (
            *(field.get_db_prep_save(value, connection) for field, value in zip(fields, row[1:], strict=True)),
            key.get_db_prep_save(row[0], connection),
        )
        for row in rows
    ]
    if not values:
        return
    quote = connection.ops.quote_name
    names = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    table, key_name = quote(model._meta.db_table), quote(key.column)
    statement = f"UPDATE {table} SET {names} WHERE {key_name} = %s"  # noqa: S608 - our own names
    with connection.cursor() as cursor:
        cursor.executemany(statement, values)
