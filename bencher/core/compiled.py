"""Queries that are compiled once. Making SQL out of a QuerySet costs ten times as much as running it; hot paths do it once a process.

    KEY = Compiled(lambda: UserKey.objects.select_related("user").filter(hash=Slot("hash")))
    KEY.first(hash=digest)

Nothing of the rows is kept: every call asks the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import AutoField, Model, QuerySet, Value
from django.db.models.query import FlatValuesListIterable, ModelIterable, ValuesListIterable, get_related_populators
from django.db.models.sql.subqueries import UpdateQuery

from bencher.core.statements import Convert, Maker, Statement, lighten, readers, stored, writer_of

R = TypeVar("R")
M = TypeVar("M", bound=Model)


class Slot(Value):
    """The place of a value that each call brings, under this name. None is no value: nothing equals it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        return "%s", [self]


@dataclass(frozen=True, slots=True)
class _Plan:
    """One statement of one kind of database, and how its rows are read."""

    statement: Statement
    parameters: tuple[Any, ...]
    converters: list[tuple[int, Convert]]
    read: Callable[[Sequence[Any]], Any]


class Compiled(Generic[R]):
    """A query with slots. ``build`` makes it: of instances, or with ``values_list`` of tuples or single values."""

    def __init__(self, build: Callable[[], QuerySet[Any, R]]) -> None:
        self._build = build
        self._plans: dict[str, _Plan] = {}

    def rows(self, **values: Any) -> list[R]:
        """All rows. ``values``: of every slot."""
        db = connections[DEFAULT_DB_ALIAS]
        plan = self._plans.get(db.vendor) or self._compile(db)
        found = plan.statement.rows([stored(values[item.value], db) if isinstance(item, Slot) else item for item in plan.parameters], db)
        return list(map(plan.read, _converted(found, plan.converters) if found and plan.converters else found))

    def first(self, **values: Any) -> R | None:
        rows = self.rows(**values)
        return rows[0] if rows else None

    def _compile(self, db: Any) -> _Plan:
        rows = self._build()
        compiler = rows.query.get_compiler(DEFAULT_DB_ALIAS)
        sql, parameters = compiler.as_sql()
        converters = readers(compiler.get_converters([item[0] for item in compiler.select]), db)
        plan = self._plans[db.vendor] = _Plan(Statement(sql), tuple(parameters), converters, _reader(rows, compiler))
        return plan


def _converted(rows: Sequence[Sequence[Any]], converters: list[tuple[int, Convert]]) -> Iterable[Sequence[Any]]:
    if len(rows) == 1:
        row = list(rows[0])
        for place, convert in converters:
            if row[place] is not None:
                row[place] = convert(row[place])
        return (row,)
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
    for place, convert in converters:
        columns[place] = [None if value is None else convert(value) for value in columns[place]]
    return zip(*columns, strict=True)


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
    lighten(populators)
    annotations = list((compiler.annotation_col_map or {}).items())
    maker = Maker(model)

    def instance(row: Sequence[Any]) -> Any:
        made = maker.from_db(DEFAULT_DB_ALIAS, names, row[first:last])
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
        self._plans: dict[str, tuple[Statement, tuple[Any, ...], dict[str, Any]]] = {}

    def run(self, conditions: dict[str, Any], values: dict[str, Any]) -> int:
        """How many rows were changed. ``conditions``: of every slot; ``values``: of every name."""
        db = connections[DEFAULT_DB_ALIAS]
        statement, parameters, fields = self._plans.get(db.vendor) or self._compile(db.vendor)
        given = {f"set {name}": field.get_db_prep_save(values[name], db) for name, field in fields.items()}
        given |= {name: stored(value, db) for name, value in conditions.items()}
        return statement.change([given[item.value] if isinstance(item, Slot) else item for item in parameters], db)

    def _compile(self, vendor: str) -> tuple[Statement, tuple[Any, ...], dict[str, Any]]:
        rows = self._build()
        query: Any = rows.query.chain(UpdateQuery)
        query.add_update_values({name: Slot(f"set {name}") for name in self._names})
        sql, parameters = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        fields = {name: rows.model._meta.get_field(name) for name in self._names}
        made = self._plans[vendor] = Statement(sql), tuple(parameters), fields
        return made


_inserts: dict[tuple[str, type[Model]], tuple[Statement, list[tuple[str, Convert]]]] = {}
_makers: dict[type[Model], Maker] = {}


def create(model: type[M], **values: Any) -> M:
    """A new row, as ``objects.create`` makes it, of a model whose key the database does not make, or nobody asks for. No signals are sent."""
    db = connections[DEFAULT_DB_ALIAS]
    statement, columns = _inserts.get((db.vendor, model)) or _insert(model, db)
    row: M = (_makers.get(model) or _makers.setdefault(model, Maker(model))).new(DEFAULT_DB_ALIAS, values)
    given = row.__dict__
    statement.change([None if (value := given[name]) is None else convert(value) for name, convert in columns], db)
    return row


def _insert(model: type[Model], db: Any) -> tuple[Statement, list[tuple[str, Convert]]]:
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, AutoField)]
    quote = db.ops.quote_name
    names = ", ".join(quote(field.column) for field in fields)
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES ({', '.join(['%s'] * len(fields))})"
    columns = [(field.attname, writer_of(field, db)) for field in fields]
    made = _inserts[db.vendor, model] = Statement(sql), columns
    return made
