"""The API's way from ASGI to a view: one hop to one of a few threads, whose database connections live on.

Django's own ASGI handler makes a thread and a database connection for every request, spools the body to a file of its own and hops between threads for
every middleware. The REST API needs no session, CSRF or page middleware; here a request is read into memory (the server bounds it while it arrives),
answered in one thread of a bounded pool, and sent. See docs/decisions/api-handler.md.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.db import connections
from django.urls import ResolverMatch, resolve, set_script_prefix

from bencher.core.api import error_response
from bencher.core.middleware import ApiGate
from bencher.serving.turns import Turns

THREADS = 8
"""Requests that are answered at once; more wait. SQLite has one writer and PostgreSQL's pool has 8 connections: more threads would only queue there."""

SHORT = 2
"""Threads that take requests on SQLite: one would do for the interpreter; beside a second, a small request does not wait for a middling one."""

PATIENCE = 0.005
"""Seconds until a request on SQLite is not a short one: another thread takes the next."""


USUAL_PATH = 256
"""Characters of a path that is remembered: a thousand of the longest possible ones would fill 16 MiB."""


@lru_cache(1024)
def _match(path: str) -> ResolverMatch:
    return resolve(path)


class ApiHandler(BaseHandler):
    """An ASGI application for ``/v0``."""

    def __init__(self) -> None:
        super().__init__()
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        self._middleware_chain = convert_exception_to_response(ApiGate(convert_exception_to_response(self._get_response)))  # type: ignore[attr-defined]
        self._threads = Turns(THREADS, "api", short=SHORT if settings.ON_SQLITE else THREADS, patience=PATIENCE)

    def resolve_request(self, request: Any) -> ResolverMatch:
        """As Django does, which walks through every pattern; clients ask for the same few paths over and over."""
        path = request.path_info
        request.resolver_match = match = _match(path) if len(path) <= USUAL_PATH else resolve(path)
        return match

    async def __call__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        body = bytearray()
        while True:
            message: Any = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        status, headers, content = await self._threads.run(self._answer, scope, bytes(body))
        await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
        await send({"type": "http.response.body", "body": content, "more_body": False})

    def _answer(self, scope: HTTPScope, body: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        set_script_prefix("/")
        request = ASGIRequest(scope, io.BytesIO(body))
        try:
            response: Any = self.get_response(request)
        except Exception:
            response = error_response(request, 500, "internal error")
        finally:
            if not settings.ON_SQLITE:
                connections.close_all()  # back into the pool
        content = b"".join(response) if response.streaming else response.content
        if "content-length" not in response and response.status_code != 204:
            response["content-length"] = str(len(content))
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.items()]
        headers += [(b"set-cookie", cookie.output(header="").strip().encode("latin-1")) for cookie in response.cookies.values()]
        for close in response._resource_closers:  # not response.close(): its signal would close SQLite's connection, which is to live on
            close()
        return response.status_code, headers, content
