"""Parsing children of programs of their own: where these may start, and what they leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from outputs import parsing
from tests.processes import eventually, gone

ROOT = Path(parsing.__file__).parents[1]
SERVER = """
import sys, time
from outputs import parsing
from outputs.adapters.results import AdapterError
def main():
    pool = parsing.Parsers(workers=2)
    assert len(pool.parse(["test a ... bench: 10 ns/iter (+/- 1)"])) == 1
    print(*pool._pool._pool_manager.worker_manager.workers, parsing.forkserver._forkserver._forkserver_pid, flush=True)
    print(*sorted({"django", "celery", "numpy", "scipy"} & set(sys.modules)), flush=True)
    if sys.argv[1] == "wait":
        time.sleep(60)
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("end", ["wait", "leave"])
def test_no_child_outlives_its_server(end: str, tmp_path: Path) -> None:
    """Whether the server is killed or ends without a word; and it starts from anywhere, free of Django."""
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, str(script), end], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        processes = [int(word) for word in server.stdout.readline().split()]
        assert len(processes) == 3
        assert server.stdout.readline().strip() == ""
        if end == "wait":
            server.kill()
        server.wait(30)
        assert server.returncode == (-signal.SIGKILL if end == "wait" else 0), server.stderr.read()
        eventually(lambda: all(map(gone, processes)))


def test_a_deep_temporary_folder_does_not_matter(tmp_path: Path) -> None:
    """The fork server's socket must fit into a socket's address."""
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    program = (
        "from outputs.parsing import Parsers; p = Parsers(); print(len(p.parse(['BenchmarkA 10 5 ns/op'], adapter='go_bench'))); p.stop()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(deep)}, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "1", done.stderr
