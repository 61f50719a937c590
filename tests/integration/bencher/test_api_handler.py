"""The API's threads: texts that take long do not keep all of them (docs/decisions/api-handler.md)."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError

from bencher.api_handler import THREADS, ApiHandler
from bencher.projects.models import Project
from outputs.models import Report
from outputs.parsing import Places, parsers
from outputs.services import reports
from tests.restworld import Api, key_of, make_project, make_user

RUN = {"branch": "main", "testbed": "bench", "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:00Z"}
TEXT = "test a ... bench: 10 ns/iter (+/- 1)\n"
BMF = '{"a": {"latency": {"value": 1}}}'


class Site:
    """Requests of one user to one project, through the handler's own threads."""

    def __init__(self) -> None:
        owner = make_user()
        self.key, self.project, self.handler = key_of(owner), make_project(owner), ApiHandler()

    async def send(self, method: str, path: str, body: Any = None) -> tuple[int, dict[bytes, bytes], Any]:
        raw = b"" if body is None else json.dumps(body).encode()
        fields = {"host": "localhost", "authorization": f"Bearer {self.key}", "content-type": "application/json"}
        headers = [(name.encode(), value.encode()) for name, value in fields.items()]
        scope: Any = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers, "client": ("127.0.0.1", 1)}
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": raw, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.handler(scope, receive, send)
        return sent[0]["status"], dict(sent[0]["headers"]), json.loads(sent[1]["body"] or b"null")

    def run(self, text: str) -> Any:
        return self.send("POST", "/v0/run", {**RUN, "project": self.project.slug, "results": [text]})


@pytest.mark.django_db(transaction=True)
def test_slow_texts_leave_threads_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    site, begun, go_on = Site(), threading.Semaphore(0), threading.Event()
    count = 3

    def slow(*_: Any) -> Any:
        begun.release()
        assert go_on.wait(30)
        return parsers_in_child(*_)

    parsers_in_child = parsers._in_child
    monkeypatch.setattr(parsers, "_in_child", slow)
    monkeypatch.setattr(reports, "REQUESTS", Places(count, patience=0.05))

    async def story() -> None:
        waiting = [asyncio.ensure_future(site.run(TEXT)) for _ in range(count)]
        for _ in range(count):
            await asyncio.to_thread(begun.acquire)
        refused = await asyncio.gather(*(site.run(TEXT) for _ in range(2 * THREADS)))
        assert {(status, headers[b"retry-after"]) for status, headers, _ in refused} == {(503, b"1")}
        assert (await site.run(BMF))[0] == 201
        assert (await site.send("GET", f"/v0/projects/{site.project.slug}"))[0] == 200
        go_on.set()
        assert [status for status, _, _ in await asyncio.gather(*waiting)] == [201] * count
        assert (await site.run(TEXT))[0] == 201

    asyncio.run(story())
    assert Report.objects.filter(project=Project.objects.get(pk=site.project.pk)).count() == count + 2


@pytest.mark.parametrize("fault", [OperationalError, InterfaceError])
@pytest.mark.django_db
def test_a_database_fault_is_told_in_the_log_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: type[Exception]
) -> None:
    """A full disk looks like a busy database to clients; the operator is told."""

    def fail(*_: object, **__: object) -> None:
        raise fault("database or disk is full\nDETAIL: a stored row")

    monkeypatch.setattr("bencher.projects.views.projects.visible_projects", fail)
    Api().refused("GET", "/v0/projects", 503)
    assert f"database fault: {fault.__name__}: database or disk is full" in caplog.text
    assert "stored row" not in caplog.text


def test_most_threads_may_wait_but_not_all() -> None:
    assert 0 < reports.REQUESTS._free._initial_value < THREADS - 1  # type: ignore[attr-defined]


@pytest.mark.django_db(transaction=True)
def test_paths_are_told_apart_however_often_they_are_asked_for() -> None:
    site = Site()
    here = f"/v0/projects/{site.project.slug}"

    async def ask() -> list[tuple[int, Any]]:
        answers = [await site.send("GET", path) for path in (here, f"{here}/branches", "/v0/nothing", f"/v0/projects/{'a' * 300}") * 2]
        return [(status, body if status == 200 else None) for status, _, body in answers]

    found = asyncio.run(ask())
    assert found[:4] == found[4:]
    assert [status for status, _ in found[:4]] == [200, 200, 404, 400]
    assert found[0] != found[1]
