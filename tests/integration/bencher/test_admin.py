"""The admin as a whole: every model has pages, each costs a constant number of queries, and each is for administrators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from bencher.projects.models import User
from jobs.models import Job
from tests.adminworld import make_everything, more
from tests.jobs_world import make_user

pytestmark = pytest.mark.django_db
OURS = ("bencher", "core", "projects", "specs", "runners", "outputs", "jobs")
MODELS = [model for label in OURS for model in apps.get_app_config(label).get_models()] + [LogEntry]
PAGE = 50


@pytest.fixture
def web() -> Iterator[Client]:
    user = make_user(admin=True)
    make_everything(user)
    client = Client()
    client.force_login(user)
    return client


def address(model: type[Model], page: str = "changelist", *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def test_every_model_has_pages() -> None:
    assert len(MODELS) > 30
    assert [model.__name__ for model in MODELS if not admin.site.is_registered(model)] == []


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
class TestEveryModel:
    def test_queries_are_constant(self, web: Client, model: type[Model]) -> None:
        web.get(address(model))
        with CaptureQueriesContext(connection) as few:
            assert web.get(address(model)).status_code == 200
        row = model._default_manager.first()
        more(row, range(100))
        with CaptureQueriesContext(connection) as many:
            shown = web.get(address(model))
        assert len(shown.context["cl"].result_list) == PAGE
        assert len(many) <= len(few) <= 16, "\n".join(query["sql"] for query in many)

    def test_found_filtered_and_looked_at(self, web: Client, model: type[Model]) -> None:
        row = model._default_manager.first()
        assert row is not None
        assert web.get(address(model, "change", row.pk)).status_code == 200
        assert web.get(address(model, "history", row.pk)).status_code == 200
        pages = admin.site.get_model_admin(model)
        assert pages.search_fields
        if type(row.pk).__name__ == "UUID":
            assert web.get(address(model), {"q": str(row.pk)}).context["cl"].result_count >= 1
        for text in ("nothing like it", "\u202e", "%", "0190a7f2-0000-7000-8000-000000000000"):
            assert web.get(address(model), {"q": text}).status_code == 200
        for wrong in ("nothing", "\x00", "0190a7f2-0000-7000-8000-000000000000"):
            assert web.get(address(model, "change", wrong)).status_code == 302
        assert web.get(address(model), {"project__id__exact": "nonsense", "p": "9" * 30, "o": "99.-1"}).status_code in (200, 302)

    def test_it_is_for_administrators(self, web: Client, model: type[Model]) -> None:
        row = model._default_manager.first()
        assert row is not None
        stranger = Client()
        for client in (stranger, self.ordinary()):
            for page in (address(model), address(model, "change", row.pk)):
                answer = client.get(page)
                assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/admin/login/")

    @staticmethod
    def ordinary() -> Client:
        client = Client()
        client.force_login(make_user())
        return client


@pytest.mark.parametrize("wrong", ["created__year=" + "9" * 20, "created__gte=99999", "created__year=no", "id__exact=no"])
def test_values_that_cannot_be_compared(web: Client, wrong: str) -> None:
    answer = web.get(f"{address(Job)}?{wrong}", follow=True)
    assert (answer.status_code, answer.redirect_chain[-1][0]) == (200, f"{address(Job)}?e=1")


@pytest.mark.parametrize("large", ["created__day=" + "9" * 20, "priority__gt=" + "9" * 30])
def test_values_that_nothing_has(web: Client, large: str) -> None:
    assert web.get(f"{address(Job)}?{large}").status_code == 200


def test_hidden_columns(web: Client) -> None:
    """No hash and no token on any page."""
    for model in MODELS:
        for row in model._default_manager.all():
            text = web.get(address(model, "change", row.pk)).content.decode()
            for column in ("hash", "key_hash", "token", "password"):
                secret = getattr(row, column, None)
                assert model.__name__ in ("Version", "HeadVersion") or not secret or str(secret) not in text, (model, column)


def test_dashboard(web: Client) -> None:
    with CaptureQueriesContext(connection) as few:
        text = web.get("/admin/").content.decode()
    for shown in ("Waiting jobs", "Runners online", "Latest jobs", "Signs of life", "processed"):
        assert shown in text
    from jobs.models import Job

    more(Job.objects.first(), range(100))
    with CaptureQueriesContext(connection) as many:
        web.get("/admin/")
    assert len(many) <= len(few) <= 16


def test_sidebar_search(web: Client) -> None:
    assert "Runners" in web.get("/admin/search/", {"s": "runner"}).content.decode()


def test_policies(web: Client) -> None:
    """The admin's own policy allows what its theme needs and no more; the site's stays as it was."""
    policy = web.get("/admin/")["Content-Security-Policy"]
    assert "script-src 'self' 'unsafe-eval'" in policy
    assert "script-src 'self' 'unsafe-eval' 'unsafe-inline'" not in policy
    for directive in ("default-src 'self'", "object-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"):
        assert directive in policy
    elsewhere = web.get("/docs")["Content-Security-Policy"]
    assert "unsafe" not in elsewhere


def test_anonymous_pages_cost_no_user_query() -> None:
    with CaptureQueriesContext(connection) as captured:
        assert Client().get("/admin/login/").status_code == 200
    assert not [query for query in captured if User._meta.db_table in query["sql"]]
