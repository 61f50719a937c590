"""runners/admin.py: keys are shown once, state is seen, everything by a service."""

from __future__ import annotations

import logging
import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from bencher.core.ids import key_hash
from runners.models import Runner, RunnerSpec
from tests.jobs_world import make_runner, make_spec, make_user

pytestmark = pytest.mark.django_db
LIST = "/admin/runners/runner/"
KEY = re.compile(r"bencher_runner_[0-9A-Za-z]{30}")


@pytest.fixture
def web() -> Client:
    client = Client()
    client.force_login(make_user(admin=True))
    return client


def act(web: Client, name: str, runner: Runner) -> str:
    answer = web.post(reverse(f"admin:runners_runner_{name}_this", args=(runner.pk,)), {"_form_submitted": "on"})
    return str(web.get(answer["HX-Redirect"]).content.decode())


def test_a_new_key_is_shown_once_and_never_logged(web: Client, caplog: pytest.LogCaptureFixture) -> None:
    runner = make_runner()
    with caplog.at_level(logging.DEBUG):
        (key,) = KEY.findall(act(web, "rotate_key", runner))
    assert Runner.objects.get(pk=runner.pk).key_hash == key_hash(key)
    assert not KEY.search(web.get(f"{LIST}{runner.pk}/change/").content.decode())
    assert not KEY.search(caplog.text)
    (entry,) = LogEntry.objects.all()
    assert entry.change_message == "has a new key"
    assert f'object="runners.runner {runner.pk}" detail="has a new key"' in caplog.text


def test_an_archived_runner_gets_no_key(web: Client) -> None:
    runner = make_runner()
    act(web, "archive", runner)
    assert Runner.objects.get(pk=runner.pk).archived
    text = act(web, "rotate_key", runner)
    assert "unarchive it first" in text
    assert not KEY.search(text)
    assert Runner.objects.get(pk=runner.pk).key_hash == runner.key_hash
    act(web, "unarchive", runner)
    assert not Runner.objects.get(pk=runner.pk).archived


def test_a_new_runner(web: Client) -> None:
    text = web.post(LIST + "add/", {"name": "Bench One", "slug": ""}, follow=True).content.decode()
    runner = Runner.objects.get()
    assert (runner.name, runner.slug) == ("Bench One", "bench-one")
    assert [key_hash(key) for key in KEY.findall(text)] == [runner.key_hash]
    again = web.post(LIST + "add/", {"name": "Bench One", "slug": ""}, follow=True).content.decode()
    assert "exists already" in again
    assert Runner.objects.count() == 1


def test_renamed(web: Client) -> None:
    runner = make_runner()
    formset = {f"{prefix}-{kind}_FORMS": "0" for prefix in ("jobs", "runner_specs") for kind in ("TOTAL", "INITIAL")}
    web.post(f"{LIST}{runner.pk}/change/", {"name": "Other", "slug": "other", "archived": "2026-01-01", **formset})
    changed = Runner.objects.get(pk=runner.pk)
    assert (changed.name, changed.slug, changed.archived, changed.key_hash) == ("Other", "other", None, runner.key_hash)


def test_state(web: Client) -> None:
    now = timezone.now()
    for heartbeat, state in ((None, "never seen"), (now, "online"), (now - timedelta(days=1), "offline")):
        runner = make_runner()
        Runner.objects.filter(pk=runner.pk).update(last_heartbeat=heartbeat)
        assert state in web.get(f"{LIST}{runner.pk}/change/").content.decode()


def test_specs_of_a_runner(web: Client) -> None:
    runner, spec = make_runner(), make_spec()
    web.post("/admin/runners/runnerspec/add/", {"runner": runner.pk, "spec": spec.pk})
    link = RunnerSpec.objects.get(runner=runner, spec=spec)
    assert spec.name in web.get(f"{LIST}{runner.pk}/change/").content.decode()
    web.post("/admin/runners/runnerspec/add/", {"runner": runner.pk, "spec": spec.pk})
    assert RunnerSpec.objects.count() == 1
    web.post(reverse("admin:runners_runnerspec_detach_this", args=(link.pk,)), {"_form_submitted": "on"})
    assert not RunnerSpec.objects.exists()
