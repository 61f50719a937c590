"""Parsing in child processes that can be killed: text from outside has a budget of time and memory, and never holds up the server.

A regular expression or a JSON decoder holds the interpreter's lock while it runs, and a thread cannot be stopped; a process can. Children
come from a fork server, which has no sockets of ours to inherit. Neither Django nor Celery is imported here or in a child. Linux only.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import fcntl
import multiprocessing
import os
import resource
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, Final

import msgspec
import pebble
from pebble import ProcessExpired, ProcessPool

from outputs.adapters.parse import normalize, parse_results
from outputs.adapters.results import AdapterError, Parsed

LIMIT: Final = 10.0
"""Seconds that one call may run, unless the caller sets another limit."""

MEMORY: Final = 512 << 20
"""Bytes of address space of a child."""

SMALL: Final = 64 << 10
"""Characters up to which BMF is read in the caller's own process: at most 4 ms, and nothing in it backtracks."""

QUEUE: Final = 512
"""Calls in progress or waiting, beyond which further ones are refused."""

ATTEMPTS: Final = 2
"""A call whose child is killed from outside is tried once more."""

START: Final = 10.0
"""Seconds that the first child may take to answer."""

SOCKET_PATH: Final = 60
"""Characters of a temporary folder's path below which the fork server's socket finds room (a socket's path ends at 107)."""

PROCESSORS: Final = os.sched_getaffinity(0)
"""Where children may run: wherever this process may when it starts."""

BUSY, RESTING = 0.02, 0.25
"""Seconds between two looks of pebble at its children: while there is a call, and while there is none."""

BOOT: Final = ["outputs.parsing_boot", "pebble", "outputs.parsing"]

RESULTS: Final = msgspec.msgpack.Decoder(list[tuple[int, Parsed]])
"""Results cross the process boundary as one MessagePack: 10 000 metrics take 11 ms, a third of what pickling them takes."""


class ParserUnavailable(Exception):
    """No fault of the text: children are gone, busy or stopping. The caller may try again."""


class Places:
    """So many callers wait for children at once: threads that wait are not there for anybody else."""

    def __init__(self, count: int, patience: float) -> None:
        """``patience``: seconds that one may wait for a place."""
        self._free, self._patience = threading.BoundedSemaphore(count), patience

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Raises ParserUnavailable when no place becomes free."""
        if not self._free.acquire(timeout=self._patience):
            raise ParserUnavailable("too many texts are being parsed")
        try:
            yield
        finally:
            self._free.release()


def _child(memory: int, processors: set[int]) -> None:
    """Runs first in every child."""
    with contextlib.suppress(OSError):  # forbidden, or those are gone: then it runs where its parent does
        os.sched_setaffinity(0, processors)  # the server's threads may share one
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to the whole group by supervisors; a running call shall end
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sentinel = multiprocessing.parent_process().sentinel  # type: ignore[union-attr]  # a child has a parent
    # The server holds the only other end of this pipe. When it dies, even by SIGKILL, the kernel signals SIGIO, whose default ends a child
    # that is busy as well; end of file alone would be seen by an idle one only.
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(sentinel, fcntl.F_SETFL, fcntl.fcntl(sentinel, fcntl.F_GETFL) | os.O_ASYNC)


def _call(limit: float, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Runs a call in a child. The alarm is a second net, for a server too stopped to keep the limit."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limit + 2)
    try:
        return function(*args)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _parse(texts: list[str], adapter: str, average: str | None, fold: str | None) -> bytes:
    return msgspec.msgpack.encode(parse_results(texts, adapter=adapter, average=average, fold=fold))


class Parsers:
    """A pool of parsing children. Starts with the first call, or by ``start``; for any number of threads and event loops."""

    def __init__(self, workers: int = 2, memory: int = MEMORY) -> None:
        self._workers, self._memory = workers, memory
        self._reset()
        os.register_at_fork(after_in_child=self._forked)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._live: set[Future[Any]] = set()
        self._pool: ProcessPool | None = None
        self._stopped = False

    def _forked(self) -> None:
        """A forked process makes its own pool: this one's threads stay behind, and its children are not ours to end or to wait for."""
        self._reset()
        server: Any = forkserver._forkserver
        if server._forkserver_alive_fd is not None:
            os.close(server._forkserver_alive_fd)
        server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None

    def start(self) -> None:
        """Start the children, also after ``stop``; nothing happens when they run. Takes 0.1 s, a broken pool's replacement 20 ms."""
        with self._lock:
            self._stopped = False
            self._ensure()

    def stop(self) -> None:
        """End the children. Calls in progress, and later ones, raise ParserUnavailable."""
        with self._lock:
            self._stopped, pool, self._pool = True, self._pool, None
        for future in list(self._live):
            future.cancel()
        if pool is not None:
            pool.stop()  # type: ignore[no-untyped-call]
            pool.join()

    def parse(
        self,
        texts: list[str],
        *,
        adapter: str = "magic",
        average: str | None = None,
        fold: str | None = None,
        limit: float = LIMIT,
        wait: float = 30.0,
        places: Places | None = None,
    ) -> list[tuple[int, Parsed]]:
        """``parse_results`` in a child; blocks the calling thread.

        The text has ``limit`` seconds from when a child takes it; ``wait`` is how long one may take to do so; what needs a child at all takes one of
        the ``places``. Raises AdapterError as
        ``parse_results`` does, and with the verdict ``too_slow`` for a text over its budget of time or memory; ParserUnavailable for faults
        of ours; ValueError for settings that do not exist.
        """
        normalize(adapter)
        if (done := _inline(texts, adapter, average, fold)) is not None:
            return done
        with places.taken() if places else contextlib.nullcontext():
            return self._in_child(limit, wait, texts, adapter, average, fold)

    def _in_child(
        self, limit: float, wait: float, texts: list[str], adapter: str, average: str | None, fold: str | None
    ) -> list[tuple[int, Parsed]]:
        for _attempt in range(ATTEMPTS):
            future = self._submit(limit, texts, adapter, average, fold)
            try:
                future.exception(limit + wait)
            except (TimeoutError, CancelledError):
                pass  # told apart by _outcome
            finally:
                future.cancel()
            if not _lost(future):
                break
        return _outcome(future, adapter)

    async def aparse(
        self,
        texts: list[str],
        *,
        adapter: str = "magic",
        average: str | None = None,
        fold: str | None = None,
        limit: float = LIMIT,
        wait: float = 5.0,
    ) -> list[tuple[int, Parsed]]:
        """As ``parse``, without blocking the event loop. Cancelling the task ends the call, and the child with it."""
        normalize(adapter)
        if (done := _inline(texts, adapter, average, fold)) is not None:
            return done
        for _attempt in range(ATTEMPTS):
            if not self._running():
                await asyncio.to_thread(self._restart)
            future = self._submit(limit, texts, adapter, average, fold)
            try:
                await _finished(future, limit + wait)
            finally:
                future.cancel()
            if not _lost(future):
                break
        return _outcome(future, adapter)

    def _running(self) -> bool:
        return self._pool is not None and self._pool.active

    def _restart(self) -> None:
        with self._lock:
            self._ensure()

    def _submit(self, limit: float, *args: Any) -> Future[bytes]:
        with self._lock:
            if len(self._live) >= QUEUE:
                raise ParserUnavailable("too many texts are waiting to be parsed")
            try:
                future: Future[bytes] = self._ensure().schedule(_call, (limit, _parse, args), timeout=limit)
            except RuntimeError as error:  # the pool broke this very moment
                raise ParserUnavailable(str(error)) from error
            self._live.add(future)
            pebble.CONSTS.sleep_unit = BUSY
        future.add_done_callback(self._done)
        return future

    def _done(self, future: Future[bytes]) -> None:
        """Without the lock, which whoever replaces the pool holds while its calls end. A call of this very moment may find the pool resting."""
        self._live.discard(future)
        pebble.CONSTS.sleep_unit = BUSY if self._live else RESTING

    def _ensure(self) -> ProcessPool:
        """A pool that works. A child that dies while it has nothing to do breaks pebble's pool for good, hence the replacement."""
        if self._stopped:
            raise ParserUnavailable("the server is stopping")
        if self._pool is not None and self._pool.active:
            return self._pool
        old, self._pool = self._pool, None
        if old is not None:
            old.stop()  # type: ignore[no-untyped-call]
            old.join()
        self._pool = _pool(self._workers, self._memory)
        return self._pool


