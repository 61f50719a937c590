"""The registry from outside: routes, challenges, who may what, our own faults (registry.md 1.1 to 1.5)."""

from __future__ import annotations

import os
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from bencher.core import ratelimits
from bencher.projects.models import Project, User
from outputs.models import Upload
from outputs.registry.digest import digest_of
from outputs.registry.storage import StorageError
from outputs.registry.storage.memory import MemoryStorage
from outputs.registry.tokens import mint_anonymous_token, mint_project_token, mint_runner_token, mint_user_token
from tests.integration.outputs.registry.client import ALL, UNKNOWN, Client, user_token
from tests.integration.outputs.registry.conftest import make_project, make_user

DATA = os.urandom(1000)
DIGEST = digest_of(DATA)


# -- routes ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"/v2/x/blobs/{UNKNOWN}"),
        ("PUT", f"/v2/x/blobs/{UNKNOWN}?digest={UNKNOWN}"),
        ("GET", "/v2/x/blobs/uploads"),
        ("HEAD", "/v2/x/blobs/uploads/"),
        ("DELETE", "/v2/x/blobs/uploads"),
        ("POST", "/v2/x/manifests/v1"),
        ("PUT", "/v2/x/tags/list"),
        ("POST", "/v2/"),
        ("BREW", "/v2/x/tags/list"),
    ],
)
def test_methods_are_decided_first(client: Client, method: str, path: str) -> None:
    answer = client.ask(method, path)
    assert answer.status == 405
    assert "OPTIONS" in answer.headers["allow"]


@pytest.mark.parametrize(
    "path", ["/v2/a/b/tags/list", "/v2/x", "/v2/x/blobs/downloads/y", "/v2/x/tags", "/v2/x/_catalog/y", "/v2//tags/list/"]
)
def test_no_such_route(client: Client, path: str) -> None:
    answer = client.ask("GET", path)
    assert (answer.status, answer.code) == (404, "NAME_UNKNOWN")


@pytest.mark.parametrize(
    "path", ["/v2/", "/v2", "/v2/x/blobs/uploads", "/v2/x/blobs/uploads/y", f"/v2/x/blobs/{UNKNOWN}", "/v2/x/tags/list"]
)
def test_preflight(client: Client, path: str) -> None:
    answer = client.ask("OPTIONS", path)
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "*")
    assert answer.headers["access-control-allow-headers"] == "Content-Type, Authorization"


