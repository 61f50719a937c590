"""What one web process knows of its channels: who waits, who executes, who is the newest. One object for each event loop."""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, Protocol
from uuid import UUID

from channels.layers import get_channel_layer
from django.conf import settings

from bencher.core import clock
from jobs import liveness, notify
from jobs.services import execute
from jobs.services.claim import waiting_work
from jobs.waiting import Lull, Waiting
from runners.protocol.signals import Input, Superseded, Verdict
from runners.threads import in_database

logger = logging.getLogger(__name__)

FLUSH_S = 1.0
SLICE = 500
"""Jobs in one write."""

POLL_S = 1.5
"""How often a process with waiting channels looks itself, in case a wake-up was lost."""

RETRY_S = (0.5, 1.0, 2.0, 5.0)


class Channel(Protocol):
    """An open channel, as its process sees it. ``order``: the later opened, the greater."""

    id: str
    runner_id: UUID
    order: tuple[float, str]

    def push(self, given: Input) -> None: ...


class Node:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.channels: dict[str, Channel] = {}
        self.runners: dict[UUID, dict[str, Channel]] = {}
        self.waiting = Waiting()
        self.lull = Lull(POLL_S)
        self.ledger = liveness.Ledger()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._unsubscribe: Callable[[], None] | None = None

    # -- channels --------------------------------------------------------------------------------------------------
    def open(self, channel: Channel) -> None:
        self.channels[channel.id] = channel
        self.runners.setdefault(channel.runner_id, {})[channel.id] = channel
        if self._unsubscribe is None:
            self._unsubscribe = notify.subscribe(self._hear)
            if settings.REDIS_URL:
                self._keep("bus", self._listen)

    def close(self, channel: Channel) -> None:
        self.channels.pop(channel.id, None)
        siblings = self.runners.get(channel.runner_id, {})
        siblings.pop(channel.id, None)
        if not siblings:
            self.runners.pop(channel.runner_id, None)
        if not self.channels:
            self._rest()

    def activate(self, channel: Channel, *, first: bool) -> None:
        """``channel`` is active: older ones of its runner that do not execute have to go, here and, the first time, elsewhere."""
        self._supersede(channel.runner_id, channel.order)
        if first and settings.REDIS_URL:
            notify.publish({"kind": "active", "runner": str(channel.runner_id), "order": list(channel.order)})

    def take_over(self, channel_id: str, job: UUID) -> None:
        """The channel that executed ``job`` until now has to go, wherever it is."""
        if channel := self.channels.get(channel_id):
            channel.push(Superseded(job))
        elif settings.REDIS_URL:
            notify.publish({"kind": "taken", "channel": channel_id, "job": str(job)})

    def _supersede(self, runner_id: UUID, order: tuple[float, str]) -> None:
        for other in list(self.runners.get(runner_id, {}).values()):
            if other.order < order:
                other.push(Superseded())

    # -- messages --------------------------------------------------------------------------------------------------
    def _hear(self, message: notify.Message) -> None:
        """From any thread."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.receive, message)

    def receive(self, message: notify.Message) -> None:
        """One message of this or another process. One that cannot be read comes from a process of another version, and is skipped."""
        try:
            match message["kind"]:
                case "pending":
                    spec = UUID(message["spec"])
                    self.lull.announced(spec, at=time.monotonic())
                    self.waiting.wake(spec)
                case "canceled":
                    self.ledger.judge(UUID(message["job"]), Verdict.CANCELED)
                case "active":
                    order = message["order"]
                    self._supersede(UUID(message["runner"]), (float(order[0]), str(order[1])))
                case "taken":
                    if channel := self.channels.get(message["channel"]):
                        channel.push(Superseded(UUID(message["job"])))
                case "poll":
                    self.lull.changed(at=time.monotonic())
                    self._keep("look", self._look)
        except (KeyError, ValueError, TypeError, IndexError):
            logger.warning("a message of another process cannot be read: %.200r", message)

    async def _listen(self) -> None:
        """Messages of other processes, as long as there are channels; a layer that fails is tried again."""
        failures = 0
        while True:
            try:
                layer = get_channel_layer()
                name = await layer.new_channel("node")
                await layer.group_add(notify.GROUP, name)
                failures = 0
                while True:
                    event = await layer.receive(name)
                    message = event.get("message", {})
                    if message.get("from") != notify.PROCESS:
                        self.receive(message)
            except Exception as fault:
                log = logger.warning if failures == 0 else logger.debug
                log("the channel layer fails, wake-ups of other processes come late: %s: %s", type(fault).__name__, fault)
                await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                failures += 1

    # -- in the background -----------------------------------------------------------------------------------------
    def look_out(self) -> None:
        """Somebody waits."""
        self._keep("poll", self._poll)

    def keep_alive(self) -> None:
        """Somebody executes."""
        self._keep("flush", self._flush)

    def _keep(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = self._tasks.get(name)
        if task is None or task.done():
            self._tasks[name] = self.loop.create_task(work(), name=f"node-{name}")

    async def _poll(self) -> None:
        while self.waiting:
            await asyncio.sleep(POLL_S)
            await self._look()

    async def _look(self) -> None:
        """One query for all that wait; one wake-up for each spec, passed on by whoever finds a job."""
        if not self.waiting:
            return
        try:
            work = await in_database(waiting_work, runner_ids=self.waiting.runners())
        except Exception as fault:
            logger.warning("cannot look for pending jobs: %s: %s", type(fault).__name__, fault)
            return
        for spec, runner_id in work.items():
            self.waiting.wake(spec, chain=True) or self.waiting.wake_runner(runner_id, spec)

    async def _flush(self) -> None:
        while self.ledger:
            await asyncio.sleep(FLUSH_S)
            await self.flush()

    async def flush(self) -> None:
        """Write the heartbeats of the last second, and learn what has become of the jobs."""
        for batch in self.ledger.take(SLICE, clock.now()):
            if not batch:
                continue
            try:
                seen = await in_database(liveness.write, batch)
            except Exception as fault:
                logger.warning("heartbeats cannot be written: %s: %s", type(fault).__name__, fault)
                self.ledger.give_back(batch)
            else:
                for held in self.ledger.learn(batch, seen):
                    await self._revive(held)

    async def _revive(self, held: liveness.Held) -> None:
        """The job was given up for silence while its runner beat here: the database, or we, had been away."""
        try:
            due = await in_database(execute.revive, job_id=held.job, runner_id=held.runner, channel=held.channel, now=clock.now())
        except Exception as fault:  # the next beat tries again
            logger.warning("job %s cannot be taken up again: %s: %s", held.job, type(fault).__name__, fault)
            return
        if due is None:
            held.verdict = Verdict.ENDED
        else:
            logger.info("job %s was given up for silence and goes on: its runner was heard all the while", held.job)
            held.due = due

    def _rest(self) -> None:
        """No channel is left."""
        for name in ("bus", "poll"):
            if task := self._tasks.pop(name, None):
                task.cancel()
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None


_nodes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Node] = weakref.WeakKeyDictionary()


def current() -> Node:
    """The node of the running event loop."""
    loop = asyncio.get_running_loop()
    node = _nodes.get(loop)
    if node is None:
        node = _nodes[loop] = Node(loop)
    return node
