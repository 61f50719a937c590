"""``POST /v0/run`` (rest.md section 2): where it goes, what it makes, and what it leaves when it is refused."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from bencher.projects.models import Organization, Project, User
from bencher.specs.models import Spec
from jobs.models import Job, JobEvent
from jobs.processing import process_job
from jobs.run import service
from outputs.models import Branch, Report
from outputs.models import Testbed as Bed
from runners.protocol.messages import JobConfig, decode_config, ext_of
from tests.jobs_world import DIGEST, NOW, Api, bmf, fresh, iteration, make_project, make_spec, make_user, project_key, ran, user_key

pytestmark = pytest.mark.django_db
RUN = {"branch": "main", "testbed": "bench", "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:00Z", "results": []}
NAME = "bencher.dev/v0/repo/name"


@pytest.fixture
def api(owner: User) -> Api:
    return Api(user_key(owner))


@pytest.fixture
def admin() -> Api:
    return Api(user_key(make_user(admin=True)))


@pytest.fixture
def fallback() -> Spec:
    return make_spec(fallback=NOW)


@pytest.fixture
def tags(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[Any, str], str]:
    """(project, tag) -> digest, in the place of a registry with images."""
    known: dict[tuple[Any, str], str] = {}
    monkeypatch.setattr("jobs.run.submit.resolve_tag", lambda *, project_id, tag: known.get((project_id, tag)))
    return known


def body(project: Project | None, image: str | None = None, *, job: dict[str, Any] | None = None, **run: Any) -> dict[str, Any]:
    slug = project.slug if project else "x"
    made = {**RUN, "project": slug if project else None, "job": {"image": image or f"{slug}@{DIGEST}", **(job or {})}, **run}
    return {key: value for key, value in made.items() if value is not None}


def job_of(report: dict[str, Any]) -> Job:
    return Job.objects.get(pk=report["job"])


def config_of(report: dict[str, Any]) -> JobConfig:
    return decode_config(job_of(report).config)


# -- a job ---------------------------------------------------------------------------------------------------------
def test_a_job_with_its_report(project: Project, api: Api, owner: User) -> None:
    spec = make_spec()
    report = api.ok(
        "POST", "/v0/run", body(project, job={"spec": spec.slug}, branch="feature/x", hash="b" * 40, settings={"adapter": "python_pytest"})
    )
    assert (report["results"], report["alerts"], report["counts"]) == ([], [], {"results": [], "alerts": {"total": 0, "active": 0}})
    assert (report["branch"]["name"], report["testbed"]["spec"]["uuid"], report["user"]["uuid"]) == (
        "feature/x",
        str(spec.pk),
        str(owner.pk),
    )
    job = job_of(report)
    assert (job.status, job.spec, job.project, job.organization, str(job.report_id)) == (
        "pending",
        spec,
        project,
        project.organization,
        report["uuid"],
    )
    assert (job.priority, job.timeout, job.source_ip) == (100, 3600, "127.0.0.1")
    event = JobEvent.objects.get(job=job)
    assert (event.action, event.source, event.target, event.actor_id) == ("submit", None, "pending", owner.pk)


def test_what_the_runner_gets(project: Project, api: Api) -> None:
    job = {"spec": make_spec().slug, "cmd": ["é 🚀"], "env": {"A": ""}, "iter": 3, "ext": {"result": {"protocol": 1}}}
    report = api.ok("POST", "/v0/run", body(project, job=job, settings={"fold": "min", "average": "median"}))
    config = config_of(report)
    assert (config.project, config.digest, config.image) == (project.pk, DIGEST, f"{project.slug}@{DIGEST}")
    assert (config.cmd, config.env, config.iter, config.fold, config.average) == (["é 🚀"], {"A": ""}, 3, "min", "median")
    assert ext_of(config) == {"v": 1, "result": {"protocol": 1}}


def test_a_waiting_runner_is_woken_after_the_commit(
    project: Project, api: Api, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    heard: list[Any] = []
    monkeypatch.setattr("jobs.notify.publish", heard.append)
    spec = make_spec()
    with django_capture_on_commit_callbacks(execute=True):
        api.ok("POST", "/v0/run", body(project, job={"spec": spec.slug}))
        assert heard == []
    assert heard == [{"kind": "pending", "spec": str(spec.pk)}]


def test_a_tag_is_looked_up_in_the_project_and_frozen(project: Project, api: Api, fallback: Spec, tags: dict[Any, str]) -> None:
    other = "sha256:" + "1" * 64
    tags[project.pk, "v1"] = DIGEST
    reports = [api.ok("POST", "/v0/run", body(project, image)) for image in (f"{project.slug}:v1", "alpine:v1", "localhost:6610/a/b:v1")]
    tags[project.pk, "v1"] = other
    assert [config_of(report).digest for report in reports] == [DIGEST] * 3
    assert config_of(api.ok("POST", "/v0/run", body(project, "x:v1"))).digest == other


@pytest.mark.parametrize(
    "image", ["", "x@", "x@sha256:abc", "x@sha256:" + "A" * 64, "x:", "x:v999", "x", "ghcr.io/a/b:v1", "localhost:1/x:v1"]
)
def test_a_bad_image_leaves_nothing(project: Project, api: Api, fallback: Spec, tags: dict[Any, str], image: str) -> None:
    request = {**body(project), "job": {"image": image}}
    assert "job.image" in api.refused("POST", "/v0/run", 400, request)
    assert not Job.objects.exists()
    assert not Report.objects.exists()


def test_a_digest_that_runners_do_not_know(project: Project, api: Api, fallback: Spec, tags: dict[Any, str]) -> None:
    tags[project.pk, "v1"] = "sha512:" + "0" * 128
    assert "sha256" in api.refused("POST", "/v0/run", 400, body(project, "x:v1"))


# -- spec and testbed ----------------------------------------------------------------------------------------------
def test_without_any_spec(project: Project, api: Api) -> None:
    assert "job.spec" in api.refused("POST", "/v0/run", 400, body(project))
    assert "job.spec" in api.refused("POST", "/v0/run", 400, body(project, testbed=None))


@pytest.mark.parametrize("spec", ["no-such-spec", "00000000-0000-4000-8000-000000000001", "archived"])
def test_a_spec_that_is_not_there(project: Project, api: Api, fallback: Spec, spec: str) -> None:
    make_spec(name="archived", slug="archived", archived=NOW)
    assert "job.spec" in api.refused("POST", "/v0/run", 404, body(project, job={"spec": spec}))
    assert not Bed.objects.exists()


def test_which_spec_and_which_testbed(project: Project, api: Api, fallback: Spec) -> None:
    spec = make_spec()
    table: list[tuple[str | None, str | None, Spec, str]] = [
        (None, None, fallback, fallback.name),
        (None, "mine", fallback, "mine"),
        (spec.slug, None, spec, spec.name),
        (str(spec.pk), "mine", spec, "mine"),
        (None, "mine", spec, "mine"),
    ]
    for wanted, testbed, expected, name in table:
        report = api.ok("POST", "/v0/run", body(project, job={"spec": wanted} if wanted else {}, testbed=testbed))
        assert (job_of(report).spec, report["testbed"]["name"]) == (expected, name)
        assert Bed.objects.get(project=project, name=name).spec == expected


# -- time and priority ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("limits", "asked", "given"), [(False, None, 3600), (False, 7200, 7200), (True, None, 300), (True, 600, 300), (True, 9, 9)]
)
def test_timeout_of_the_free(
    settings: Any, project: Project, api: Api, fallback: Spec, limits: bool, asked: int | None, given: int
) -> None:
    settings.BENCHER_TIER_LIMITS = limits
    report = api.ok("POST", "/v0/run", body(project, job={"timeout": asked}))
    assert (job_of(report).timeout, config_of(report).timeout) == (given, given)


def test_the_unclaimed_come_last_and_are_cut_short(settings: Any, fallback: Spec) -> None:
    settings.BENCHER_TIER_LIMITS = True
    request = {**body(make_project()), "job": {"image": f"x@{DIGEST}", "timeout": 300}}
    report = Api().ok("POST", "/v0/run", request, **{"X-Forwarded-For": "192.0.2.7, 10.0.0.1"})
    job = job_of(report)
    assert (job.priority, job.timeout, job.source_ip, report["user"]) == (0, 60, "192.0.2.7", None)


def test_an_organizations_priority(api: Api, owner: User, fallback: Spec) -> None:
    assert job_of(api.ok("POST", "/v0/run", body(make_project(owner, priority=250)))).priority == 250


def test_a_priority_of_ones_own_is_for_administrators(project: Project, api: Api, admin: Api, fallback: Spec) -> None:
    request = body(project, job={"priority": 900})
    for caller in (api, Api(project_key(project)), Api()):
        assert "job.priority" in caller.refused("POST", "/v0/run", 403, request)
    assert job_of(admin.ok("POST", "/v0/run", request)).priority == 900
    assert "priority" in admin.refused("POST", "/v0/run", 400, body(project, job={"priority": 1001}))


# -- into which project --------------------------------------------------------------------------------------------
def test_the_image_names_the_project(project: Project, api: Api, fallback: Spec) -> None:
    context = {NAME: "elsewhere"}
    for image in (f"{project.slug}@{DIGEST}", f"{project.pk}@{DIGEST}", f"localhost/{project.slug}@{DIGEST}"):
        report = api.ok("POST", "/v0/run", {**body(None), "context": context, "job": {"image": image}})
        assert report["project"]["uuid"] == str(project.pk)


def test_who_may_run_where(project: Project, fallback: Spec) -> None:
    stranger, key, foreign = Api(user_key(make_user())), Api(project_key(project)), Api(project_key(make_project(make_user())))
    Api().refused("POST", "/v0/run", 401, body(project))
    stranger.refused("POST", "/v0/run", 403, body(project))
    foreign.refused("POST", "/v0/run", 401, body(project))
    assert not Job.objects.exists()
    assert key.ok("POST", "/v0/run", body(project))["user"] is None
    event = JobEvent.objects.get()
    assert (event.actor_kind, event.actor_name) == ("user", "key")


def test_a_user_claims_by_running(fallback: Spec) -> None:
    nobodys = make_project()
    report = Api(user_key(make_user())).ok("POST", "/v0/run", body(nobodys))
    assert report["project"]["claimed"] is not None
    assert job_of(report).priority == Organization.objects.get(pk=nobodys.organization_id).priority == 100


def test_anonymous_runs_can_be_turned_off(settings: Any, fallback: Spec) -> None:
    settings.BENCHER_ALLOW_ANONYMOUS_RUNS = False
    Api().refused("POST", "/v0/run", 401, body(make_project()))
    Api().refused("POST", "/v0/run", 401, {**RUN, "project": fresh("new"), "context": {}})
    assert not Report.objects.exists()


def test_a_run_that_names_nothing_possible_makes_no_project(api: Api) -> None:
    for field, value in (("branch", "a b"), ("testbed", "x" * 65), ("hash", "short"), ("results", None), ("start_time", None)):
        request = {key: item for key, item in {**RUN, "project": fresh("new"), "context": {}, field: value}.items() if item is not None}
        assert field in api.refused("POST", "/v0/run", 400, request)
    assert not Project.objects.exists()


# -- local ---------------------------------------------------------------------------------------------------------
def test_local_results_are_complete_at_once(project: Project, api: Api, fallback: Spec) -> None:
    report = api.ok("POST", "/v0/run", {**RUN, "project": project.slug, "results": [bmf(a=2), bmf(a=3)]})
    assert "job" not in report
    assert report["testbed"]["spec"] is None
    assert [entry[0]["measures"][0]["metric"]["value"] for entry in report["results"]] == [2.0, 3.0]
    assert not Job.objects.exists()


THRESHOLDS = {"models": {"latency": {"test": "percentage", "upper_boundary": 0.1, "min_sample_size": 1}}}
POINT = {"branch": "main", "clone_thresholds": True}
SAME: list[dict[str, Any]] = [
    {},
    {"hash": "a" * 40},
    {"hash": "a" * 40, "start_time": "2026-01-01T00:00:00.987654Z", "end_time": "2026-01-01T01:00:00.5+01:00"},
    {"thresholds": THRESHOLDS},
    {"branch": "feature", "start_point": POINT},
    {"testbed": "another", "spec_reset": True},
    {"results": ["{}"]},
]


@pytest.mark.parametrize("extra", SAME)
def test_the_answer_is_what_reading_the_report_gives(project: Project, api: Api, fallback: Spec, extra: dict[str, Any]) -> None:
    """It is made of what was just written, without reading all of it back."""
    local = {**RUN, "project": project.slug, "results": [bmf(one=100.0, two=2.0)], **extra}
    api.ok("POST", "/v0/run", {**local, "branch": "main", "results": [bmf(one=10.0)], "hash": "b" * 40, "thresholds": THRESHOLDS})
    for run in (local, body(project, **extra)):
        made = api.ok("POST", "/v0/run", run)
        assert made == api.ok("GET", f"/v0/projects/{project.slug}/reports/{made['uuid']}")


@pytest.mark.parametrize(("remote", "most"), [(False, 24), (True, 17)])
def test_a_run_costs_few_statements(project: Project, api: Api, fallback: Spec, remote: bool, most: int) -> None:
    run = (
        body(project) if remote else {**RUN, "project": project.slug, "results": [bmf(**{f"bench {number}": 1.0 for number in range(30)})]}
    )
    api.ok("POST", "/v0/run", run)
    with CaptureQueriesContext(connection) as queries:
        api.ok("POST", "/v0/run", run)
    assert len(queries) <= most, [query["sql"][:80] for query in queries]


def test_a_nul_in_results_is_no_matter(project: Project, api: Api) -> None:
    text = "\u0000\ntest t::a ... bench: 10 ns/iter (+/- 1)\n"
    report = api.ok("POST", "/v0/run", {**RUN, "project": project.slug, "results": [text], "settings": {"adapter": "rust_bench"}})
    assert report["counts"]["results"] == [{"benchmarks": 1, "measures": 1}]
    assert "NUL" in api.refused("POST", "/v0/run", 400, {**body(project), "job": {"image": "x\u0000"}})


def test_spec_reset(project: Project, api: Api) -> None:
    api.ok("POST", "/v0/run", body(project, job={"spec": make_spec().slug}, testbed="mine"))
    api.ok("POST", "/v0/run", {**RUN, "project": project.slug, "testbed": "mine", "spec_reset": True})
    assert Bed.objects.get(name="mine").spec is None


# -- again ---------------------------------------------------------------------------------------------------------
def test_a_key_stands_for_one_report(project: Project, api: Api, fallback: Spec) -> None:
    key = str(uuid.uuid4())
    first = api.ok("POST", "/v0/run", body(project, idempotency_key=key))
    again = api.ok("POST", "/v0/run", {**body(project, idempotency_key=key, branch="other"), "job": {"image": "ghcr.io/x"}})
    assert (again["uuid"], again["job"], again["branch"]["name"]) == (first["uuid"], first["job"], "main")
    assert (Job.objects.count(), Report.objects.count(), Branch.objects.count()) == (1, 1, 1)
    elsewhere = make_project(project.organization.memberships.get().user)
    assert api.ok("POST", "/v0/run", body(elsewhere, idempotency_key=key))["uuid"] != first["uuid"]


def test_a_repeat_after_the_end_has_the_results(project: Project, api: Api, fallback: Spec) -> None:
    request = body(project, idempotency_key=str(uuid.uuid4()))
    job = ran(job_of(api.ok("POST", "/v0/run", request)), iteration(bmf(a=2)))
    process_job(job.pk, now=NOW + timedelta(hours=1))
    assert api.ok("POST", "/v0/run", request)["results"][0][0]["measures"][0]["metric"]["value"] == 2.0


@pytest.mark.parametrize("remote", [True, False])
def test_a_repeat_that_meets_its_original(
    project: Project, api: Api, fallback: Spec, monkeypatch: pytest.MonkeyPatch, remote: bool
) -> None:
    """The original is committed between our look and our insert."""
    request = body(project, idempotency_key=str(uuid.uuid4()))
    request = request if remote else {key: value for key, value in request.items() if key != "job"}
    first = api.ok("POST", "/v0/run", request)
    look, looks = service._earlier, []

    def blind_at_first(*args: Any) -> Report | None:
        looks.append(args)
        return look(*args) if len(looks) > 1 else None

    monkeypatch.setattr(service, "_earlier", blind_at_first)
    assert api.ok("POST", "/v0/run", request)["uuid"] == first["uuid"]
    assert Report.objects.count() == 1
    assert Job.objects.count() == int(remote)


def test_another_clash_is_busy(project: Project, api: Api, fallback: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients repeat a 503, never a 409."""

    def clash(**values: Any) -> Any:
        raise IntegrityError("something else")

    monkeypatch.setattr(service, "submit", clash)
    response = api.send("POST", "/v0/run", body(project))
    assert (response.status_code, response["retry-after"]) == (503, "1")