# -- who may ---------------------------------------------------------------------------------------------------------------
CALLS = {
    "head-blob": ("HEAD", f"blobs/{UNKNOWN}", "pull"),
    "get-manifest": ("GET", "manifests/latest", "pull"),
    "tags": ("GET", "tags/list", "pull"),
    "referrers": ("GET", f"referrers/{UNKNOWN}", "pull"),
    "post-upload": ("POST", "blobs/uploads/", "push"),
    "put-blob": ("PUT", f"blobs/uploads?digest={UNKNOWN}", "push"),
    "put-manifest": ("PUT", "manifests/latest", "push"),
    "delete-blob": ("DELETE", f"blobs/{UNKNOWN}", "push"),
    "delete-manifest": ("DELETE", "manifests/latest", "push"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("sent", [None, "not-a-jwt", "expired", "forged"])
@pytest.mark.parametrize("call", CALLS)
def test_challenge(client: Client, project: Project, owner: User, settings: Any, call: str, sent: str | None) -> None:
    """Whatever is wrong with the token, the answer says where another is had."""
    settings.BENCHER_REGISTRY_URL = "https://registry.example.com:6610"
    method, path, action = CALLS[call]
    past = datetime(2020, 1, 1, tzinfo=UTC)
    token = sent
    if sent == "expired":
        token = mint_user_token(email=owner.email, repository="mine", actions=ALL, now=past)
    elif sent == "forged":
        token = user_token(owner)[:-4] + "AAAA"
    answer = client.ask(method, f"/v2/mine/{path}", token=token)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == (
        f'Bearer realm="https://registry.example.com:6610/v0/auth/oci/token",service="registry.example.com",scope="repository:mine:{action}"'
    )
    if method != "HEAD":
        assert answer.code == "UNAUTHORIZED"


def test_a_scope_cannot_break_out_of_the_header(client: Client, db: None) -> None:
    answer = client.ask("GET", '/v2/a",b="\r\nX-Evil: 1/tags/list')
    assert answer.headers["www-authenticate"].endswith('scope="repository:a,b=X-Evil: 1:pull"')


@pytest.mark.django_db
def test_front_door(client: Client, owner: User, project: Project) -> None:
    now = datetime.now(UTC)
    runner = mint_runner_token(runner_id=uuid.uuid4(), project_id=project.pk, now=now)
    anonymous = mint_anonymous_token(repository=None, actions=(), now=now)
    own = mint_project_token(project_id=project.pk, repository=None, actions=(), now=now)
    answers = [client.ask("GET", "/v2/", token=token) for token in (None, runner, anonymous, own, user_token(owner))]
    assert [answer.status for answer in answers] == [401, 401, 200, 200, 200]
    assert "scope" not in answers[0].headers["www-authenticate"]
    assert answers[2].json() == {}


@pytest.mark.django_db
def test_the_runner_pulls_and_nothing_else(client: Client, project: Project, token: str) -> None:
    """From its job's project, by UUID."""
    client.push_blob("mine", token, DATA)
    runner = mint_runner_token(runner_id=uuid.uuid4(), project_id=project.pk, now=datetime.now(UTC))
    assert client.ask("GET", f"/v2/{project.pk}/blobs/{DIGEST}", token=runner).content == DATA
    assert client.ask("GET", f"/v2/mine/blobs/{DIGEST}", token=runner).status == 403
    assert client.ask("GET", f"/v2/{make_project('other').pk}/blobs/{DIGEST}", token=runner).status == 403
    for method, path, action in CALLS.values():
        expected = 401 if action == "push" else 404 if "blobs" in path or "manifests" in path else 200
        assert client.ask(method, f"/v2/{project.pk}/{path}", token=runner).status == expected


@pytest.mark.django_db
def test_anonymous_callers(client: Client, project: Project, settings: Any) -> None:
    """Unclaimed projects are open to them, and a slug that nobody has; deleting never; and it can be switched off."""

    def token(name: str) -> str:
        return mint_anonymous_token(repository=name, actions=ALL, now=datetime.now(UTC))

    digest = client.push_blob("fresh", token("fresh"), DATA)
    assert Project.objects.get(slug="fresh").organization.claimed is None
    assert client.ask("GET", f"/v2/fresh/blobs/{digest}", token=token("fresh")).content == DATA
    assert client.ask("DELETE", f"/v2/fresh/blobs/{digest}", token=token("fresh")).status == 401
    for method, path in (("GET", "tags/list"), ("POST", "blobs/uploads/")):
        answer = client.ask(method, f"/v2/mine/{path}", token=token("mine"))
        assert (answer.status, answer.code) == (401, "UNAUTHORIZED")
    settings.BENCHER_ALLOW_ANONYMOUS_RUNS = False
    for method, path in (("GET", "/v2/"), ("GET", "/v2/fresh/tags/list"), ("POST", "/v2/fresh/blobs/uploads/")):
        assert client.ask(method, path, token=token("fresh")).status == 401


@pytest.mark.django_db
def test_users(client: Client, project: Project) -> None:
    stranger = make_user("stranger")
    assert client.ask("POST", "/v2/mine/blobs/uploads/", token=user_token(stranger)).code == "DENIED"
    assert client.ask("POST", "/v2/hers/blobs/uploads/", token=user_token(stranger, "hers")).status == 202
    assert Project.objects.get(slug="hers").organization.memberships.get().user == stranger
    assert client.ask("POST", f"/v2/{uuid.uuid4()}/blobs/uploads/", token=user_token(stranger, "hers")).status == 403
    unknown = str(uuid.uuid4())
    assert client.ask("POST", f"/v2/{unknown}/blobs/uploads/", token=user_token(stranger, unknown)).code == "NAME_UNKNOWN"
    assert client.ask("POST", "/v2/No%20Slug/blobs/uploads/", token=user_token(stranger, "No%20Slug")).code == "NAME_INVALID"
    stranger.locked = True
    stranger.save()
    assert client.ask("POST", "/v2/hers/blobs/uploads/", token=user_token(stranger, "hers")).status == 401


@pytest.mark.django_db
def test_a_users_push_claims(client: Client, owner: User) -> None:
    project = make_project("free")
    assert client.ask("POST", "/v2/free/blobs/uploads/", token=user_token(owner, "free")).status == 202
    assert project.organization.memberships.get().user == owner


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["tags/list", "manifests/latest", f"blobs/{UNKNOWN}", f"referrers/{UNKNOWN}"])
def test_reading_makes_no_project(client: Client, owner: User, path: str) -> None:
    assert client.ask("GET", f"/v2/nowhere/{path}", token=user_token(owner, "nowhere")).code == "NAME_UNKNOWN"
    assert not Project.objects.exists()


@pytest.mark.django_db
def test_a_token_of_too_little_scope_is_told_which_to_ask_for(client: Client, project: Project, owner: User) -> None:
    """RFC 6750, 3.1. Some clients keep the token of their first request, and get another on this word only."""
    for method, path, had, wanted in (("POST", "blobs/uploads/", "pull", "pull,push"), ("GET", "tags/list", "push", "pull")):
        answer = client.ask(method, f"/v2/mine/{path}", token=user_token(owner, actions=(had,)))
        assert answer.status == 403
        assert answer.headers["www-authenticate"].endswith(f',scope="repository:mine:{wanted}",error="insufficient_scope"')
    assert "www-authenticate" not in client.ask("POST", "/v2/mine/blobs/uploads/", token=user_token(make_user("stranger"))).headers


@pytest.mark.django_db
def test_actions_and_names_of_the_token(client: Client, project: Project, owner: User) -> None:
    assert client.ask("GET", "/v2/mine/tags/list", token=user_token(owner, actions=("push",))).code == "DENIED"
    assert client.ask("POST", "/v2/mine/blobs/uploads/", token=user_token(owner, actions=("pull",))).code == "DENIED"
    assert client.ask("GET", f"/v2/{project.pk}/tags/list", token=user_token(owner)).code == "DENIED"


# -- our own faults ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("problem", "status", "code"), [(StorageError("/secret/path is gone"), 503, "UNAVAILABLE"), (RuntimeError("secret"), 500, "UNKNOWN")]
)
def test_faults_are_not_told(
    client: Client, token: str, monkeypatch: pytest.MonkeyPatch, problem: Exception, status: int, code: str
) -> None:
    def fail(*args: Any) -> None:
        raise problem

    monkeypatch.setattr(MemoryStorage, "append", fail)
    answer = client.ask("PUT", f"/v2/mine/blobs/uploads?digest={DIGEST}", DATA, token=token)
    assert (answer.status, answer.code) == (status, code)
    assert b"secret" not in answer.content
    assert ("retry-after" in answer.headers) == (status == 503)
    assert not Upload.objects.exists()


# -- rates -----------------------------------------------------------------------------------------------------------------
@pytest.mark.django_db
@pytest.mark.parametrize("who", ["anonymous", "user", "project"])
def test_rate_limits(client: Client, project: Project, owner: User, settings: Any, who: str) -> None:
    """Counted for the sender and for the project; off unless they are set."""
    make_project("free")
    anonymous = mint_anonymous_token(repository="free", actions=ALL, now=datetime.now(UTC))
    name, token = ("free", anonymous) if who == "anonymous" else ("mine", user_token(owner))
    assert [client.ask("GET", f"/v2/{name}/tags/list", token=token).status for _ in range(3)] == [200] * 3
    ratelimits._counters.cache_clear()
    settings.BENCHER_RATE_LIMITS = f"{who}.requests=2/day"
    settings.REDIS_URL = ""
    answers = [client.ask("GET", f"/v2/{name}/tags/list", token=token) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[2].code == "TOOMANYREQUESTS"
    assert int(answers[2].headers["retry-after"]) > 0
