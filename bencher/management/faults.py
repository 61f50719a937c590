"""What stops a command, as one sentence: settings, folders and databases that cannot be used. Anything else is a defect and keeps its traceback."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection

UNMIGRATED = ("no such table", "no such column", "does not exist")
"""How SQLite and PostgreSQL say that the tables of this version are missing."""


def _database(error: BaseException) -> str:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    where = connection.settings_dict
    name = f"{where['NAME']} on {where['HOST']}" if where.get("HOST") else str(where["NAME"])
    if any(words in reason for words in UNMIGRATED):
        reason += "; BENCHER_DATA_DIR or DATABASE_URL says which database, `manage.py up` or `manage.py migrate` makes its tables"
    return f"database {name}: {reason}"


def _file(error: BaseException) -> str | None:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return None


SENTENCES: dict[type[BaseException], Callable[[BaseException], str | None]] = {
    ImproperlyConfigured: str,
    DatabaseError: _database,
    OSError: _file,
}


def sentence(error: BaseException) -> str | None:
    """What to tell the operator; ``None``: this is no fault of theirs."""
    for kind, say in SENTENCES.items():
        if isinstance(error, kind):
            return say(error)
    return None
