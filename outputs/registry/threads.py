"""Database and storage work of the registry: a bounded number of threads of its own, so that slow transfers hold up nobody else."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import connections

from bencher.core.cores import roam

P = ParamSpec("P")
R = TypeVar("R")
_queries = ThreadPoolExecutor(8, "registry")
_transfers = ThreadPoolExecutor(16, "registry-bytes", initializer=roam)


async def with_database(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return await _run(_queries, functools.partial(function, *args, **kwargs), None)


async def with_storage(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Moves bytes; whether it touches the database too is its own affair."""
    return await _run(_transfers, functools.partial(function, *args, **kwargs), None)


async def acquire(function: Callable[[], R], undo: Callable[[R], object]) -> R:
    """Get something that must be given back: ``undo`` does that when the request was cancelled meanwhile."""
    return await _run(_transfers, function, undo)


async def _run(pool: ThreadPoolExecutor, function: Callable[[], R], undo: Callable[[R], object] | None) -> R:
    """A started piece of work is never abandoned: a request that is cancelled meanwhile ends after it."""
    work = pool.submit(_tidied, function)
    future = asyncio.wrap_future(work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if not work.cancel():
            await asyncio.wait([future])
            if not future.cancelled() and future.exception() is None and undo is not None:
                pool.submit(_tidied, functools.partial(undo, future.result()))
        raise


def _tidied(function: Callable[[], R]) -> R:
    """Connections to a server go back to the pool; SQLite's stay with the thread unless they broke."""
    try:
        return function()
    finally:
        if settings.ON_SQLITE:
            _close_broken()
        else:
            connections.close_all()


def _close_broken() -> None:
    for connection in connections.all(initialized_only=True):
        if connection.errors_occurred:
            connection.close_if_unusable_or_obsolete()
