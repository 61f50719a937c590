"""ASGI wrappers around Django: whole bodies within the limit, few requests at once, no thread or connection held for a slow reader.

Each request that enters Django's handler gets a thread and a database connection of its own. Nothing but this bounds them.
"""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

from bencher.serving.limits import MIB, Limits
from bencher.serving.refusals import Refusal, body_too_large, refusal

Message = dict[str, Any]
WAIT = 30.0
"""Seconds after which a request that found no free slot is answered 503."""


async def answer(send: Any, refused: Refusal) -> None:
    await send({"type": "http.response.start", "status": refused.status, "headers": refused.headers})
    await send({"type": "http.response.body", "body": refused.body})


def target_of(scope: Any) -> bytes:
    return bytes(scope.get("raw_path") or scope["path"].encode())


class WholeBody:
    """The application starts when the body is here. It is bounded by ``limits`` whatever the server is; beyond 1 MiB it waits in a temporary file."""

    def __init__(self, application: Any, limits: Limits) -> None:
        self.application, self.limits = application, limits

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        limit = self.limits.body
        if not message.get("more_body"):
            if len(message.get("body", b"")) > limit:
                return await answer(send, body_too_large(target_of(scope), limit))
            await self.application(scope, Replay([message], receive), send)
            return
        with tempfile.SpooledTemporaryFile(max_size=MIB) as file:
            while True:
                file.write(message.get("body", b""))
                if file.tell() > limit:
                    return await answer(send, body_too_large(target_of(scope), limit))
                if not message.get("more_body"):
                    break
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
            file.seek(0)
            body = file.read()
        await self.application(scope, Replay([{"type": "http.request", "body": body, "more_body": False}], receive), send)


class Replay:
    """``receive`` that first gives messages once more."""

    def __init__(self, messages: list[Message], receive: Any) -> None:
        self._messages, self._receive = messages, receive

    async def __call__(self) -> Message:
        if self._messages:
            return self._messages.pop(0)
        message: Message = await self._receive()
        return message


class Slots:
    """At most ``count`` requests are in the application at once; the others wait their turn.

    A response of known length is complete in memory when Django sends it: it is taken at once and leaves after the slot, the thread and the
    connection are free again. A response of unknown length (an endless page) frees its slot when it begins.
    """

    def __init__(self, application: Any, count: int, wait: float = WAIT) -> None:
        self.application, self.wait = application, wait
        self._slots = asyncio.Semaphore(count)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.wait_for(self._slots.acquire(), self.wait)
        except TimeoutError:
            return await answer(send, refusal(target_of(scope), 503, "the server is busy"))
        held = True
        waiting: list[Message] | None = None

        async def take(message: Message) -> None:
            nonlocal held, waiting
            if message["type"] == "http.response.start":
                if any(name.lower() == b"content-length" for name, _ in message["headers"]):
                    waiting = []
                else:
                    held = False
                    self._slots.release()
            if waiting is None:
                await send(message)
            else:
                waiting.append(message)

        try:
            await self.application(scope, receive, take)
        finally:
            if held:
                self._slots.release()
        for message in waiting or ():
            await send(message)
