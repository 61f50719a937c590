"""Every list of results costs the same number of queries with one row and with many (design.md section 6)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bencher.projects.models import User
from outputs.models import Alert, Branch, Plot, Threshold
from tests.restworld import Api, api_of, make_project, make_user
from tests.results_lab import NOW, Lab, bmf, model

LISTS = ("branches", "testbeds", "benchmarks", "measures", "reports", "reports?expand=true", "thresholds", "alerts", "plots")


def fill(lab: Lab, owner: User, numbers: range) -> None:
    """One more of everything for each number."""
    from outputs import requests

    for number in numbers:
        names = {"branch": f"branch {number}".replace(" ", "/"), "testbed": f"testbed {number}"}
        measure = f"Measure {number}"
        for value in (1.0, 9.0):
            text = bmf({f"bench {number}": {measure: value}})
            lab.report(text, thresholds=requests.Thresholds(models={measure: model()}), **names)
    flags: dict[str, Any] = dict.fromkeys(("lower_value", "upper_value", "lower_boundary", "upper_boundary"), False)
    Plot.objects.bulk_create(
        Plot(project=lab.project, rank=number, x_axis="version", window=1, created=NOW, modified=NOW, **flags) for number in numbers
    )


def queries(api: Api, path: str) -> tuple[int, int]:
    """(queries, rows)."""
    path, _, expand = path.partition("?")
    with CaptureQueriesContext(connection) as captured:
        rows = api.ok("GET", path, query={"per_page": 255, **({"expand": "true"} if expand else {})})
    return len(captured), len(rows)


@pytest.mark.django_db
def test_constant() -> None:
    owner = make_user(name="owner")
    lab, api = Lab(make_project(owner)), api_of(owner)
    root = f"/v0/projects/{lab.project.slug}"
    fill(lab, owner, range(1))
    few = {path: queries(api, f"{root}/{path}") for path in LISTS}
    fill(lab, owner, range(1, 100))
    many = {path: queries(api, f"{root}/{path}") for path in LISTS}
    assert {path: count for path, (count, _) in many.items()} == {path: count for path, (count, _) in few.items()}
    assert all(rows == few[path][1] * 100 for path, (_, rows) in many.items())
    assert max(count for count, _ in many.values()) <= 10


@pytest.mark.django_db
def test_archived_things_hide_what_depends_on_them() -> None:
    owner = make_user(name="owner")
    lab, api = Lab(make_project(owner)), api_of(owner)
    fill(lab, owner, range(2))
    root = f"/v0/projects/{lab.project.slug}"
    api.ok("PATCH", f"{root}/branches/branch-0", {"archived": True})
    for path in ("branches", "thresholds", "alerts", "reports"):
        live = api.ok("GET", f"{root}/{path}", query={"per_page": 255})
        hidden = api.ok("GET", f"{root}/{path}", query={"per_page": 255, "archived": "true"})
        assert len(live) == len(hidden) > 0, path
    assert (Branch.objects.count(), Threshold.objects.count(), Alert.objects.count()) == (2, 2, 2)
