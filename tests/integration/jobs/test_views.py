"""REST of jobs (rest.md section 3)."""

from __future__ import annotations

import uuid
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bencher.projects.models import Project, User
from jobs.models import Job, JobEvent
from jobs.output import JobOutput, encode
from jobs.serializers import Shown
from outputs.models import Report
from outputs.registry.storage import get_job_output, get_storage
from outputs.registry.storage.job_outputs import put_job_output
from tests.jobs_world import NOW, Api, bmf, iteration, make_job, make_project, make_spec, make_user, project_key, ran, user_key

pytestmark = pytest.mark.django_db
NOWHERE = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def api(owner: User) -> Api:
    return Api(user_key(owner))


def jobs_path(project: Project) -> str:
    return f"/v0/projects/{project.slug}/jobs"


def path(job: Job) -> str:
    return f"/v0/projects/{job.project.slug}/jobs/{job.pk}"


# -- list ----------------------------------------------------------------------------------------------------------
def test_newest_first_in_pages(project: Project) -> None:
    spec = make_spec()
    made = [str(make_job(project, spec).pk) for _ in range(10)]
    make_job()
    response = Api().send("GET", jobs_path(project))
    assert response["x-total-count"] == "10"
    assert [one["uuid"] for one in response.json()] == made[:1:-1]
    assert [one["uuid"] for one in Api().ok("GET", jobs_path(project) + "?page=2")] == made[1::-1]
    assert [one["uuid"] for one in Api().ok("GET", jobs_path(project) + "?direction=asc&per_page=3")] == made[:3]


def test_by_status(project: Project) -> None:
    spec = make_spec()
    failed = ran(make_job(project, spec), status="failed")
    make_job(project, spec)
    response = Api().send("GET", jobs_path(project) + "?status=failed")
    assert ([one["uuid"] for one in response.json()], response["x-total-count"]) == ([str(failed.pk)], "1")
    for wrong in ("lost", "Pending", "pending,running", ""):
        assert "status" in Api().refused("GET", f"{jobs_path(project)}?status={wrong}", 400)


@pytest.mark.parametrize("rows", [1, 100])
def test_a_list_costs_as_many_queries_for_one_row_as_for_a_hundred(project: Project, api: Api, rows: int) -> None:
    spec = make_spec()
    for _ in range(rows):
        make_job(project, spec)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        listed = api.ok("GET", jobs_path(project) + "?per_page=255")
    assert len(listed) == rows
    assert len(queries) <= 4, [query["sql"][:120] for query in queries]  # key and user, project, count, page


def test_a_list_has_no_output_and_survives_a_broken_row(project: Project, api: Api) -> None:
    spec = make_spec()
    ran(make_job(project, spec), iteration("x"), status="processed")
    broken = make_job(project, spec)
    Job.objects.filter(pk=broken.pk).update(config="{no json", output="0" * 64, **{"status": "failed"})
    listed = api.ok("GET", jobs_path(project))
    assert len(listed) == 2
    assert all("output" not in one and "config" not in one for one in listed)
    assert "output" not in api.ok("GET", path(broken))


def test_a_private_project_hides(owner: User, api: Api) -> None:
    hidden = make_project(owner, private=True)
    job = make_job(hidden)
    for caller in (Api(), Api(user_key(make_user())), Api(project_key(make_project(make_user())))):
        for address in (jobs_path(hidden), path(job), path(job) + "/events"):
            caller.refused("GET", address, 404)
    for caller in (api, Api(project_key(hidden))):
        assert len(caller.ok("GET", jobs_path(hidden))) == 1


# -- get -----------------------------------------------------------------------------------------------------------
def test_a_pending_job(project: Project, api: Api) -> None:
    job = make_job(project)
    got = api.ok("GET", path(job))
    assert set(got) == {"uuid", "status", "spec", "runner", "claimed", "started", "completed", "created", "modified", "priority"}
    assert (got["status"], got["spec"]["uuid"], got["priority"]) == ("pending", str(job.spec_id), 100)
    assert [got[key] for key in ("runner", "claimed", "started", "completed")] == [None] * 4


