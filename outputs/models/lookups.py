"""``column__among=[…]``: membership in a list of any length with one parameter, on both databases.

Django's own ``__in`` sends one parameter per item: SQLite refuses more than 32 766 of them, and PostgreSQL plans each length anew.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.db.models import Field, ForeignKey, Lookup


@Field.register_lookup
@ForeignKey.register_lookup
class Among(Lookup):
    lookup_name = "among"
    prepare_rhs = False

    def get_db_prep_lookup(self, value: Any, connection: Any) -> Any:
        return "%s", [list(value)]

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        left, parameters = self.process_lhs(compiler, connection)
        kind = self.lhs.output_field.db_type(connection)
        return f"{left} = ANY(%s::{kind}[])", [*parameters, list(self.rhs)]

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        left, parameters = self.process_lhs(compiler, connection)
        return f"{left} IN (SELECT value FROM json_each(%s))", [*parameters, json_list(self.rhs)]


def json_list(values: Any) -> str:
    """A list as SQLite's ``json_each`` takes it: UUIDs in their stored form."""
    return json.dumps([value.hex if isinstance(value, UUID) else value for value in values])
