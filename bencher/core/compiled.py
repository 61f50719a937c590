"""Queries that are compiled once. Making SQL out of a QuerySet costs ten times as much as running it; hot paths do it once a process.

    KEY = Compiled(lambda: UserKey.objects.select_related("user").filter(hash=Slot("hash")))
    KEY.first(hash=digest)

Nothing of the rows is kept: every call asks the database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import AutoField, Model, QuerySet, Value
from django.db.models.query import FlatValuesListIterable, ModelIterable, ValuesListIterable, get_related_populators
from django.db.models.sql.subqueries import UpdateQuery

R = TypeVar("R")
M = TypeVar("M", bound=Model)


class Slot(Value):
    """The place of a value that each call brings, under this name. None is no value: nothing equals it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        return "%s", [self]


def json_list(values: Iterable[Any]) -> str:
    """A list as SQLite's ``json_each`` takes it: UUIDs in their stored form."""
    return json.dumps([value.hex if isinstance(value, UUID) else value for value in values])


def stored(value: Any, db: Any) -> Any:
    """A parameter as the driver takes it: a UUID, a moment, the list of an ``among``, or what needs no change."""
    if isinstance(value, str):
        return value
    if isinstance(value, UUID):
        return value.hex if db.vendor == "sqlite" else value
    if isinstance(value, list | tuple | set | frozenset | dict):
        return json_list(value) if db.vendor == "sqlite" else list(value)
    return db.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value


@dataclass(frozen=True, slots=True)
class _Plan:
    """One statement of one kind of database, and how its rows are read."""

    sql: str
    parameters: tuple[Any, ...]
    converters: list[tuple[int, list[Any], Any]]
    read: Callable[[Sequence[Any]], Any]


class Compiled(Generic[R]):
    """A query with slots. ``build`` makes it: of instances, or with ``values_list`` of tuples or single values."""

    def __init__(self, build: Callable[[], QuerySet[Any, R]]) -> None:
        self._build = build
        self._plans: dict[str, _Plan] = {}

    def rows(self, **values: Any) -> list[R]:
        """All rows. ``values``: of every slot."""
        db = connections[DEFAULT_DB_ALIAS]
        plan = self._plans.get(db.vendor) or self._compile(db.vendor)
        with db.cursor() as cursor:
            cursor.execute(plan.sql, [stored(values[item.value], db) if isinstance(item, Slot) else item for item in plan.parameters])
            found = cursor.fetchall()
        if not plan.converters:
            return [plan.read(row) for row in found]
        return [plan.read(_converted(row, plan.converters, db)) for row in found]

    def first(self, **values: Any) -> R | None:
        rows = self.rows(**values)
        return rows[0] if rows else None

    def _compile(self, vendor: str) -> _Plan:
        rows = self._build()
        compiler = rows.query.get_compiler(DEFAULT_DB_ALIAS)
        sql, parameters = compiler.as_sql()
        found = compiler.get_converters([item[0] for item in compiler.select])
        converters = [(place, convert, expression) for place, (convert, expression) in found.items()]
        plan = self._plans[vendor] = _Plan(sql, tuple(parameters), converters, _reader(rows, compiler))
        return plan


def _converted(row: Sequence[Any], converters: list[tuple[int, list[Any], Any]], db: Any) -> Sequence[Any]:
    changed = list(row)
    for place, convert, expression in converters:
        value = changed[place]
        if value is not None:
            for one in convert:
                value = one(value, expression, db)
            changed[place] = value
    return changed


def _reader(rows: QuerySet[Any, Any], compiler: Any) -> Callable[[Sequence[Any]], Any]:
    """What makes a result of a row, as the QuerySet itself would."""
    kind = rows._iterable_class
    if kind is FlatValuesListIterable:
        return lambda row: row[0]
    if kind is ValuesListIterable:
        return tuple
    if kind is not ModelIterable:
        raise TypeError(f"{kind.__name__} cannot be compiled")
    model, fields = compiler.klass_info["model"], compiler.klass_info["select_fields"]
    first, last = fields[0], fields[-1] + 1
    names = [item[0].target.attname for item in compiler.select[first:last]]
    populators: list[Any] = get_related_populators(compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
    annotations = list((compiler.annotation_col_map or {}).items())

    def instance(row: Sequence[Any]) -> Any:
        made = model.from_db(DEFAULT_DB_ALIAS, names, row[first:last])
        for populator in populators:
            populator.populate(row, made)
        for name, place in annotations:
            setattr(made, name, row[place])
        return made

    return instance


class CompiledUpdate:
    """An UPDATE with slots in its conditions and values. ``build`` makes the rows, ``names`` are the fields that it sets."""

    def __init__(self, build: Callable[[], QuerySet[Any, Any]], names: Iterable[str]) -> None:
        self._build, self._names = build, tuple(names)
        self._plans: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {}

    def run(self, conditions: dict[str, Any], values: dict[str, Any]) -> int:
        """How many rows were changed. ``conditions``: of every slot; ``values``: of every name."""
        db = connections[DEFAULT_DB_ALIAS]
        sql, parameters, fields = self._plans.get(db.vendor) or self._compile(db.vendor)
        given = {f"set {name}": field.get_db_prep_save(values[name], db) for name, field in fields.items()}
        given |= {name: stored(value, db) for name, value in conditions.items()}
        with db.cursor() as cursor:
            cursor.execute(sql, [given[item.value] if isinstance(item, Slot) else item for item in parameters])
            return int(cursor.rowcount)

    def _compile(self, vendor: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        rows = self._build()
        query: Any = rows.query.chain(UpdateQuery)
        query.add_update_values({name: Slot(f"set {name}") for name in self._names})
        sql, parameters = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        fields = {name: rows.model._meta.get_field(name) for name in self._names}
        made = self._plans[vendor] = sql, tuple(parameters), fields
        return made


_inserts: dict[tuple[str, type[Model]], tuple[str, list[Any]]] = {}


def create(model: type[M], **values: Any) -> M:
    """A new row, as ``objects.create`` makes it, of a model whose key the database does not make, or nobody asks for. No signals are sent."""
    db = connections[DEFAULT_DB_ALIAS]
    sql, fields = _inserts.get((db.vendor, model)) or _insert(model, db)
    row = model(**values)
    with db.cursor() as cursor:
        cursor.execute(sql, [field.get_db_prep_save(getattr(row, field.attname), db) for field in fields])
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    return row


def _insert(model: type[Model], db: Any) -> tuple[str, list[Any]]:
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, AutoField)]
    quote = db.ops.quote_name
    columns = ", ".join(quote(field.column) for field in fields)
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({', '.join(['%s'] * len(fields))})"
    made = _inserts[db.vendor, model] = sql, fields
    return made
