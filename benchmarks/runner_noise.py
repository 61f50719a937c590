"""What the runner itself costs while a benchmark runs: its CPU time as a share of one core, and how often it wakes up.

    python benchmarks/runner_noise.py [--seconds 30]

Measured over the middle of the run by /proc/PID: user and system time of all its threads, context switches. The goal is 1 % of a core.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.acceptance.runners.agent.kit import FakeServer, Runner
from tests.unit.runners.agent.kit import Blobs, busybox

GOAL_PERCENT = 1.0


def spent(pid: int) -> tuple[float, int]:
    """Seconds of CPU time, and context switches, of all threads so far."""
    nanoseconds, switches = 0, 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        nanoseconds += int((task / "schedstat").read_text().split()[0])
        for line in (task / "status").read_text().splitlines():
            if "ctxt_switches" in line:
                switches += int(line.split()[1])
    return nanoseconds / 1e9, switches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    blobs = Blobs()
    digest = blobs.image(busybox())["digest"]
    with tempfile.TemporaryDirectory() as folder, FakeServer(blobs) as server, Runner(server, Path(folder) / "state") as runner:
        busy = (
            f"end=$(($(cut -d. -f1 /proc/uptime) + {options.seconds + 4:.0f})); while [ $(cut -d. -f1 /proc/uptime) -lt $end ]; do :; done"
        )
        job = server.submit(
            digest, "/bin/sh", "-c", busy.replace("$(cut -d. -f1 /proc/uptime)", "$(read a b < /proc/uptime; echo ${a%.*})"), timeout=600
        )
        server.wait(lambda: server.events().count("heartbeat") >= 2)
        before, began = spent(runner.process.pid), time.monotonic()
        time.sleep(options.seconds)
        after, elapsed = spent(runner.process.pid), time.monotonic() - began
        assert server.result(job, 60)["event"] == "completed"
    share, rate = (after[0] - before[0]) / elapsed * 100, (after[1] - before[1]) / elapsed
    print(
        f"runner while a benchmark runs: {share:.2f} % of a core, {rate:.1f} context switches/s over {elapsed:.0f} s on {os.cpu_count()} cores (goal {GOAL_PERCENT} %)"
    )


if __name__ == "__main__":
    main()
