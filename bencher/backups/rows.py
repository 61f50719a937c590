"""Rows of the database as lines of JSON and back: the same text whichever database wrote or reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import msgspec
from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Field, Model

BATCH = 1000
PASSING = {"sessions.session"}
"""What need not survive: everybody logs in again."""


def tables() -> list[type[Model]]:
    """Every model that is kept, join tables included, in a stable order."""
    kept = [
        m
        for m in apps.get_models(include_auto_created=True)
        if m._meta.managed and not m._meta.proxy and m._meta.label_lower not in PASSING
    ]
    return sorted(kept, key=lambda model: model._meta.label_lower)


def migrations() -> list[str]:
    """Names of the applied migrations: backup and restore have to agree on them."""
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


@contextmanager
def snapshot() -> Iterator[None]:
    """One moment of the whole database for all reads inside; nobody who writes has to wait."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")  # not Django's IMMEDIATE, which would lock writers out
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield


def dump(model: type[Model]) -> Iterator[bytes]:
    """The rows of one table, a JSON array and a newline each; the first line is the column names."""
    fields = columns(model)
    names = [field.attname for field in fields]
    yield msgspec.json.encode(names) + b"\n"
    encode = msgspec.json.Encoder(decimal_format="string").encode
    for row in model._base_manager.order_by("pk").values_list(*names).iterator(chunk_size=BATCH):
        yield encode(row) + b"\n"


def columns(model: type[Model]) -> list[Field[Any, Any]]:
    return [field for field in model._meta.concrete_fields if not getattr(field, "generated", False)]


def empty() -> None:
    """Delete every row. Inside a transaction: foreign keys are looked at when it ends."""
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            if model._meta.managed and not model._meta.proxy:
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")


def load(model: type[Model], lines: Iterable[bytes]) -> int:
    """Insert what ``dump`` gave; how many rows. Raises ``ValueError`` for columns that this version does not have."""
    iterator = iter(lines)
    names = msgspec.json.decode(next(iterator))
    known = {field.attname: field for field in columns(model)}
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"{model._meta.label}: unknown column {unknown[0]}")
    fields = [known[name] for name in names]
    size = max(1, min(BATCH, connection.ops.bulk_batch_size(fields, [None] * BATCH)))
    count = 0
    while batch := list(islice(iterator, size)):
        rows = [
            model(**{field.attname: field.to_python(value) for field, value in zip(fields, msgspec.json.decode(line), strict=True)})
            for line in batch
        ]
        model._base_manager._insert(rows, fields=fields, using=connection.alias, raw=True)  # type: ignore[attr-defined]
        count += len(rows)
    return count


def reset_sequences() -> None:
    """The next generated key comes after the loaded ones."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), tables()):
            cursor.execute(statement)
