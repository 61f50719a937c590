"""Pushing and pulling one large blob beside a plain copy of the file, and what it costs the server.

    python -m benchmarks.registry [--mib 200] [--rounds 3]

Starts an embedded server of its own in a temporary folder. ``copy``: ``cp`` and ``sync`` of the same bytes on the same disk. ``memory``: how far the
server's resident memory grew. Fails when memory grows by 64 MiB or more.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import httpx

from bencher.demo.processes import Server

MIB = 1 << 20
ALLOWED = 64 * MIB
EMAIL, NAME = "bench@example.com", "large"


def pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(MIB):
            yield piece


class Memory:
    """The peak of a process's resident memory while work is done, over what it was before."""

    def __init__(self, pid: int) -> None:
        self._statm = Path(f"/proc/{pid}/statm")

    def _now(self) -> int:
        return int(self._statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def growth(self, work: Callable[[], object]) -> int:
        before, peak, done = self._now(), 0, threading.Event()

        def look() -> None:
            nonlocal peak
            while not done.wait(0.02):
                peak = max(peak, self._now())

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            work()
        finally:
            done.set()
            watcher.join()
        return max(0, peak - before)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    descriptor = os.open(target, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    target.unlink()


def push(client: httpx.Client, path: Path, digest: str) -> None:
    """As skopeo does: POST, one PATCH, PUT; then the blob is forgotten, so that the next round is one too."""
    place = client.post(f"/v2/{NAME}/blobs/uploads/").headers["location"]
    assert client.patch(place, content=pieces(path), headers={"Content-Length": str(path.stat().st_size)}).status_code == 202
    assert client.put(f"{place}?digest={digest}").status_code == 201


def pull(client: httpx.Client, digest: str) -> None:
    with client.stream("GET", f"/v2/{NAME}/blobs/{digest}") as response:
        assert response.status_code == 200
        for _ in response.iter_raw(MIB):
            pass


def connect(server: Server, key: str) -> httpx.Client:
    scope = f"repository:{NAME}:pull,push"
    token = httpx.get(f"{server.url}/v0/auth/oci/token", params={"scope": scope}, auth=(EMAIL, key)).json()["token"]
    return httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=600)


def measure(folder: Path, mib: int, rounds: int) -> int:
    source = folder / "blob"
    with source.open("wb") as file:
        for _ in range(mib):
            file.write(os.urandom(MIB))
    digest = f"sha256:{hashlib.sha256(source.read_bytes()).hexdigest()}"
    server = Server(folder / "server").start()
    try:
        client, memory = connect(server, server.admin_key(EMAIL)), Memory(server.process.popen.pid)  # type: ignore[union-attr]
        works = {
            "copy": lambda: copy(source, folder / "copied"),
            "push": lambda: push(client, source, digest),
            "pull": lambda: pull(client, digest),
        }
        worst = 0
        for name, work in works.items():
            seconds, cpu = [], cpu_seconds(server.process.popen.pid)  # type: ignore[union-attr]
            for number in range(rounds):
                if name == "push" and number:
                    client.delete(f"/v2/{NAME}/blobs/{digest}")
                grown = memory.growth(lambda work=work, seconds=seconds: seconds.append(timed(work)))
                worst = max(worst, grown)
            cpu = (cpu_seconds(server.process.popen.pid) - cpu) / rounds  # type: ignore[union-attr]
            print(
                f"{name}: {mib / median(seconds):7.0f} MiB/s   {median(seconds):6.2f} s   server CPU {cpu:5.2f} s   memory +{grown / MIB:.0f} MiB"
            )
        return worst
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        worst = measure(Path(folder), options.mib, options.rounds)
    assert worst < ALLOWED, f"memory grew by {worst / MIB:.0f} MiB"


if __name__ == "__main__":
    main()
