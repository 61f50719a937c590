"""SQLite for a server with threads: whoever wants to write waits for those of this process, instead of asking again and again.

SQLite lets one transaction write at a time. One that meets another sleeps, longer each time, up to 0.1 s, and looks again: with four writers in a row
some waited for a second. Transactions begin IMMEDIATE here, that is as writers; so a thread takes its turn first. Other processes are met as ever.
"""

from __future__ import annotations

import sqlite3
import threading
from datetime import datetime
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base
from django.utils.dateparse import parse_datetime


def _moment(text: bytes) -> datetime | None:
    """A column's value, aware: what Django stores is in UTC (its own converter leaves that to one more step a value, dearer than this one)."""
    try:
        return datetime.fromisoformat(text.decode() + "+00:00")
    except ValueError:
        return parse_datetime(text.decode())


sqlite3.register_converter("datetime", _moment)  # after Django's own

_turns: dict[str, threading.Lock] = {}
"""One for each database file."""


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, but for the turn."""

    _turn: threading.Lock | None = None
    """Ours, as long as the transaction lasts."""

    def _start_transaction_under_autocommit(self) -> None:
        turn = _turns.setdefault(str(self.settings_dict["NAME"]), threading.Lock())
        if not turn.acquire(timeout=self.settings_dict["OPTIONS"].get("timeout", 5)):
            raise OperationalError("database is locked: other transactions of this process took too long")
        self._turn = turn
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._give()
            raise

    def _give(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.release()

    def _commit(self) -> Any:
        done = super()._commit()  # type: ignore[misc]
        self._give()
        return done

    def _rollback(self) -> Any:
        try:
            return super()._rollback()  # type: ignore[misc]
        finally:
            self._give()

    def _set_autocommit(self, autocommit: bool) -> None:
        """The end of every transaction: what was still open is committed here."""
        try:
            super()._set_autocommit(autocommit)  # type: ignore[misc]
        finally:
            if autocommit:
                self._give()

    def _close(self) -> Any:
        try:
            return super()._close()  # type: ignore[misc]
        finally:
            self._give()
