"""jobs/admin.py: read-only, hostile output escaped, actions through the services."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from bencher.projects.models import User
from jobs.models import Job, JobEvent
from tests.jobs_world import bmf, iteration, make_job, make_user, ran

pytestmark = pytest.mark.django_db
LIST = "/admin/jobs/job/"


@pytest.fixture
def admin() -> User:
    return make_user(admin=True)


@pytest.fixture
def browser(admin: User) -> Client:
    client = Client()
    client.force_login(admin)
    return client


def page(job: Job) -> str:
    return reverse("admin:jobs_job_change", args=(job.pk,))


def act(browser: Client, name: str, *jobs: Job) -> str:
    answer = browser.post(LIST, {"action": name, "_selected_action": [str(job.pk) for job in jobs]}, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_output_is_shown_escaped_with_history(browser: Client) -> None:
    job = ran(
        make_job(),
        iteration("<script>alert(1)</script>\x00", stderr="warned", output={"\x00bencher": "{}"}),
        error="broke",
        status="failed",
    )
    JobEvent.objects.create(
        job=job, action="fail", source="running", target="failed", actor_kind="runner", reason="<b>", created=job.modified
    )
    text = browser.get(page(job)).content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;␀" in text
    assert "<script>alert(1)" not in text
    for shown in ("warned", "broke", "␀bencher", "&lt;b&gt;", "history"):
        assert shown in text


@pytest.mark.parametrize("change", [{"output": "0" * 64}, {"output": ""}, {"config": "{no json"}], ids=["missing", "none", "config"])
def test_a_broken_row_can_be_looked_at(browser: Client, change: dict[str, str]) -> None:
    job = ran(make_job(), status="processed")
    Job.objects.filter(pk=job.pk).update(**change)
    assert browser.get(page(job)).status_code == 200
    assert browser.get(LIST).status_code == 200


def test_found_by_uuid_and_project(browser: Client) -> None:
    job, other = make_job(), make_job()
    for text in (str(job.pk), job.project.slug):
        answer = browser.get(LIST, {"q": text}).content.decode()
        assert str(job.pk) in answer
        assert str(other.pk) not in answer


def test_actions_go_through_the_services(browser: Client, admin: User) -> None:
    waiting, ended = make_job(), ran(make_job(), status="processed")
    text = act(browser, "cancel", waiting, ended)
    assert "canceled" in text
    assert "has ended" in text
    assert {job.pk: job.status for job in Job.objects.all()} == {waiting.pk: "canceled", ended.pk: "processed"}
    event = JobEvent.objects.get(job=waiting, action="cancel")
    assert (event.actor_kind, event.actor_id, event.actor_name) == ("user", admin.pk, admin.name)
    act(browser, "resubmit", ended)
    assert Job.objects.filter(status="pending", spec=ended.spec).count() == 1
    unread = ran(make_job(), iteration(bmf(a=1)), status="failed", failure="unparsable")
    act(browser, "reprocess", unread)
    assert Job.objects.get(pk=unread.pk).status == "processed"


def test_the_buttons_of_one_job_ask_first(browser: Client) -> None:
    job = make_job()
    address = reverse("admin:jobs_job_cancel_this", args=(job.pk,))
    assert "Cancel this job?" in browser.get(address).content.decode()
    assert Job.objects.get(pk=job.pk).status == "pending"
    answer = browser.post(address, {"_form_submitted": "on"})
    assert answer["HX-Redirect"] == page(job)
    assert Job.objects.get(pk=job.pk).status == "canceled"
    for name in ("resubmit_this", "reprocess_this"):
        assert browser.get(reverse(f"admin:jobs_job_{name}", args=(job.pk,))).status_code == 200


def test_nobody_edits_adds_or_deletes(browser: Client) -> None:
    job = make_job()
    assert browser.get(LIST + "add/").status_code == 403
    assert browser.post(page(job), {"status": "processed"}).status_code == 403
    assert browser.post(page(job) + "delete/" if page(job).endswith("/") else page(job), {"post": "yes"}).status_code in (403, 404)
    assert Job.objects.get(pk=job.pk).status == "pending"


def test_it_is_for_administrators() -> None:
    job = make_job()
    client = Client()
    assert client.get(page(job)).status_code == 302
    client.force_login(make_user())
    assert client.get(page(job)).status_code == 302
