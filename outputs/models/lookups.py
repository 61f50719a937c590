"""``column__among=[…]``: membership in a list of any length with one parameter, on both databases.

Django's own ``__in`` sends one parameter per item: SQLite refuses more than 32 766 of them, and PostgreSQL plans each length anew.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Field, ForeignKey, Lookup

from bencher.core.compiled import Slot
from bencher.core.statements import json_list


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
        return f"{left} = ANY(%s::{kind}[])", [*parameters, self.rhs if isinstance(self.rhs, Slot) else list(self.rhs)]

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        left, parameters = self.process_lhs(compiler, connection)
        values = self.rhs if isinstance(self.rhs, Slot) else json_list(self.rhs)
        return f"{left} IN (SELECT value FROM json_each(%s))", [*parameters, values]
