"""rest.md 5.1, 1.5: organizations, members, claim, usage."""

from __future__ import annotations

from typing import Any

import pytest

from bencher.core import hooks
from bencher.projects.authentication import ANONYMOUS
from bencher.projects.models import Membership, Organization, Project
from bencher.projects.permissions import WORDS
from bencher.projects.services.resolve import project_for_run
from tests.restworld import NOW, NOWHERE, Api, api_of, make_project, make_user

pytestmark = pytest.mark.django_db


def unclaimed() -> Project:
    return project_for_run(caller=ANONYMOUS, project="nobodys", image_repository=None, context={}, now=NOW)


def test_make_show_change_delete() -> None:
    user = make_user()
    api = api_of(user)
    made = api.ok("POST", "/v0/organizations", {"name": "Ours", "slug": "ours"})
    assert (made["name"], made["slug"], made["license"], made["sso"], made["priority"]) == ("Ours", "ours", None, [], 100)
    assert made["claimed"] is not None
    assert api.ok("GET", f"/v0/organizations/{made['uuid']}") == api.ok("GET", "/v0/organizations/ours") == made
    assert api.ok("POST", "/v0/organizations", {"name": "Ours"})["slug"].startswith("ours-")
    assert api.ok("PATCH", "/v0/organizations/ours", {"name": "Mine", "license": None})["name"] == "Mine"
    api.refused("PATCH", "/v0/organizations/ours", 409, {"slug": user.slug})
    project = make_project(user, organization=Organization.objects.get(slug="ours"))
    api.ok("DELETE", "/v0/organizations/ours")
    api.refused("GET", f"/v0/organizations/{made['uuid']}", 404)
    Api().refused("GET", f"/v0/projects/{project.slug}", 404)
    assert api.ok("POST", "/v0/organizations", {"name": "Ours", "slug": "ours"})["slug"] == "ours"


@pytest.mark.parametrize(
    ("method", "end", "body", "status"),
    [
        ("GET", "", None, 404),
        ("PATCH", "", {"name": "Mine"}, 404),
        ("DELETE", "", None, 404),
        ("GET", "/members", None, 404),
        ("POST", "/members", {"email": "x@example.com", "role": "leader"}, 403),
        ("GET", "/projects", None, 404),
        ("POST", "/projects", {"name": "Mine"}, 403),
        ("GET", "/usage", None, 403),
        ("POST", "/claim", {}, 401),
    ],
)
def test_strangers(method: str, end: str, body: Any, status: int) -> None:
    owner = make_user()
    api_of(make_user()).refused(method, f"/v0/organizations/{owner.slug}{end}", status, body)


@pytest.mark.parametrize("word", WORDS)
def test_allowed(word: str) -> None:
    owner = make_user()
    path = f"/v0/organizations/{owner.slug}/allowed/{word}"
    assert api_of(owner).ok("GET", path) == {"allowed": True}
    assert api_of(make_user()).ok("GET", path) == {"allowed": False}
    assert api_of(owner).ok("GET", f"/v0/organizations/{NOWHERE}/allowed/{word}") == {"allowed": False}


def test_unknown_permissions() -> None:
    owner = make_user()
    for word in ("fly", "archive", "VIEW"):
        api_of(owner).refused("GET", f"/v0/organizations/{owner.slug}/allowed/{word}", 400)


def test_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(hooks.priority_changed, "_function", lambda **values: told.append(values["priority"]))
    project, user = unclaimed(), make_user()
    path = f"/v0/organizations/{project.slug}/claim"
    assert api_of(user).ok("POST", path, {})["claimed"] is not None
    api_of(user).refused("POST", path, 401, {})
    api_of(user).refused("POST", f"/v0/organizations/{NOWHERE}/claim", 404, {})
    assert told == [100]
    assert api_of(user).ok("GET", f"/v0/projects/{project.slug}/allowed/manage") == {"allowed": True}


def test_members_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(hooks.priority_changed, "_function", lambda **values: told.append(values["priority"]))
    owner, admin = make_user(), make_user(admin=True)
    path = f"/v0/organizations/{owner.slug}/members"
    api = api_of(admin)
    [member] = api.ok("GET", path)
    assert member == api.ok("GET", f"{path}/{owner.slug}") == api.ok("GET", f"{path}/{owner.pk}")
    assert (member["uuid"], member["email"], member["role"]) == (str(owner.pk), owner.email, "leader")
    assert api.ok("PATCH", f"{path}/{owner.slug}", {"role": "leader"})["role"] == "leader"
    api.refused("PATCH", f"{path}/{owner.slug}", 400, {"role": "emperor"})
    api.refused("GET", f"{path}/{admin.slug}", 404)
    api.ok("DELETE", f"{path}/{owner.slug}")
    api.refused("DELETE", f"{path}/{owner.slug}", 404)
    organization = Organization.objects.get(pk=owner.pk)
    assert (organization.claimed, organization.priority, told) == (None, 0, [0])
    api_of(owner).refused("GET", f"/v0/organizations/{organization.slug}", 404)


def test_search_members() -> None:
    owner, other = make_user(), make_user(name="somebody-else")
    Membership.objects.create(organization_id=owner.pk, user=other, created=NOW, modified=NOW)
    path = f"/v0/organizations/{owner.slug}/members"
    for query in ({"search": "body-el"}, {"name": "somebody-else"}, {"search": str(other.pk)}):
        assert [one["name"] for one in api_of(owner).ok("GET", path, query=query)] == ["somebody-else"]


def test_priority_is_the_administrators(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(hooks.priority_changed, "_function", lambda **values: told.append(values["priority"]))
    owner = make_user()
    path = f"/v0/organizations/{owner.slug}"
    api_of(owner).refused("PATCH", path, 403, {"priority": 1000})
    api_of(make_user(admin=True)).refused("PATCH", path, 400, {"priority": 1001})
    assert api_of(make_user(admin=True)).ok("PATCH", path, {"priority": 1000})["priority"] == 1000
    assert told == [1000]


def test_usage() -> None:
    owner = make_user()
    usage = api_of(owner).ok("GET", f"/v0/organizations/{owner.slug}/usage")
    assert (usage["organization"], usage["kind"], usage["plan"], usage["license"]) == (str(owner.pk), "self_hosted_free", None, None)
    assert (usage["metrics"], usage["active_series"], usage["runner_minutes"]) == (0, 0, 0)
    assert usage["start_time"] < usage["end_time"]


def test_nothing_to_buy() -> None:
    owner = make_user()
    for method, path in (("GET", f"/v0/organizations/{owner.slug}/plan"), ("POST", "/v0/checkout")):
        api_of(owner).refused(method, path, 404, {} if method == "POST" else None)


def test_lists_show_ones_own() -> None:
    user, admin = make_user(), make_user(admin=True)
    assert [one["uuid"] for one in api_of(user).ok("GET", "/v0/organizations")] == [str(user.pk)]
    assert len(api_of(admin).ok("GET", "/v0/organizations")) == 2
