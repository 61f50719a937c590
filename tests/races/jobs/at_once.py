"""Threads that begin together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connection


def at_once(*work: Callable[[], Any]) -> list[Any]:
    """What the functions, begun together in a thread each, returned or raised."""
    barrier = threading.Barrier(len(work))

    def one(function: Callable[[], Any]) -> Any:
        try:
            barrier.wait(30)
            return function()
        except Exception as fault:
            return fault
        finally:
            connection.close()

    with ThreadPoolExecutor(len(work)) as pool:
        return list(pool.map(one, work))