def test_job_report_and_version_are_one(project: Project, api: Api, fallback: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **values: Any) -> None:
        raise IntegrityError("no event")

    monkeypatch.setattr("jobs.run.submit.record", broken)
    api.refused("POST", "/v0/run", 503, body(project))
    assert not Job.objects.exists()
    assert not Report.objects.exists()


def test_headers_are_those_of_the_authenticated_for_everybody(fallback: Spec) -> None:
    response = Api().send("POST", "/v0/run", body(make_project()))
    assert response.status_code == 201
    assert response["access-control-allow-headers"] == "Content-Type, Authorization"


def test_runs_are_counted(settings: Any, project: Project, api: Api, fallback: Spec) -> None:
    """Jobs, local results and resubmissions together; everything else goes on."""
    settings.BENCHER_RATE_LIMITS = "user.runs=2/day"
    report = api.ok("POST", "/v0/run", body(project))
    api.ok("POST", "/v0/run", {**RUN, "project": project.slug})
    for path in ("/v0/run", f"/v0/projects/{project.slug}/jobs/{report['job']}/resubmit"):
        response = api.send("POST", path, body(project) if path == "/v0/run" else None)
        assert response.status_code == 429
        assert int(response["retry-after"]) > 0
    api.ok("GET", f"/v0/projects/{project.slug}/jobs")
    assert Job.objects.count() == 1
