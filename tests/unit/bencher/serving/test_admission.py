"""Whole bodies within the limit; few requests at once; nothing held for a slow reader."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bencher.serving.admission import Slots, WholeBody
from bencher.serving.limits import MIB, Limits

SCOPE = {"type": "http", "method": "POST", "path": "/v0/x", "raw_path": b"/v0/x"}
Message = dict[str, Any]


def receiver(*messages: Message) -> Any:
    waiting = list(messages)

    async def receive() -> Message:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    return receive


def body(data: bytes, more: bool = False) -> Message:
    return {"type": "http.request", "body": data, "more_body": more}


class Sent(list[Message]):
    async def __call__(self, message: Message) -> None:
        self.append(message)

    @property
    def status(self) -> int:
        return int(self[0]["status"])


class Reader:
    """An application that reads its whole body, then once more."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.then: Message | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            self.received.append(message["body"])
            if not message["more_body"]:
                break
        self.then = await receive()


DISCONNECT = {"type": "http.disconnect"}


@pytest.mark.parametrize("sizes", [[0], [1], [10], [1, 9], [3, 3, 4], [0, 10], [10, 0]])
async def test_bodies_within_the_limit(sizes: list[int]) -> None:
    """The application gets the body, then what comes behind it."""
    reader = Reader()
    messages = [body(b"x" * size, more=place < len(sizes) - 1) for place, size in enumerate(sizes)]
    await WholeBody(reader, Limits(body=10))(SCOPE, receiver(*messages, DISCONNECT), Sent())
    assert b"".join(reader.received) == b"x" * sum(sizes)
    assert reader.then == DISCONNECT


async def test_a_body_that_waits_in_a_file() -> None:
    reader = Reader()
    pieces = [body(bytes([number]) * MIB, more=number < 3) for number in range(4)]
    await WholeBody(reader, Limits())(SCOPE, receiver(*pieces, DISCONNECT), Sent())
    assert b"".join(reader.received) == b"".join(bytes([number]) * MIB for number in range(4))


@pytest.mark.parametrize("sizes", [[11], [10, 1], [4, 4, 4]])
async def test_larger_bodies_never_reach_the_application(sizes: list[int]) -> None:
    reader, sent = Reader(), Sent()
    messages = [body(b"x" * size, more=place < len(sizes) - 1) for place, size in enumerate(sizes)]
    await WholeBody(reader, Limits(body=10))(SCOPE, receiver(*messages), sent)
    assert reader.received == []
    assert sent.status == 400
    assert json.loads(sent[1]["body"])["message"] == "body: larger than 10 bytes"


@pytest.mark.parametrize("before", [[], [body(b"abc", more=True)]])
async def test_a_client_that_leaves_in_its_body(before: list[Message]) -> None:
    reader, sent = Reader(), Sent()
    await WholeBody(reader, Limits())(SCOPE, receiver(*before, DISCONNECT), sent)
    assert (reader.received, sent) == ([], [])


class Gate:
    """An application that answers when it is let; counts how many are inside."""

    def __init__(self, *headers: tuple[bytes, bytes]) -> None:
        self.headers, self.inside, self.most = headers, 0, 0
        self.open = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
            await send({"type": "http.response.start", "status": 200, "headers": list(self.headers)})
            await send({"type": "http.response.body", "body": b"part", "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self.inside -= 1


async def until(condition: Any) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("never")


async def test_only_so_many_at_once() -> None:
    gate = Gate()
    slots = Slots(gate, 3)
    all_sent = [Sent() for _ in range(10)]
    tasks = [asyncio.ensure_future(slots(SCOPE, receiver(), sent)) for sent in all_sent]
    await until(lambda: gate.inside == 3)
    gate.open.set()
    await asyncio.gather(*tasks)
    assert gate.most == 3
    assert all(sent.status == 200 and len(sent) == 3 for sent in all_sent)


async def test_no_slot_in_time() -> None:
    slots = Slots(Gate(), 1, wait=0)
    first = asyncio.ensure_future(slots(SCOPE, receiver(), Sent()))
    await asyncio.sleep(0)
    sent = Sent()
    await slots(SCOPE, receiver(), sent)
    assert sent.status == 503
    assert (b"retry-after", b"1") in sent[0]["headers"]
    first.cancel()


@pytest.mark.parametrize("headers", [[(b"Content-Length", b"4")], []], ids=["known length", "endless"])
async def test_a_slow_reader_holds_no_slot(headers: list[tuple[bytes, bytes]]) -> None:
    """While its answer leaves, others are answered."""
    gate = Gate(*headers)
    gate.open.set()
    slots, reading = Slots(gate, 1), asyncio.Event()

    async def slow(message: Message) -> None:
        if message["type"] == "http.response.body":
            await reading.wait()

    waiting = asyncio.ensure_future(slots(SCOPE, receiver(), slow))
    await asyncio.sleep(0)
    sent = Sent()
    await asyncio.wait_for(slots(SCOPE, receiver(), sent), 5)
    assert sent.status == 200
    assert not waiting.done()
    reading.set()
    await waiting


@pytest.mark.parametrize("start", [True, False])
async def test_a_failure_frees_its_slot(start: bool) -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        if start:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError

    slots = Slots(fail, 1)
    for _ in range(3):
        with pytest.raises(ValueError):
            await asyncio.wait_for(slots(SCOPE, receiver(), Sent()), 5)
