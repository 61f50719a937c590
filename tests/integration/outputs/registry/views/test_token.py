"""The token service: who gets which token, in which words (registry.md 1.3)."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest
from django.http import HttpResponse
from django.test import Client as Web

from bencher.core import ratelimits
from bencher.projects.models import Project, ProjectKey, User, UserKey
from bencher.projects.tokens import Audience
from bencher.projects.tokens import mint as mint_jwt
from tests.integration.outputs.registry.conftest import make_project, make_project_key, make_user, make_user_key

PATH = "/v0/auth/oci/token"


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def ask(*scopes: str, auth: str | None = None, **query: str) -> HttpResponse:
    headers = {"Authorization": auth} if auth else {}
    return Web().get(f"{PATH}?{urlencode([*query.items(), *(('scope', scope) for scope in scopes)])}", headers=headers)


def post(auth: str | None = None, **form: str) -> HttpResponse:
    headers = {"Authorization": auth} if auth else {}
    return Web().post(PATH, urlencode(form), content_type="application/x-www-form-urlencoded", headers=headers)


def said(response: HttpResponse, name: str = "token") -> dict[str, Any]:
    assert response.status_code == 200, response.content
    return jwt.decode(json.loads(response.content)[name], options={"verify_signature": False})


def assert_challenged(response: HttpResponse) -> None:
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith('Bearer realm="')
    assert json.loads(response.content)["errors"][0]["code"] == "UNAUTHORIZED"


pytestmark = pytest.mark.django_db


# -- GET -------------------------------------------------------------------------------------------------------------------
def test_anonymous() -> None:
    response = ask("repository:x:pull,push", account="me", client_id="c", offline_token="true", service="s")
    body = json.loads(response.content)
    assert set(body) == {"token", "expires_in", "issued_at"}
    assert body["expires_in"] == 300
    issued = datetime.fromisoformat(body["issued_at"])
    assert issued.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - issued) < timedelta(seconds=10)
    claims = said(response)
    assert (claims["aud"], claims["oci"]) == ("oci_public", {"repository": "x", "actions": ["pull", "push"]})
    assert (response["Access-Control-Allow-Origin"], response["Cache-Control"]) == ("*", "no-store")


def test_anonymous_may_be_switched_off(settings: Any) -> None:
    settings.BENCHER_ALLOW_ANONYMOUS_RUNS = False
    assert_challenged(ask("repository:x:pull"))
    assert_challenged(ask())


@pytest.mark.parametrize("header", ["Basic !!!!", "Basic //8=", "Basic bm9jb2xvbg==", "Basic"])
def test_unreadable_credentials(header: str) -> None:
    assert_challenged(ask(auth=header))


def test_another_scheme_is_anonymous() -> None:
    assert said(ask(auth="Bearer something"))["aud"] == "oci_public"


@pytest.mark.parametrize("scopes", [["image:a:pull"], ["repository:a"], ["repository:a:pull", "image:b:pull"]])
def test_bad_scopes(scopes: list[str]) -> None:
    response = ask(*scopes)
    assert response.status_code == 400
    assert json.loads(response.content)["errors"][0]["message"]


def test_user_key(project: Project, owner: User) -> None:
    auth = basic(owner.email.upper(), make_user_key(owner))
    claims = said(ask("repository:mine:pull,push", auth=auth))
    assert (claims["aud"], claims["sub"], claims["oci"]["actions"]) == ("oci_auth", owner.email, ["pull", "push"])
    assert said(ask(auth=auth))["oci"] == {"repository": None, "actions": []}


def test_legacy_api_token(owner: User) -> None:
    def token(audience: Audience, email: str = owner.email) -> str:
        return mint_jwt(audience, email, now=datetime.now(UTC), lifetime=60)

    assert said(ask(auth=basic(owner.email, token(Audience.API_KEY))))["sub"] == owner.email
    assert_challenged(ask(auth=basic(owner.email, token(Audience.CLIENT))))
    assert_challenged(ask(auth=basic(owner.email, token(Audience.API_KEY, "other@example.com"))))
    assert_challenged(ask(auth=basic("other@example.com", token(Audience.API_KEY))))


@pytest.mark.parametrize("password", ["guess", "", "bencher_user_not-a-real-key", "bencher_user_" + "x" * 30, "bencher_runner_" + "x" * 30])
def test_wrong_passwords(owner: User, password: str) -> None:
    assert_challenged(ask(auth=basic(owner.email, password)))


def test_somebody_elses_key(owner: User) -> None:
    assert_challenged(ask(auth=basic(owner.email, make_user_key(make_user("other")))))


@pytest.mark.parametrize("change", [{"revoked": datetime(2026, 1, 1, tzinfo=UTC)}, {"expiration": datetime(2026, 1, 1, tzinfo=UTC)}])
def test_dead_keys(project: Project, owner: User, change: dict[str, Any]) -> None:
    user_key, project_key = make_user_key(owner), make_project_key(project)
    UserKey.objects.update(**change)
    ProjectKey.objects.update(**change)
    assert_challenged(ask(auth=basic(owner.email, user_key)))
    assert_challenged(ask(auth=basic("mine", project_key)))


def test_locked_user(owner: User) -> None:
    key = make_user_key(owner)
    User.objects.update(locked=True)
    assert_challenged(ask(auth=basic(owner.email, key)))


@pytest.mark.parametrize(
    ("scope", "member", "admin", "status"),
    [
        ("repository:mine:pull,push", True, False, 200),
        ("repository:mine:push", True, False, 200),
        ("repository:mine:push", False, False, 403),
        ("repository:mine:*", False, False, 403),
        ("repository:mine:push", False, True, 200),
        ("repository:free:push", False, False, 200),
        ("repository:unknown:push", False, False, 200),
        ("repository:mine:pull", True, False, 403),
        ("repository:mine:pull", False, True, 200),
        ("repository:a/b:push", False, False, 200),
    ],
)
def test_rights_of_users(project: Project, owner: User, scope: str, member: bool, admin: bool, status: int) -> None:
    make_project("free")
    user = owner if member else make_user("other", admin=admin)
    response = ask(scope, auth=basic(user.email, make_user_key(user)))
    assert response.status_code == status
    if status == 403:
        assert json.loads(response.content)["errors"][0]["code"] == "DENIED"


def test_project_key(project: Project) -> None:
    key = make_project_key(project)
    for name in ("mine", str(project.pk)):
        claims = said(ask("repository:mine:pull", "repository:mine:pull,push", auth=basic(name, key)))
        assert (claims["aud"], claims["sub"]) == ("oci_project", str(project.pk))
        assert claims["oci"] == {"repository": "mine", "actions": ["pull", "push"]}
    assert said(ask(f"repository:{project.pk}:push", auth=basic("mine", key)))["oci"]["repository"] == str(project.pk)
    make_project("other")
    assert_challenged(ask(auth=basic("other", key)))
    assert ask("repository:other:push", auth=basic("mine", key)).status_code == 403
    assert ask("repository:mine:pull", auth=basic("mine", key)).status_code == 403


# -- POST ------------------------------------------------------------------------------------------------------------------
def test_form(project: Project, owner: User) -> None:
    form = {"grant_type": "password", "username": owner.email, "password": make_user_key(owner), "client_id": "c", "access_type": "offline"}
    response = post(**form, scope="repository:mine:pull repository:mine:push")
    body = json.loads(response.content)
    assert set(body) == {"access_token", "expires_in", "scope", "issued_at"}
    assert body["scope"] == "repository:mine:pull,push"
    assert said(response, "access_token")["oci"]["actions"] == ["pull", "push"]


def test_form_with_the_header(owner: User) -> None:
    response = post(auth=basic(owner.email, make_user_key(owner)), grant_type="password", username="")
    assert said(response, "access_token")["sub"] == owner.email


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": "refresh_token", "refresh_token": "r"}, "unsupported_grant_type"),
        ({"scope": "repository:x:pull"}, "invalid_request"),
        ({}, "invalid_request"),
        ({"grant_type": "password"}, "invalid_request"),
        ({"grant_type": "password", "username": "a", "password": "b", "scope": "image:x:pull"}, "invalid_scope"),
    ],
)
def test_refused_forms(form: dict[str, str], error: str) -> None:
    """In the words of OAuth, bare."""
    response = post(**form)
    body = json.loads(response.content)
    assert (response.status_code, body["error"]) == (400, error)
    assert body["error_description"]
    assert response["Access-Control-Allow-Origin"] == "*"


def test_no_form() -> None:
    response = Web().post(PATH, b"{}", content_type="application/json")
    assert (response.status_code, json.loads(response.content)["error"]) == (400, "invalid_request")


def test_form_with_wrong_credentials(owner: User) -> None:
    assert_challenged(post(grant_type="password", username=owner.email, password="wrong"))
    assert_challenged(post(auth="Basic !!!!", grant_type="password"))


def test_preflight_and_methods() -> None:
    response = Web().options(PATH)
    assert (response.status_code, response["Access-Control-Allow-Methods"]) == (200, "GET, POST, OPTIONS")
    assert Web().put(PATH).status_code == 405


@pytest.mark.parametrize("who", ["anonymous", "user", "project"])
def test_rate_limits(project: Project, owner: User, settings: Any, who: str) -> None:
    auth = {"anonymous": None, "user": basic(owner.email, make_user_key(owner)), "project": basic("mine", make_project_key(project))}[who]
    ratelimits._counters.cache_clear()
    settings.BENCHER_RATE_LIMITS, settings.REDIS_URL = f"{who}.requests=2/day", ""
    responses = [ask(auth=auth) for _ in range(3)]
    assert [response.status_code for response in responses] == [200, 200, 429]
    assert json.loads(responses[2].content)["errors"][0]["code"] == "TOOMANYREQUESTS"
    assert int(responses[2]["Retry-After"]) > 0
