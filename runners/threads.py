"""Threads for what a channel must not do on the event loop. Bounded: a slow database slows those who need it, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import connection

P = ParamSpec("P")
R = TypeVar("R")

DATABASE_THREADS = 4
HEAVY_THREADS = 2

_database = ThreadPoolExecutor(DATABASE_THREADS, thread_name_prefix="channel-database")
_heavy = ThreadPoolExecutor(HEAVY_THREADS, thread_name_prefix="channel-heavy")


def _leaving_no_connection(work: Callable[[], R]) -> R:
    """SQLite's connection stays with its thread, since opening one costs more than the query; PostgreSQL's goes back to the pool."""
    try:
        return work()
    finally:
        if connection.vendor != "sqlite" and not connection.in_atomic_block:
            connection.close()


async def in_database(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run short database work in one of the channels' own threads."""
    return await _run(_database, partial(_leaving_no_connection, partial(function, *args, **kwargs)))


async def heavily(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run what takes long because it is big, beside the short work; it may use the database."""
    return await _run(_heavy, partial(_leaving_no_connection, partial(function, *args, **kwargs)))


async def _run(executor: ThreadPoolExecutor, work: Callable[[], R]) -> R:
    return await asyncio.get_running_loop().run_in_executor(executor, work)
