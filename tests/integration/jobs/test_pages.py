"""Pages of jobs: what a job is doing, its history and output, and the two buttons (design.md section 11, rest.md 3)."""

from __future__ import annotations

import json

import pytest

from bencher.projects.models import Membership, Project, User
from jobs.models import Job, JobEvent
from runners.protocol.messages import IterationOutput
from tests.browsing import Browser, links
from tests.jobs_world import NOW, iteration, make_job, make_project, make_spec, make_user, ran

pytestmark = pytest.mark.django_db
HOSTILE = "</pre><script>alert(1)</script>\x1b[31mred\x1b[0m\x1b[2J\u202e{{ 7*7 }}"


def page_of(job: Job) -> str:
    prefix = "/perf" if job.project.visibility == "public" else "/console/projects"
    return f"{prefix}/{job.project.slug}/jobs/{job.pk}"


def test_a_job_with_its_history(owner: User, project: Project) -> None:
    job = make_job(project)
    JobEvent.objects.create(job=job, action="submit", target="pending", actor_kind="user", actor_name="<b>Ada", reason="<i>so", created=NOW)
    page = Browser(owner).go(page_of(job))
    for part in (str(job.pk), "pending", "&lt;b&gt;Ada", "&lt;i&gt;so", "1 min", job.spec.name, "Cancel", "Run again"):
        assert part in page
    assert f"/perf/{project.slug}/reports/{job.report_id}" in links(page)


def test_output_is_text_and_for_who_is_logged_in(owner: User, project: Project) -> None:
    job = ran(make_job(project), iteration(HOSTILE, stderr="a secret"), iteration("second", exit_code=3), error="it broke", status="failed")
    page = Browser(owner).go(page_of(job))
    for part in ("&lt;/pre&gt;&lt;script&gt;", "red␛[2J", "{{ 7*7 }}", "a secret", "second", "exit code 3", "it broke"):
        assert part in page
    assert "\u202e" not in page
    download = Browser(owner).client.get(f"{page_of(job)}/output.json")
    assert download["content-disposition"].startswith("attachment")
    assert json.loads(download.content)["results"][0]["stderr"] == "a secret"
    stranger = Browser().go(page_of(job))
    assert "a secret" not in stranger
    assert "it broke" not in stranger
    assert "for who is logged in" in stranger
    Browser().go(f"{page_of(job)}/output.json", 404)


def test_a_huge_output_is_cut(owner: User, project: Project) -> None:
    job = ran(make_job(project), *(IterationOutput(exit_code=0, stdout="x" * 100_000) for _ in range(5)))
    page = Browser(owner).go(page_of(job))
    assert "Not all of it is shown" in page
    assert len(page) < 300_000


def test_configuration_is_never_shown(owner: User, project: Project) -> None:
    job = make_job(project, config={"env": {"TOKEN": "very-secret"}})
    assert "very-secret" not in Browser(owner).go(page_of(job))


@pytest.mark.parametrize("status", ["pending", "claimed", "running", "completed", "processed", "failed", "canceled"])
def test_cancel_is_offered_while_it_makes_sense(owner: User, project: Project, status: str) -> None:
    job = make_job(project)
    Job.objects.filter(pk=job.pk).update(status="canceled") if status == "canceled" else None
    job = ran(job, iteration("x"), status=status) if status not in ("pending", "canceled") else job
    browser, path = Browser(owner), page_of(job)
    offered = f"{path}/cancel" in links(browser.go(path))
    assert offered == (status in ("pending", "claimed", "running"))
    response = browser.post(path, f"{path}/cancel")
    assert response.status_code == (302 if offered else 409)
    job.refresh_from_db()
    assert job.status == ("canceled" if offered else status)
    if offered:
        assert job.events.get(action="cancel").actor_name == owner.name


def test_the_buttons_are_for_those_who_may(owner: User, project: Project) -> None:
    job = make_job(project)
    viewer = make_user()
    Membership.objects.create(organization=project.organization, user=viewer, role="member", created=NOW, modified=NOW)
    path = page_of(job)
    for browser, status in ((Browser(), 401), (Browser(viewer), 403), (Browser(make_user()), 403)):
        page = browser.go(path)
        assert f"{path}/cancel" not in links(page)
        assert f"{path}/resubmit" not in links(page)
        for action in ("cancel", "resubmit"):
            assert browser.post("/auth/login", f"{path}/{action}").status_code == status
    assert Browser(owner).client.post(f"{path}/cancel").status_code == 403  # no token of a page
    assert Browser(owner).client.get(f"{path}/cancel").status_code == 405
    job.refresh_from_db()
    assert job.status == "pending"
    assert Job.objects.filter(project=project).count() == 1


def test_run_again(owner: User, project: Project) -> None:
    job = ran(make_job(project), iteration("x"), status="processed")
    browser = Browser(owner)
    response = browser.post(page_of(job), f"{page_of(job)}/resubmit")
    made = Job.objects.exclude(pk=job.pk).get(project=project)
    assert response["location"] == page_of(made)
    assert made.report.user == owner
    browser.go(page_of(made))


def test_private_jobs_hide(owner: User) -> None:
    job = ran(make_job(make_project(owner, private=True)), iteration("x"))
    path = page_of(job)
    for browser in (Browser(), Browser(make_user())):
        for hidden in (path, f"{path}/output.json", path.replace("/console/projects", "/perf"), path.rsplit("/", 1)[0]):
            browser.go(hidden, 404)
        assert browser.post("/auth/login", f"{path}/cancel").status_code == 404
    assert "processed" not in Browser(owner).go(path)
    other = make_job(make_project(owner))
    Browser(owner).go(f"{path.rsplit('/', 1)[0]}/{other.pk}", 404)  # of another project


def test_the_list_filters_pages_and_costs_the_same(owner: User, project: Project) -> None:
    spec, browser = make_spec(), Browser(owner)
    path = f"/perf/{project.slug}/jobs"
    make_job(project, spec)
    few, _ = browser.queries(path)
    made = [make_job(project, spec) for _ in range(99)]
    ran(made[0], iteration("x"), status="failed")
    many, page = browser.queries(path)
    assert many == few <= 8
    assert "1–50 of 100" in page
    assert "51–100 of 100" in browser.go(f"{path}?page=2")
    assert str(made[0].pk) in browser.go(f"{path}?status=failed")
    assert "No job is canceled" in browser.go(f"{path}?status=canceled")
    browser.go(f"{path}?status=nonsense", 400)


def test_a_job_costs_the_same_whatever_its_history(owner: User, project: Project) -> None:
    job, browser = make_job(project), Browser(owner)
    few, _ = browser.queries(page_of(job))
    JobEvent.objects.bulk_create(
        JobEvent(job=job, action="claim", source="pending", target="claimed", actor_kind="runner", created=NOW) for _ in range(300)
    )
    many, page = browser.queries(page_of(job))
    assert many == few <= 12
    assert page.count("pending → claimed") == 200


def test_the_overview_offers_to_claim() -> None:
    project = make_project()
    page = Browser().go(f"/console/projects/{project.slug}")
    assert f"/auth/signup?claim={project.organization_id}" in links(page)
    assert "claim" not in Browser().go(f"/console/projects/{make_project(make_user()).slug}")
