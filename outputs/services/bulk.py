"""Many rows in one statement. Model instances cost ten times as much: at 10 000 metrics that is the difference between 0.1 and 1 s."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, models, transaction

Columns = dict[str, Sequence[Any]]
"""Field name -> its values; all of one length."""


def insert(model: type[models.Model], columns: Columns, *, ignore_conflicts: bool = False) -> None:
    """Insert the rows that the columns spell. Every column of the table without a database default must be there.

    ``ignore_conflicts``: rows that break a unique constraint are left out.
    """
    if not columns or not next(iter(columns.values())):
        return
    fields: list[Any] = [model._meta.get_field(name) for name in columns]
    quote = connection.ops.quote_name
    into = f"INSERT INTO {quote(model._meta.db_table)} ({', '.join(quote(field.column) for field in fields)})"
    conflict = " ON CONFLICT DO NOTHING" if ignore_conflicts else ""
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:  # without one SQLite would commit, and sync, every row
        if connection.vendor == "postgresql":
            arrays = ", ".join(f"%s::{_array_type(field)}[]" for field in fields)
            cursor.execute(f"{into} SELECT * FROM unnest({arrays}){conflict}", [list(values) for values in columns.values()])
        else:
            marks = ", ".join(["%s"] * len(fields))
            stored = [_stored(values) for values in columns.values()]
            cursor.executemany(f"{into} VALUES ({marks}){conflict}", list(zip(*stored, strict=True)))


def _array_type(field: Any) -> str:
    return str((field.target_field if field.is_relation else field).db_type(connection)).replace("bigserial", "bigint")


def _stored(values: Sequence[Any]) -> Sequence[Any]:
    """The values as SQLite keeps them."""
    convert = _CONVERTERS.get(type(next((value for value in values if value is not None), None)))
    return values if convert is None else [None if value is None else convert(value) for value in values]


_CONVERTERS: dict[type, Callable[[Any], Any]] = {
    UUID: lambda value: value.hex,
    datetime: lambda value: connection.ops.adapt_datetimefield_value(value),
}
