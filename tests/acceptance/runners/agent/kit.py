"""A server of a few rules on one port, channel and registry, and the runner as a process beside it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.protocol import State

from tests.unit.runners.agent.kit import Blobs

KEY = "bencher_runner_" + "k" * 30
TOKEN = "pull-token-of-the-job"
TERMINAL = {"completed", "failed", "canceled"}


class FakeServer:
    """Plays the server's side: hands out `jobs`, answers every message of a job, keeps what came.

    `stock`: acks carry the job's UUID always, and nothing of a job is answered on a channel that did not hand it out.
    """

    def __init__(self, blobs: Blobs, *, stock: bool = False, port: int = 0) -> None:
        self.blobs = blobs
        self.stock = stock
        self.port = port
        self.jobs: list[dict[str, Any]] = []
        self.frames: list[tuple[int, dict[str, Any]]] = []
        self.results: dict[str, list[dict[str, Any]]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.begun: set[str] = set()
        self.canceled: set[str] = set()
        self.status = 0
        self.mute = False
        self.on_terminal: Callable[[dict[str, Any]], str] = lambda _: "ack"
        self.connections = 0
        self._open: dict[int, ServerConnection] = {}
        self._loop = asyncio.new_event_loop()
        self._wake = asyncio.Condition()
        self._running: dict[int, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    # -- life ----------------------------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        self._thread.start()
        self._server: Server = self._call(self._serve())
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _serve(self) -> Server:
        return await serve(
            self._channel, "127.0.0.1", self.port, process_request=self._http, compression=None, ping_interval=None, max_size=4 << 20
        )

    async def _stop(self) -> None:
        self._server.close(close_connections=True)
        await self._server.wait_closed()

    def stop_listening(self) -> None:
        """As a server that was killed: sockets drop without a close frame."""
        self.cut()
        self._call(self._stop())

    def listen_again(self) -> None:
        self._server = self._call(self._serve())

    def cut(self) -> None:
        """Drops every channel as a cut cable would."""

        async def drop() -> None:
            for connection in list(self._open.values()):
                connection.transport.abort()

        self._call(drop())

    def close(self, code: int, reason: str) -> None:
        async def close() -> None:
            for connection in list(self._open.values()):
                await connection.close(code, reason)

        self._call(close())

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # -- what tests ask ------------------------------------------------------------------------------------------
    def submit(self, digest: str, *command: str, timeout: int = 30, spec: dict[str, Any] | None = None, **config: Any) -> str:
        job = str(uuid.uuid4())
        now = "2026-11-30T14:13:18Z"
        full = {
            "uuid": str(uuid.uuid4()), "name": "spec", "slug": "spec", "os": "linux", "architecture": "x86_64", "sandbox": None, "cpu": 1,
            "memory": 256 << 20, "disk": 256 << 20, "network": False, "fallback": None, "created": now, "modified": now, "archived": None,
        } | (spec or {})  # fmt: skip
        wanted = {"registry": f"{self.host}/", "project": str(uuid.uuid4()), "digest": digest, "timeout": timeout}
        if command:
            wanted["cmd"] = list(command)
        message = {
            "event": "job",
            "uuid": job,
            "spec": full,
            "config": wanted | config,
            "oci_token": TOKEN,
            "timeout": timeout,
            "created": now,
        }

        async def add() -> None:
            async with self._wake:
                self.jobs.append(message)
                self._wake.notify_all()

        self._call(add())
        return job

    def wait(self, condition: Callable[[], Any], seconds: float = 30) -> Any:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if found := condition():
                return found
            time.sleep(0.01)
        raise AssertionError(f"it did not come to that: {self.frames[-20:]}")

    def result(self, job: str, seconds: float = 30) -> dict[str, Any]:
        return self.wait(lambda: self.results.get(job), seconds)[0]

    def events(self, connection: int | None = None) -> list[str]:
        return [frame["event"] for number, frame in self.frames if connection in {None, number}]

    # -- the channel ---------------------------------------------------------------------------------------------
    async def _http(self, connection: ServerConnection, request: Request) -> Response | None:
        self.requests.append((request.path, dict(request.headers.raw_items())))
        if request.path.startswith("/v2/"):
            return self._registry(request)
        if self.status:
            return connection.respond(self.status, "refused\n")
        return None

    def _registry(self, request: Request) -> Response:
        digest = request.path.rpartition("/")[2]
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return Response(401, "Unauthorized", Headers({"Content-Length": "0"}))
        content = self.blobs.content.get(digest)
        if content is None:
            return Response(404, "Not Found", Headers({"Content-Length": "0"}))
        return Response(200, "OK", Headers({"Content-Length": str(len(content)), "Content-Type": self.blobs.types[digest]}), content)

    async def _channel(self, connection: ServerConnection) -> None:
        self.connections += 1
        number = self.connections
        if self.mute:
            connection.transport.abort()
            return
        self._open[number] = connection
        try:
            async for text in connection:
                frame = json.loads(text)
                self.frames.append((number, frame))
                await self._answer(number, connection, frame)
        except ConnectionClosed:
            pass
        finally:
            del self._open[number]
            self._running.pop(number, None)

    async def _answer(self, number: int, connection: ServerConnection, frame: dict[str, Any]) -> None:
        event = frame["event"]
        if event in TERMINAL:
            await self._finish(number, connection, frame)
        elif event == "ready":
            await self._poll(number, connection, frame)
        else:
            await self._alive(number, connection, frame)

    async def _finish(self, number: int, connection: ServerConnection, frame: dict[str, Any]) -> None:
        what = self.on_terminal(frame)
        if what == "drop":
            connection.transport.abort()
        elif what == "ack":
            self.results.setdefault(frame["job"], []).append(frame)
            self._running.pop(number, None)
            await connection.send(json.dumps({"event": "ack", "job": frame["job"]}))
        elif what != "silent":
            await connection.close(int(what), "")

    async def _poll(self, number: int, connection: ServerConnection, frame: dict[str, Any]) -> None:
        async with self._wake:
            try:
                closing = asyncio.create_task(self._wake_when_closed(connection))
                self._tasks.add(closing)
                closing.add_done_callback(self._tasks.discard)
                waiting = self._wake.wait_for(lambda: self.jobs or connection.state is not State.OPEN)
                await asyncio.wait_for(waiting, frame.get("poll_timeout", 30))
                if not self.jobs or connection.state is not State.OPEN:
                    return
            except TimeoutError:
                await connection.send('{"event":"no_job"}')
                return
            job = self.jobs.pop(0)
        self._running[number] = job["uuid"]
        await connection.send(json.dumps(job))

    async def _wake_when_closed(self, connection: ServerConnection) -> None:
        await connection.wait_closed()
        async with self._wake:
            self._wake.notify_all()

    async def _alive(self, number: int, connection: ServerConnection, frame: dict[str, Any]) -> None:
        job = self._running.get(number)
        resumed = job is None and not self.stock
        if resumed:
            job = self._running[number] = (frame.get("ext") or {}).get("job")
        if job is None:
            return
        self.begun.add(job)
        if job in self.canceled:
            self._running.pop(number)
            await connection.send('{"event":"cancel"}')
        else:
            await connection.send(json.dumps({"event": "ack"} | ({"job": job} if self.stock or resumed else {})))


ROOT = Path(__file__).parents[4]


class Runner:
    """`runner up` as a process."""

    def __init__(
        self,
        server: FakeServer,
        state: Path,
        *flags: str,
        user: int | None = None,
        python: str = sys.executable,
        env: dict[str, str] | None = None,
    ) -> None:
        self.log = state.parent / f"{state.name}.log"
        command = [
            python, "-m", "runners.agent.cli", "up", "--host", server.host, "--runner", "bench-1", "--poll-timeout", "5", "--no-tuning",
            "--backoff", "0.5", "--state-dir", str(state), *flags,
        ]  # fmt: skip
        clean = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        path = f"{ROOT}:{sysconfig.get_path('purelib')}"
        self._file = self.log.open("ab")
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._file, stderr=self._file, cwd=ROOT,
            env=clean | {"BENCHER_RUNNER_KEY": KEY, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | (env or {}),
            user=user, group=user, extra_groups=[] if user else None,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.close()

    def close(self) -> None:
        self._file.close()

    def stop(self, number: int = signal.SIGTERM, seconds: float = 25) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(seconds)

    def text(self) -> str:
        return self.log.read_text()


def marked(mark: str) -> list[int]:
    """Processes that carry the mark in their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found
