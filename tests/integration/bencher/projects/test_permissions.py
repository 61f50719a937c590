"""rest.md 1.4: who may do what, as one table."""

from __future__ import annotations

import pytest

from bencher.projects.authentication import ANONYMOUS, Caller
from bencher.projects.models import Membership, Project, ProjectKey, ProjectRole
from bencher.projects.permissions import OURS, WORDS, Permission, may, may_in_organization
from tests.restworld import NOW, make_project, make_user

pytestmark = pytest.mark.django_db
ALL = frozenset(Permission)
VIEW = frozenset({Permission.VIEW})
KEY = frozenset({Permission.VIEW, Permission.CREATE}) | OURS


def callers(project: Project) -> dict[str, Caller]:
    people = {name: make_user() for name in ("stranger", "leader", "member", "maintainer", "developer", "viewer")}
    for role in ("leader", "member"):
        Membership.objects.create(organization=project.organization, user=people[role], role=role, created=NOW, modified=NOW)
    for role in ("maintainer", "developer", "viewer"):
        ProjectRole.objects.create(project=project, user=people[role], role=role, created=NOW, modified=NOW)
    keys = {
        name: ProjectKey.objects.create(project=where, name="k", hash=name, creation=NOW, expiration=NOW)
        for name, where in (("own key", project), ("foreign key", make_project(people["stranger"])))
    }
    return {
        "anonymous": ANONYMOUS,
        "admin": Caller("user", make_user(admin=True)),
        **{name: Caller("user", user) for name, user in people.items()},
        **{name: Caller("project_key", None, key) for name, key in keys.items()},
    }


TABLE: dict[str, tuple[frozenset[Permission], frozenset[Permission]]] = {
    # caller: (in a public project, in a private one)
    "anonymous": (VIEW, frozenset()),
    "stranger": (VIEW, frozenset()),
    "foreign key": (VIEW, frozenset()),
    "own key": (KEY, KEY),
    "viewer": (VIEW | {Permission.VIEW_ROLE}, VIEW | {Permission.VIEW_ROLE}),
    "member": (VIEW | {Permission.VIEW_ROLE}, VIEW | {Permission.VIEW_ROLE}),
    "developer": ((ALL - {Permission.MANAGE, Permission.CREATE_ROLE, Permission.EDIT_ROLE, Permission.DELETE_ROLE}),) * 2,
    "maintainer": (ALL, ALL),
    "leader": (ALL, ALL),
    "admin": (ALL, ALL),
}


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_projects(visibility: str) -> None:
    project = make_project(make_user(), visibility=visibility)
    for name, caller in callers(project).items():
        granted = {permission for permission in Permission if may(caller, permission, project)}
        assert granted == TABLE[name][visibility == "private"], name


def test_organizations() -> None:
    project = make_project(make_user())
    for name, caller in callers(project).items():
        granted = {permission for permission in Permission if may_in_organization(caller, permission, project.organization)}
        wanted = {"leader": ALL, "admin": ALL, "member": VIEW | {Permission.VIEW_ROLE}}
        assert granted == wanted.get(name, frozenset()), name


def test_words_of_the_wire() -> None:
    assert WORDS == ("view", "create", "edit", "delete", "manage", "view_role", "create_role", "edit_role", "delete_role")
