"""``manage.py serve``: the web server alone, daphne or uvicorn, one process or several."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.acceptance.bencher.program import Program, manage

pytestmark = [pytest.mark.acceptance, pytest.mark.enable_socket]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A migrated data folder, and an administrator's key."""
    folder = tmp_path_factory.mktemp("installation") / "data"
    made = manage(folder, "migrate", "--noinput")
    assert made.returncode == 0, made.stderr
    return folder, manage(folder, "create_admin", "--email", "ada@example.com").stdout.strip()


@pytest.fixture
def serve(installation: tuple[Path, str], tmp_path: Path) -> Iterator[Callable[..., Program]]:
    programs: list[Program] = []

    def start(*options: str, **environment: str) -> Program:
        folder = tmp_path / "data"
        if not folder.exists():
            shutil.copytree(installation[0], folder)
        programs.append(Program(folder, "serve", *options, **environment))
        return programs[-1]

    yield start
    for program in programs:
        program.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", ["daphne", "uvicorn"])
def test_a_life(serve: Callable[..., Program], installation: tuple[Path, str], kind: str, number: int) -> None:
    """Both servers: same answers, same limits, same farewell, exit code 0."""
    server = serve("--server", kind, "--bind", "127.0.0.1:0").ready()
    bearer = {"Authorization": f"Bearer {installation[1]}"}
    assert httpx.get(f"{server.url}/readyz").json()["checks"]["database"] == "ok"
    for size, status in ((4 << 20, 201), ((4 << 20) + 1, 400)):
        body = json.dumps({"name": f"Runner {kind}", "filler": ""}).replace('"filler": ""', '"filler": "%s"')
        text = body % ("x" * (size - len(body) + 2))
        assert len(text) == size
        answer = httpx.post(f"{server.url}/v0/runners", content=text, headers={**bearer, "Content-Type": "application/json"})
        assert answer.status_code == status, answer.text[:300]
    assert set(answer.json()) == {"request_id", "message"}
    runner = httpx.post(f"{server.url}/v0/runners", json={"name": "Bench"}, headers=bearer).json()
    address = f"{server.url.replace('http', 'ws', 1)}/v0/runners/{runner['uuid']}/channel"
    with pytest.raises(InvalidStatus) as refused, connect(address):
        pass
    assert refused.value.response.status_code == 401
    with connect(address, additional_headers={"Authorization": f"Bearer {runner['key']}"}, compression="deflate") as channel:
        assert not channel.protocol.extensions
        channel.send(json.dumps({"event": "ready", "poll_timeout": 1}))
        assert json.loads(channel.recv(10)) == {"event": "no_job"}
        started = time.monotonic()
        server.process.send_signal(number)
        with pytest.raises(ConnectionClosed) as closed:
            channel.recv(10)
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1001, "server shutting down")
    assert server.process.wait(15) == 0
    assert time.monotonic() - started < 10
    assert "Traceback" not in server.text()


def test_not_ready_without_migrations(tmp_path: Path) -> None:
    """It serves, and says what is missing; alive all the same."""
    server = Program(tmp_path / "empty", "serve", "--bind", "127.0.0.1:0").ready()
    try:
        answer = httpx.get(f"{server.url}/readyz")
        assert answer.status_code == 503
        assert answer.json()["status"] == "unavailable"
        assert "manage.py migrate" in answer.json()["checks"]["migrations"]
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        assert server.stop() == 0
    finally:
        server.close()


def test_several_processes_need_redis(installation: tuple[Path, str]) -> None:
    ran = manage(installation[0], "serve", "--workers", "2")
    assert ran.returncode == 1
    assert "set REDIS_URL" in ran.stderr


@pytest.mark.parametrize("options", [["--workers", "2", "--bind", "127.0.0.1:0"], ["--workers", "100", "--bind", "127.0.0.1:65500"]])
def test_ports_that_do_not_exist(installation: tuple[Path, str], options: list[str]) -> None:
    ran = manage(installation[0], "serve", *options, REDIS_URL="redis://127.0.0.1:1/0")
    assert ran.returncode == 1
    assert "do not exist" in ran.stderr


def test_several_processes(serve: Callable[..., Program]) -> None:
    """A port each; one that is killed is started again; all end with their parent. Redis is away: nothing depends on it."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = serve("--workers", "2", "--bind", f"127.0.0.1:{port}", REDIS_URL="redis://127.0.0.1:1/0").ready(count=2)
    assert sorted(server.urls) == [f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"]
    for url in server.urls:
        answer = httpx.get(f"{url}/readyz", timeout=10)
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    os.kill(child_of(server.process.pid), signal.SIGKILL)
    server.ready(count=3)
    assert all(httpx.get(f"{url}/healthz", timeout=10).status_code == 200 for url in set(server.urls))
    assert server.stop() == 0
    server.expect_no_children()


def child_of(pid: int) -> int:
    """Some web process of this parent."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0])
