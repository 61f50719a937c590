"""Limits by setting on what callers and projects may make (rest.md 1.7): 429 with ``Retry-After`` and the documented body, and nothing made."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from bencher.core import ratelimits
from bencher.core.ratelimits import MemoryCounters
from bencher.projects.limiting import creating
from bencher.projects.models import Organization, Project
from jobs.processing import Outcome, process_job
from outputs import models
from tests.jobs_world import NOW as JOBS_NOW
from tests.jobs_world import bmf, iteration, make_job, ran
from tests.restworld import NOW, NOWHERE, Api, api_of, fresh, make_project, make_user, project_api

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = MemoryCounters()
    monkeypatch.setattr(ratelimits, "_counters", lambda url, prefix: counters)


def run_of(project: str | None, text: str, **values: Any) -> dict[str, Any]:
    moments = dict.fromkeys(("start_time", "end_time"), "2026-01-01T00:00:00Z")
    context = {"bencher.dev/v0/repo/name": fresh("repo")}
    return {"project": project, "results": [text], "settings": {"adapter": "json"}, "context": context, **moments, **values}


def too_many(api: Api, method: str, path: str, body: Any) -> None:
    response = api.send(method, path, body)
    assert response.status_code == 429, response.content
    assert 0 < int(response["retry-after"]) <= 86400
    assert set(response.json()) == {"request_id", "message"}
    assert "too many" in response.json()["message"]


HAND = {
    "branches": ({"name": "{}"}, models.Branch),
    "testbeds": ({"name": "{}"}, models.Testbed),
    "benchmarks": ({"name": "{}"}, models.Benchmark),
    "measures": ({"name": "{}", "units": "u"}, models.Measure),
}


@pytest.mark.parametrize("kind", HAND)
def test_things_made_by_hand(settings: Any, kind: str) -> None:
    settings.BENCHER_RATE_LIMITS = "claimed.creations=2/day"
    owner = make_user()
    project, other, api = make_project(owner), make_project(owner), api_of(owner)
    body, model = HAND[kind]

    def new() -> dict[str, str]:
        return {key: text.format(fresh("thing")) for key, text in body.items()}

    path = f"/v0/projects/{project.slug}/{kind}"
    for _ in range(2):
        api.ok("POST", path, new())
    too_many(api, "POST", path, new())
    assert model.objects.filter(project=project).count() == 2
    api.ok("POST", f"/v0/projects/{other.slug}/{kind}", new())  # each project by itself
    rest = next(one for one in HAND if one != kind)
    api.ok("POST", f"/v0/projects/{project.slug}/{rest}", {"name": "it", "units": "u"})  # each kind by itself


def test_thresholds_and_plots(settings: Any) -> None:
    owner = make_user()
    project, api = make_project(owner), api_of(owner)
    root = f"/v0/projects/{project.slug}"
    ids = {kind: [api.ok("POST", f"{root}/{kind}", {"name": "it", "units": "u"})["uuid"]] for kind in HAND}
    measures = [api.ok("POST", f"{root}/measures", {"name": fresh("m"), "units": "u"})["uuid"] for _ in range(2)]
    settings.BENCHER_RATE_LIMITS = "claimed.creations=1/day"
    for number, measure in enumerate(measures):
        body = {"branch": "it", "testbed": "it", "measure": measure, "test": "static", "upper_boundary": 1}
        too_many(api, "POST", f"{root}/thresholds", body) if number else api.ok("POST", f"{root}/thresholds", body)
    plot = {
        **dict.fromkeys(("lower_value", "upper_value", "lower_boundary", "upper_boundary"), True),
        "x_axis": "version",
        "window": 60,
        **ids,
    }
    api.ok("POST", f"{root}/plots", plot)
    too_many(api, "POST", f"{root}/plots", plot)
    assert models.Threshold.objects.filter(project=project).count() == 1


def test_a_run_makes_all_of_its_benchmarks_or_none(settings: Any) -> None:
    settings.BENCHER_RATE_LIMITS = "unclaimed.creations=5/day"
    project = Project.objects.get(slug=Api().ok("POST", "/v0/run", run_of(fresh("free"), bmf(a=1.0)))["project"]["slug"])
    assert project.organization.claimed is None
    too_many(Api(), "POST", "/v0/run", run_of(project.slug, bmf(**{f"b{number}": 1.0 for number in range(5)})))
    assert models.Benchmark.objects.filter(project=project).count() == 1
    Api().ok("POST", "/v0/run", run_of(project.slug, bmf(**{f"b{number}": 1.0 for number in range(4)})))  # what was refused did not count
    assert models.Benchmark.objects.filter(project=project).count() == 5
    Api().ok("POST", "/v0/run", run_of(project.slug, bmf(a=2.0)))  # nothing new
    too_many(Api(), "POST", "/v0/run", run_of(project.slug, bmf(another=1.0)))


def test_claimed_projects_may_more(settings: Any) -> None:
    settings.BENCHER_RATE_LIMITS = "unclaimed.creations=1/day; claimed.creations=3/day"
    owner = make_user()
    project, api = make_project(owner), api_of(owner)
    for _ in range(3):
        api.ok("POST", f"/v0/projects/{project.slug}/testbeds", {"name": fresh("t")})
    too_many(api, "POST", f"/v0/projects/{project.slug}/testbeds", {"name": fresh("t")})
    Organization.objects.filter(pk=project.organization_id).update(claimed=None)
    free = Project.objects.create(organization=project.organization, name="free", slug=fresh("free"), created=NOW, modified=NOW)
    key = project_api(free)
    key.ok("POST", f"/v0/projects/{free.slug}/testbeds", {"name": "one"})
    too_many(key, "POST", f"/v0/projects/{free.slug}/testbeds", {"name": "two"})


def test_projects_of_an_organization(settings: Any) -> None:
    settings.BENCHER_RATE_LIMITS = "claimed.creations=2/day"
    user = make_user()
    api, path = api_of(user), f"/v0/organizations/{user.slug}/projects"
    api.ok("POST", path, {"name": fresh("p")})
    api.ok("POST", "/v0/run", run_of(fresh("p"), bmf(a=1.0)))
    too_many(api, "POST", path, {"name": fresh("p")})
    too_many(api, "POST", "/v0/run", run_of(fresh("p"), bmf(a=1.0)))
    assert Project.objects.filter(organization_id=user.pk).count() == 2


def test_reports_are_runs(settings: Any) -> None:
    settings.BENCHER_RATE_LIMITS = "user.runs=2/day"
    owner = make_user()
    project, api = make_project(owner), api_of(owner)
    body = run_of(None, bmf(a=1.0), branch="main", testbed="t")
    api.ok("POST", f"/v0/projects/{project.slug}/reports", body)
    api.ok("POST", "/v0/run", run_of(project.slug, bmf(a=1.0)))
    too_many(api, "POST", f"/v0/projects/{project.slug}/reports", body)
    assert models.Report.objects.filter(project=project).count() == 2


def test_a_job_beyond_the_limit_fails_and_can_be_processed_later(settings: Any) -> None:
    job = ran(make_job(adapter="json"), iteration(bmf(a=1.0, b=2.0)))
    settings.BENCHER_RATE_LIMITS = "claimed.creations=1/day"
    assert process_job(job.pk, now=JOBS_NOW) == Outcome.FAILED
    job.refresh_from_db()
    assert "too many creations" in job.events.latest("id").reason
    assert not models.Metric.objects.filter(report=job.report).exists()


def test_the_default_limits_nothing(settings: Any) -> None:
    assert settings.BENCHER_RATE_LIMITS == ""
    Api().ok("POST", "/v0/run", run_of(fresh("free"), bmf(**{f"b{number}": 1.0 for number in range(300)})))


@pytest.mark.parametrize("limits", ["", "user.runs=1/day"])
def test_without_a_limit_no_query_is_spent(settings: Any, django_assert_num_queries: Any, limits: str) -> None:
    settings.BENCHER_RATE_LIMITS = limits
    with django_assert_num_queries(0):
        creating("branch", project_id=UUID(NOWHERE), now=NOW)