@pytest.mark.parametrize("status", ["completed", "processed", "failed", "canceled"])
def test_the_output_of_an_ended_job_is_for_the_authenticated(project: Project, api: Api, status: str) -> None:
    job = ran(make_job(project), iteration("out", stderr="err", output={"\u0000bencher": "{}"}), error="broke", status=status)
    expected = {"results": [{"exit_code": 0, "stdout": "out", "stderr": "err", "output": {"\u0000bencher": "{}"}}], "error": "broke"}
    for caller in (api, Api(user_key(make_user())), Api(project_key(project))):
        assert caller.ok("GET", path(job))["output"] == expected
    assert "output" not in Api().ok("GET", path(job))


@pytest.mark.parametrize("status", ["pending", "claimed", "running"])
def test_no_output_before_the_end(project: Project, api: Api, status: str) -> None:
    assert "output" not in api.ok("GET", path(ran(make_job(project), iteration("out"), status=status)))


def test_an_output_is_read_once_however_often_it_is_asked_for(project: Project, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name: another delivery of the job is another output."""
    job, reads = ran(make_job(project), iteration("first"), status="completed"), []

    def read(*place: Any) -> bytes:
        reads.append(place[-1])
        return get_job_output(*place)

    monkeypatch.setattr("jobs.selectors.get_job_output", read)
    shown = [api.ok("GET", path(job))["output"]["results"][0]["stdout"] for _ in range(3)]
    job.output = put_job_output(job.project_id, job.pk, encode([iteration("second")]))
    job.save()
    shown += [api.ok("GET", path(job))["output"]["results"][0]["stdout"] for _ in range(3)]
    assert shown == ["first"] * 3 + ["second"] * 3
    assert len(reads) == len(set(reads)) == 2


def test_few_outputs_are_kept() -> None:
    shown, asked = Shown(400), []
    for number in (0, 1, 2, 0, 2, 3):
        output = JobOutput(results=[iteration(f"{number}" * 100)])
        raw = shown.json(UUID(int=number), "name", lambda output=output, number=number: asked.append(number) or output)  # type: ignore[misc]
        assert raw is not None
        assert f"{number}" * 100 in bytes(raw).decode()
    assert asked == [0, 1, 2, 0, 3]
    assert shown._size == sum(map(len, shown._kept.values())) <= 400
    assert shown.json(UUID(int=9), "big", lambda: JobOutput(results=[iteration("x" * 500)])) is not None
    assert shown.json(UUID(int=9), "gone", lambda: None) is None


@pytest.mark.parametrize("document", [None, b"no json", b'{"results":[{}]}', b"\xff"], ids=["missing", "text", "wrong", "binary"])
def test_an_output_that_cannot_be_read_is_none(project: Project, api: Api, document: bytes | None) -> None:
    job = ran(make_job(project), iteration("out"), status="processed")
    key = f"{job.project_id}/output/v0/jobs/{job.pk}/{job.output}"
    get_storage().delete(key)
    if document is not None:
        get_storage().put(key, document)
    assert "output" not in api.ok("GET", path(job))


def test_a_job_is_named_by_uuid_in_its_own_project(project: Project, api: Api) -> None:
    job = make_job()
    api.refused("GET", f"{jobs_path(project)}/{job.pk}", 404)
    api.refused("GET", f"{jobs_path(project)}/{NOWHERE}", 404)
    for wrong in ("not-a-uuid", "1"):
        assert "job" in api.refused("GET", f"{jobs_path(project)}/{wrong}", 400)


# -- cancel --------------------------------------------------------------------------------------------------------
CANCEL = {"status": "canceled"}


@pytest.mark.parametrize("status", ["pending", "claimed", "running"])
def test_cancel(project: Project, api: Api, status: str) -> None:
    job = make_job(project)
    Job.objects.filter(pk=job.pk).update(**{"status": status})
    got = api.ok("PATCH", path(job), CANCEL)
    assert got["status"] == "canceled"
    assert got["completed"] is not None
    event = api.ok("GET", path(job) + "/events")[-1]
    assert (event["action"], event["from"], event["to"], event["actor"]["kind"]) == ("cancel", status, "canceled", "user")


@pytest.mark.parametrize("status", ["completed", "processed", "failed", "canceled"])
def test_what_has_ended_is_not_canceled(project: Project, api: Api, status: str) -> None:
    job = ran(make_job(project), status=status)
    api.refused("PATCH", path(job), 409, CANCEL)
    assert Job.objects.get(pk=job.pk).status == status


def test_cancel_needs_rights(project: Project, owner: User) -> None:
    job, hidden = make_job(project), make_job(make_project(owner, private=True))
    stranger = Api(user_key(make_user()))
    Api().refused("PATCH", path(job), 401, CANCEL)
    stranger.refused("PATCH", path(job), 403, CANCEL)
    Api(project_key(project)).refused("PATCH", path(job), 403, CANCEL)
    stranger.refused("PATCH", path(hidden), 404, CANCEL)
    assert Job.objects.filter(status="pending").count() == 2
    Api(user_key(make_user(admin=True))).ok("PATCH", path(job), CANCEL)


@pytest.mark.parametrize("status", ["running", "pending", "processed", "lost", "", None, 6])
def test_cancel_is_the_only_change(project: Project, api: Api, status: object) -> None:
    job = make_job(project)
    assert "status" in api.refused("PATCH", path(job), 400, {"status": status})
    assert Job.objects.get(pk=job.pk).status == "pending"


# -- resubmit ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("status", ["pending", "running", "processed", "failed", "canceled"])
def test_resubmit(project: Project, api: Api, status: str) -> None:
    job = ran(make_job(project, config={"iter": 3, "cmd": ["x"]}), iteration(bmf(a=1)), status=status)
    got = api.ok("POST", path(job) + "/resubmit")
    made = Job.objects.get(pk=got["uuid"])
    assert (made.status, made.config, made.spec_id, made.organization_id) == ("pending", job.config, job.spec_id, job.organization_id)
    assert (made.runner_id, made.output, made.report_id == job.report_id) == (None, "", False)
    report, before = Report.objects.get(pk=made.report_id), Report.objects.get(pk=job.report_id)
    assert (report.job, report.head_id, report.testbed_id, report.adapter) == (made.pk, before.head_id, before.testbed_id, before.adapter)
    (event,) = api.ok("GET", f"{jobs_path(project)}/{made.pk}/events")
    assert (event["action"], event["from"], event["to"]) == ("submit", None, "pending")
    assert str(job.pk) in event["reason"]


def test_resubmit_needs_rights_and_priority_an_administrator(project: Project, api: Api) -> None:
    job = make_job(project)
    Api().refused("POST", path(job) + "/resubmit", 401)
    Api(user_key(make_user())).refused("POST", path(job) + "/resubmit", 403)
    assert "priority" in api.refused("POST", path(job) + "/resubmit", 403, {"priority": 7})
    admin = Api(user_key(make_user(admin=True)))
    assert admin.ok("POST", path(job) + "/resubmit", {"priority": 7})["priority"] == 7
    assert Api(project_key(project)).ok("POST", path(job) + "/resubmit", {})["priority"] == 100
    for wrong in (-1, 1001, "7"):
        assert "priority" in admin.refused("POST", path(job) + "/resubmit", 400, {"priority": wrong})
    api.refused("POST", f"{jobs_path(project)}/{NOWHERE}/resubmit", 404)


# -- events --------------------------------------------------------------------------------------------------------
def test_events_come_oldest_first_in_pages(project: Project, api: Api) -> None:
    job = Job.objects.get(pk=api.ok("POST", path(make_job(project)) + "/resubmit")["uuid"])
    api.ok("PATCH", path(job), CANCEL)
    response = Api().send("GET", path(job) + "/events")
    assert response["x-total-count"] == "2"
    assert [event["action"] for event in response.json()] == ["submit", "cancel"]
    actor = response.json()[0]["actor"]
    assert actor["kind"] == "user"
    assert uuid.UUID(actor["uuid"])
    assert [event["action"] for event in Api().ok("GET", path(job) + "/events?per_page=1&page=2")] == ["cancel"]


@pytest.mark.parametrize("rows", [1, 100])
def test_a_history_costs_as_many_queries_for_one_row_as_for_a_hundred(project: Project, api: Api, rows: int) -> None:
    job = make_job(project)
    events = [JobEvent(job=job, action="submit", target="pending", actor_kind="system", created=NOW) for _ in range(rows)]
    JobEvent.objects.bulk_create(events)
    with CaptureQueriesContext(connection) as queries:
        assert len(api.ok("GET", path(job) + "/events?per_page=255")) == rows
    assert len(queries) <= 5, [query["sql"][:120] for query in queries]  # key and user, project, job, count, page


def test_options_name_what_is_possible(project: Project) -> None:
    job = make_job(project)
    assert "PATCH" in Api().send("OPTIONS", path(job))["access-control-allow-methods"]
    for method in ("DELETE", "POST", "PUT"):
        Api().refused(method, path(job), 405, {})
