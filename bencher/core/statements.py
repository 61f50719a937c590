"""Statements as they go to the database, and rows as they come: the same as through Django's cursor and models, without their price.

On SQLite, where most statements take 20 µs, Django's cursor takes as long again, and what it makes of a row several times that. Whoever looks on
(``execute_wrapper``, ``assertNumQueries``, DEBUG) sees every statement all the same: then it goes Django's way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX
from django.db.models import Field, Model
from django.db.models.base import ModelState

from bencher.core.ids import uuid_of

Convert = Callable[[Any], Any]
"""A column's value as Python has it. Never called with None."""


class Statement:
    """SQL with ``%s`` for every parameter, run on this thread's connection: ``db``, where the caller has it at hand."""

    __slots__ = ("_native", "sql")

    def __init__(self, sql: str) -> None:
        self.sql, self._native = sql, FORMAT_QMARK_REGEX.sub("?", sql).replace("%%", "%")

    def rows(self, parameters: Sequence[Any], db: Any = None) -> list[Any]:
        db = db or connections[DEFAULT_DB_ALIAS]
        if _unobserved(db):
            with db.wrap_database_errors:
                found: list[Any] = db.connection.execute(self._native, parameters).fetchall()
                return found
        with db.cursor() as cursor:
            cursor.execute(self.sql, parameters)
            return list(cursor.fetchall())

    def change(self, parameters: Sequence[Any], db: Any = None) -> int:
        """How many rows were written."""
        db = db or connections[DEFAULT_DB_ALIAS]
        if _unobserved(db):
            with db.wrap_database_errors:
                return int(db.connection.execute(self._native, parameters).rowcount)
        with db.cursor() as cursor:
            cursor.execute(self.sql, parameters)
            return int(cursor.rowcount)


def _unobserved(db: Any) -> bool:
    """May SQLite's own connection be used? It is there then, and no transaction of it is broken."""
    if db.vendor != "sqlite" or db.execute_wrappers or db.queries_logged:
        return False
    if db.connection is None:
        db.ensure_connection()
    if db.needs_rollback:
        db.validate_no_broken_transaction()
    return True


# -- values that go in ----------------------------------------------------------------------------------------------
def json_list(values: Iterable[Any]) -> str:
    """A list as SQLite's ``json_each`` takes it: UUIDs in their stored form."""
    return json.dumps([_in_sqlite(value) for value in values])


def stored(value: Any, db: Any) -> Any:
    """A parameter as the driver takes it: a UUID, a moment, the list of an ``among``, or what needs no change."""
    return _in_sqlite(value) if db.vendor == "sqlite" else list(value) if isinstance(value, tuple | set | frozenset | dict) else value


def stored_all(values: Iterable[Any], db: Any) -> list[Any]:
    """As ``stored`` each."""
    return list(map(_in_sqlite, values) if db.vendor == "sqlite" else values)


def _in_sqlite(value: Any) -> Any:
    kind = type(value)
    if kind is UUID:
        return "%032x" % value.int  # noqa: UP031  (half the price of UUID.hex)
    if kind is str or kind is int:
        return value
    if isinstance(value, datetime):
        return (value if value.tzinfo is UTC else value.astimezone(UTC)).isoformat(" ")[:-6]
    return json_list(value) if isinstance(value, list | tuple | set | frozenset | dict) else value


def writer_of(field: Field[Any, Any], db: Any) -> Convert:
    """What makes of a field's value (not None) the parameter that stores it."""
    kind = (field.target_field if field.is_relation else field).get_internal_type()  # type: ignore[attr-defined]
    if db.vendor == "sqlite" and kind in ("UUIDField", "DateTimeField", "CharField"):
        return _in_sqlite
    return lambda value: field.get_db_prep_save(value, db)


# -- values that come out -------------------------------------------------------------------------------------------
def readers(found: dict[int, tuple[list[Any], Any]], db: Any) -> list[tuple[int, Convert]]:
    """What Django's converters of a compiled query do, by place in the row."""
    return [(place, _reader(convert, expression, db)) for place, (convert, expression) in found.items()]


def uuid_out(value: Any) -> UUID:
    """A UUID's column, as a statement's row has it."""
    return value if isinstance(value, UUID) else uuid_of(int(value, 16))


def moment_out(value: Any) -> datetime:
    """A moment's column (a plain one: SQLite knows its type), as a statement's row has it."""
    moment: datetime = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return moment


def _reader(steps: Sequence[Any], expression: Any, db: Any) -> Convert:
    if [step.__name__ for step in steps] == ["convert_uuidfield_value"]:
        return uuid_out
    slow = _in_steps(steps, expression, db)
    if [step.__name__ for step in steps] == ["convert_datetimefield_value"]:
        return lambda value: moment_out(value) if isinstance(value, datetime) else slow(value)
    return slow


def _in_steps(steps: Sequence[Any], expression: Any, db: Any) -> Convert:
    def convert(value: Any) -> Any:
        for step in steps:
            value = step(value, expression, db)
        return value

    return convert


def _key(field: Any) -> str | None:
    """Of a relation: the attribute of the other row that is stored."""
    return field.target_field.attname if field.is_relation else None


class Maker:
    """Stands for a model where rows become instances: ``from_db`` without the signals, and at a quarter of the price, of ``Model.__init__``."""

    def __init__(self, model: type[Model]) -> None:
        if model.__init__ is not Model.__init__ or model.from_db.__func__ is not Model.from_db.__func__:  # type: ignore[attr-defined]
            raise TypeError(f"{model.__name__} makes its instances in a way of its own")
        self.model = model
        self._fields = [(field.attname, field.name, _key(field), field.get_default) for field in model._meta.concrete_fields]

    def new(self, db: str, values: dict[str, Any]) -> Any:
        """As ``model(**values)``, of a row that is being stored. TypeError for a name that is no column."""
        made = object.__new__(self.model)
        given, used = made.__dict__, 0
        state = given["_state"] = ModelState()
        state.adding, state.db = False, db
        for column, name, key, default in self._fields:
            if key is not None and name in values:
                related = state.fields_cache[name] = values[name]
                given[column] = None if related is None else getattr(related, key)
                used += 1
            elif column in values:
                given[column] = values[column]
                used += 1
            else:
                given[column] = default()
        if used != len(values):
            raise TypeError(f"{self.model.__name__} has not all of these columns: {', '.join(values)}")
        return made

    def from_db(self, db: str, names: Sequence[str], values: Sequence[Any]) -> Any:
        """An instance with these attributes; the others are deferred."""
        made = object.__new__(self.model)
        made.__dict__.update(zip(names, values, strict=True))
        state = made.__dict__["_state"] = ModelState()
        state.adding, state.db = False, db
        return made


def lighten(populators: Iterable[Any]) -> None:
    """Let Django's populators of related instances use makers, too."""
    for populator in populators:
        populator.model_cls = Maker(populator.model_cls)
        lighten(populator.related_populators)
