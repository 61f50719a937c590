"""Servers to break: embedded, or two web processes, worker and beat on PostgreSQL and Redis, each behind a door that can be shut."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from bencher.demo.processes import HOST, MANAGE, Process, Server, free_port
from tests.acceptance.channel.door import Door

HT, GP = 10, 60
PROCESSES = ("web0", "web1", "worker", "beat")
BMF = '{"b":{"latency":{"value":1}}}'
TIMES = {"BENCHER_HEARTBEAT_TIMEOUT": str(HT), "BENCHER_JOB_TIMEOUT_GRACE_PERIOD": str(GP), "BENCHER_SWEEP_INTERVAL": "1"}


class Production:
    """On the PostgreSQL server of ``DATABASE_URL`` and the Redis of ``REDIS_URL``, in a database and under a prefix of its own."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder, self.name = folder, f"channel_{secrets.token_hex(6)}"
        self.admin_url = os.environ["DATABASE_URL"]
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{self.name}"')  # type: ignore[call-overload]
        database, redis = urlsplit(self.admin_url), urlsplit(os.environ["REDIS_URL"])
        self.database = Door(database.hostname or HOST, database.port or 5432)
        self.redis = Door(redis.hostname or HOST, redis.port or 6379)
        user = f"{database.username}{f':{database.password}' if database.password else ''}@" if database.username else ""
        self.ports = [free_port(), free_port()]
        self.urls = [f"http://{HOST}:{port}" for port in self.ports]
        self.env = {
            **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
            **TIMES,
            "DATABASE_URL": f"postgresql://{user}{HOST}:{self.database.port}/{self.name}",
            "REDIS_URL": f"redis://{HOST}:{self.redis.port}{redis.path}",
            "BENCHER_REDIS_PREFIX": self.name,
            "STORAGE_URL": f"file://{folder}/storage",
            "BENCHER_DATA_DIR": str(folder),
            "BENCHER_PUBLIC_URL": self.urls[0],
            "SECRET_KEY": "acceptance" * 5,
            "PYTHONPATH": os.pathsep.join([str(MANAGE.parent), os.environ.get("PYTHONPATH", "")]),
            **env,
        }
        self.processes: dict[str, Process] = {}

    def start(self) -> Production:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.manage("migrate", "--noinput")
        return self.mend()

    def run(self, name: str, **env: str) -> None:
        """Start one of the processes, or start it again; ``env`` on top of the site's."""
        self.processes[name] = Process(name, [sys.executable, *self._command(name)], folder=self.folder, env=self.env | env)

    def _command(self, name: str) -> tuple[str, ...]:
        celery = ("-m", "celery", "-A", "bencher")
        match name[:-1] if name[-1].isdigit() else name:
            case "web":
                return (str(MANAGE), "serve", "--bind", f"{HOST}:{self.ports[int(name[-1])]}")
            case "worker":
                return (*celery, "worker", "--concurrency", "1", "--hostname", f"{name}@%h")
            case _:
                return (*celery, "beat", "--schedule", str(self.folder / f"{name}.db"))

    def kill(self, *names: str) -> None:
        """kill -9, with all that they have started."""
        for name in names:
            self.processes.pop(name).kill()

    def dead(self) -> list[str]:
        """Processes that ended by themselves."""
        return [name for name, process in self.processes.items() if not process.alive()]

    def mend(self) -> Production:
        """All of it runs: what an earlier test has killed is started again, what it has added is ended."""
        for name in set(self.processes) - set(PROCESSES):
            self.kill(name)
        missing = [name for name in PROCESSES if name not in self.processes or name in self.dead()]
        for name in missing:
            self.run(name)
        for url in self.urls:
            until(lambda url=url: _ready(url), 90, "the web processes answer")
        return self

    @property
    def direct_url(self) -> str:
        """The database, past the door."""
        return urlsplit(self.admin_url)._replace(path=f"/{self.name}").geturl()

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.direct_url, autocommit=True) as connection:
            return connection.execute(query, values).fetchall()  # type: ignore[arg-type]

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, str(MANAGE), *arguments], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    def python(self, *lines: str) -> str:
        """In a process of its own, as an operator's shell."""
        return self.manage("shell", "-v", "0", "-c", "\n".join(lines))

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
        for door in (self.database, self.redis):
            door.close()
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{self.name}" WITH (FORCE)')  # type: ignore[call-overload]


def _ready(url: str) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{url}/readyz", timeout=2).status_code == 200
    return False


def until(condition: Any, seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.1)


