"""jobs/admin.py: read-only, hostile output escaped and bounded, actions through the services."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from bencher.projects.models import User
from jobs.admin_output import HIDDEN, PARTS, STREAM, shown_config, shown_output
from jobs.models import Job, JobEvent
from jobs.output import JobOutput
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
    return str(answer.content.decode())


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
    for shown in ("warned", "broke", "␀bencher", "&lt;b&gt;", "History"):
        assert shown in text


def test_much_output_is_bounded_and_downloaded_whole(browser: Client) -> None:
    """4 MiB of hostile text: the page stays small, and says where the rest is."""
    flood = "\x1b[31m<b>\x00" * (4 << 18)
    job = ran(make_job(), iteration(flood), status="processed")
    answer = browser.get(page(job))
    text = answer.content.decode()
    assert len(answer.content) < 3 << 20
    assert f"the first {STREAM:,} of {len(flood):,} characters" in text
    assert "Not all of it is shown" in text
    whole = browser.get(f"{page(job).removesuffix('change/')}output.json")
    assert whole["Content-Disposition"] == f'attachment; filename="job-{job.pk}.json"'
    assert (whole["Content-Type"], whole["X-Content-Type-Options"]) == ("application/json", "nosniff")
    assert whole.json()["results"][0]["stdout"] == flood


def test_a_download_is_for_administrators_and_of_an_output(browser: Client) -> None:
    job = ran(make_job(), iteration("hello"), status="processed")
    address = f"{page(job).removesuffix('change/')}output.json"
    assert Client().get(address).status_code == 302
    for pk in (make_job().pk, "0190a7f2-0000-7000-8000-000000000000"):
        assert browser.get(f"{LIST}{pk}/output.json").status_code == 404


def test_many_parts_are_bounded() -> None:
    html = shown_output(JobOutput(results=[iteration(f"line {number}") for number in range(5 * PARTS)]), "/all")
    assert html.count("<pre>") == PARTS
    assert "Not all of it is shown" in html
    little = shown_output(JobOutput(results=[iteration("", output={"<i>": "&"})]), "/all?<")
    assert "&lt;i&gt;</h4><pre>&amp;</pre>" in little
    assert "(empty)" in little
    assert "Not all" not in little


@pytest.mark.parametrize("nested", [{}, {"ext": {"stages": [{"env": {"TOKEN": "hunter2"}}]}}])
def test_the_configuration_without_secrets(nested: dict[str, Any]) -> None:
    key = "bencher_user_" + "k" * 30
    text = shown_config(json.dumps({"env": {"TOKEN": "hunter2"}, "cmd": ["run", key, "<b>"], "digest": "sha256:0", **nested}))
    assert "TOKEN" in text
    assert HIDDEN in text
    assert "hunter2" not in text
    assert key not in text
    assert "&lt;b&gt;" in text


def test_an_unreadable_configuration_is_not_repeated() -> None:
    assert "hunter2" not in shown_config('{"env": {"TOKEN": "hunter2"')
    assert "hunter2" not in shown_config('{"env": "hunter2"}')


@pytest.mark.parametrize("change", [{"output": "0" * 64}, {"output": ""}, {"config": "{no json"}], ids=["missing", "none", "config"])
def test_a_broken_row_can_be_looked_at(browser: Client, change: dict[str, str]) -> None:
    job = ran(make_job(), status="processed")
    Job.objects.filter(pk=job.pk).update(**change)
    assert browser.get(page(job)).status_code == 200
    assert browser.get(LIST).status_code == 200


def test_found_by_uuid_and_project(browser: Client) -> None:
    job, other = make_job(), make_job()
    for text in (str(job.pk), job.project.slug, str(job.project_id)):
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
    assert [(entry.object_id, entry.change_message) for entry in LogEntry.objects.all()] == [(str(waiting.pk), "canceled")]
    act(browser, "resubmit", ended)
    assert Job.objects.filter(status="pending", spec=ended.spec).count() == 1
    unread = ran(make_job(), iteration(bmf(a=1)), status="failed", failure="unparsable")
    act(browser, "reprocess", unread)
    assert Job.objects.get(pk=unread.pk).status == "processed"


def test_an_act_on_many_says_so_briefly(browser: Client) -> None:
    jobs = [make_job() for _ in range(15)]
    text = act(browser, "cancel", *jobs)
    assert not Job.objects.exclude(status="canceled").exists()
    assert "in all: 15 canceled, 0 other messages" in text


def test_the_buttons_of_one_job_ask_first(browser: Client) -> None:
    job = make_job()
    address = reverse("admin:jobs_job_cancel_this", args=(job.pk,))
    assert address in browser.get(page(job)).content.decode()
    assert "Cancel job?" in browser.get(address).content.decode()
    assert Job.objects.get(pk=job.pk).status == "pending"
    answer = browser.post(address, {"_form_submitted": "on"})
    assert answer["HX-Redirect"] == page(job)
    assert Job.objects.get(pk=job.pk).status == "canceled"
    assert address not in browser.get(page(job)).content.decode()
    again = browser.post(address, {"_form_submitted": "on"})
    assert "has ended" in browser.get(again["HX-Redirect"]).content.decode()
    for name in ("resubmit_this", "reprocess_this"):
        assert browser.get(reverse(f"admin:jobs_job_{name}", args=(job.pk,))).status_code == 200
    for wrong in ("nothing", "0190a7f2-0000-7000-8000-000000000000"):
        answer = browser.post(reverse("admin:jobs_job_cancel_this", args=(wrong,)), {"_form_submitted": "on"})
        assert answer["HX-Redirect"] == LIST


def test_nobody_edits_adds_or_deletes(browser: Client) -> None:
    job = make_job()
    assert browser.get(LIST + "add/").status_code == 403
    assert browser.post(page(job), {"status": "processed"}).status_code == 403
    assert browser.post(f"{LIST}{job.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Job.objects.get(pk=job.pk).status == "pending"


def test_a_form_of_another_site_does_nothing(admin: User) -> None:
    job = make_job()
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    assert client.post(LIST, {"action": "cancel", "_selected_action": str(job.pk)}).status_code == 403
    assert client.post(reverse("admin:jobs_job_cancel_this", args=(job.pk,)), {"_form_submitted": "on"}).status_code == 403
    assert Job.objects.get(pk=job.pk).status == "pending"


def test_a_runner_shows_its_current_job(browser: Client) -> None:
    job = ran(make_job(), status="running", completed=None)
    text = browser.get(reverse("admin:runners_runner_change", args=(job.runner_id,))).content.decode()
    assert str(job.pk) in text
    Job.objects.update(status="processed")
    assert str(job.pk) not in browser.get(reverse("admin:runners_runner_change", args=(job.runner_id,))).content.decode()
