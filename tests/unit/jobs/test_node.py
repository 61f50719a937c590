"""A web process listens to the others through the channel layer, and goes on without it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from channels.layers import InMemoryChannelLayer
from django.db import OperationalError

from jobs import liveness, node, notify
from jobs.lifecycle import Status
from jobs.liveness import Seen
from runners.protocol.signals import Input, Superseded, Verdict

RUNNER = UUID(int=1)
LATER = datetime(2026, 1, 1, tzinfo=UTC)


class Channel:
    def __init__(self, name: str, opened: float) -> None:
        self.id, self.runner_id, self.order = name, RUNNER, (opened, name)
        self.pushed: list[Input] = []

    def push(self, given: Input) -> None:
        self.pushed.append(given)


async def until(condition: Any) -> None:
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come to pass")


@pytest.fixture
def layer(settings: Any, monkeypatch: pytest.MonkeyPatch) -> InMemoryChannelLayer:
    settings.REDIS_URL = "redis://x"
    layer = InMemoryChannelLayer()
    monkeypatch.setattr(node, "get_channel_layer", lambda: layer)
    monkeypatch.setattr(notify, "publish", lambda message: None)
    return layer


async def say(layer: InMemoryChannelLayer, message: dict[str, Any], sender: str = "another process") -> None:
    await layer.group_send(notify.GROUP, {"type": "node.message", "message": {**message, "from": sender}})


async def test_messages_of_others_are_heard(layer: InMemoryChannelLayer) -> None:
    here, channel = node.current(), Channel("a", 1.0)
    here.open(channel)
    await until(lambda: layer.groups.get(notify.GROUP))
    await say(layer, {"kind": "active", "runner": str(RUNNER), "order": [9.0, "z"]}, sender=notify.PROCESS)
    await say(layer, {"kind": "taken", "channel": "a", "job": str(RUNNER)})
    await until(lambda: channel.pushed)
    assert channel.pushed == [Superseded(RUNNER)]
    here.close(channel)
    await until(lambda: "bus" not in here._tasks)


async def test_a_layer_that_fails_is_tried_again(layer: InMemoryChannelLayer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "RETRY_S", (0.01,))
    broken, tries = True, []
    group_add = layer.group_add

    async def sometimes(group: str, name: str) -> None:
        tries.append(name)
        if broken:
            raise ConnectionError("refused")
        await group_add(group, name)

    monkeypatch.setattr(layer, "group_add", sometimes)
    here, channel = node.current(), Channel("a", 1.0)
    here.open(channel)
    await until(lambda: len(tries) >= 3)
    broken = False
    await until(lambda: layer.groups.get(notify.GROUP))
    await say(layer, {"kind": "active", "runner": str(RUNNER), "order": [9.0, "z"]})
    await until(lambda: channel.pushed)
    here.close(channel)


async def test_each_loop_has_a_node() -> None:
    assert node.current() is node.current()


# -- given up for silence, and heard all the while ----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("answer", "verdict", "due"),
    [(LATER, Verdict.ALIVE, LATER), (None, Verdict.ENDED, None), (OperationalError("away"), Verdict.ALIVE, None)],
)
async def test_a_failed_job_whose_runner_beats(monkeypatch: pytest.MonkeyPatch, answer: Any, verdict: Verdict, due: Any) -> None:
    """It goes on, if it may; the next beat asks again when that cannot be found out."""
    job, asked = UUID(int=5), []

    async def database(function: Any, *arguments: Any, **values: Any) -> Any:
        if function is liveness.write:
            return [Seen(job, Status.FAILED, "")]
        asked.append(values)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(node, "in_database", database)
    here = node.Node(asyncio.get_running_loop())
    here.ledger.hold(job, runner=RUNNER, channel="c", due=None, now=LATER)
    await here.flush()
    assert [(values["job_id"], values["runner_id"], values["channel"]) for values in asked] == [(job, RUNNER, "c")]
    assert (here.ledger.held[job].verdict, here.ledger.held[job].due) == (verdict, due)
