"""Everything below ``/v2/``, as an ASGI application of its own beside Django's, whose handler would spool bodies and read streams whole.

Bytes go through as they come, both ways: the server's flow control holds the sender back when the storage is slower, and the storage when
the reader is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from django.db import InterfaceError, OperationalError

from bencher.core import clock
from outputs.registry.authentication import challenge
from outputs.registry.body import DRAIN, Body, Disconnected, Receive
from outputs.registry.errors import Denied, RegistryError, Unauthorized, Unavailable
from outputs.registry.http import NO_CONTENT, Request, Response, cors, read_request, refusal
from outputs.registry.routes import Call, Routes, choose
from outputs.registry.storage import Reader, StorageError
from outputs.registry.threads import with_storage
from outputs.registry.views import blobs, discovery, manifests, uploads

logger = logging.getLogger("bencher.registry")
Send = Callable[[dict[str, Any]], Awaitable[None]]

ROUTES = Routes(
    front={"GET": discovery.front, "HEAD": discovery.front},
    uploads={"POST": uploads.start, "PUT": uploads.put_whole},
    upload={"GET": uploads.status, "PATCH": uploads.append, "PUT": uploads.finish, "DELETE": uploads.cancel},
    blob={"GET": blobs.get_blob, "HEAD": blobs.head_blob, "DELETE": blobs.delete_blob},
    manifest={
        "GET": manifests.get_manifest,
        "HEAD": manifests.head_manifest,
        "PUT": manifests.put_manifest,
        "DELETE": manifests.delete_manifest,
    },
    tags={"GET": discovery.tags},
    referrers={"GET": discovery.referrers},
)


async def registry_application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """ASGI, ``http`` scopes only."""
    request, body = read_request(scope), Body(receive)
    try:
        response = await _answer(request, body)
    except Disconnected:
        return
    if "expect" not in request.headers and (request.content_length or 0) <= DRAIN:
        await body.drain()
    await _send(request, response, send)


async def _answer(request: Request, body: Body) -> Response:
    try:
        methods, name, rest = ROUTES.find(request.path)
        allowed = cors([*methods, "OPTIONS"])
        if request.method == "OPTIONS":
            return Response(200, allowed)
        handler = choose(methods, request.method)
        response = await handler(Call(request, body, clock.now(), name, rest, clock=clock.now))
    except (Disconnected, asyncio.CancelledError):
        raise
    except Exception as problem:
        return refused(request, problem)
    response.headers = {**allowed, **response.headers}
    return response


def refused(request: Request, problem: Exception) -> Response:
    """Any failure as the registry's own error body; what is our fault is logged and not told."""
    if isinstance(problem, Unauthorized):
        return refusal(problem, {**cors([request.method]), "WWW-Authenticate": challenge(problem.scope)})
    if isinstance(problem, Denied) and problem.scope:
        return refusal(problem, {**cors([request.method]), "WWW-Authenticate": challenge(problem.scope, "insufficient_scope")})
    if isinstance(problem, RegistryError):
        return refusal(problem, cors([request.method]))
    if isinstance(problem, StorageError | OperationalError | InterfaceError):
        logger.warning("%s %s: %s: %s", request.method, request.path, type(problem).__name__, problem)
        return refusal(Unavailable(), cors([request.method]))
    logger.error("%s %s failed", request.method, request.path, exc_info=problem)
    return refusal(RegistryError("the registry failed; the operator's log says why"), cors([request.method]))


async def _send(request: Request, response: Response, send: Send) -> None:
    headers = dict(response.headers)
    if response.status != NO_CONTENT:
        headers.setdefault("Content-Length", str(len(response.body)))
    raw = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    try:
        await send({"type": "http.response.start", "status": response.status, "headers": raw})
        if response.reader is not None and request.method != "HEAD":
            await _stream(response.reader, send)
        else:
            body = b"" if request.method == "HEAD" or response.status == NO_CONTENT else response.body
            await send({"type": "http.response.body", "body": body})
    finally:
        if response.reader is not None:
            response.reader.close()


async def _stream(reader: Reader, send: Send) -> None:
    """The next piece is read while one is sent. ``send`` waits for the client; a failure here can only end the connection."""
    upcoming = asyncio.ensure_future(with_storage(next, reader, b""))
    try:
        while piece := await upcoming:
            upcoming = asyncio.ensure_future(with_storage(next, reader, b""))
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        if not upcoming.done():
            await asyncio.wait([upcoming])
