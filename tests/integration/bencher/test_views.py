"""rest.md sections 0 and 5.9: the root, the server's routes, and what every answer has in common."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import pytest
from django.core.checks import run_checks

from bencher.configuration import REDACTED, without_password
from bencher.projects.models import Project
from tests.restworld import NOWHERE, Api, api_of, make_project, make_user, project_api

ALL = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


def words(response: Any, header: str) -> set[str]:
    return {word.strip() for word in response[header].split(",")}


def test_version_needs_no_database() -> None:
    """Not marked ``django_db``: a query would fail the test."""
    response = Api().send("GET", "/v0/server/version")
    assert (response.status_code, json.loads(response.content), response["x-total-count"]) == (200, {"version": "0.6.12"}, "1")
    assert response["access-control-allow-origin"] == "*"
    assert (words(response, "access-control-allow-methods"), words(response, "access-control-allow-headers")) == ({"GET"}, {"Content-Type"})
    assert words(response, "access-control-expose-headers") == {"X-Total-Count"}


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/xml", "text/html", "nonsense"])
def test_json_whatever_is_accepted(accept: str) -> None:
    assert Api().ok("GET", "/v0/server/version", headers={"Accept": accept}) == {"version": "0.6.12"}


def test_root_is_null() -> None:
    assert Api().send("GET", "/").content == b"null"


@pytest.mark.parametrize("header", ["Bearer secret", "Basic eA==", "Bearer YQ.YQ.YQ", "Bearer bencher_user_" + "A" * 30])
def test_public_routes_ignore_credentials(header: str) -> None:
    for path in ("/", "/v0/server/version", "/v0/server/spec"):
        assert Api().send("GET", path, headers={"Authorization": header}).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("header", "status"),
    [(None, 200), ("Bearer secret", 200), ("Basic eA==", 200), ("Bearer YQ.YQ.YQ", 400), ("Bearer bencher_user_" + "A" * 30, 401)],
)
def test_console(header: str | None, status: int) -> None:
    response = Api().send("GET", "/v0/server/config/console", headers={"Authorization": header} if header else {})
    assert response.status_code == status


@pytest.mark.django_db
def test_console_with_good_credentials() -> None:
    user = make_user()
    for api in (api_of(user), project_api(make_project(user))):
        response = api.send("GET", "/v0/server/config/console")
        assert json.loads(response.content) == {"url": "http://localhost:6610"}
        assert words(response, "access-control-allow-headers") == {"Content-Type", "Authorization"}


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/v0/server/config", "/v0/server/stats"])
def test_administrators_look_into_the_server(path: str) -> None:
    assert isinstance(api_of(make_user(admin=True)).ok("GET", path), dict)
    api_of(make_user()).refused("GET", path, 403)
    Api().refused("GET", path, 400)


@pytest.mark.django_db
def test_configuration_hides_secrets(settings: Any) -> None:
    settings.SECRET_KEY = "the-secret-key-of-this-server-0123456789"
    settings.DATABASE_URL = "postgresql://me:hunter2@db.example:5432/bencher?sslpassword=hunter3"
    settings.REDIS_URL = "redis://:hunter4@redis.example/0"
    settings.STORAGE_URL = "s3://key:hunter5@bucket/prefix?endpoint_url=https://x"
    shown = json.dumps(api_of(make_user(admin=True)).ok("GET", "/v0/server/config"))
    for secret in ("the-secret-key", "hunter"):
        assert secret not in shown
    for known in ("db.example:5432/bencher", "redis.example", "bucket/prefix", REDACTED):
        assert known in shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////a/b.db", "sqlite:////a/b.db"),
        ("", ""),
        ("file:///x", "file:///x"),
        ("redis://h/0", "redis://h/0"),
        ("memory://", "memory://"),
    ],
)
def test_addresses_without_secrets_stay(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.django_db
def test_stats_count() -> None:
    admin = make_user(admin=True)
    make_project(admin)
    make_project(admin, visibility="private")
    stats = api_of(admin).ok("GET", "/v0/server/stats")
    assert (stats["users"]["total"], stats["projects"]["total"], stats["private_projects"]) == (1, 2, 1)
    assert set(stats["jobs_by_status"].values()) == {0}


@pytest.mark.django_db(transaction=True)
def test_backup(settings: Any, tmp_path: Any) -> None:
    settings.BENCHER_DATA_DIR = tmp_path
    admin = api_of(make_user(admin=True))
    assert set(admin.ok("POST", "/v0/server/backup", {})) == {"created"}
    [file] = (tmp_path / "backups").iterdir()
    assert file.stat().st_size > 0
    admin.refused("POST", "/v0/server/backup", 400, {"data_store": "aws_s3"})
    api_of(make_user()).refused("POST", "/v0/server/backup", 403, {})


# -- conventions -------------------------------------------------------------------------------------------------------
def test_request_ids_are_new_each_time() -> None:
    ids = {uuid.UUID(Api().send("GET", "/v0/server/version")["x-request-id"]) for _ in range(3)}
    assert len(ids) == 3


def test_options_twin() -> None:
    """Open to anybody, without a look at the database, whatever the path's parameters are."""
    for path, methods in (
        ("/v0/users", {"GET"}),
        (f"/v0/projects/{NOWHERE}", {"GET", "PATCH", "DELETE"}),
        ("/v0/projects/Not A Slug/keys", {"GET", "POST"}),
        ("/v0/run", {"POST"}),
    ):
        response = Api().send("OPTIONS", path)
        assert (response.status_code, response.content) == (200, b"")
        assert words(response, "access-control-allow-methods") == methods
        assert words(response, "access-control-allow-headers") == {"Content-Type", "Authorization"}


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("PUT", "/v0/server/version", {"GET", "HEAD", "OPTIONS"}), ("DELETE", "/v0/runners", {"GET", "POST", "HEAD", "OPTIONS"})],
)
def test_method_not_allowed(method: str, path: str, allowed: set[str]) -> None:
    response = Api().send(method, path)
    assert response.status_code == 405
    assert words(response, "allow") == allowed
    assert "access-control-allow-origin" not in response
    assert set(json.loads(response.content)) == {"request_id", "message"}


