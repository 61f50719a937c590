"""Doors of results: who may what, what is refused before anything happens, what a repeat answers."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from outputs.models import Branch, Metric, Report, Threshold
from outputs.services import preparation
from outputs.services.thresholds import delete_threshold
from tests.restworld import NOWHERE, Api, api_of, make_project, make_user, project_api
from tests.results_lab import bmf, latency

pytestmark = pytest.mark.django_db
BODY: dict[str, Any] = {
    "branch": "main",
    "testbed": "bench",
    "start_time": "2026-01-01T02:00:00.900+02:00",
    "end_time": "2026-01-01T00:00:01Z",
    "settings": {"adapter": "json"},
}


def body(*texts: str, **values: Any) -> dict[str, Any]:
    return {**BODY, "results": list(texts), **values}


@pytest.fixture
def owner() -> Api:
    return api_of(make_user(name="owner"))


@pytest.fixture
def root() -> str:
    from bencher.projects.models import User

    return f"/v0/projects/{make_project(User.objects.get(name='owner')).slug}"


def test_report_reads_back(owner: Api, root: str) -> None:
    made = owner.ok("POST", f"{root}/reports", body(latency(1.0)))
    assert (made["start_time"], made["end_time"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z")
    assert Api().ok("GET", f"{root}/reports/{made['uuid']}") == made
    listed = Api().send("GET", f"{root}/reports")
    assert listed["x-total-count"] == "1"
    assert [row["uuid"] for row in json.loads(listed.content)] == [made["uuid"]]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"settings": {"adapter": "fortran"}}, "settings.adapter"),
        ({"settings": {"fold": "sum"}}, "settings.fold"),
        ({"thresholds": {"models": {"latency": {"test": "chi"}}}}, "test"),
        ({"thresholds": {"models": {"latency": {"test": "z", "window": 0}}}}, "window"),
        ({"start_point": {"max_versions": -1}}, "max_versions"),
        ({"start_point": {"hash": "abc"}}, "hash"),
        ({"hash": "abc"}, "hash"),
        ({"start_time": "2026-01-01"}, "start_time"),
        ({"results": [1]}, "results"),
        ({"branch": "a b"}, "branch"),
        ({"testbed": " x"}, "testbed"),
    ],
)
def test_refusals_name_the_field_and_leave_nothing(owner: Api, root: str, change: dict[str, Any], named: str) -> None:
    assert named in owner.refused("POST", f"{root}/reports", 400, body(latency(1.0), **change))
    assert not Report.objects.exists()
    assert not Branch.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_threshold_deleted_while_it_judges(owner: Api, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is stored, and the same again is: a conflict that passes is no 409, which clients do not repeat."""
    owner.ok("POST", f"{root}/reports", body(latency(1.0)))
    names = {"branch": "main", "testbed": "bench", "measure": "latency"}
    owner.ok("POST", f"{root}/thresholds", {**names, "test": "static", "upper_boundary": 5})
    prepare = preparation.prepare

    def overtaken(**values: Any) -> Any:
        prepared = prepare(**values)
        for threshold in Threshold.objects.all():
            delete_threshold(threshold=threshold)
        return prepared

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "prepare", overtaken)
        refused = owner.send("POST", f"{root}/reports", body(latency(2.0)))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert Report.objects.count() == 1
    owner.ok("POST", f"{root}/reports", body(latency(2.0)))


def test_who_may_report(owner: Api, root: str) -> None:
    from bencher.projects.models import Project

    Api().refused("POST", f"{root}/reports", 401, body(latency(1.0)))
    api_of(make_user()).refused("POST", f"{root}/reports", 403, body(latency(1.0)))
    made = project_api(Project.objects.get()).ok("POST", f"{root}/reports", body(latency(1.0)))
    assert made["user"] is None
    assert Report.objects.count() == 1


def test_key_may_archive_but_not_rename(owner: Api, root: str) -> None:
    from bencher.projects.models import Project

    owner.ok("POST", f"{root}/reports", body(latency(1.0)))
    key = project_api(Project.objects.get())
    for path in ("branches/main", "testbeds/bench", "benchmarks/bench", "measures/latency"):
        assert key.ok("PATCH", f"{root}/{path}", {"archived": True})["archived"]
        key.refused("PATCH", f"{root}/{path}", 403, {"archived": False, "name": "other"})
        key.refused("DELETE", f"{root}/{path}", 400)
        assert key.ok("GET", f"{root}/{path}")["archived"]


