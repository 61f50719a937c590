"""A project to report into, and short ways to do so through the services."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bencher.core.ids import uuid7
from bencher.projects.models import Organization, Project
from bencher.specs.models import Spec
from outputs import requests
from outputs.models import Report
from outputs.serializers.reports import JsonReport, report_json
from outputs.services.reports import run_local

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
START = datetime(2026, 1, 1, tzinfo=UTC)
Values = Mapping[str, Mapping[str, float]]


def make_project(now: datetime = NOW) -> Project:
    name = f"project-{uuid7()}"
    organization = Organization.objects.create(name=name, slug=name, created=now, modified=now)
    return Project.objects.create(organization=organization, name=name, slug=name, created=now, modified=now)


def make_spec(now: datetime = NOW) -> Spec:
    name = f"spec-{uuid7()}"
    hardware = {"os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1, "disk": 1}
    return Spec.objects.create(name=name, slug=name, created=now, modified=now, **hardware)


def bmf(values: Values) -> str:
    return json.dumps({name: {measure: {"value": value} for measure, value in measures.items()} for name, measures in values.items()})


def latency(value: float, *benchmarks: str) -> str:
    return bmf({name: {"latency": value} for name in benchmarks or ("bench",)})


def model(test: str = "percentage", **parts: Any) -> requests.NewModel:
    return requests.NewModel(test=test, **({"upper_boundary": 0.1} | parts))  # type: ignore[arg-type]


def watching(test: str = "percentage", measure: str = "latency", **parts: Any) -> requests.Thresholds:
    return requests.Thresholds(models={measure: model(test, **parts)})


@dataclass
class Lab:
    """``now`` moves a minute on with every run."""

    project: Project = field(default_factory=make_project)
    now: datetime = NOW

    def request(self, *results: str, **values: Any) -> requests.NewReport:
        settings = requests.Settings(
            adapter=values.pop("adapter", "json"), average=values.pop("average", None), fold=values.pop("fold", None)
        )
        return requests.NewReport(
            **{
                "branch": "main",
                "testbed": "bench",
                "start_time": START,
                "end_time": START,
                "results": list(results),
                "settings": settings,
                **values,
            }
        )

    def report(self, *results: str, **values: Any) -> Report:
        self.now += timedelta(minutes=1)
        return run_local(project=self.project, user=None, request=self.request(*results, **values), now=self.now)

    def run(self, *results: str, **values: Any) -> JsonReport:
        return report_json(self.report(*results, **values))


def numbers(report: JsonReport) -> list[dict[str, dict[str, float]]]:
    """Per iteration ``{benchmark: {measure slug: value}}``."""
    assert isinstance(report.results, list)
    return [
        {row.benchmark.name: {item.measure.slug: item.metric.value for item in row.measures} for row in rows} for rows in report.results
    ]


def only(report: JsonReport) -> Any:
    """The single measure of a report with one iteration, benchmark and measure."""
    [[row]] = report.results  # type: ignore[misc]
    [item] = row.measures
    return item


def baseline(report: JsonReport) -> float | None:
    return only(report).boundary.baseline


def place(report: JsonReport) -> tuple[int, str | None]:
    """Number and hash of the report's version."""
    version = report.branch.head.version
    assert version is not None
    return version.number, version.hash