@pytest.mark.parametrize("path", ["/v0/nothing", "/v0", "/v1/projects", "/V0/projects", "/v0/projects/x/y/z", "/nothing"])
def test_unknown_routes(path: str) -> None:
    response = Api().send("GET", path)
    assert (response.status_code, response["content-type"]) == (404, "application/json")
    assert set(json.loads(response.content)) == {"request_id", "message"}
    assert "access-control-allow-origin" not in response


@pytest.mark.django_db
def test_errors_of_the_application() -> None:
    response = Api().send("GET", "/v0/projects/nothing")
    assert response.status_code == 404
    assert words(response, "access-control-allow-methods") == ALL
    assert "x-total-count" not in response
    assert "credential" in json.loads(response.content)["message"]


@pytest.mark.django_db
def test_faults_say_nothing_about_themselves(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("bencher.projects.views.projects.visible_projects", lambda caller: 1 / 0)
    response = Api().send("GET", "/v0/projects")
    body = json.loads(response.content)
    assert response.status_code == 500
    assert uuid.UUID(body["error_code"]).version == 4
    assert "division" not in body["message"]
    assert "division" in caplog.text
    assert body["error_code"] in caplog.text


@pytest.mark.django_db
def test_head_is_get_without_a_body() -> None:
    response = Api().send("HEAD", "/v0/projects")
    assert (response.status_code, response["x-total-count"]) == (200, "0")


@pytest.mark.parametrize(
    ("body", "mentions"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[]", "object"),
        (b'{"email": 5}', "$.email"),
        (b"{}", "email"),
        (b'{"email": "a@b", "x": NaN}', "not valid JSON"),
        (b'{"email": "a\x01@b"}', "not valid JSON"),
        (b'{"email": "\xff"}', "UTF-8"),
        (b'{"email": "\\ud800"}', "not valid JSON"),
        (b'{"x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "deeply"),
        (b'{"email": "a@b", "plan": "a\\u0000b"}', "$.plan: the NUL character"),
    ],
)
def test_malformed_bodies(body: bytes, mentions: str) -> None:
    assert mentions in Api().refused("POST", "/v0/auth/login", 400, body)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["", "application/json", "Application/JSON; charset=utf-8"])
def test_json_content_types(kind: str) -> None:
    assert Api().client.generic("POST", "/v0/auth/login", b'{"email": "a@b"}', kind).status_code == 404


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x"])
def test_other_content_types(kind: str) -> None:
    assert Api().client.generic("POST", "/v0/auth/login", b'{"email": "a@b"}', kind).status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query",
    [
        "per_page=256",
        "per_page=-1",
        "per_page=",
        "per_page=1.5",
        "per_page=1.0",
        "per_page=1e1",
        "page=0x1",
        "page=-1",
        "page=4294967296",
        "sort=color",
        "direction=null",
        "name=%00",
        "search=a%00",
    ],
)
def test_malformed_queries(query: str) -> None:
    Api().refused("GET", f"/v0/projects?{query}", 400)


