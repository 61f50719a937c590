"""A server and a runner of one's own, as processes in a folder of their own, and their end."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import httpx

HOST = "127.0.0.1"
MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
READY_SECONDS = 60.0
STOP_SECONDS = 12.0
OTHER_SETTINGS = (
    "DJANGO_SETTINGS_MODULE",
    "DATABASE_URL",
    "REDIS_URL",
    "BENCHER_REDIS_PREFIX",
    "STORAGE_URL",
    "SECRET_KEY",
    "BENCHER_CONSOLE_URL",
    "EMAIL_URL",
)
"""Of the surrounding installation: the demo has nothing to do with it."""


class NotStarted(Exception):
    """A process ended or did not get ready; the text has the end of its log."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


class Process:
    """A child in a process group of its own; its output goes to a file."""

    def __init__(self, name: str, command: list[str], *, folder: Path, env: dict[str, str]) -> None:
        self.name, self.log = name, folder / f"{name}.log"
        with self.log.open("ab") as out:
            self.popen = subprocess.Popen(
                command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )

    def failed(self) -> NotStarted:
        tail = self.log.read_text(errors="replace")[-3000:]
        return NotStarted(f"the {self.name} is not running (exit code {self.popen.poll()}); its log ends with:\n{tail}")

    def alive(self) -> bool:
        return self.popen.poll() is None

    def stop(self) -> None:
        """Ask it to end, wait, and leave no member of its group behind."""
        if self.alive():
            self.popen.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()


class Server:
    """``manage.py up`` on a free port, with its data in ``folder``."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://{HOST}:{self.port}"
        inherited = {name: value for name, value in os.environ.items() if name not in OTHER_SETTINGS}
        self.env = {
            **inherited,
            "BENCHER_DATA_DIR": str(folder / "data"),
            "BENCHER_PUBLIC_URL": self.url,
            "BENCHER_REGISTRY_URL": self.url,
            **env,
        }
        self.process: Process | None = None

    def start(self) -> Self:
        """Returns when it serves. Raises :class:`NotStarted`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(MANAGE), "up", "--bind", f"{HOST}:{self.port}", "--data", self.env["BENCHER_DATA_DIR"]]
        self.process = Process("server", command, folder=self.folder, env=self.env)
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and self.process.alive():
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/readyz", timeout=2).status_code == 200:
                    return self
            time.sleep(0.05)
        fault = self.process.failed()
        self.process.kill()
        raise fault

    def manage(self, *arguments: str) -> str:
        """Standard output of a management command on this server's data. Raises :class:`NotStarted`."""
        done = subprocess.run(
            [sys.executable, str(MANAGE), *arguments],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.returncode:
            raise NotStarted(f"manage.py {arguments[0]}: {done.stderr[-2000:]}")
        return done.stdout

    def admin_key(self, email: str) -> str:
        found = re.search(r"bencher_user_[0-9A-Za-z]{30}", self.manage("create_admin", "--email", email, "--name", "Admin"))
        if found is None:
            raise NotStarted("create_admin printed no key")
        return found.group()

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()

    def kill(self) -> None:
        """What a power cut leaves."""
        if self.process is not None:
            self.process.kill()


def runner_process(folder: Path, *, url: str, runner: str, key: str) -> Process:
    """``runner up`` for that runner of the server at ``url``; in a sandbox where this host has one."""
    folder.mkdir(parents=True, exist_ok=True)
    env = {
        **os.environ,
        "HOME": str(folder),
        "BENCHER_RUNNER_KEY": key,
        "PYTHONPATH": os.pathsep.join([str(MANAGE.parent), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-m", "runners.agent.cli", "up", "--host", url, "--runner", runner, "--no-tuning"]
    if not sandbox_works():
        command.append("--danger-allow-no-sandbox")  # the image is the demo's own
    return Process("runner", command, folder=folder, env=env)


def sandbox_works() -> bool:
    """Can bubblewrap make a sandbox here?"""
    program = shutil.which("bwrap")
    if program is None:
        return False
    probe = [program, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0
