"""Sockets without manners: what a test sends is exactly what goes out."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

MIB = 1 << 20
PROGRAM = Path(__file__).with_name("asgi_under_test.py")


class Running:
    """A server process with the bare application."""

    def __init__(self, **limits: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), json.dumps(limits)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()
        self.address = urlsplit(self.url).hostname, urlsplit(self.url).port

    def connect(self, timeout: float = 60) -> Wire:
        return Wire(socket.create_connection(self.address, timeout))

    def ask(self, request: bytes, timeout: float = 60) -> Answer:
        """One request on a connection of its own."""
        with self.connect(timeout) as wire:
            return wire.send(request).answer()

    def log(self) -> list[str]:
        return json.loads(self.ask(get("/log")).body)

    def wait_for_log(self, *wanted: str, timeout: float = 60) -> None:
        deadline = time.monotonic() + timeout
        while not set(wanted) <= set(seen := self.log()):
            assert time.monotonic() < deadline, seen
            time.sleep(0.02)

    def memory(self) -> int:
        """Resident bytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """``(exit code, standard error)``."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict:
        return json.loads(self.body)


class Wire:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.buffer = b""

    def send(self, data: bytes) -> Wire:
        self.socket.sendall(data)
        return self

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.buffer += data

    def until(self, mark: bytes) -> bytes:
        while mark not in self.buffer:
            self._more()
        found, self.buffer = self.buffer.split(mark, 1)
        return found

    def exactly(self, size: int) -> bytes:
        while len(self.buffer) < size:
            self._more()
        found, self.buffer = self.buffer[:size], self.buffer[size:]
        return found

    def answer(self, *, head: bool = False) -> Answer:
        """The next response, 100 Continue passed over only when the test does."""
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ", 2)[1])
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
        body = b""
        if head or status in (100, 204, 304):
            pass
        elif headers.get("transfer-encoding") == "chunked":
            while size := int(self.until(b"\r\n"), 16):
                body += self.exactly(size)
                self.exactly(2)
            self.exactly(2)
        else:
            body = self.exactly(int(headers.get("content-length", 0)))
        return Answer(status, headers, body)

    def expect_end(self, timeout: float = 10) -> bytes:
        """What comes before the end of the connection, an orderly one."""
        self.socket.settimeout(timeout)
        try:
            while True:
                self._more()
        except EOFError:
            return self.buffer

    def reset(self) -> None:
        """Go without a word."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.socket.close()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def get(path: str, *fields: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: test", *fields, "", ""]).encode("latin-1")


def post(path: str, body: bytes, *fields: str, length: int | None = None) -> bytes:
    return get(path, f"Content-Length: {len(body) if length is None else length}", *fields, method="POST") + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