class World:
    """Users, runners and jobs of a site, through its REST."""

    def __init__(self, site: Production | Server) -> None:
        self.site = site
        self.lines: list[Line] = []
        self.urls = site.urls if isinstance(site, Production) else [site.url]
        found = re.search(r"bencher_user_[0-9A-Za-z]{30}", site.manage("create_admin", "--email", "admin@example.com", "--name", "Admin"))
        assert found
        self.http = httpx.Client(headers={"Authorization": f"Bearer {found.group()}"}, timeout=30)
        slug = f"o-{secrets.token_hex(4)}"
        self.call("POST", "/v0/organizations", {"name": slug, "slug": slug})
        self.project = self.call("POST", f"/v0/organizations/{slug}/projects", {"name": slug, "slug": slug})["slug"]
        self.begin()

    def begin(self) -> None:
        """Other hardware from now on: jobs and runners of earlier tests have nothing to do with later ones."""
        hardware = {"os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1 << 30, "disk": 10 << 30, "network": False}
        self.spec = self.call("POST", "/v0/specs", {"name": f"s-{secrets.token_hex(4)}", **hardware})["uuid"]

    def call(self, method: str, path: str, body: Any = None, node: int = 0) -> Any:
        response = self.http.request(method, self.urls[node] + path, json=body)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text[:300]}"
        return response.json()

    def runner(self) -> tuple[str, str]:
        made = self.call("POST", "/v0/runners", {"name": f"r-{secrets.token_hex(4)}"})
        self.call("POST", f"/v0/runners/{made['uuid']}/specs", {"spec": self.spec})
        return made["uuid"], made["key"]

    def submit(self, node: int = 0) -> str:
        body = {
            "project": self.project,
            "branch": "main",
            "testbed": "bench",
            "start_time": "2026-01-01T00:00:00Z",
            "end_time": "2026-01-01T00:00:00Z",
            "results": [],
            "job": {"image": f"localhost/{self.project}@sha256:{'0' * 64}", "spec": self.spec, "timeout": 600},
        }
        body["job"]["image"] = f"{urlsplit(self.urls[0]).netloc}/{self.project}@sha256:{'0' * 64}"  # type: ignore[index]
        return str(self.call("POST", "/v0/run", body, node)["job"])

    def status(self, job: str, node: int = 0) -> str:
        return str(self.call("GET", f"/v0/projects/{self.project}/jobs/{job}", node=node)["status"])

    def reads(self, job: str, node: int = 0) -> str | None:
        """The status, or None while the site cannot say."""
        answer = self.http.get(f"{self.urls[node]}/v0/projects/{self.project}/jobs/{job}")
        return str(answer.json()["status"]) if answer.is_success else None

    def actions(self, job: str) -> list[str]:
        """All that has ever happened to the job."""
        return [event["action"] for event in self.call("GET", f"/v0/projects/{self.project}/jobs/{job}/events?per_page=255")]

    def connect(self, runner: tuple[str, str], node: int = 0) -> Line:
        self.lines.append(Line(self.urls[node], *runner))
        return self.lines[-1]

    def hang_up(self) -> None:
        """End every line."""
        while self.lines:
            self.lines.pop().close()

    def executing(self, node: int = 0) -> tuple[Line, str, tuple[str, str]]:
        runner, job = self.runner(), self.submit()
        line = self.connect(runner, node)
        assert line.ask({"event": "ready", "poll_timeout": 20})["uuid"] == job
        assert line.ask({"event": "running"}) == {"event": "ack"}
        return line, job, runner


class Line:
    """A runner's end of the channel."""

    def __init__(self, url: str, runner: str, key: str) -> None:
        self.socket: ClientConnection = connect(
            f"{url.replace('http', 'ws', 1)}/v0/runners/{runner}/channel",
            additional_headers={"Authorization": f"Bearer {key}"},
            compression=None,
            ping_interval=None,
            open_timeout=20,
            close_timeout=1,
        ).__enter__()

    def send(self, message: dict[str, Any]) -> None:
        self.socket.send(json.dumps(message))

    def hear(self, timeout: float = 15) -> dict[str, Any]:
        heard: dict[str, Any] = json.loads(self.socket.recv(timeout=timeout))
        return heard

    def ask(self, message: dict[str, Any], timeout: float = 25) -> dict[str, Any]:
        self.send(message)
        return self.hear(timeout)

    def beat(self) -> dict[str, Any]:
        return self.ask({"event": "heartbeat"})

    def silent(self, seconds: float) -> bool:
        try:
            self.hear(seconds)
        except TimeoutError:
            return True
        return False

    def end(self, timeout: float = 20) -> tuple[int | None, str]:
        try:
            heard = self.hear(timeout)
        except ConnectionClosed as closed:
            return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (None, "")
        raise AssertionError(f"the channel goes on: {heard}")

    def drop(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.socket.shutdown(socket.SHUT_RDWR)
        self.socket.socket.close()

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.socket.close()
        self.socket.socket.close()


def completed(job: str, text: str = "{}") -> dict[str, Any]:
    return {"event": "completed", "job": job, "results": [{"exit_code": 0, "stdout": text}]}


def signal_all(process: Process, number: int) -> None:
    """To a process and all that it has started."""
    os.killpg(process.popen.pid, number)


class Beating:
    """Beats on many lines until told to stop; ``heard``: what came back that was no bare ack."""

    def __init__(self) -> None:
        self.lines, self.odd, self._on, self._busy = list[Line](), list[object](), True, threading.Lock()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while self._on:
            began = time.monotonic()
            for line in list(self.lines):
                with self._busy:
                    if line in self.lines:
                        self._one(line)
            time.sleep(max(0.0, began + 1 - time.monotonic()))

    def _one(self, line: Line) -> None:
        try:
            if (heard := line.beat()) != {"event": "ack"}:
                self.odd.append(heard)
        except Exception as fault:
            self.odd.append(fault)

    def leave(self, line: Line) -> None:
        """It is somebody else's to use from now on."""
        with self._busy:
            if line in self.lines:
                self.lines.remove(line)

    def stop(self) -> list[object]:
        self._on = False
        self._thread.join(60)
        return self.odd


def executing(world: World, number: int, beating: Beating) -> tuple[list[Line], list[str]]:
    """So many runners that execute and beat, on both processes."""
    lines, jobs = [], []
    for node in range(number):
        line, job, _ = world.executing(node=node % 2)
        beating.lines.append(line)
        lines.append(line)
        jobs.append(job)
    return lines, jobs


def deliver_all(world: World, lines: list[Line], jobs: list[str], beating: Beating) -> None:
    """Every runner delivers, while those that have not yet done so beat; what is delivered is processed."""
    for line, job in zip(lines, jobs, strict=True):
        beating.leave(line)
        assert line.ask(completed(job, BMF)) == {"event": "ack", "job": job}
    for job in jobs:
        until(lambda job=job: world.status(job) == "processed", 60, f"job {job} is processed")
