"""Testbeds, benchmarks and measures: found, made, changed, deleted (rest.md 5.2, 6.3)."""

from __future__ import annotations

from typing import Any

import pytest

from bencher.core.errors import Clash, Missing
from outputs import models
from outputs.models import Benchmark, Measure, Plot
from outputs.services import dimensions, resolution
from outputs.services.reports import delete_report
from tests.results_lab import NOW, Lab, bmf, latency, make_spec

LATER = NOW.replace(year=2027)


def make(lab: Lab, kind: Any, name: str, **values: Any) -> Any:
    return dimensions.create(kind, project=lab.project, name=name, slug=None, now=NOW, **values)


def test_measure_of_ones_own_wins_over_a_base_name(lab: Lab) -> None:
    """``Errors`` is what one tool calls its measure; a project that has such a measure means its own."""
    own = make(lab, Measure, "Errors", units="errors")
    assert resolution.measures(project=lab.project, texts=["Errors"], now=NOW) == {"Errors": own.id}


def test_base_name_means_the_built_in(lab: Lab) -> None:
    found = resolution.measures(project=lab.project, texts=["Errors"], now=NOW)
    assert Measure.objects.get(id=found["Errors"]).name == "Memcheck Errors"


def test_all_spellings_of_a_built_in_are_one(lab: Lab) -> None:
    found = resolution.measures(project=lab.project, texts=["latency", "Latency"], now=NOW)
    assert len(set(found.values())) == 1


def test_mention_revives(lab: Lab) -> None:
    lab.report(latency(1.0))
    for kind in (models.Branch, models.Testbed, Benchmark, Measure):
        kind._default_manager.update(archived=NOW)
    lab.report(latency(1.0))
    for kind in (models.Branch, models.Testbed, Benchmark, Measure):
        assert kind._default_manager.get().archived is None
        assert kind._default_manager.get().modified == lab.now


def test_change_tells_a_taken_name(lab: Lab) -> None:
    make(lab, Benchmark, "one")
    row = make(lab, Benchmark, "two")
    for values in ({"name": "one", "slug": None}, {"name": None, "slug": "one"}):
        with pytest.raises(Clash):
            dimensions.change(row, archived=None, now=LATER, **values)
    assert (row.name, row.slug) == ("two", "two")


def test_change_of_nothing_is_no_modification(lab: Lab) -> None:
    row = make(lab, Benchmark, "one")
    dimensions.change(row, name=None, slug=None, archived=False, now=LATER)
    assert Benchmark.objects.get().modified == NOW


def test_archiving_twice_keeps_the_first_time(lab: Lab) -> None:
    row = make(lab, Benchmark, "one")
    for now in (NOW, LATER):
        dimensions.change(row, name=None, slug=None, archived=True, now=now)
    assert Benchmark.objects.get().archived == NOW


@pytest.mark.parametrize("kind", ["Testbed", "Benchmark", "Measure"])
def test_what_is_used_is_not_deleted(lab: Lab, kind: str) -> None:
    report = lab.report(latency(1.0))
    row = getattr(models, kind).objects.get()
    with pytest.raises(Clash, match="report"):
        dimensions.delete(row)
    delete_report(report=report)
    dimensions.delete(row)
    assert not getattr(models, kind).objects.exists()


def test_deleted_things_leave_the_plots(lab: Lab) -> None:
    kept, gone = make(lab, Benchmark, "kept"), make(lab, Benchmark, "gone")
    flags: dict[str, Any] = dict.fromkeys(("lower_value", "upper_value", "lower_boundary", "upper_boundary"), False)
    lists = {"benchmarks": [str(gone.id), str(kept.id)], "branches": [], "testbeds": [], "measures": []}
    Plot.objects.create(project=lab.project, rank=0, x_axis="version", window=1, created=NOW, modified=NOW, **flags, **lists)
    dimensions.delete(gone)
    assert Plot.objects.get().benchmarks == [str(kept.id)]


def test_spec_is_forgotten_everywhere(lab: Lab) -> None:
    hardware = make_spec()
    make(lab, models.Testbed, "one", spec=hardware)
    dimensions.forget_spec(spec_id=hardware.id, now=LATER)
    assert models.Testbed.objects.get().spec_id is None


def test_unknown_uuid(lab: Lab) -> None:
    with pytest.raises(Missing, match="testbed"):
        dimensions.resolve_testbed(project=lab.project, name="01a22d43-bf95-7c25-a99d-8ed8fb5b6f65", now=NOW)


# -- many at once ---------------------------------------------------------------------------------------------------
def test_names_that_slugify_alike_get_slugs_of_their_own(lab: Lab) -> None:
    lab.report(bmf({name: {"latency": 1.0} for name in ("a b", "a_b", "a::b", "a/b", "日本", "—", "…")}))
    rows = dict(Benchmark.objects.values_list("name", "slug"))
    assert len(set(rows.values())) == 7
    assert sum(slug.startswith("a-b") for slug in rows.values()) == 4
    assert all(rows.values())


def test_slug_in_bmf_means_the_benchmark_with_that_slug(lab: Lab) -> None:
    lab.report(latency(1.0, "My Bench"))
    lab.report(latency(1.0, "my-bench"))
    assert Benchmark.objects.count() == 1


def test_slug_in_tool_output_is_a_name(lab: Lab) -> None:
    lab.report(latency(1.0, "My Bench"))
    lab.report("test my-bench ... bench: 10 ns/iter (+/- 1)", adapter="rust_bench")
    assert sorted(Benchmark.objects.values_list("name", flat=True)) == ["My Bench", "my-bench"]


def test_thousands_of_names_take_few_statements(lab: Lab) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    texts = [(f"bench {number}!", False) for number in range(3000)]
    with CaptureQueriesContext(connection) as queries:
        resolution.benchmarks(project=lab.project, texts=texts, now=NOW)
    assert len(queries) <= 3 + 3000 // 500  # inserts of 500 rows
    assert Benchmark.objects.count() == 3000
