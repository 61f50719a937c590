"""Logs: one line a request with its id, and no credential in any line."""

from __future__ import annotations

import logging
import re
import time
import uuid
from typing import Any

access = logging.getLogger("bencher.access")

SECRET = re.compile(r"(bencher_[a-z]+_)[0-9A-Za-z]{30}|((?i:bearer|basic)\s+)[\w.~+/=-]{8,}|eyJ[\w-]+\.[\w-]+\.[\w-]+")
MAIL = "bencher.mail"
"""The one logger that may hold a secret: the confirmation token of a mail that goes to the log for want of a mail server."""


def redact(text: str) -> str:
    """``text`` with every key and token replaced."""
    return SECRET.sub(lambda found: f"{found[1] or found[2] or ''}[redacted]", text)


class Redacting(logging.Formatter):
    """Formats a record, traceback included, then removes what looks like a credential."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if record.name == MAIL else redact(text)


class ClientFaults(logging.Filter):
    """What Django calls a suspicious request (a wrong Host, too many fields) is one line and no error: anybody can send one, as often as they like."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security."):
            record.levelno, record.levelname, record.exc_info, record.exc_text = logging.WARNING, "WARNING", None, None
        return True


class AccessLog:
    """ASGI wrapper: logs each answer with method, path (never the query: it may hold a token), status, milliseconds and request id."""

    QUIET = ("/healthz", "/readyz", "/metrics", "/static/")

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket") or scope["path"].startswith(self.QUIET):
            await self.application(scope, receive, send)
            return
        started = time.monotonic()
        request_id = ""

        async def watch(message: Any) -> None:
            nonlocal request_id
            kind = message["type"]
            if kind in ("http.response.start", "websocket.http.response.start", "websocket.accept"):
                request_id = _request_id(message)
                status = message.get("status", 101)
                milliseconds = (time.monotonic() - started) * 1000
                access.info("%s %s %d %.0fms %s", scope.get("method", "WS"), _printable(scope["path"]), status, milliseconds, request_id)
            await send(message)

        await self.application(scope, receive, watch)


def _request_id(message: Any) -> str:
    for name, value in message.get("headers") or ():
        if name.lower() == b"x-request-id":
            return str(value.decode("latin-1"))
    made = str(uuid.uuid4())
    if message["type"] != "websocket.accept":
        message["headers"] = [*(message.get("headers") or ()), (b"x-request-id", made.encode())]
    return made


def _printable(path: str) -> str:
    """A path on one line of the log, whatever is in it."""
    return path[:500] if path.isprintable() else repr(path[:500])
