"""The registry's ASGI application driven by a test, without a server.

Its loop runs in a thread of its own; its database work is done in the test's thread, inside the test's transaction.
"""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from bencher.projects.models import User
from outputs.registry import threads
from outputs.registry.asgi import registry_application
from outputs.registry.digest import Digest, digest_of
from outputs.registry.tokens import mint_user_token


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        """Of the registry's error body."""
        assert self.headers["content-type"] == "application/json"
        [error] = self.json()["errors"]
        assert error["message"]
        return str(error["code"])


UNKNOWN = "sha256:" + "0" * 64
ALL = ("pull", "push")


def user_token(user: User, name: str = "mine", actions: tuple[str, ...] = ALL) -> str:
    return mint_user_token(email=user.email, repository=name, actions=actions, now=datetime.now(UTC))


class Client:
    """``cut``: the connection breaks after the given pieces."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._work: queue.Queue[tuple[Callable[[], Any], Future[Any]] | None] = queue.Queue()
        monkeypatch.setattr(threads, "_run", self._run)

    async def _run(self, pool: Any, function: Callable[[], Any], undo: Any) -> Any:
        future: Future[Any] = Future()
        self._work.put((function, future))
        return await asyncio.wrap_future(future)

    def call(
        self,
        method: str,
        path: str,
        body: bytes | Sequence[bytes] = b"",
        *,
        token: str | None = None,
        cut: bool = False,
        headers: dict[str, str] | None = None,
    ) -> Answer | None:
        pieces = [body] if isinstance(body, bytes) else list(body)
        known = {name.lower(): value for name, value in (headers or {}).items()}
        if token:
            known["authorization"] = f"Bearer {token}"
        if isinstance(body, bytes) and body:
            known.setdefault("content-length", str(len(body)))
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": quote(path).encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in known.items()],
        }
        incoming = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        incoming.append({"type": "http.disconnect"} if cut else {"type": "http.request", "body": b"", "more_body": False})
        return self._drive(scope, incoming)

    def ask(self, *args: Any, **kwargs: Any) -> Answer:
        answer = self.call(*args, **kwargs)
        assert answer is not None
        return answer

    def _drive(self, scope: dict[str, Any], incoming: list[dict[str, Any]]) -> Answer | None:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return incoming.pop(0) if incoming else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        def run() -> None:
            try:
                asyncio.run(registry_application(scope, receive, send))
            except Exception as problem:
                sent.append({"type": "failed", "problem": problem})
            finally:
                self._work.put(None)

        thread = threading.Thread(target=run)
        thread.start()
        while (job := self._work.get()) is not None:
            function, future = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except BaseException as problem:
                future.set_exception(problem)
        thread.join()
        return _answer(sent)

    # -- what tests do often -------------------------------------------------------------------------------------------
    def push_blob(self, name: str, token: str, data: bytes, algorithm: str = "sha256") -> Digest:
        digest = digest_of(data, algorithm)
        assert self.ask("PUT", f"/v2/{name}/blobs/uploads/?digest={digest}", data, token=token).status == 201
        return digest


def _answer(sent: list[dict[str, Any]]) -> Answer | None:
    if not sent:
        return None
    if sent[-1]["type"] == "failed":
        raise sent[-1]["problem"]
    start, *rest = sent
    assert start["type"] == "http.response.start"
    assert not rest[-1].get("more_body")
    headers = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], headers, b"".join(message["body"] for message in rest))
