"""Every list of people, places and machines costs the same number of queries with 1 row and with 100 (design.md section 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bencher.projects.models import ApiToken, Membership, Organization, Project, ProjectKey, User, UserKey
from bencher.specs.models import Spec
from runners.models import Runner, RunnerSpec
from tests.restworld import NOW, Api, api_of, make_project, make_user

pytestmark = pytest.mark.django_db
HARDWARE = {"os": "linux", "architecture": "x86_64", "cpu": 1, "memory": 1, "disk": 1}


def named(number: int) -> dict[str, Any]:
    return {"name": f"many {number}", "slug": f"many-{number}", "created": NOW, "modified": NOW}


def credential(number: int) -> dict[str, Any]:
    return {"name": f"many {number}", "hash": f"many {number}", "creation": NOW, "expiration": NOW}


def people(owner: User, numbers: range) -> list[User]:
    return User.objects.bulk_create(User(email=f"many-{number}@example.com", **named(number)) for number in numbers)


def organizations(owner: User, numbers: range) -> None:
    made = Organization.objects.bulk_create(Organization(claimed=NOW, **named(number)) for number in numbers)
    Membership.objects.bulk_create(Membership(organization=one, user=owner, created=NOW, modified=NOW) for one in made)


def members(owner: User, numbers: range) -> None:
    Membership.objects.bulk_create(
        Membership(organization_id=owner.pk, user=one, created=NOW, modified=NOW) for one in people(owner, numbers)
    )


def projects(owner: User, numbers: range) -> None:
    Project.objects.bulk_create(Project(organization_id=owner.pk, **named(number)) for number in numbers)


def user_keys(owner: User, numbers: range) -> None:
    UserKey.objects.bulk_create(UserKey(user=owner, **credential(number)) for number in numbers)


def project_keys(owner: User, numbers: range) -> None:
    project = Project.objects.get(slug="the-project")
    ProjectKey.objects.bulk_create(ProjectKey(project=project, creator=owner, **credential(number)) for number in numbers)


def tokens(owner: User, numbers: range) -> None:
    ApiToken.objects.bulk_create(ApiToken(user=owner, token="t", **credential(number)) for number in numbers)


def specs(owner: User, numbers: range) -> list[Spec]:
    return Spec.objects.bulk_create(Spec(**named(number), **HARDWARE) for number in numbers)


def runners(owner: User, numbers: range) -> None:
    made = Runner.objects.bulk_create(Runner(key_hash=f"many {number}", **named(number)) for number in numbers)
    RunnerSpec.objects.bulk_create(
        RunnerSpec(runner=one, spec=spec, created=NOW) for one, spec in zip(made, specs(owner, numbers), strict=True)
    )


def specs_of_a_runner(owner: User, numbers: range) -> None:
    runner = Runner.objects.get(slug="the-runner")
    RunnerSpec.objects.bulk_create(RunnerSpec(runner=runner, spec=spec, created=NOW) for spec in specs(owner, numbers))


LISTS: dict[str, Callable[[User, range], Any]] = {
    "/v0/users": people,
    "/v0/users/owner/keys": user_keys,
    "/v0/users/owner/tokens": tokens,
    "/v0/organizations": organizations,
    "/v0/organizations/owner/members": members,
    "/v0/organizations/owner/projects": projects,
    "/v0/projects": projects,
    "/v0/projects/the-project/keys": project_keys,
    "/v0/runners": runners,
    "/v0/runners/the-runner/specs": specs_of_a_runner,
    "/v0/specs": specs,
}


def queries(api: Api, path: str) -> tuple[int, int]:
    """(queries, rows)."""
    with CaptureQueriesContext(
        connection,
    ) as captured:
        rows = api.ok("GET", path, query={"per_page": 255})
    return len(captured), len(rows)


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("admin", [True, False])
def test_constant(path: str, admin: bool) -> None:
    owner = make_user(admin=admin, name="owner")
    make_project(owner, name="the-project")
    Runner.objects.create(name="the-runner", slug="the-runner", key_hash="x", created=NOW, modified=NOW)
    api = api_of(owner)
    if (not admin and path.split("/")[2] in ("runners", "specs")) or (not admin and path == "/v0/users"):
        api.refused("GET", path, 403)
        return
    LISTS[path](owner, range(1))
    few = queries(api, path)
    LISTS[path](owner, range(1, 100))
    many = queries(api, path)
    assert many[0] == few[0] <= 6
    assert many[1] == few[1] + 99
