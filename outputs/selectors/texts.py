"""Columns as the text that JSON shows. The database makes it; doing so in Python costs most of the time of a long series."""

from __future__ import annotations

from typing import Any

from django.db.models import CharField, Func


class UuidText(Func):
    """A UUID with hyphens."""

    output_field = CharField()
    arity = 1

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        return self.as_sql(compiler, connection, template="(%(expressions)s)::text")

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        inner, parameters = compiler.compile(self.source_expressions[0])
        parts = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
        sql = " || '-' || ".join(f"substr({inner}, {start}, {length})" for start, length in parts)
        return f"({sql})", list(parameters) * len(parts)


class MomentText(Func):
    """A moment as RFC 3339 in UTC, whole seconds."""

    output_field = CharField()
    arity = 1

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        template = """to_char((%(expressions)s) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""
        return self.as_sql(compiler, connection, template=template)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="strftime('%%%%Y-%%%%m-%%%%dT%%%%H:%%%%M:%%%%SZ', %(expressions)s)")
