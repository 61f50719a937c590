"""Both sessions joined in memory, with cables that are cut at any moment and a server that dies: no job is lost, none is told twice what differs."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest

from runners.protocol import agent_signals as agent
from runners.protocol import messages
from runners.protocol import signals as server
from runners.protocol.agent import AgentSession
from runners.protocol.server import ServerSession
from tests.unit.runners.protocol.test_agent import job

CANCELED, COMPLETED, FAILED, RUNNING = "canceled", "completed", "failed", "running"


@dataclass
class Backend:
    """What the server knows: survives its process."""

    waiting: deque[UUID]
    status: dict[UUID, str] = field(default_factory=dict)
    stored: dict[UUID, str] = field(default_factory=dict)

    def outcome(self, effect: Any) -> Any:
        match effect:
            case server.Claim():
                if not self.waiting:
                    return server.NothingToClaim()
                self.status[claimed := self.waiting.popleft()] = "claimed"
                return server.Claimed(job(claimed))
            case server.Start(uuid) | server.Beat(uuid):
                return self.judge(uuid)
            case server.Resume(named, _):
                if named is None or self.status.get(named) not in {"claimed", RUNNING, CANCELED}:
                    return server.NothingToResume()
                if self.status[named] == CANCELED:
                    return server.ResumedCanceled()
                self.status[named] = RUNNING
                return server.Resumed(named)
            case server.Deliver(message):
                self.deliver(message)
                return server.Delivered(message.job)
        return None

    def judge(self, uuid: UUID) -> server.Judged:
        if self.status[uuid] == CANCELED:
            return server.Judged(server.Verdict.CANCELED)
        self.status[uuid] = RUNNING
        return server.Judged(server.Verdict.ALIVE)

    def deliver(self, message: Any) -> None:
        text = messages.encode(message)
        assert self.stored.setdefault(message.job, text) == text, "two different results of one job"
        if self.status[message.job] != CANCELED:
            self.status[message.job] = type(message).__name__.lower()


class World:
    """One runner, one server, a cable. `step` does one thing that may happen next."""

    def __init__(self, jobs: list[UUID], seed: int, *, silent: bool = False) -> None:
        self.rng = random.Random(seed)
        self.backend = Backend(deque(jobs))
        self.silent = silent
        self.agent = AgentSession(poll_timeout=30)
        self.server: ServerSession | None = None
        self.up: deque[str] = deque()
        self.down: deque[str] = deque()
        self.connecting = False
        self.timers: set[agent.Timer] = set()
        self.spool: dict[UUID, Any] = {}
        self.parked: list[UUID] = []
        self.outcome: Any = None
        self._agent(self.agent.start())

    def _agent(self, effects: list[Any]) -> None:
        for effect in effects:
            match effect:
                case agent.Send(message):
                    if self.server is not None:
                        self.up.append(messages.encode(message))
                case agent.Connect(_):
                    self.connecting = True
                case agent.Close():
                    self._drop()
                case agent.SetTimer(timer, seconds):
                    (self.timers.discard if seconds is None else self.timers.add)(timer)
                case agent.StartJob(started):
                    self.outcome = messages.Completed(
                        job=started.uuid, results=[messages.IterationOutput(exit_code=0, stdout=str(started.uuid))]
                    )
                case agent.StopJob(_) if self.agent.job is not None:
                    self.outcome = messages.Canceled(job=self.agent.job)
                case agent.Delivered(uuid):
                    del self.spool[uuid]
                case agent.Park(uuid, _):
                    self.parked.append(uuid)

    def _server(self, given: Any) -> None:
        assert self.server is not None
        for effect in self.server.step(given):
            if isinstance(effect, server.Send):
                self.down.append(messages.encode(effect.message))
            elif (answer := self.backend.outcome(effect)) is not None:
                self._server(answer)

    def _drop(self) -> None:
        if self.server is not None:
            self._server(server.Left())
        self.server = None
        self.up.clear()
        self.down.clear()

    def moves(self) -> list[str]:
        possible = []
        if self.connecting:
            possible.append("connect")
        if self.up:
            possible += ["serve"] * 4
        if self.down:
            possible += ["hear"] * 4
        if self.outcome is not None:
            possible += ["finish"]
        if self.server is not None:
            possible += ["beat"] if agent.Timer.HEARTBEAT in self.timers else []
        return possible

    def step(self, move: str) -> None:
        match move:
            case "connect":
                self.connecting = False
                self.server = ServerSession()
                self._agent(self.agent.step(agent.Connected()))
            case "serve":
                self._server(messages.decode_runner(self.up.popleft()))
            case "hear":
                self._agent(self.agent.step(messages.decode_server(self.down.popleft())))
            case "finish":
                message, self.outcome = self.outcome, None
                self.spool[message.job] = message
                self._agent(self.agent.step(agent.Finished(message)))
            case "beat":
                self._agent(self.agent.step(agent.Fired(agent.Timer.HEARTBEAT)))
            case "cut":
                self._drop()
                self._agent(self.agent.step(agent.Lost()))

    def run(self, *, cuts: float) -> None:
        for _ in range(3000):
            if self.server is not None and self.rng.random() < cuts:
                self.step("cut")
            elif moves := self.moves():
                self.step(self.rng.choice(moves))
            elif agent.Timer.RESUME in self.timers:
                self._agent(self.agent.step(agent.Fired(agent.Timer.RESUME)))
            if self.agent.state is agent.State.WAITING and not self.backend.waiting and not self.down and not self.up:
                return
        raise AssertionError(f"it came to no end: {self.agent.state}, {self.backend.status}")


@pytest.mark.parametrize("seed", range(60))
def test_over_a_good_cable_every_job_is_completed_without_a_tick(seed: int) -> None:
    jobs = [uuid4() for _ in range(5)]
    world = World(jobs, seed)
    world.run(cuts=0)
    assert [world.backend.status[uuid] for uuid in jobs] == [COMPLETED] * 5
    assert not world.spool


@pytest.mark.parametrize("seed", range(200))
def test_whatever_is_cut_no_result_is_lost(seed: int) -> None:
    jobs = [uuid4() for _ in range(4)]
    world = World(jobs, seed)
    world.run(cuts=0.03)
    lost = [uuid for uuid in jobs if world.backend.status[uuid] == "claimed" and uuid not in world.backend.stored]
    # a `job` frame that the cable swallowed never came to the runner: the server undoes or sweeps that claim
    assert all(uuid not in world.spool for uuid in lost)
    assert not world.parked
    assert set(world.spool) == set()
    done = [uuid for uuid in jobs if uuid not in lost]
    assert all(world.backend.status[uuid] == COMPLETED for uuid in done)


@pytest.mark.parametrize("seed", range(60))
def test_a_cancel_reaches_the_runner_and_is_answered(seed: int) -> None:
    uuid = uuid4()
    world = World([uuid], seed)
    while world.backend.status.get(uuid) != RUNNING:
        world.step(world.rng.choice([move for move in world.moves() if move != "finish"]))
    world.backend.status[uuid] = CANCELED
    world.run(cuts=0.01 if seed % 2 else 0)
    assert world.backend.status[uuid] == CANCELED
    assert uuid in world.backend.stored
    assert not world.spool
