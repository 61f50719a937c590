"""A bare ASGI application under the project's web server, started as a program: ``asgi_under_test.py '{"stall": 1}'`` (limits that differ).

Prints its URL; what happened to a request or a channel can be read at ``/log``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from urllib.parse import parse_qs

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bencher.server import Server
from bencher.serving.limits import Limits

LOG: list[str] = []


def query(scope: dict) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(scope["query_string"].decode()).items()}


async def start(send, status: int = 200, headers: list | None = None) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers or [(b"content-type", b"text/plain")]})


async def finish(send, body: bytes = b"", status: int = 200) -> None:
    await start(send, status, [(b"content-length", b"%d" % len(body))])
    await send({"type": "http.response.body", "body": body})


async def read(receive, pause: float = 0) -> int:
    total = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        total += len(message["body"])
        if not message["more_body"]:
            return total
        if pause:
            await asyncio.sleep(pause)


async def count(scope, receive, send) -> None:
    try:
        total = await read(receive, float(query(scope).get("pause", 0)))
    except ConnectionResetError:
        LOG.append("disconnected")
        raise
    await finish(send, b"%d" % total)


async def echo(scope, receive, send) -> None:
    await start(send)
    more = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
        await send({"type": "http.response.body", "body": message.get("body", b""), "more_body": more})


async def early(scope, receive, send) -> None:
    await finish(send, b"no, thanks", int(query(scope).get("status", 401)))


async def download(scope, receive, send) -> None:
    size, piece = int(query(scope)["size"]), bytes(65536)
    await start(send, headers=[(b"content-length", b"%d" % size)])
    sent = 0
    while sent < size:
        await send({"type": "http.response.body", "body": piece[: size - sent], "more_body": True})
        sent += len(piece)
        LOG[:] = [f"sent {sent}"]
    await send({"type": "http.response.body", "body": b""})


async def endless(scope, receive, send) -> None:
    await start(send)
    try:
        while True:
            await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})
    except asyncio.CancelledError:
        LOG.append("cancelled")
        raise


async def boom(scope, receive, send) -> None:
    raise ValueError("a secret detail")


async def boom_late(scope, receive, send) -> None:
    await start(send)
    await send({"type": "http.response.body", "body": b"half", "more_body": True})
    raise ValueError("late")


async def silent(scope, receive, send) -> None:
    """Returns without a response."""


async def pieces(scope, receive, send) -> None:
    await start(send, int(query(scope).get("status", 200)))
    for number in range(5):
        await send({"type": "http.response.body", "body": b"piece %d\n" % number, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def wait(scope, receive, send) -> None:
    await read(receive)
    message = await receive()
    LOG.append(message["type"])


async def sleep(scope, receive, send) -> None:
    await asyncio.sleep(float(query(scope)["for"]))
    await finish(send, b"slept")


async def log(scope, receive, send) -> None:
    await finish(send, json.dumps(LOG).encode())


HTTP = {f.__name__: f for f in (count, echo, early, download, endless, boom, boom_late, silent, pieces, wait, sleep, log)}


async def ws_echo(scope, receive, send) -> None:
    await send({"type": "websocket.accept"})
    pause = float(query(scope).get("pause", 0))
    seen = 0
    while (message := await receive())["type"] == "websocket.receive":
        seen += 1
        await asyncio.sleep(pause)
        if message.get("text") is not None:
            await send({"type": "websocket.send", "text": message["text"]})
        else:
            await send({"type": "websocket.send", "bytes": message["bytes"]})
    LOG.append(f"disconnect {message['code']} after {seen}")


async def ws_swallow(scope, receive, send) -> None:
    """Takes messages slowly and answers none."""
    await send({"type": "websocket.accept"})
    while (await receive())["type"] == "websocket.receive":
        await asyncio.sleep(float(query(scope)["pause"]))


async def ws_close(scope, receive, send) -> None:
    await send({"type": "websocket.accept"})
    values = query(scope)
    await send({"type": "websocket.close", "code": int(values["code"]), "reason": values.get("reason", "")})
    await send({"type": "websocket.close", "code": 4000})
    try:
        await send({"type": "websocket.send", "text": "too late"})
    except OSError as error:
        LOG.append(type(error).__name__)
    LOG.append(f"disconnect {(await receive())['code']}")


async def ws_push(scope, receive, send) -> None:
    await send({"type": "websocket.accept"})
    number = 0
    while True:
        await send({"type": "websocket.send", "text": "x" * 65536})
        number += 1
        LOG[:] = [f"pushed {number}"]


async def ws_deny(scope, receive, send) -> None:
    await send(
        {"type": "websocket.http.response.start", "status": 401, "headers": [(b"content-type", b"application/json"), (b"x-why", b"key")]}
    )
    await send({"type": "websocket.http.response.body", "body": b'{"message":', "more_body": True})
    await send({"type": "websocket.http.response.body", "body": b'"no"}'})


async def ws_reject(scope, receive, send) -> None:
    await send({"type": "websocket.close"})


async def ws_boom(scope, receive, send) -> None:
    if query(scope).get("accept"):
        await send({"type": "websocket.accept"})
    raise ValueError("a secret detail")


async def ws_return(scope, receive, send) -> None:
    await send({"type": "websocket.accept"})


async def ws_mute(scope, receive, send) -> None:
    """Neither accepts nor refuses."""
    LOG.append((await receive())["type"])


WEBSOCKET = {
    f.__name__.removeprefix("ws_"): f for f in (ws_echo, ws_swallow, ws_close, ws_push, ws_deny, ws_reject, ws_boom, ws_return, ws_mute)
}


async def application(scope, receive, send) -> None:
    name = scope["path"].removeprefix("/v2/").removeprefix("/v0/").strip("/")
    if scope["type"] == "websocket":
        assert (await receive())["type"] == "websocket.connect"
    await (HTTP if scope["type"] == "http" else WEBSOCKET)[name](scope, receive, send)


if __name__ == "__main__":
    limits = Limits(**json.loads(sys.argv[1]))
    Server(
        application, port=0, limits=limits, ready=lambda url: print(url, flush=True), stopping=lambda: print("stopping", flush=True)
    ).run()
