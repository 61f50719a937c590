"""Who is woken: one, the longest waiting, never a herd."""

from __future__ import annotations

from uuid import UUID

from jobs.waiting import Lull, Waiting

A, B = UUID(int=1), UUID(int=2)


class Waiter:
    def __init__(self, number: int) -> None:
        self.runner_id = UUID(int=100 + number)
        self.woken: list[tuple[UUID, bool]] = []

    def wake(self, spec: UUID, *, chain: bool) -> None:
        self.woken.append((spec, chain))


def test_one_is_woken_the_first_who_came() -> None:
    waiting, waiters = Waiting(), [Waiter(number) for number in range(3)]
    for waiter in waiters:
        waiting.add(waiter, {A})
    assert [waiting.wake(A) for _ in range(4)] == [True, True, True, False]
    assert [waiter.woken for waiter in waiters] == [[(A, False)]] * 3
    assert len(waiting) == 0


def test_only_for_its_specs() -> None:
    waiting, both, one = Waiting(), Waiter(1), Waiter(2)
    waiting.add(one, {A})
    waiting.add(both, {A, B})
    assert waiting.wake(B)
    assert both.woken == [(B, False)]
    assert both not in waiting
    assert not waiting.wake(B)
    assert waiting.wake(A)
    assert one.woken


def test_waiting_again_keeps_the_place_unless_specs_changed() -> None:
    waiting, first, second = Waiting(), Waiter(1), Waiter(2)
    waiting.add(first, {A})
    waiting.add(second, {A})
    waiting.add(first, {A})
    waiting.wake(A)
    assert first.woken
    waiting.add(first, {A})
    waiting.add(second, {A, B})
    waiting.wake(A)
    assert len(first.woken) == 2
    assert not second.woken


def test_removed_is_not_woken() -> None:
    waiting, waiter = Waiting(), Waiter(1)
    waiting.add(waiter, {A, B})
    waiting.remove(waiter)
    waiting.remove(waiter)
    assert not waiting.wake(A)
    assert not waiting.wake(B)


def test_a_runner_is_woken_for_a_spec_it_was_not_known_to_have() -> None:
    waiting, waiter = Waiting(), Waiter(1)
    waiting.add(waiter, set())
    assert waiting.runners() == [waiter.runner_id]
    assert waiting.wake_runner(waiter.runner_id, B)
    assert waiter.woken == [(B, True)]
    assert not waiting.wake_runner(waiter.runner_id, B)


def test_a_lull_lasts_until_there_is_news() -> None:
    lull = Lull(1.5)
    assert not lull.holds({A}, at=10)
    lull.nothing({A, B}, since=10)
    assert lull.holds({A}, at=11.4)
    assert lull.holds({A, B}, at=11.4)
    assert not lull.holds({A}, at=11.5)
    lull.announced(A, at=11)
    assert not lull.holds({A}, at=11.1)
    assert not lull.holds({A, B}, at=11.1)
    assert lull.holds({B}, at=11.1)
    lull.changed(at=11.1)
    assert not lull.holds({B}, at=11.2)
    lull.nothing({A, B}, since=11.2)
    assert lull.holds({A, B}, at=11.3)


def test_a_look_proves_nothing_about_what_was_announced_meanwhile() -> None:
    lull = Lull(1.5)
    lull.announced(A, at=10.1)
    lull.changed(at=10.1)
    lull.nothing({A}, since=10)
    assert not lull.holds({A}, at=10.2)


def test_who_may_take_nothing_looks_again() -> None:
    lull = Lull(1.5)
    lull.nothing(set(), since=10)
    assert not lull.holds(set(), at=10)
