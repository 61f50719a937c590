"""bencher/specs/admin.py: hardware at creation, archive and fallback by the service."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from bencher.specs.models import Spec
from tests.jobs_world import make_job, make_runner, make_spec, make_user

pytestmark = pytest.mark.django_db
NEW = {"name": "Small", "slug": "", "os": "linux", "architecture": "x86_64", "cpu": "2", "memory": "1024", "disk": "1024"}


@pytest.fixture
def web() -> Client:
    client = Client()
    client.force_login(make_user(admin=True))
    return client


def act(web: Client, name: str, spec: Spec) -> str:
    answer = web.post(reverse(f"admin:specs_spec_{name}_this", args=(spec.pk,)), {"_form_submitted": "on"})
    return str(web.get(answer["HX-Redirect"]).content.decode())


def test_made(web: Client) -> None:
    assert web.post("/admin/specs/spec/add/", NEW).status_code == 302
    spec = Spec.objects.get()
    assert (spec.slug, spec.sandbox, spec.memory, spec.network, spec.fallback) == ("small", None, 1024, False, None)


@pytest.mark.parametrize("wrong", [{"cpu": "0"}, {"memory": "0"}, {"cpu": str(2**32)}, {"os": "plan9"}, {"slug": "No"}, {"name": " "}])
def test_not_made(web: Client, wrong: dict[str, Any]) -> None:
    assert web.post("/admin/specs/spec/add/", {**NEW, **wrong}).status_code == 200
    assert not Spec.objects.exists()


def test_hardware_is_fixed(web: Client) -> None:
    spec = make_spec()
    web.post(f"/admin/specs/spec/{spec.pk}/change/", {"name": "Other", "slug": spec.slug, "cpu": "64", "os": "windows"})
    changed = Spec.objects.get()
    assert (changed.name, changed.cpu, changed.os) == ("Other", spec.cpu, "linux")


def test_one_fallback(web: Client) -> None:
    first, second = make_spec(), make_spec()
    act(web, "make_fallback", first)
    act(web, "make_fallback", second)
    assert [spec.pk for spec in Spec.objects.exclude(fallback=None)] == [second.pk]
    act(web, "archive", second)
    assert Spec.objects.filter(pk=second.pk, archived__isnull=False, fallback=None).exists()
    act(web, "unarchive", second)
    act(web, "make_fallback", second)
    act(web, "end_fallback", second)
    assert not Spec.objects.exclude(fallback=None).exists()


def test_deleted_when_nothing_uses_it(web: Client) -> None:
    used, served, free = make_spec(), make_spec(), make_spec()
    make_job(spec=used)
    make_runner(served)
    for spec in (used, served):
        answer = web.post(reverse("admin:specs_spec_remove_this", args=(spec.pk,)), {"_form_submitted": "on"})
        assert "in use" in web.get(answer["HX-Redirect"]).content.decode()
    act(web, "remove", free)
    assert set(Spec.objects.all()) == {used, served}
