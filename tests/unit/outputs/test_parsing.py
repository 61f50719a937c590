"""Parsing in children that can be killed: results, budgets, and every way in which a child or its server can die."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pebble
import pytest

from outputs import parsing
from outputs.adapters.parse import parse_results
from outputs.adapters.results import AdapterError
from outputs.parsing import Parsers, ParserUnavailable, Places
from tests.processes import eventually, gone

ROOT = Path(parsing.__file__).parents[1]
TEXT = "test a ... bench: 10 ns/iter (+/- 1)\n"
WANTED = parse_results([TEXT])
BMF = json.dumps({f"bench{index}": {"latency": {"value": index, "lower_value": 0.5}} for index in range(20)})


# -- what children are made to do in place of parsing --------------------------------------------------------------------
def hog(*_: object) -> bytes:
    """Holds the interpreter's lock, and answers to no signal that Python handles, for hours."""
    re.fullmatch(r"(a+)+b", "a" * 200)
    return b""


def eat(*_: object) -> bytes:
    return bytes(1 << 40)


def die(*_: object) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def die_once(texts: list[str], *args: object) -> bytes:
    """Dies in the first call that names this file, and works afterwards."""
    mark = Path(texts[1])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return parsing.msgspec.msgpack.encode(parse_results(texts[:1]))


def pid(*_: object) -> bytes:
    return parsing.msgspec.msgpack.encode([(os.getpid(), ({}, False))])


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., bytes]], None]:
    """Children of this test run another function. They find it by its name, as they find the real one."""
    return lambda function: monkeypatch.setattr(parsing, "_parse", function)


@pytest.fixture(scope="module")
def pool() -> Iterator[Parsers]:
    pool = Parsers(workers=2)
    yield pool
    pool.stop()


@pytest.fixture
def single() -> Iterator[Parsers]:
    pool = Parsers(workers=1)
    yield pool
    pool.stop()


def children(pool: Parsers) -> list[int]:
    pool.start()
    return list(pool._pool._pool_manager.worker_manager.workers)


# -- results -------------------------------------------------------------------------------------------------------------
def test_results_are_those_of_parse_results(pool: Parsers) -> None:
    texts = [TEXT, "A(RunTime): 2.5 us.\n", "a::b::c\n  Dr: 1|N/A (*)\n"]
    assert pool.parse(texts) == parse_results(texts)
    assert pool.parse([TEXT, TEXT], adapter="rust_bench", average="median", fold="mean") == parse_results([TEXT, TEXT], fold="mean")
    assert pool.parse([]) == []


async def test_async_twin(pool: Parsers) -> None:
    assert await pool.aparse([TEXT]) == WANTED
    assert await asyncio.gather(*(pool.aparse([TEXT]) for _ in range(50))) == [WANTED] * 50


@pytest.mark.parametrize(("text", "verdict"), [("nothing", "nothing_parsed"), ('{"a": [', "truncated"), ('{"a": 1} x', "invalid")])
async def test_refusals_keep_their_verdict(pool: Parsers, text: str, verdict: str) -> None:
    with pytest.raises(AdapterError) as wanted:
        parse_results([text])
    with pytest.raises(AdapterError) as raised:
        pool.parse([text])
    assert (raised.value.verdict, str(raised.value)) == (verdict, str(wanted.value))
    with pytest.raises(AdapterError, match=re.escape(str(wanted.value))):
        await pool.aparse([text])


async def test_unknown_settings(pool: Parsers) -> None:
    with pytest.raises(ValueError, match="unknown adapter: nonsense"):
        pool.parse([TEXT], adapter="nonsense")
    with pytest.raises(ValueError, match="unknown adapter: nonsense"):
        await pool.aparse([TEXT], adapter="nonsense")
    with pytest.raises(ValueError, match="unknown fold: sum"):
        pool.parse([TEXT], fold="sum")


@pytest.mark.parametrize("adapter", ["json", "magic"])
async def test_small_bmf_needs_no_child(adapter: str) -> None:
    closed = Parsers()
    closed.stop()
    assert closed.parse([BMF, BMF], adapter=adapter, fold="min") == parse_results([BMF, BMF], fold="min")
    assert await closed.aparse([BMF], adapter=adapter) == parse_results([BMF])