def test_metric_and_perf_show_the_same(owner: Api, root: str) -> None:
    owner.ok("POST", f"{root}/reports", body(latency(10.0)))
    model = {"test": "percentage", "upper_boundary": 0.1}
    made = owner.ok("POST", f"{root}/reports", body(latency(99.0), thresholds={"models": {"latency": model}}))
    metric = Metric.objects.get(value=99.0)
    one = Api().ok("GET", f"{root}/metrics/{metric.id}")
    lists = {
        "branches": made["branch"]["uuid"],
        "testbeds": made["testbed"]["uuid"],
        "benchmarks": metric.benchmark_id,
        "measures": metric.measure_id,
    }
    [result] = Api().ok("GET", f"{root}/perf", query=lists)["results"]
    point = result["metrics"][-1]
    for key in ("report", "iteration", "start_time", "end_time", "metric", "threshold", "boundary", "alert"):
        assert point[key] == one[key], key
    assert point["alert"]["uuid"] == made["alerts"][0]["uuid"]
    picture = Api().send("GET", f"{root}/perf/img", query={**lists, "title": "t"})
    assert (picture["content-type"], picture["x-total-count"], picture.content[:2]) == ("image/jpeg", "1", b"\xff\xd8")


@pytest.mark.parametrize("query", [{"start_time": "-1"}, {"end_time": "9" * 17}, {"heads": "main"}, {"specs": "x"}, {"branches": ","}])
def test_perf_refuses(owner: Api, root: str, query: dict[str, str]) -> None:
    lists = dict.fromkeys(("branches", "testbeds", "benchmarks", "measures"), NOWHERE)
    assert Api().ok("GET", f"{root}/perf", query=lists)["results"] == []
    assert next(iter(query)) in Api().refused("GET", f"{root}/perf", 400, query={**lists, **query})


@pytest.mark.parametrize("kind", ["reports", "metrics", "thresholds", "alerts", "plots"])
def test_paths_take_uuids(owner: Api, root: str, kind: str) -> None:
    assert "expected a UUID" in owner.refused("GET", f"{root}/{kind}/main", 400)
    owner.refused("GET", f"{root}/{kind}/{uuid4()}", 404)


def test_deletion_goes_through_the_service(owner: Api, root: str) -> None:
    made = owner.ok("POST", f"{root}/reports", body(bmf({"a": {"latency": 1.0}})))
    owner.ok("DELETE", f"{root}/reports/{made['uuid']}")
    owner.refused("DELETE", f"{root}/reports/{made['uuid']}", 404)
    for path in ("branches/main", "testbeds/bench", "benchmarks/a", "measures/latency"):
        owner.ok("DELETE", f"{root}/{path}")


def test_change_points_are_opted_into(owner: Api, root: str) -> None:
    owner.ok("POST", f"{root}/reports", body(latency(1.0)))
    where = {"branch": "main", "testbed": "bench", "measure": "latency"}
    model = {"test": "percentage", "upper_boundary": 0.1}
    made = owner.ok("POST", f"{root}/thresholds", {**where, **model, "change_points": True})
    assert made["change_points"] is True
    assert owner.ok("PUT", f"{root}/thresholds/{made['uuid']}", model)["change_points"] is True
    assert owner.ok("PUT", f"{root}/thresholds/{made['uuid']}", {**model, "change_points": False})["change_points"] is False


def test_history_of_a_model(owner: Api, root: str) -> None:
    owner.ok("POST", f"{root}/reports", body(latency(1.0)))
    made = owner.ok(
        "POST",
        f"{root}/thresholds",
        {"branch": "main", "testbed": "bench", "measure": "latency", "test": "t", "upper_boundary": 0.95},
    )
    owner.ok("PUT", f"{root}/thresholds/{made['uuid']}", {"test": None})
    old = owner.ok("GET", f"{root}/thresholds/{made['uuid']}", query={"model": made["model"]["uuid"]})
    assert (old["model"]["test"], old["model"]["replaced"] is not None) == ("t_test", True)
    owner.refused("GET", f"{root}/thresholds/{made['uuid']}", 404, query={"model": NOWHERE})
