"""Recorded conversations of a stock server: our agent, told what that server said, says the same in the same order, or better where it must."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runners.protocol import agent_signals as on
from runners.protocol import messages
from runners.protocol.agent import AgentSession

FOLDER = Path(__file__).parents[3] / "data" / "conversations"
OVERSIZE = {"oversize_result", "oversize_result_that_cannot_be_sent"}
"""Recorded without their long texts; the acceptance tests have such results."""

SHUTDOWN = "runner_shutdown_during_a_job"
TERMINAL = {"completed", "failed", "canceled"}


class Replay:
    """Feeds one recording to a session and keeps what it sends."""

    def __init__(self, name: str) -> None:
        first, *self.lines = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]
        self.what = first["what"]
        self.session = AgentSession(poll_timeout=5, runner=messages.RunnerInfo(os="linux", arch="x86_64", version="0.6.12"))
        self.sent: list[Any] = []
        self.stops: list[on.StopReason] = []
        self.over: set[str] = set()
        self._keep(self.session.start())

    def _keep(self, effects: list[on.Effect]) -> None:
        for effect in effects:
            if isinstance(effect, on.Send):
                self.sent.append(json.loads(messages.encode(effect.message)))
            elif isinstance(effect, on.StopJob):
                self.stops.append(effect.reason)

    def step(self, given: on.Input) -> None:
        self._keep(self.session.step(given))

    def run(self) -> None:
        for number, line in enumerate(self.lines):
            if "http" in line:
                self.catch_up(number)
            for given in self.inputs(line):
                self.step(given)

    def catch_up(self, number: int) -> None:
        """A job whose result is the first thing said over a new channel has ended before that."""
        frames = (json.loads(line["text"]) for line in self.lines[number:] if line.get("from") == "runner" and "text" in line)
        for given in self.moment(next(frames, {"event": ""})) if self.session.job is not None else ():
            self.step(given)

    def inputs(self, line: dict[str, Any]) -> Iterator[on.Input]:
        if line.get("unreachable") or (line.get("from") == "server" and line.get("end") and self.session.state is not on.State.OFFLINE):
            yield on.Lost()
        elif line.get("from") == "server" and "close" in line:
            yield on.Lost(line["close"]["code"], line["close"]["reason"])
        elif line.get("from") == "server" and line.get("http", {}).get("status") == 101:
            yield on.Connected()
        elif line.get("from") == "server" and "text" in line:
            yield messages.decode_server(line["text"])
        elif line.get("from") == "runner" and "text" in line:
            yield from self.moment(json.loads(line["text"]))

    def moment(self, frame: dict[str, Any]) -> Iterator[on.Input]:
        """What made the recorded runner speak makes ours speak."""
        if frame["event"] == "heartbeat":
            yield on.Fired(on.Timer.HEARTBEAT)
        elif frame["event"] in TERMINAL and frame["job"] not in self.over:
            self.over.add(frame["job"])
            message = messages.decode_runner(json.dumps(frame))
            if on.StopReason.CANCEL in self.stops:
                message = messages.Canceled(job=message.job)  # type: ignore[union-attr]
            yield on.Finished(message)  # type: ignore[arg-type]

    def recorded(self) -> list[dict[str, Any]]:
        return [json.loads(line["text"]) for line in self.lines if line.get("from") == "runner" and "text" in line]


def said(frames: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What counts of frames: not the heartbeats, which follow a clock, and a result that was said into a dead channel once."""
    counted = [(frame["event"], frame.get("job"), str(frame.get("results"))) for frame in frames if frame["event"] != "heartbeat"]
    return [frame for frame, before in zip(counted, [(), *counted], strict=False) if frame[0] not in TERMINAL or frame != before]


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.jsonl") if path.stem not in {*OVERSIZE, SHUTDOWN}))
def test_the_conversation_goes_as_recorded(name: str) -> None:
    replay = Replay(name)
    replay.run()
    expected, actual = said(replay.recorded()), said(replay.sent)
    if on.StopReason.CANCEL in replay.stops:
        expected = [("canceled", job, "None") if event == "failed" else (event, job, results) for event, job, results in expected]
    if replay.session.state is on.State.DELIVERING:  # the recording stopped before the answer; the stock runner had not waited for it
        assert expected.pop()[0] == "ready"
    elif len(actual) > len(expected):  # it stopped before the last `ready` of the recorded runner
        assert actual.pop()[0] == "ready"
    assert actual == expected


@pytest.mark.parametrize("name", ["success", "two_jobs", "build_time_and_file_size", "connection_cut_during_a_job"])
def test_frames_are_byte_equal_to_the_recorded_ones(name: str) -> None:
    replay = Replay(name)
    replay.run()
    recorded = {line["text"] for line in replay.lines if line.get("from") == "runner" and "text" in line}
    assert {messages.encode(messages.decode_runner(json.dumps(frame))) for frame in replay.sent} <= recorded


def test_the_next_ready_waits_for_the_real_ack() -> None:
    """G4: the recorded runner said `ready` 12 ms before the server had answered."""
    replay = Replay("success")
    for line in replay.lines:
        for given in replay.inputs(line):
            before = len(replay.sent)
            replay.step(given)
            if [frame["event"] for frame in replay.sent[before:]] == ["ready"] and replay.over:
                assert json.loads(line["text"]) == {"event": "ack", "job": next(iter(replay.over))}


def test_a_stopped_runner_delivers() -> None:
    """G8: the recorded one said nothing more."""
    replay = Replay(SHUTDOWN)
    for line in replay.lines:
        if "SIGTERM" in line.get("event", ""):
            break
        for given in replay.inputs(line):
            replay.step(given)
    replay.step(on.Shutdown())
    assert replay.stops == [on.StopReason.SHUTDOWN]
    job = replay.session.job
    assert job is not None
    replay.step(on.Finished(messages.Failed(job=job, results=[], error="RunnerShutdown: stopped")))
    assert replay.sent[-1]["event"] == "failed"
    replay.step(messages.Ack(job=job))
    assert replay.session.state is on.State.ENDED