@pytest.mark.parametrize("texts", [[TEXT], [BMF, TEXT], [BMF + " " * parsing.SMALL], ['{"b": 1}']])
async def test_all_else_needs_one(texts: list[str]) -> None:
    closed = Parsers()
    closed.stop()
    with pytest.raises(ParserUnavailable, match="stopping"):
        closed.parse(texts)
    with pytest.raises(ParserUnavailable, match="stopping"):
        await closed.aparse(texts)


def test_large_results_cross_over(pool: Parsers) -> None:
    text = json.dumps({f"bench{index}": {"latency": {"value": index}} for index in range(10_000)})
    assert len(text) > parsing.SMALL
    assert pool.parse([text]) == parse_results([text])


# -- budgets -------------------------------------------------------------------------------------------------------------
async def test_time_limit(single: Parsers, instead: Callable) -> None:
    instead(hog)
    with pytest.raises(AdapterError, match=r"adapter magic.*more time") as raised:
        single.parse([TEXT], limit=0.2)
    assert raised.value.verdict == "too_slow"
    with pytest.raises(AdapterError, match="more time"):
        await single.aparse([TEXT], limit=0.2)


def test_after_a_limit_the_next_call_works(single: Parsers, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(parsing, "_parse", hog)
        with pytest.raises(AdapterError):
            single.parse([TEXT], limit=0.1)
    assert single.parse([TEXT]) == WANTED


def test_memory_limit(pool: Parsers, instead: Callable) -> None:
    instead(eat)
    with pytest.raises(AdapterError, match="more memory") as raised:
        pool.parse([TEXT])
    assert raised.value.verdict == "too_slow"


def test_the_alarm_is_a_second_net(pool: Parsers, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the server does not keep the limit, for whatever reason, the child ends itself."""
    monkeypatch.setattr(parsing, "_parse", hog)
    schedule = parsing.ProcessPool.schedule
    monkeypatch.setattr(parsing.ProcessPool, "schedule", lambda self, *args, timeout=None: schedule(self, *args))
    with pytest.raises(AdapterError, match="more time"):
        pool.parse([TEXT], limit=-1.5)


def test_limits_of_a_child(pool: Parsers, instead: Callable) -> None:
    instead(pid)
    ((process, _),) = pool.parse([TEXT])
    limits = dict(
        re.split(r"\s{2,}", line)[:2] for line in Path(f"/proc/{process}/limits").read_text().splitlines() if line.startswith("Max ")
    )
    assert (limits["Max address space"], limits["Max core file size"]) == (str(parsing.MEMORY), "0")


# -- waiting -------------------------------------------------------------------------------------------------------------
async def test_a_turn_that_does_not_come(single: Parsers, instead: Callable) -> None:
    instead(hog)
    single.start()

    def block() -> None:
        with pytest.raises(AdapterError):
            single.parse([TEXT], limit=1.5)

    blocked = threading.Thread(target=block)
    blocked.start()
    eventually(lambda: len(single._live) == 1 and all(future.running() for future in single._live))
    with pytest.raises(ParserUnavailable, match="turn"):
        single.parse([TEXT], limit=0.05, wait=0.05)
    with pytest.raises(ParserUnavailable, match="turn"):
        await single.aparse([TEXT], limit=0.05, wait=0.05)
    blocked.join()
    eventually(lambda: not single._live)


def test_too_many_are_refused_at_once(pool: Parsers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "QUEUE", 0)
    with pytest.raises(ParserUnavailable, match="too many"):
        pool.parse([TEXT])


def test_a_place_is_needed_to_wait_and_given_back(single: Parsers, instead: Callable) -> None:
    """With every place taken by slow texts a further one is refused soon, and what needs no child goes on."""
    instead(hog)
    places = Places(1, patience=0.05)
    slow: list[str] = []

    def parse() -> None:
        with pytest.raises(AdapterError) as fault:
            single.parse([TEXT], limit=1.0, places=places)
        slow.append(fault.value.verdict)

    thread = threading.Thread(target=parse)
    thread.start()
    while single._live == set():
        time.sleep(0.01)
    assert pebble.CONSTS.sleep_unit == parsing.BUSY
    began = time.monotonic()
    with pytest.raises(ParserUnavailable, match="too many texts"):
        single.parse([TEXT], places=places)
    assert single.parse([BMF], places=places) == parse_results([BMF])
    assert time.monotonic() - began < 0.9
    thread.join()
    assert slow == ["too_slow"]
    eventually(lambda: not single._live)
    assert pebble.CONSTS.sleep_unit == parsing.RESTING  # an idle server does not wake up a hundred times a second
    with places.taken():  # free again, also after a failure
        pass


async def test_a_cancelled_task_ends_its_child(single: Parsers, instead: Callable) -> None:
    (process,) = children(single)
    instead(hog)
    task = asyncio.create_task(single.aparse([TEXT], limit=60))
    while not (single._live and all(future.running() for future in single._live)):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(eventually, lambda: gone(process))


# -- death ---------------------------------------------------------------------------------------------------------------
async def test_a_child_killed_in_a_call_is_replaced_and_the_call_repeated(pool: Parsers, instead: Callable, tmp_path: Path) -> None:
    instead(die_once)
    assert pool.parse([TEXT, str(tmp_path / "first")]) == WANTED
    assert await pool.aparse([TEXT, str(tmp_path / "second")]) == WANTED


async def test_a_text_that_kills_again_is_given_up(pool: Parsers, instead: Callable) -> None:
    instead(die)
    with pytest.raises(ParserUnavailable, match="killed"):
        pool.parse([TEXT])
    with pytest.raises(ParserUnavailable, match="killed"):
        await pool.aparse([TEXT])


def kill_all(processes: list[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # the pool may be ahead of us with one that an earlier test killed
            os.kill(process, signal.SIGKILL)


def test_idle_children_killed(pool: Parsers) -> None:
    kill_all(children(pool))
    assert pool.parse([TEXT]) == WANTED


async def test_a_broken_pool_is_replaced(pool: Parsers) -> None:
    for repeat in (lambda: asyncio.to_thread(pool.parse, [TEXT]), lambda: pool.aparse([TEXT])):
        broken = pool._pool
        kill_all(children(pool))
        eventually(lambda broken=broken: not broken.active)
        assert await repeat() == WANTED
        assert pool._pool is not broken


def test_a_pool_that_breaks_while_it_is_asked(pool: Parsers, monkeypatch: pytest.MonkeyPatch) -> None:
    pool.start()

    def schedule(*_: object, **__: object) -> None:
        raise RuntimeError("Unexpected error within the Pool")

    monkeypatch.setattr(parsing.ProcessPool, "schedule", schedule)
    with pytest.raises(ParserUnavailable, match="Unexpected error"):
        pool.parse([TEXT])


def test_a_signal_for_the_whole_group_spares_the_children(pool: Parsers) -> None:
    before = children(pool)
    for process in before:
        os.kill(process, signal.SIGTERM)
    assert pool.parse([TEXT]) == WANTED
    assert children(pool) == before


def test_fork_server_and_children_ignore_sigterm(pool: Parsers) -> None:
    for process in (*children(pool), parsing.forkserver._forkserver._forkserver_pid):
        status = Path(f"/proc/{process}/status").read_text()
        ignored = int(re.search(r"SigIgn:\s+(\w+)", status)[1], 16)
        assert ignored >> (signal.SIGTERM - 1) & 1


async def test_stop_ends_calls_in_progress(single: Parsers, instead: Callable) -> None:
    (process,) = children(single)
    instead(hog)
    failures: list[Exception] = []

    def blocked() -> None:
        with pytest.raises(ParserUnavailable) as raised:
            single.parse([TEXT], limit=60)
        failures.append(raised.value)

    thread, task = threading.Thread(target=blocked), asyncio.create_task(single.aparse([TEXT], limit=60))
    thread.start()
    while len(single._live) < 2:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(single.stop)
    with pytest.raises(ParserUnavailable):
        await task
    await asyncio.to_thread(thread.join)
    assert len(failures) == 1
    assert gone(process)
    with pytest.raises(ParserUnavailable, match="stopping"):
        single.parse([TEXT])


def test_start_after_stop(single: Parsers) -> None:
    single.start()
    single.stop()
    single.stop()
    single.start()
    assert single.parse([TEXT]) == WANTED


def test_a_forked_process_makes_its_own_pool(pool: Parsers) -> None:
    pool.start()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover  (another process)
        try:
            os.write(writer, b"own" if pool._pool is None and pool.parse([TEXT]) == WANTED else b"bad")
            pool.stop()
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        assert answers.read(3) == b"own"
    os.waitpid(child, 0)
    assert pool.parse([TEXT]) == WANTED
