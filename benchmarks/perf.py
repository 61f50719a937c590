"""The perf query over a million metrics: one series of 10 000 points, from the request to the bytes.

    DATABASE_URL=postgresql://… python -m benchmarks.perf [--reports 10000] [--benchmarks 100]

Makes a test database of its own beside the one that DATABASE_URL names, and removes it. Fails when a series of 10 000 points takes 300 ms or longer
on PostgreSQL, or when a series costs more the more other series there are.
"""

from __future__ import annotations

import argparse
import os
import time
from uuid import UUID

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

import django

django.setup()

import msgspec  # noqa: E402
from django.db import connection  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from outputs.selectors.perf import Wanted, perf  # noqa: E402
from outputs.serializers.perf import perf_json  # noqa: E402
from tests.results_volume import Volume, fill  # noqa: E402

LIMIT = 0.3


def answer(volume: Volume, benchmarks: list[UUID]) -> bytes:
    wanted = Wanted([volume.branch.id], (), [volume.testbed.id], (), benchmarks, [volume.measure.id])
    lines, models = perf(volume.project, wanted)
    return msgspec.json.encode(perf_json(volume.project, lines, models, start_time=None, end_time=None))


def seconds(volume: Volume, benchmarks: list[UUID], times: int = 7) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        answer(volume, benchmarks)
        taken.append(time.perf_counter() - began)
    return min(taken)


def plan(volume: Volume) -> str:
    with CaptureQueriesContext(connection) as queries:
        answer(volume, volume.benchmarks[:1])
    [query] = [row["sql"] for row in queries if "outputs_metric" in row["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"{'EXPLAIN QUERY PLAN' if connection.vendor == 'sqlite' else 'EXPLAIN ANALYZE'} {query}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=10_000)
    parser.add_argument("--benchmarks", type=int, default=100)
    options = parser.parse_args()
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        began = time.perf_counter()
        volume = fill(reports=options.reports, benchmarks=options.benchmarks)
        print(f"{options.reports * options.benchmarks} metrics on {connection.vendor} in {time.perf_counter() - began:.0f} s ({name})")
        one, ten = seconds(volume, volume.benchmarks[:1]), seconds(volume, volume.benchmarks[:10], times=3)
        size = len(answer(volume, volume.benchmarks[:1]))
        print(f"one series of {options.reports} points: {one * 1000:.0f} ms, {size} bytes; ten: {ten * 1000:.0f} ms")
        print(plan(volume))
        assert "metric_series" in plan(volume), "the series is not found by its index"
        if connection.vendor == "postgresql" and options.reports <= 10_000:
            assert one < LIMIT, f"{one:.3f} s is over {LIMIT} s"
    finally:
        connection.creation.destroy_test_db("", verbosity=0)


if __name__ == "__main__":
    main()
