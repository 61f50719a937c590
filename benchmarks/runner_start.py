"""Time from the `job` frame to the first instruction of the benchmark, image cached: what the runner adds to every job.

    python benchmarks/runner_start.py [--jobs 30] [--sandbox bubblewrap|runc|host]

The benchmark prints /proc/uptime, whose hundredths of a second are the resolution. The goal is 150 ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.acceptance.runners.agent.kit import FakeServer, Runner
from tests.unit.runners.agent.kit import Blobs, busybox

GOAL_MS = 150


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("--sandbox", choices=["bubblewrap", "runc", "host"], default="bubblewrap")
    options = parser.parse_args()
    flags = ("--danger-allow-no-sandbox",) if options.sandbox == "host" else ("--sandbox", options.sandbox)
    blobs = Blobs()
    digest = blobs.image(busybox())["digest"]
    found = []
    with tempfile.TemporaryDirectory() as folder, FakeServer(blobs) as server, Runner(server, Path(folder) / "state", *flags):
        server.result(server.submit(digest, "/bin/sh", "-c", "true"))  # fills the cache
        for _ in range(options.jobs):
            server.wait(lambda: server.events()[-1] == "ready")
            began = time.clock_gettime(time.CLOCK_BOOTTIME)
            result = server.result(server.submit(digest, "/bin/sh", "-c", "read now rest < /proc/uptime; echo $now"))
            found.append((float(result["results"][0]["stdout"]) - began) * 1000)
            time.sleep(0.05)
    found.sort()
    p50, p90 = statistics.median(found), found[int(len(found) * 0.9)]
    print(
        f"{options.sandbox}: job -> benchmark running: p50 {p50:.0f} ms, p90 {p90:.0f} ms, max {found[-1]:.0f} ms over {len(found)} jobs (goal {GOAL_MS} ms)"
    )


if __name__ == "__main__":
    main()
