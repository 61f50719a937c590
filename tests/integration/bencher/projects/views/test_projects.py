"""rest.md 5.1: projects and their keys; private ones hide."""

from __future__ import annotations

from typing import Any

import pytest

from bencher.projects.models import Project
from bencher.projects.permissions import WORDS
from tests.restworld import NOWHERE, Api, api_of, make_project, make_user, project_api

pytestmark = pytest.mark.django_db


def test_make_show_change() -> None:
    owner = make_user()
    api = api_of(owner)
    path = f"/v0/organizations/{owner.slug}/projects"
    made = api.ok("POST", path, {"name": "Code", "url": "https://example.com/"})
    assert (made["slug"], made["visibility"], made["organization"], made["url"]) == (
        "code",
        "public",
        str(owner.pk),
        "https://example.com/",
    )
    assert Api().ok("GET", "/v0/projects/code") == Api().ok("GET", f"/v0/projects/{made['uuid']}") == made
    api.refused("POST", path, 409, {"name": "Code"})
    assert api.ok("PATCH", "/v0/projects/code", {})["url"] == made["url"]
    assert api.ok("PATCH", "/v0/projects/code", {"url": None})["url"] is None
    other = make_project(owner)
    api.refused("PATCH", "/v0/projects/code", 409, {"slug": other.slug})
    assert api.ok("PATCH", "/v0/projects/code", {"slug": "new", "visibility": "private"})["slug"] == "new"
    Api().refused("GET", "/v0/projects/new", 404)


@pytest.mark.parametrize(
    "values",
    [{"name": None}, {"name": ""}, {"name": "ä" * 33}, {"url": "not a url"}, {"visibility": "secret"}, {"slug": "A B"}, {"name": "a\x00"}],
)
def test_wrong_projects(values: dict[str, Any]) -> None:
    owner = make_user()
    message = api_of(owner).refused("POST", f"/v0/organizations/{owner.slug}/projects", 400, {"name": "fine", **values})
    assert next(iter(values)) in message
    assert not Project.objects.exists()


def test_soft_and_hard_deletion() -> None:
    owner, admin = make_user(), make_user(admin=True)
    project = make_project(owner)
    api, path = api_of(owner), f"/v0/projects/{project.slug}"
    api.refused("DELETE", path, 403, query={"hard": "true"})
    api.ok("DELETE", path)
    api.refused("DELETE", path, 404)
    row = Project.objects.get(pk=project.pk)
    assert (row.name, row.slug) == (f"Deleted {row.pk}", f"deleted-{row.pk}")
    api.refused("GET", f"/v0/projects/{row.slug}", 404)
    other = make_project(owner)
    api_of(admin).ok("DELETE", f"/v0/projects/{other.slug}", query={"hard": "true"})
    assert not Project.objects.filter(pk=other.pk).exists()


@pytest.mark.parametrize("word", WORDS)
def test_allowed(word: str) -> None:
    owner = make_user()
    project = make_project(owner)
    path = f"/v0/projects/{project.slug}/allowed/{word}"
    assert api_of(owner).ok("GET", path) == {"allowed": True}
    assert api_of(make_user()).ok("GET", path) == {"allowed": False}
    assert api_of(owner).ok("GET", f"/v0/projects/{NOWHERE}/allowed/{word}") == {"allowed": False}
    project_api(project).refused("GET", path, 400)


def test_private_projects_hide() -> None:
    owner = make_user()
    project, other = make_project(owner, visibility="private"), make_project(owner)
    path = f"/v0/projects/{project.slug}"
    for api in (api_of(owner), api_of(make_user(admin=True)), project_api(project)):
        assert api.ok("GET", path)["uuid"] == str(project.pk)
        assert [one["uuid"] for one in api.ok("GET", "/v0/projects", query={"name": project.name})] == [str(project.pk)]
    for api in (Api(), api_of(make_user()), project_api(other)):
        message = api.refused("GET", path, 404)
        assert "credential" in message.lower()
        assert api.ok("GET", "/v0/projects", query={"name": project.name}) == []
    api_of(make_user()).refused("PATCH", path, 404, {"name": "Mine"})
    api_of(make_user()).refused("GET", f"{path}/keys", 404)


def test_strangers_change_nothing() -> None:
    project = make_project(make_user())
    stranger, path = api_of(make_user()), f"/v0/projects/{project.slug}"
    for method, end, body in (
        ("PATCH", "", {"name": "Mine"}),
        ("DELETE", "", None),
        ("GET", "/keys", None),
        ("POST", "/keys", {"name": "x"}),
    ):
        stranger.refused(method, path + end, 403, body)
        project_api(project).refused(method, path + end, 400, body)


def test_keys() -> None:
    owner = make_user()
    project, other = make_project(owner), make_project(owner)
    api, path = api_of(owner), f"/v0/projects/{project.slug}/keys"
    made = api.ok("POST", path, {"name": "CI", "ttl": 60})
    assert (made["project"], made["name"], len(made["key"])) == (str(project.pk), "CI", 42)
    [listed] = api.ok("GET", path)
    assert (listed["creator"], "key" in listed, "revoked" in listed) == (str(owner.pk), False, False)
    assert Api(made["key"]).ok("GET", "/v0/projects")[0]["uuid"] == str(project.pk)
    one = f"{path}/{made['uuid']}"
    assert api.ok("GET", one)["name"] == "CI"
    assert api.ok("PATCH", one, {"name": "Other"})["name"] == "Other"
    api.refused("GET", f"/v0/projects/{other.slug}/keys/{made['uuid']}", 404)
    api.ok("DELETE", one)
    api.refused("DELETE", one, 409)
    Api(made["key"]).refused("GET", f"/v0/projects/{project.slug}", 401)


def test_a_project_key_lists_its_own() -> None:
    owner = make_user()
    project, _ = make_project(owner), make_project(owner)
    assert [one["uuid"] for one in project_api(project).ok("GET", "/v0/projects")] == [str(project.pk)]
