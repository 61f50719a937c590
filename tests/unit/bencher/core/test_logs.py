"""No credential in a log line; one line for each answer, with its id."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from bencher.core.logs import AccessLog, ClientFaults, Redacting, redact
from bencher.settings import LOGGING

KEY = "A" * 30
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl-_x"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"key bencher_user_{KEY} used", "key bencher_user_[redacted] used"),
        (f"bencher_runner_{KEY}", "bencher_runner_[redacted]"),
        (f"'Authorization': 'Bearer {JWT}'", "'Authorization': 'Bearer [redacted]'"),
        ("authorization: basic dXNlcjpwYXNz==", "authorization: basic [redacted]"),
        (f"token={JWT}&x=1", "token=[redacted]&x=1"),
        ("a bearer of bad news", "a bearer of bad news"),
        ("bencher_user_short, eyJhb, nothing", "bencher_user_short, eyJhb, nothing"),
    ],
)
def test_credentials_are_replaced(text: str, clean: str) -> None:
    assert redact(text) == clean


def record(name: str, message: str, error: BaseException | None = None) -> logging.LogRecord:
    return logging.LogRecord(name, logging.INFO, __file__, 1, message, (), (type(error), error, None) if error else None)


def test_tracebacks_too() -> None:
    formatter = Redacting("%(name)s: %(message)s")
    assert KEY not in formatter.format(record("x", "failed", ValueError(f"bencher_user_{KEY}")))


def test_a_strangers_request_is_no_error_and_no_traceback() -> None:
    """A wrong Host, too many fields: anybody can send that, as often as they like."""
    assert LOGGING["handlers"]["out"]["filters"] == ["client"]
    client = LOGGING["filters"]["client"]["()"]
    assert client == f"{ClientFaults.__module__}.{ClientFaults.__qualname__}"
    lines = []
    for name in ("django.security.DisallowedHost", "bencher.api"):
        entry = record(name, "wrong host", ValueError("inside"))
        assert ClientFaults().filter(entry)
        lines.append(Redacting("%(levelname)s %(message)s").format(entry))
    assert lines == ["WARNING wrong host", "INFO wrong host\nValueError: inside"]


def test_only_mail_keeps_its_token() -> None:
    """Without a mail server the confirmation token can be read nowhere else."""
    formatter = Redacting("%(message)s")
    assert JWT in formatter.format(record("bencher.mail", JWT))
    assert JWT not in formatter.format(record("bencher.api", JWT))


async def answer(
    scope: dict[str, Any], *messages: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> tuple[list[dict[str, Any]], list[str]]:
    sent: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        for message in messages:
            await send(message)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    with caplog.at_level(logging.INFO, "bencher.access"):
        await AccessLog(application)(scope, None, send)
    return sent, [record.getMessage() for record in caplog.records if record.name == "bencher.access"]


START = {"type": "http.response.start", "status": 201, "headers": [(b"x-request-id", b"the-id")]}


async def test_a_line_for_each_answer(caplog: pytest.LogCaptureFixture) -> None:
    scope = {"type": "http", "method": "POST", "path": "/v0/run", "query_string": b"token=secret"}
    _, (line,) = await answer(scope, START, {"type": "http.response.body", "body": b""}, caplog=caplog)
    assert line.startswith("POST /v0/run 201 ")
    assert line.endswith(" the-id")
    assert "secret" not in line


async def test_an_answer_without_an_id_gets_one(caplog: pytest.LogCaptureFixture) -> None:
    sent, (line,) = await answer(
        {"type": "http", "method": "GET", "path": "/v2/"}, {"type": "http.response.start", "status": 200, "headers": []}, caplog=caplog
    )
    ((name, value),) = sent[0]["headers"]
    assert name == b"x-request-id"
    assert line.endswith(value.decode())


@pytest.mark.parametrize(
    ("message", "status"),
    [({"type": "websocket.accept"}, 101), ({"type": "websocket.http.response.start", "status": 401, "headers": []}, 401)],
)
async def test_channels_have_a_line(caplog: pytest.LogCaptureFixture, message: dict[str, Any], status: int) -> None:
    _, (line,) = await answer({"type": "websocket", "path": "/v0/runners/x/channel"}, message, caplog=caplog)
    assert line.startswith(f"WS /v0/runners/x/channel {status} ")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/static/x.css"])
async def test_routine_is_not_logged(caplog: pytest.LogCaptureFixture, path: str) -> None:
    _, lines = await answer({"type": "http", "method": "GET", "path": path}, START, caplog=caplog)
    assert lines == []


async def test_a_hostile_path_stays_on_its_line(caplog: pytest.LogCaptureFixture) -> None:
    _, (line,) = await answer({"type": "http", "method": "GET", "path": "/x\n2026 INFO forged\x1b[31m" + "y" * 5000}, START, caplog=caplog)
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) < 700
