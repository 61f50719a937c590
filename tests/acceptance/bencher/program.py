"""The server as an operator starts it: a command of ``manage.py`` in a process group of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

MANAGE = Path(__file__).resolve().parents[3] / "manage.py"
OURS = ("BENCHER_", "DATABASE_", "REDIS_", "STORAGE_", "SECRET_", "DJANGO_")


def clean_environment() -> dict[str, str]:
    """SQLite and memory, whatever the tests run on."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OURS)}


def manage(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    environment = {**clean_environment(), "BENCHER_DATA_DIR": str(folder), **environment}
    return subprocess.run([sys.executable, str(MANAGE), *arguments], env=environment, capture_output=True, text=True, timeout=100)


class Program:
    """A command that runs until it is stopped; ``url`` is where it listens."""

    def __init__(self, folder: Path, *arguments: str, cwd: Path | None = None, **environment: str) -> None:
        self.folder = folder
        self.log = folder.parent / f"{len(list(folder.parent.iterdir()))}.log"
        environment = {**clean_environment(), "BENCHER_DATA_DIR": str(folder), **environment}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(MANAGE), *arguments], cwd=cwd, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self.urls: list[str] = []

    def ready(self, count: int = 1, timeout: float = 100) -> Program:
        deadline = time.monotonic() + timeout
        while len(found := re.findall(r"^listening on (http://\S+)$", self.text(), re.MULTILINE)) < count:
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < deadline, self.text()
            time.sleep(0.05)
        self.urls = found
        return self

    @property
    def url(self) -> str:
        return self.urls[0]

    def text(self) -> str:
        return self.log.read_text()

    def stop(self, number: int = signal.SIGTERM, *, group: bool = False) -> int:
        if group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        return self.process.wait(15)

    def children(self) -> list[int]:
        """Processes of the server's session and group, without the server."""
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid != self.process.pid and self._is_ours(pid)]

    def _is_ours(self, pid: int) -> bool:
        try:
            if os.getsid(pid) != self.process.pid:
                return False
            assert os.getpgid(pid) == self.process.pid  # a supervisor that signals the group reaches it
        except ProcessLookupError:
            return False
        return True

    def expect_no_children(self) -> None:
        deadline = time.monotonic() + 10
        while self.children():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
