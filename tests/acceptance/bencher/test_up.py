"""``manage.py up`` from the outside: one process tree that starts, serves and stops as an operator is promised."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.acceptance.bencher.program import Program, manage

pytestmark = [pytest.mark.acceptance, pytest.mark.enable_socket]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """``up(name="data", cwd=…, SETTING="value")``"""
    programs: list[Program] = []

    def start(name: str = "data", **options: Any) -> Program:
        folder = tmp_path / name
        programs.append(Program(folder, "up", "--bind", "127.0.0.1:0", "--data", str(folder), **options))
        return programs[-1]

    yield start
    for program in programs:
        program.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("group", [False, True], ids=["process", "group"])
def test_a_life(up: Callable[..., Program], tmp_path: Path, number: int, group: bool) -> None:
    """From any working directory: starts, is ready, stops in time with exit code 0, and leaves no child."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    server = up(cwd=elsewhere).ready()
    answer = httpx.get(f"{server.url}/readyz", timeout=10)
    assert (answer.status_code, answer.json()["checks"]["database"]) == (200, "ok")
    assert server.children()
    started = time.monotonic()
    assert server.stop(number, group=group) == 0
    assert time.monotonic() - started < 10
    server.expect_no_children()
    assert "Traceback" not in server.text()
    assert not list(elsewhere.iterdir())
    assert (tmp_path / "data" / "secret_key").stat().st_mode & 0o777 == 0o600


def test_a_stop_during_the_start(up: Callable[..., Program]) -> None:
    """At whatever moment: exit code 0 and nothing left. Before Python has read the first lines the signal simply ends it."""
    for delay in (0.3, 1.0):
        server = up()
        time.sleep(delay)
        assert server.stop() in (0, -signal.SIGTERM)
        server.expect_no_children()


def test_kill_and_restart(up: Callable[..., Program]) -> None:
    """After SIGKILL no child survives, and the next start finds all that was answered."""
    server = up().ready()
    key = manage(server.folder, "create_admin", "--email", "ada@example.com").stdout.strip()
    assert re.fullmatch(r"bencher_user_[0-9A-Za-z]{30}", key)
    bearer = {"Authorization": f"Bearer {key}"}
    httpx.post(f"{server.url}/v0/specs", json=SPEC, headers=bearer).raise_for_status()
    server.process.kill()
    server.process.wait()
    server.expect_no_children()
    server = up().ready()
    (spec,) = httpx.get(f"{server.url}/v0/specs", headers=bearer).json()
    assert spec["name"] == SPEC["name"]
    assert server.stop() == 0


def test_one_server_on_a_folder(up: Callable[..., Program]) -> None:
    first = up().ready()
    second = up("data")
    assert second.process.wait(60) == 1
    assert f"a server (process {first.process.pid}) is using this data folder" in second.text()
    assert httpx.get(f"{first.url}/healthz").status_code == 200
    refused = manage(first.folder, "restore", "/dev/null")
    assert refused.returncode == 1
    assert "stop it before a restore" in refused.stderr


def test_an_address_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = manage(tmp_path / "data", "up", "--bind", address)
    assert ran.returncode == 1
    assert ran.stderr.strip().splitlines()[-1].startswith(f"CommandError: cannot listen on {address}: ")


@pytest.mark.parametrize("address", ["nonsense", "host:", "host:port", "127.0.0.1:65536", "127.0.0.1:-1"])
def test_a_wrong_address(tmp_path: Path, address: str) -> None:
    ran = manage(tmp_path / "data", "up", f"--bind={address}")
    assert ran.returncode == 1
    assert "--bind: expected HOST:PORT" in ran.stderr


def test_a_wrong_setting_is_a_sentence(up: Callable[..., Program]) -> None:
    server = up(BENCHER_HEARTBEAT_TIMEOUT="soon")
    assert server.process.wait(60) != 0
    assert "BENCHER_HEARTBEAT_TIMEOUT: expected a whole number, got 'soon'" in server.text()


def test_create_admin(tmp_path: Path) -> None:
    """One line with a key each time; the second call promotes the same user."""
    manage(tmp_path / "data", "migrate")
    keys = [manage(tmp_path / "data", "create_admin", "--email", "Ada@Example.com", *name) for name in ([], ["--name", "Ada"])]
    assert all(re.fullmatch(r"bencher_user_[0-9A-Za-z]{30}\n", ran.stdout) for ran in keys), keys
    assert keys[0].stdout != keys[1].stdout
    wrong = manage(tmp_path / "data", "create_admin", "--email", "nobody")
    assert wrong.returncode == 1
    assert "e-mail address" in wrong.stderr


SPEC = {"name": "Small", "os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1 << 30, "disk": 1 << 30, "network": False}


def test_channels_are_told_of_the_end(up: Callable[..., Program]) -> None:
    """More than a hundred real channels: all hear 1001, the exit code is 0, and it does not take ten seconds."""
    server = up().ready()
    key = manage(server.folder, "create_admin", "--email", "ada@example.com").stdout.strip()
    bearer = {"Authorization": f"Bearer {key}"}
    channels = []
    for number in range(120):  # a runner each: an active channel supersedes others of its runner
        runner = httpx.post(f"{server.url}/v0/runners", json={"name": f"Bench {number}"}, headers=bearer).json()
        address = f"{server.url.replace('http', 'ws', 1)}/v0/runners/{runner['uuid']}/channel"
        own = {"Authorization": f"Bearer {runner['key']}"}
        channels.append(connect(address, additional_headers=own, ping_interval=None).__enter__())
    for channel in channels[::2]:
        channel.send(json.dumps({"event": "heartbeat"}))
    started = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - started < 10
    for channel in channels:
        with pytest.raises(ConnectionClosed) as closed:
            channel.recv(5)
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1001, "server shutting down")
    assert "Traceback" not in server.text()


def test_a_channel_needs_the_runners_key(up: Callable[..., Program]) -> None:
    """Refused before the upgrade, and no other path has a channel."""
    server = up().ready()
    for path, status in (("/v0/runners/nobody/channel", 401), ("/elsewhere", 404)):
        with pytest.raises(InvalidStatus) as refused, connect(server.url.replace("http", "ws", 1) + path):
            pass
        assert refused.value.response.status_code == status
        assert json.loads(refused.value.response.body)["message"]