@pytest.mark.django_db
def test_pages() -> None:
    owner = make_user()
    names = [make_project(owner, name=f"project {number:02}").name for number in range(11)]

    def page(**query: Any) -> list[str]:
        response = Api().send("GET", "/v0/projects", query=query)
        assert response["x-total-count"] == "11"
        return [one["name"] for one in json.loads(response.content)]

    assert page() == names[:8]
    assert page(page=2) == names[8:]
    assert page(page=0, per_page=4) == page(page=1, per_page=4) == names[:4]
    assert page(page=4, per_page=4) == page(per_page=0) == page(page=4294967295, per_page=255) == []
    assert page(direction="desc", per_page=2) == names[:-3:-1]


@pytest.mark.django_db
def test_search() -> None:
    owner = make_user()
    made = {name: make_project(owner, name=name) for name in ("Alpha One", "Alpha Two", "100% b_c", 'it\'s \\ "x"')}

    def found(text: str) -> set[str]:
        return {one["name"] for one in Api().ok("GET", "/v0/projects", query={"search": text})}

    assert found("Alpha") == {"Alpha One", "Alpha Two"}
    assert found("-one") == {"Alpha One"}
    assert found(str(made["Alpha Two"].pk)) == {"Alpha Two"}
    assert found(str(made["Alpha Two"].pk)[-12:]) == {"Alpha Two"}
    for text in ("100%", "b_c", "it's", "\\", '"x"'):
        assert found(text) == {next(name for name in made if text in name)}
    assert found("_") == {"100% b_c"}
    assert found("gamma") == set()
    assert Project.objects.count() == len(made)


@pytest.mark.django_db
def test_rate_limits(settings: Any) -> None:
    settings.BENCHER_RATE_LIMITS = "anonymous.requests=2/day"
    statuses = [Api().send("GET", "/v0/projects", headers={"X-Forwarded-For": "203.0.113.77"}) for _ in range(3)]
    assert [response.status_code for response in statuses] == [200, 200, 429]
    assert int(statuses[-1]["retry-after"]) > 0
    assert Api().send("GET", "/v0/projects", headers={"X-Forwarded-For": "203.0.113.78"}).status_code == 200


def test_deploy_check_warns_of_anonymous_runs(settings: Any) -> None:
    def ids() -> set[str | None]:
        return {message.id for message in run_checks(include_deployment_checks=True)}

    silenced = set(settings.SILENCED_SYSTEM_CHECKS)
    assert ids() - silenced == {"bencher.W001"}
    settings.BENCHER_ALLOW_ANONYMOUS_RUNS = False
    assert ids() <= silenced
    settings.BENCHER_RATE_LIMITS = "nonsense"
    assert "bencher.E001" in ids()


@pytest.mark.django_db
def test_docs_page_has_its_own_copies() -> None:
    """Nothing comes from elsewhere, nothing is inline."""
    response = Api().send("GET", "/docs")
    text = response.content.decode()
    assert response["content-type"].startswith("text/html")
    assert "unsafe" not in response["content-security-policy"]
    sources = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert len(sources) == 6
    for source in sources:
        assert source.startswith("/")
        asset = Api().send("GET", source)
        asset.close()
        assert asset.status_code == 200
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=", text)
