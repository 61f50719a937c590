"""Pictures of series (rest.md 5.8)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from outputs import charts
from outputs.models import Benchmark, Report
from outputs.selectors.perf import Line, Wanted, perf
from tests.results_lab import Lab, latency


def lines(lab: Lab) -> list[Line]:
    report = Report.objects.latest("created")
    benchmarks = list(Benchmark.objects.order_by("name").values_list("id", flat=True))
    measure = report.metrics.values_list("measure_id", flat=True)[0]
    return perf(lab.project, Wanted([report.head.branch_id], (), [report.testbed_id], (), benchmarks, [measure]))[0]


def size(picture: bytes) -> tuple[int, int]:
    from io import BytesIO

    from PIL import Image

    with Image.open(BytesIO(picture)) as image:
        image.verify()
        assert image.format == "JPEG"
        return image.size


def test_nothing_to_draw() -> None:
    assert size(charts.chart([], title="Nothing")) == (1024, 576)


@pytest.mark.parametrize("title", ["", "$x^$ $\\frac{1}{", "_hidden", "日本語 🚀 \x07", "long " * 100, "two\nlines"])
def test_any_text_is_drawn(lab: Lab, title: str) -> None:
    """Names are text, not mathematics, and letters that the font lacks are no warning."""
    for value in (1.0, -1e308, 1e308):
        lab.report(latency(value, title or "x", "_", "$"))
    assert size(charts.chart(lines(lab), title=title)) == (1024, 576)


@pytest.mark.parametrize(
    "years",
    [(1,), (9999,), (1, 9999), (1, 1), (9999, 9999), (2026, 9999), (1, 2026), (1900, 1969)],
    ids=lambda years: "-".join(map(str, years)),
)
def test_any_moment_is_drawn(lab: Lab, years: tuple[int, ...]) -> None:
    """A report may start at the first or the last second of the calendar, where the margins of a picture have no date."""
    for year in years:
        start = datetime(year, 1, 1, tzinfo=UTC) if year == 1 else datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
        lab.report(latency(float(year)), start_time=start, end_time=start)
    assert size(charts.chart(lines(lab), title="t")) == (1024, 576)


def test_eight_lines_at_the_most(lab: Lab) -> None:
    lab.report(latency(1.0, *(f"bench {number}" for number in range(30))))
    many = lines(lab)
    assert len(many) == 30
    assert charts.chart(many, title="t") == charts.chart(many[:8], title="t")


def test_threads_draw_in_turn() -> None:
    with ThreadPoolExecutor(4) as pool:
        pictures = list(pool.map(lambda _: charts.chart([], title="same"), range(8)))
    assert len(set(pictures)) == 1
