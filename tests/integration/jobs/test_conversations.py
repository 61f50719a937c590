"""What a stock runner and a stock server said to each other, replayed against our server (tests/data/conversations/README.md).

The runner's frames go in as recorded; ours must answer with the same events for the same jobs and end channels with the same codes and reasons. What differs on
purpose: acks to ``running``, ``heartbeat`` and ``ready`` name no job, and results are processed after the ack, which is no matter here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from jobs import notify
from jobs.actors import SYSTEM
from jobs.models import Job
from jobs.recovery import recover
from jobs.services.cancel import cancel_job
from jobs.services.reap import sweep
from runners.protocol import messages as m
from runners.protocol import signals
from runners.protocol.errors import Undecodable
from tests.channelsim import Clock, Line, Site, without_threads
from tests.jobs_world import NOW, make_job, make_project, make_runner, make_spec

pytestmark = pytest.mark.django_db
FOLDER = Path(__file__).parents[2] / "data" / "conversations"
REFUSED = {"auth_refused"}
"""Refused before the first frame: tests/integration/runners/test_authentication.py."""

SCENARIOS = sorted(path.stem for path in FOLDER.glob("*.jsonl") if path.stem not in REFUSED)


class Replay:
    def __init__(self, scenario: str, clock: Clock, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
        head, *self.entries = (json.loads(line) for line in (FOLDER / f"{scenario}.jsonl").read_text().splitlines())
        self.head, self.clock = head, clock
        settings.BENCHER_HEARTBEAT_TIMEOUT = head["settings"]["heartbeat_timeout"]
        settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD = head["settings"]["job_timeout_grace_period"]
        self.site = Site(clock)
        self.spec, self.project = make_spec(), make_project(claimed=True)
        self.runner = make_runner(self.spec)
        self.ours: dict[UUID, UUID] = {}
        self.lines: dict[int, Line] = {}
        self.got: list[tuple[Any, ...]] = []
        self.wanted: list[tuple[Any, ...]] = []
        self._heard: dict[int, int] = {}
        self._ended: set[int] = set()
        self.frames = [
            (entry["connection"], json.loads(self._text(entry)))
            for entry in self.entries
            if entry.get("from") == "server" and "text" in entry
        ]
        updates = [frame for _, frame in self.frames if frame["event"] == "update"]
        self.update = m.Update(**{key: value for key, value in updates[0].items() if key != "event"}) if updates else None

        async def offer(info: m.RunnerInfo) -> m.Update | None:
            return self.update if self.update is not None and info.checksum != self.update.checksum else None

        monkeypatch.setattr("runners.updates.offer", offer)

    @staticmethod
    def _text(entry: dict[str, Any]) -> str:
        return entry["text"].replace("{oci_token}", "a.b.c").replace("{host}", "localhost").replace("{updates}", "updates")

    def run(self) -> None:
        for entry in self.entries:
            self.clock.moment = max(self.clock.moment, NOW + timedelta(seconds=entry["t"]))
            if "event" in entry:
                self._event(entry["event"])
            elif entry.get("from") == "runner":
                self._of_the_runner(entry)
            elif entry.get("from") == "server":
                self._of_the_server(entry)
            self._listen()

    # -- what the recording says -------------------------------------------------------------------------------------
    def _event(self, text: str) -> None:
        words = text.split()
        match words:
            case ["a", "user", "submits", "job", job]:
                self._submit(UUID(job))
            case ["a", "user", "cancels", "job", job]:
                cancel_job(job_id=self.ours[UUID(job)], actor=SYSTEM, now=self.clock.now())
                self.site.settle()
            case ["the", "server", "is", "killed"]:
                self.lines.clear()
                self.site.lines.clear()
            case ["the", "server", "is", "asked", "to", "stop"]:
                for line in self.lines.values():
                    self.site.say(line, signals.Shutdown())
            case ["the", "server", "is", "back"]:
                self.site = Site(self.clock)
                recover(now=self.clock.now(), process=lambda job: None)
            case ["job", job, "is", "failed"] if self._status(UUID(job)) in ("claimed", "running"):
                self.clock.forward(2)  # the margin of the coalesced write
                self.site.flush()
                sweep(now=self.clock.now(), process=lambda job: None)
                assert self._status(UUID(job)) == "failed"

    def _submit(self, recorded: UUID) -> None:
        frame = next((frame for _, frame in self.frames if frame["event"] == "job" and frame["uuid"] == str(recorded)), None)
        assert frame is not None
        config = {**frame["config"], "project": str(self.project.pk)}
        job = make_job(spec=self.spec, project=self.project, now=self.clock.now(), timeout=frame["timeout"], config=json.dumps(config))
        self.ours[recorded] = job.pk
        notify.pending(self.spec.pk)
        self.site.settle()

    def _status(self, recorded: UUID) -> str:
        return Job.objects.get(pk=self.ours[recorded]).status

    def _of_the_runner(self, entry: dict[str, Any]) -> None:
        number = entry["connection"]
        if "http" in entry:
            self.lines[number] = self.site.connect(self.runner)
            return
        line = self.lines.get(number)
        if line is None:
            return
        if "text" in entry:
            text = self._text(entry)
            for recorded, ours in self.ours.items():
                text = text.replace(str(recorded), str(ours))
            try:
                given: signals.Input = m.decode_runner(text)
            except Undecodable as fault:
                given = signals.Garbage(fault.code, fault.reason)
            self.site.say(line, given)
        elif "end" in entry or "unfinished" in entry:
            self._left(number)

    def _left(self, number: int) -> None:
        self._listen()
        if line := self.lines.pop(number, None):
            self.site.leave(line)

    def _of_the_server(self, entry: dict[str, Any]) -> None:
        number = entry["connection"]
        line = self.lines.get(number)
        if "text" in entry:
            frame = json.loads(self._text(entry))
            if frame["event"] == "no_job" and line is not None:
                self.site.say(line, signals.Deadline())
            if frame["event"] != "ack":
                self.wanted.append((number, frame["event"], self._named(frame)))
                self._compare(number, frame)
        elif "close" in entry:
            if line is not None and "timeout" in entry["close"]["reason"]:
                self.site.say(line, signals.Silence())
            self.wanted.append((number, entry["close"]["code"], entry["close"]["reason"]))
        elif "end" in entry and line is not None and line.closed is None:
            self._left(number)

    def _named(self, frame: dict[str, Any]) -> str | None:
        return str(self.ours[UUID(frame["uuid"])]) if frame["event"] == "job" else None

    def _compare(self, number: int, recorded: dict[str, Any]) -> None:
        """Of the last frame that we sent: every recorded key is there, with the same type."""
        ours = json.loads(m.encode(self.lines[number].heard[-1]))
        for key, value in recorded.items():
            assert type(ours[key]) is type(value), key
            for name, inner in value.items() if isinstance(value, dict) else ():
                assert name in ours[key], f"{key}.{name}"
                if key == "config" and name != "project":
                    assert ours[key][name] == inner

    # -- what we say -------------------------------------------------------------------------------------------------
    def _listen(self) -> None:
        for number, line in self.lines.items():
            for message in line.heard[self._heard.get(number, 0) :]:
                event = str(message.__struct_config__.tag)
                if not isinstance(message, m.Ack):
                    self.got.append((number, event, str(message.uuid) if isinstance(message, m.Job) else None))
            self._heard[number] = len(line.heard)
            if line.closed is not None and number not in self._ended:
                self._ended.add(number)
                if line.closed.reason:
                    self.got.append((number, int(line.closed.code), line.closed.reason))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def replay(request: pytest.FixtureRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Replay]:
    without_threads(monkeypatch, clock)
    replay = Replay(request.param, clock, monkeypatch, settings)
    yield replay
    replay.site.close()


@pytest.mark.parametrize("replay", SCENARIOS, indirect=True)
def test_conversation(replay: Replay) -> None:
    replay.run()
    assert replay.got == replay.wanted
    for recorded, status in replay.head["statuses_at_the_end"].items():
        job = Job.objects.get(pk=replay.ours[UUID(recorded)])
        delivered = job.status == "completed"  # stored and acknowledged; what parsing makes of it is tested elsewhere
        assert job.status == status or (delivered and status in ("processed", "failed"))


@pytest.mark.parametrize("replay", SCENARIOS, indirect=True)
def test_every_delivery_is_acknowledged(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    """One named ack for each terminal message that reached us, in order."""
    sent: list[tuple[Line, UUID]] = []
    acked: list[tuple[Line, UUID]] = []
    say = Site.say

    def listening(site: Site, line: Line, given: signals.Input) -> Any:
        was_open = line.closed is None
        heard = say(site, line, given)
        if isinstance(given, m.Completed | m.Failed | m.Canceled) and was_open:
            sent.append((line, given.job))
        acked.extend((line, message.job) for message in heard if isinstance(message, m.Ack) and message.job)
        return heard

    monkeypatch.setattr(Site, "say", listening)
    replay.run()
    assert acked == sent
