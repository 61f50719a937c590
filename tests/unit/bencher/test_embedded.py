"""One server for a data folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bencher.embedded import AlreadyRunning, DataLock


def test_the_folder_is_made_and_locked(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    lock = DataLock(folder)
    with pytest.raises(AlreadyRunning, match=f"process {os.getpid()}"):
        DataLock(folder)
    lock.release()
    DataLock(folder).release()


HOLDER = """
import fcntl, os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(file, fcntl.LOCK_EX)
os.write(file, b"%d" % os.getpid())
print("locked", flush=True)
time.sleep(60)
"""


def test_a_dead_server_holds_nothing(tmp_path: Path) -> None:
    """Killed without a chance to tidy up."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "server.lock")], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(AlreadyRunning, match=f"process {holder.pid}"):
            DataLock(tmp_path)
        holder.kill()
    DataLock(tmp_path).release()
