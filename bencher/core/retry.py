"""Transient database faults: tried again where it is safe, else reported as 503 (rest.md 0.3)."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, connection

P = ParamSpec("P")
R = TypeVar("R")
TRANSIENT = (OperationalError, InterfaceError)


def reason(fault: BaseException) -> str:
    """For the log: a full disk, a lock or a lost server are told apart by the first line; what follows may quote stored rows."""
    lines = str(fault).splitlines()
    return f"{type(fault).__name__}: {lines[0]}" if lines else type(fault).__name__


def transient(attempts: int = 4) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Run the function again after a lock conflict, deadlock or serialization failure. For whole transactions only: it does nothing inside one."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for attempt in range(1, attempts + 1):
                try:
                    return function(*args, **kwargs)
                except TRANSIENT:
                    if attempt == attempts or connection.in_atomic_block:
                        raise
                    connection.close_if_unusable_or_obsolete()
                    time.sleep(random.uniform(0, 0.05 * 2**attempt))
            raise AssertionError("unreachable")

        return call

    return decorate
