"""``bencher/core/cores.py``: when a process goes to another core, and that its threads and children are where they should be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bencher.core import cores

STAT = """cpu  300 0 100 900 50 0 10 0 0 0
cpu0 200 0 50 400 50 0 10 20 7 0
cpu1 100 0 50 500 0 0 0 0 0 0
intr 12345 0 0
ctxt 99
"""
several = pytest.mark.skipif(len(cores.allowed()) < 2, reason="one core only")


def always() -> float:
    return 0.0


def test_times_of_cores() -> None:
    tick = os.sysconf("SC_CLK_TCK")
    assert cores.times(STAT) == {0: (280 / tick, 730 / tick), 1: (150 / tick, 650 / tick)}


@pytest.mark.parametrize(
    ("loads", "own", "goes"),
    [
        ({0: 1.0, 1: 0.0}, 1.0, 0),  # all of the work is our own
        ({0: 1.0, 1: 0.1}, 0.5, 1),  # half of the core goes to others, who do not go away
        ({0: 1.0, 1: 0.3}, 0.5, 0),  # hardly better there
        ({0: 1.0, 1: 1.0, 2: 0.9}, 0.1, 0),  # busy everywhere
        ({0: 0.9, 1: 0.4, 2: 0.2}, 0.1, 2),
        ({1: 0.0}, 0.5, 0),  # nothing known of our own
        ({}, 0.5, 0),
    ],
)
def test_where_to_go(loads: dict[int, float], own: float, goes: int) -> None:
    assert cores.better(0, loads, own, always) == goes


def test_of_two_that_meet_one_stays() -> None:
    assert cores.better(0, {0: 1.0, 1: 0.0}, 0.5, lambda: 0.9) == 0


@pytest.mark.parametrize("name", cores.STRENGTHS)
def test_weak_cores_are_left_out(name: str, tmp_path: Path) -> None:
    for core, strength in enumerate((2_000, 3_000, 2_900)):
        file = tmp_path / f"cpu{core}" / name
        file.parent.mkdir(parents=True)
        file.write_text(f"{strength}\n")
    assert cores.strongest({0, 1, 2}, tmp_path) == [1, 2]
    assert cores.strongest({7, 8}, tmp_path) == [7, 8]
    assert cores.strongest(()) == []


PROGRAM = """
import os, threading, sys
from bencher.core import cores
before = os.sched_getaffinity(0)
go, done = threading.Event(), threading.Event()
seen = {}
def roaming():
    cores.roam()
    ready.set()
    go.wait()
    seen["roaming"] = os.sched_getaffinity(0)
def other():
    go.wait()
    seen["other"] = os.sched_getaffinity(0)
ready = threading.Event()
threads = [threading.Thread(target=f) for f in (roaming, other)]
[thread.start() for thread in threads]
ready.wait()
core = cores.OneCore()
core.look()
go.set()
[thread.join() for thread in threads]
late = threading.Thread(target=lambda: seen.update(late=os.sched_getaffinity(0)))
late.start()
late.join()
core.look()
print(seen["roaming"] == before, seen["other"] == seen["late"] == os.sched_getaffinity(0) == {core.core})
"""


@several
def test_threads_share_a_core_but_those_that_roam() -> None:
    root = Path(__file__).resolve().parents[4]
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "True"]


MOVING = """
import os, pathlib, sys
from bencher.core import cores
first, second = sorted(cores.allowed())[:2]
cores.STAT = pathlib.Path(sys.argv[1])
def worked(until, *spent):
    tick = os.sysconf("SC_CLK_TCK")
    lines = [f"cpu{core} {int(s * tick)} 0 0 {int((until - s) * tick)} 0 0 0 0" for core, s in zip((first, second), spent)]
    cores.STAT.write_text("\\n".join(lines))
worked(10, 0, 0)
one = cores.OneCore(dice=lambda: 0.0)
one._choices = [first, second]
worked(11, 0.1, 0.9)
one.look()
print(one.core == first, os.sched_getaffinity(0) == {first})
worked(13, 2.1, 1)
one.look()
print(one.core == second, os.sched_getaffinity(0) == {second})
"""


@several
def test_a_core_that_others_keep_is_left(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[4]
    command = [sys.executable, "-c", MOVING, str(tmp_path / "stat")]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True"] * 4


def test_nothing_happens_where_it_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "allowed", frozenset)
    one = cores.OneCore()
    one.look()
    cores.roam()
    assert one.core is None
    assert not one.useful


@pytest.mark.parametrize("text", [None, "", "cpu0 1 2\n", "cpux 1 2 3 4 5 6 7 8\n", "cpu0 a b c d e f g h\n"])
def test_a_machine_without_proc_is_left_alone(text: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cores, "allowed", lambda: frozenset({0, 1}))
    monkeypatch.setattr(cores, "STAT", tmp_path / "stat")
    if text is not None:
        cores.STAT.write_text(text)
    monkeypatch.setattr(cores, "TASKS", tmp_path / "task")
    one = cores.OneCore()
    one.look()
    one.look()
    assert one.core is None
