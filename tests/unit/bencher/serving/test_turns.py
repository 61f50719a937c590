"""``bencher/serving/turns.py``: one call at a time while they are short, and nobody behind a long one."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from bencher.serving.turns import Turns


class Watched:
    """Counts calls that run at once, and which threads ran any."""

    def __init__(self) -> None:
        self.lock, self.now, self.most = threading.Lock(), 0, 0
        self.threads: set[str] = set()
        self.order: list[int] = []

    def __call__(self, number: int, work: Callable[[], Any] = lambda: None) -> int:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.threads.add(threading.current_thread().name)
            self.order.append(number)
        try:
            work()
        finally:
            with self.lock:
                self.now -= 1
        return number


async def many(turns: Turns, watched: Watched, works: list[Callable[[], Any]]) -> list[int]:
    return list(await asyncio.gather(*(turns.run(watched, number, work) for number, work in enumerate(works))))


def test_short_calls_run_one_after_another_in_order() -> None:
    watched = Watched()
    turns = Turns(8, "t", short=1, patience=60)
    assert asyncio.run(many(turns, watched, [lambda: time.sleep(0.001)] * 50)) == list(range(50))
    assert (watched.most, watched.order, watched.threads) == (1, list(range(50)), {"t-0"})


def test_all_threads_take_calls_where_they_may() -> None:
    watched = Watched()
    barrier = threading.Barrier(4)
    turns = Turns(4, "t", short=4, patience=60)
    asyncio.run(many(turns, watched, [lambda: barrier.wait(10)] * 4))
    assert watched.most == 4


def test_nobody_waits_behind_long_ones() -> None:
    """Three that last until the short ones are done: they could not end otherwise."""
    watched = Watched()
    done = threading.Event()
    turns = Turns(4, "t", short=1, patience=0.01)

    async def all_of_them() -> None:
        long = [asyncio.ensure_future(turns.run(watched, number, lambda: done.wait(30))) for number in range(3)]
        short = await asyncio.wait_for(asyncio.gather(*(turns.run(watched, 10 + number) for number in range(20))), 20)
        assert short == list(range(10, 30))
        done.set()
        assert await asyncio.gather(*long) == [0, 1, 2]

    asyncio.run(all_of_them())
    assert watched.most <= 4


def test_more_long_ones_than_threads_end_all_the_same() -> None:
    watched = Watched()
    turns = Turns(3, "t", short=1, patience=0.005)
    assert asyncio.run(many(turns, watched, [lambda: time.sleep(0.03)] * 20)) == list(range(20))
    assert watched.most <= 3
    again = Watched()
    assert asyncio.run(many(turns, again, [lambda: None] * 20)) == list(range(20))


def test_a_mixture_loses_nothing() -> None:
    dice = random.Random(3)
    watched = Watched()
    turns = Turns(5, "t", short=2, patience=0.002)

    def work() -> Callable[[], Any]:
        seconds = dice.choice((0, 0, 0, 0.001, 0.004, 0.02))
        return lambda: time.sleep(seconds)

    async def all_of_them() -> None:
        for _ in range(6):
            assert await asyncio.wait_for(many(turns, watched, [work() for _ in range(60)]), 60) == list(range(60))

    asyncio.run(all_of_them())
    assert watched.most <= 5
    assert sorted(watched.order) == sorted(list(range(60)) * 6)


def test_nobody_looks_while_nobody_waits() -> None:
    done = threading.Event()
    turns = Turns(6, "t", short=1, patience=0.002)

    async def all_of_them() -> None:
        long = [asyncio.ensure_future(turns.run(done.wait, 30)) for _ in range(4)]
        for _ in range(1000):
            if await asyncio.wait_for(turns.run(lambda: 1), 20) and turns._timer is None:
                break
            await asyncio.sleep(0.005)
        assert turns._timer is None
        assert not any(call.done() for call in long)
        done.set()
        assert await asyncio.gather(*long) == [True] * 4
        assert await turns.run(lambda: 7) == 7

    asyncio.run(all_of_them())


def test_faults_reach_the_caller_and_the_thread_lives_on() -> None:
    turns = Turns(1, "t", short=1, patience=60)

    def fail() -> None:
        raise LookupError("no")

    async def both() -> int:
        with pytest.raises(LookupError):
            await turns.run(fail)
        return await turns.run(lambda: 5)

    assert asyncio.run(both()) == 5


def test_a_caller_who_leaves_disturbs_nobody() -> None:
    turns = Turns(2, "t", short=1, patience=0.005)
    go = threading.Event()

    async def both() -> int:
        first = asyncio.ensure_future(turns.run(go.wait, 30))
        second = asyncio.ensure_future(turns.run(lambda: 2))
        await asyncio.sleep(0)
        first.cancel()
        assert await asyncio.wait_for(second, 20) == 2
        go.set()
        return await turns.run(lambda: 3)

    assert asyncio.run(both()) == 3


def test_a_caller_who_leaves_while_it_waits_is_passed_over() -> None:
    turns = Turns(1, "t", short=1, patience=60)
    go, ran = threading.Event(), []

    async def both() -> None:
        first = asyncio.ensure_future(turns.run(go.wait, 30))
        second = asyncio.ensure_future(turns.run(ran.append, 2))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        go.set()
        assert await first
        await turns.run(ran.append, 3)

    asyncio.run(both())
    assert ran == [3]


def test_a_loop_that_ended_with_calls_in_progress_leaves_no_trace() -> None:
    turns = Turns(3, "t", short=1, patience=0.005)
    go = threading.Event()

    async def left() -> None:
        task = asyncio.ensure_future(turns.run(go.wait, 30))
        await asyncio.sleep(0)
        assert not task.done()

    asyncio.run(left())
    go.set()
    assert asyncio.run(many(turns, Watched(), [lambda: None] * 5)) == list(range(5))


def test_nothing_is_kept_while_waiting() -> None:
    import gc
    import weakref

    class Thing:
        pass

    turns = Turns(1, "t", short=1, patience=60)

    async def run() -> weakref.ref[Thing]:
        thing = Thing()
        seen = weakref.ref(thing)
        await turns.run(lambda _: None, thing)
        return seen

    seen = asyncio.run(run())
    for _ in range(100):
        gc.collect()
        if seen() is None:
            break
        time.sleep(0.02)
    assert seen() is None
