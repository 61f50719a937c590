"""Hostile frames against the runner channel's consumer: mutated, cut, doubled and random texts and bytes, in every state of the session.

    python benchmarks/fuzz_channel.py --frames 1000000

Everything between the socket and the services is real; the services are a script, so that no frame waits for a database. Ends with 1 when a consumer died, an input
was lost to an exception, or a valid message at the end of a channel was not answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django  # noqa: E402

django.setup()

from bencher.routing import refuse  # noqa: E402
from runners import consumers  # noqa: E402
from runners.protocol import messages, signals  # noqa: E402

PER_CHANNEL = 2000
JOB = UUID(int=17)
CONVERSATIONS = ROOT / "tests" / "data" / "conversations"
PIECES = [
    b"null",
    b"1e999",
    b"\\ud800",
    b"[" * 2000,
    b"{",
    b'"',
    b"\x00",
    b"\xff\xfe",
    b"9" * 5000,
    b"NaN",
    b',"ext":{"v":1}',
    b'"event":"ready"',
]


def recorded() -> list[bytes]:
    texts = []
    for path in sorted(CONVERSATIONS.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if "text" in entry:
                texts.append(entry["text"].encode()[:4000])
    return texts


def mutate(chance: random.Random, texts: list[bytes]) -> str | bytes:
    """One hostile frame; a tenth of them is intact, so that sessions get somewhere."""
    data = bytearray(chance.choice(texts))
    for _ in range(0 if chance.random() < 0.1 else chance.randint(1, 5)):
        at = chance.randrange(len(data) + 1)
        match chance.randint(0, 4):
            case 0 if data:
                data[at % len(data)] = chance.randrange(256)
            case 1:
                del data[at : at + chance.randint(1, 30)]
            case 2:
                data[at:at] = data[at : at + 64]
            case 3:
                data[at:at] = chance.choice(PIECES)
            case 4:
                del data[at:]
    if chance.random() < 0.03:
        return bytes(data)
    return data.decode("utf-8", "replace")


class Script:
    """Services that answer by chance."""

    def __init__(self, chance: random.Random, job: messages.Job) -> None:
        self.chance, self.job = chance, job

    def open(self, **_: Any) -> Script:
        return self

    async def run(self, effect: signals.Effect) -> signals.Input | None:
        verdicts = [signals.Verdict.ALIVE] * 8 + [signals.Verdict.UNKNOWN, signals.Verdict.ENDED, signals.Verdict.CANCELED]
        match effect:
            case signals.Claim():
                return signals.Claimed(self.job) if self.chance.random() < 0.5 else signals.NothingToClaim()
            case signals.Deliver(message):
                return signals.NotStored(message.job) if self.chance.random() < 0.1 else signals.Delivered(message.job)
            case signals.Start() | signals.Beat():
                return signals.Judged(self.chance.choice(verdicts))
            case signals.Overrun():
                return signals.Judged(signals.Verdict.CANCELED)
            case signals.Resume():
                return signals.Resumed(JOB) if self.chance.random() < 0.2 else signals.NothingToResume()
            case signals.CheckUpdate():
                return signals.UpToDate()
            case signals.Expire():
                return signals.Expired("")
        return None

    def close(self) -> None:
        pass


async def one_channel(script: Script, frames: list[str | bytes]) -> tuple[int, int]:
    """Feed the frames; (how many the consumer took before it closed, whether it answers or has closed)."""
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    sent: list[dict[str, Any]] = []

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    scope = {"type": "websocket", "headers": [], "url_route": {"kwargs": {"runner": "r"}}, "extensions": {}}
    task = asyncio.ensure_future(consumers.RunnerConsumer.as_asgi(open_dispatch=script.open, refuse=refuse)(scope, events.get, send))
    events.put_nowait({"type": "websocket.connect"})
    taken = 0
    for frame in frames:
        events.put_nowait({"type": "websocket.receive", "text" if isinstance(frame, str) else "bytes": frame})
        taken += 1
        if taken % 50 == 0:
            while not events.empty():
                await asyncio.sleep(0)
            if sent[-1]["type"] == "websocket.close":
                break
    closed = sent[-1]["type"] == "websocket.close"
    if not closed:
        events.put_nowait({"type": "websocket.receive", "text": messages.encode(messages.Canceled(job=JOB))})
    events.put_nowait({"type": "websocket.disconnect", "code": 1000})
    await asyncio.wait_for(task, 60)
    answered = closed or any(event["type"] == "websocket.close" or '"event":"ack"' in event.get("text", "") for event in sent)
    return taken, int(answered)


class Losses(logging.Handler):
    """Counts exceptions that the consumer survived but should never have met."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1
        if self.count < 5:
            sys.stderr.write(self.format(record) + "\n")


async def fuzz(total: int, seed: int) -> bool:
    chance = random.Random(seed)
    texts = recorded()

    async def known(*_: Any, **__: Any) -> Any:
        return SimpleNamespace(pk=JOB)

    consumers.in_database = known  # type: ignore[assignment]
    losses = Losses(level=logging.ERROR)
    consumers.logger.addHandler(losses)
    consumers.logger.propagate = False
    job = next(message for message in (_job(text) for text in texts) if message is not None)
    script, done, channels, unanswered, began = Script(chance, job), 0, 0, 0, time.monotonic()
    while done < total:
        frames = [mutate(chance, texts) for _ in range(min(PER_CHANNEL, total - done))]
        # An idle channel ends with its first bad frame: most channels begin by getting a job.
        if chance.random() < 0.9:
            frames = ['{"event":"ready"}'] * 6 + frames
        taken, answered = await one_channel(script, frames)
        done, channels, unanswered = done + taken, channels + 1, unanswered + 1 - answered
    seconds = time.monotonic() - began
    print(
        f"{done} frames on {channels} channels in {seconds:.0f} s ({done / seconds:.0f}/s): {losses.count} lost inputs, {unanswered} unanswered channels"
    )
    return not losses.count and not unanswered


def _job(text: bytes) -> messages.Job | None:
    try:
        message = messages.decode_server(text.decode().replace("{oci_token}", "t"))
    except messages.Undecodable:
        return None
    return message if isinstance(message, messages.Job) else None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    sys.exit(0 if asyncio.run(fuzz(options.frames, options.seed)) else 1)
