"""A NUL in a page's query, or in the login form: refused before a database sees it."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.browsing import Browser
from tests.restworld import fresh, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def web() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(make_user(admin=True), "django.contrib.auth.backends.ModelBackend")
    return client


@pytest.mark.parametrize("field", ["email", "password"])
def test_nobody_breaks_the_login(field: str) -> None:
    browser = Browser()
    browser.client.raise_request_exception = False
    form = {"email": f"{fresh('a')}@example.com", "password": "a long password", field: "a\0b"}
    answer = browser.post("/auth/login", "/auth/login", **form)
    assert answer.status_code == 400
    assert answer["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "address",
    [
        "/admin/jobs/job/?status__exact=%00",
        "/admin/projects/project/?visibility__exact=public%00",
        "/admin/outputs/report/?a%00=1",
        "/admin/autocomplete/?app_label=outputs&model_name=report&field_name=project&term=%00",
        "/perf?page=1&x=%00",
    ],
)
def test_filters(web: Client, address: str) -> None:
    assert web.get(address).status_code == 400


def test_the_api_says_it_in_its_own_words(web: Client) -> None:
    answer = web.get("/v0/projects?search=%00")
    assert answer.status_code == 400
    assert "query string: the NUL character is not allowed" in answer.json()["message"]