def _pool(workers: int, memory: int) -> ProcessPool:
    # Pebble ends a child by SIGTERM, which these ignore, waits and then kills it, all the while holding up the others: wait but a moment.
    pebble.CONSTS.term_timeout = pebble.CONSTS.sleep_unit = BUSY
    root = str(Path(__file__).resolve().parents[1])
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if root not in paths:  # the fork server does not get our sys.path, and skips in silence what it cannot preload
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, *paths]))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(BOOT)
    _short_socket_path()
    pool = ProcessPool(workers, max_tasks=500, initializer=_child, initargs=(memory, PROCESSORS), context=context)
    pool.schedule(int).result(START)
    pebble.CONSTS.sleep_unit = RESTING
    return pool


def _short_socket_path() -> None:
    """The fork server listens on a socket in the temporary folder, whose path must be short: take /tmp where TMPDIR is deep."""
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    if len(tempfile.gettempdir()) > SOCKET_PATH and config.get("tempdir") is None:
        config["tempdir"] = folder = tempfile.mkdtemp(prefix="pymp-", dir="/tmp")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def _inline(texts: list[str], adapter: str, average: str | None, fold: str | None) -> list[tuple[int, Parsed]] | None:
    """Small BMF, read right here. None for all else, which goes to a child."""
    small = adapter in ("json", "magic") and sum(map(len, texts)) <= SMALL and all(text.startswith("{") for text in texts)
    if not small:
        return None
    try:
        return parse_results(texts, adapter="json", average=average, fold=fold)
    except AdapterError:
        return None


async def _finished(future: Future[Any], timeout: float) -> None:
    """Wait until ``future`` is done, at most ``timeout`` seconds."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set))
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), timeout)


def _lost(future: Future[Any]) -> bool:
    """Whether the child was gone before the end of the call, through no fault of the text."""
    error = None if future.cancelled() else future.exception(0)
    return isinstance(error, BrokenProcessPool) or (isinstance(error, ProcessExpired) and not _alarmed(error))


def _outcome(future: Future[bytes], adapter: str) -> list[tuple[int, Parsed]]:
    """The results of a call that is done or cancelled."""
    try:
        return RESULTS.decode(future.result(0))
    except MemoryError:
        raise _too_slow(adapter, "memory") from None
    except TimeoutError:
        raise _too_slow(adapter, "time") from None
    except ProcessExpired as error:
        if _alarmed(error):
            raise _too_slow(adapter, "time") from None
        raise ParserUnavailable("the parsing process was killed") from error
    except (BrokenProcessPool, CancelledError) as error:
        raise ParserUnavailable("parsing was interrupted, or its turn did not come") from error


def _too_slow(adapter: str, budget: str) -> AdapterError:
    return AdapterError(f"Cannot read the results (adapter {adapter}): parsing them takes more {budget} than a text may use.", "too_slow")


def _alarmed(error: ProcessExpired) -> bool:
    return bool(error.exitcode == -signal.SIGALRM)


parsers = Parsers()
"""The process's own."""
