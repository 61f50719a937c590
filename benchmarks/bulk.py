"""Reports of growing size with a threshold on every metric: time, statements and what repeats cost.

    [DATABASE_URL=postgresql://…] python -m benchmarks.bulk [--largest 10000]

Makes a test database of its own and removes it. Fails when the number of statements grows with the report (but for SQLite's inserts, 500 rows each), when time per metric doubles from a
tenth of the size to the whole, or when a report of 10 000 metrics takes 1.5 s or more of CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

import django

django.setup()

from django.db import connection  # noqa: E402

from outputs import requests  # noqa: E402
from outputs.adapters.parse import parse_results  # noqa: E402
from outputs.services import bulk  # noqa: E402
from outputs.services.reports import create_report, deliver, prepare  # noqa: E402
from tests.results_lab import NOW, START, Lab, model  # noqa: E402

LIMIT = 1.5
MEASURES = ("latency", "throughput")
TESTS = {"latency": model("t_test", upper_boundary=0.95, max_sample_size=64), "throughput": model("percentage", lower_boundary=0.1)}


@dataclass
class Cost:
    cpu: float
    statements: int

    def __str__(self) -> str:
        return f"{self.cpu * 1000:7.0f} ms CPU, {self.statements:3} statements"


def text(metrics: int, value: float) -> str:
    count = metrics // len(MEASURES)
    return json.dumps({f"suite/bench-{number:05}": {name: {"value": value + number % 13} for name in MEASURES} for number in range(count)})


def deliver_one(lab: Lab, metrics: int, value: float) -> Cost:
    """From parsed results to the commit: what a worker does with a job's output, parsing left out."""
    report = create_report(
        project=lab.project,
        user=None,
        branch="main",
        hash=None,
        start_point=None,
        testbed="bench",
        thresholds=requests.Thresholds(models=TESTS),
        start_time=START,
        end_time=START,
        adapter="json",
        now=NOW,
    )
    parsed = parse_results([text(metrics, value)], adapter="json")
    counted: list[str] = []
    began = time.process_time()
    with connection.execute_wrapper(partial(count, counted)):
        deliver(report=report, prepared=prepare(report=report, parsed=parsed, now=NOW), now=NOW)
    return Cost(time.process_time() - began, len(counted))


def count(counted: list[str], execute: Any, sql: str, *rest: Any) -> Any:
    """Django's own record of queries writes out every parameter, which costs as much as the work."""
    counted.append(sql)
    return execute(sql, *rest)


def measure(metrics: int) -> tuple[Cost, Cost]:
    """(the first report, which makes the benchmarks; the cheapest of four later ones)."""
    lab = Lab()
    first = deliver_one(lab, metrics, 100.0)
    again = min((deliver_one(lab, metrics, 100.0 + number) for number in range(4)), key=lambda cost: cost.cpu)
    print(f"{metrics:6} metrics: first {first}; again {again}")
    return first, again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=10_000)
    largest = parser.parse_args().largest
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        measure(100)  # imports, caches
        small, large = measure(largest // 10), measure(largest)
        for before, after in zip(small, large, strict=True):
            inserts = 0 if connection.vendor == "postgresql" else 2 * largest // bulk.ROWS  # SQLite's are cut; before, each row was one
            assert after.statements <= before.statements + 2 + inserts, "the number of statements grows with the report"
            assert after.cpu < 20 * before.cpu, "time per metric doubles with the size"
        if largest <= 10_000:
            assert max(cost.cpu for cost in large) < LIMIT, f"over {LIMIT} s"
    finally:
        connection.creation.destroy_test_db("", verbosity=0)


if __name__ == "__main__":
    main()
