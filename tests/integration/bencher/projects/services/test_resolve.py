"""rest.md 2.3 and registry.md 1.5: into which project a run or a push goes."""

from __future__ import annotations

from typing import Any

import pytest

from bencher.core import hooks
from bencher.core.errors import ServiceError
from bencher.projects.authentication import ANONYMOUS, Caller
from bencher.projects.models import Organization, Project, ProjectKey, User
from bencher.projects.services.organizations import claim_organization, delete_organization
from bencher.projects.services.projects import delete_project
from bencher.projects.services.resolve import COMMIT, MACHINE, REPOSITORY, derived_slug, project_for_push, project_for_run
from tests.restworld import NOW, NOWHERE, make_project, make_user

pytestmark = pytest.mark.django_db


def run(caller: Caller, project: str | None = None, image: str | None = None, context: dict[str, str] | None = None) -> Project:
    return project_for_run(caller=caller, project=project, image_repository=image, context=context, now=NOW)


def status(caller: Caller, *args: Any, **kwargs: Any) -> int:
    with pytest.raises(ServiceError) as refused:
        run(caller, *args, **kwargs)
    return refused.value.status


def by(user: User) -> Caller:
    return Caller("user", user, None, "jwt")


def key_of(project: Project) -> Caller:
    row = ProjectKey.objects.create(project=project, name="k", hash=str(project.pk), creation=NOW, expiration=NOW)
    return Caller("project_key", None, ProjectKey.objects.select_related("project__organization").get(pk=row.pk), "project_key")


# -- existing ----------------------------------------------------------------------------------------------------------
def test_named_by_uuid_slug_or_image() -> None:
    owner = make_user()
    project = make_project(owner)
    for name in (str(project.pk), project.slug, str(project.pk).upper()):
        assert run(by(owner), name) == project
        assert run(by(owner), None, name) == project
        assert project_for_push(caller=by(owner), name=name, now=NOW) == project
    assert run(by(owner), project.slug, "other-image") == project


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_claimed_project(visibility: str) -> None:
    owner = make_user()
    project = make_project(owner, visibility=visibility)
    assert status(ANONYMOUS, project.slug) == 401
    assert status(by(make_user()), project.slug) == 403
    assert status(key_of(make_project(owner)), project.slug) == 401
    assert run(by(owner), project.slug) == run(key_of(project), project.slug) == run(by(make_user(admin=True)), project.slug) == project


def test_unclaimed_project() -> None:
    project = run(ANONYMOUS, "nobodys", context={REPOSITORY: "Nobody's"})
    organization = project.organization
    assert (project.pk, project.name, project.slug) == (organization.pk, "Nobody's", "nobodys")
    assert (organization.name, organization.slug, organization.claimed, organization.priority) == ("Nobody's", "nobodys", None, 0)
    assert run(ANONYMOUS, "nobodys") == run(key_of(project), "nobodys") == project
    assert Project.objects.get().organization.claimed is None


def test_user_claims_by_running() -> None:
    project, user = run(ANONYMOUS, "nobodys", context={}), make_user()
    found = run(by(user), "nobodys")
    assert (found, found.organization.claimed) == (project, NOW)
    organization = Organization.objects.get(pk=project.organization_id)
    assert (organization.claimed, organization.priority) == (NOW, 100)
    assert list(organization.members.all()) == [user]
    assert status(ANONYMOUS, "nobodys") == 401
    assert status(by(make_user()), "nobodys") == 403


def test_claiming_tells_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(hooks.priority_changed, "_function", lambda **values: told.append(values))
    project = run(ANONYMOUS, "nobodys", context={})
    run(by(make_user()), "nobodys")
    assert told == [{"organization_id": project.organization_id, "priority": 100, "now": NOW}]


def test_somebody_was_faster_to_claim() -> None:
    project, fast, slow = run(ANONYMOUS, "nobodys", context={}), make_user(), make_user()
    stale = Organization.objects.get(pk=project.organization_id)
    claim_organization(organization=project.organization, user=fast, now=NOW)
    with pytest.raises(ServiceError) as refused:
        claim_organization(organization=stale, user=slow, now=NOW)
    assert refused.value.status == 401
    assert status(by(slow), "nobodys") == 403


def test_deleted_projects_are_gone() -> None:
    owner = make_user()
    project = make_project(owner)
    slug = project.slug
    delete_project(project=project, hard=False, by=owner, now=NOW)
    assert status(by(owner), str(project.pk)) == 404
    assert run(by(owner), slug, context={}).pk != project.pk


# -- made --------------------------------------------------------------------------------------------------------------
def test_made_for_a_user() -> None:
    user = make_user()
    made = [run(by(user), slug, context={REPOSITORY: "Same"}) for slug in ("one", "two", "three")]
    assert [project.name for project in made] == ["Same", "Same (1)", "Same (2)"]
    assert {project.organization_id for project in made} == {user.pk}
    assert {project.visibility for project in made} == {"public"}
    assert made[0].roles.get().role == "maintainer"


def test_made_for_a_user_without_a_personal_organization() -> None:
    user = make_user()
    delete_organization(organization=Organization.objects.get(pk=user.pk), now=NOW)
    first, second = (run(by(user), slug, context={}) for slug in ("one", "two"))
    assert first.organization_id == second.organization_id != user.pk


def test_made_in_an_unclaimed_organization_again() -> None:
    project = run(ANONYMOUS, "nobodys", context={})
    delete_project(project=project, hard=False, by=make_user(admin=True), now=NOW)
    again = run(ANONYMOUS, "nobodys", context={})
    assert again.organization_id == project.organization_id
    assert again.pk != project.pk


@pytest.mark.parametrize("context", [None, {}, {"more": "y"}, {REPOSITORY: "🚀"}])
def test_nothing_to_derive_from(context: dict[str, str] | None) -> None:
    for caller in (ANONYMOUS, by(make_user())):
        assert status(caller, context=context) == 400


def test_made_needs_a_context() -> None:
    assert status(ANONYMOUS, "new") == status(by(make_user()), "new") == status(ANONYMOUS, None, "image") == 400


def test_a_uuid_makes_nothing() -> None:
    for caller in (ANONYMOUS, by(make_user()), key_of(make_project(make_user()))):
        assert status(caller, NOWHERE, context={}) == 404


def test_slug_of_somebodys_organization() -> None:
    assert status(ANONYMOUS, make_user().slug, context={}) == 401


@pytest.mark.parametrize(
    ("context", "slug"),
    [
        ({REPOSITORY: "My Repo", COMMIT: "0123456789", MACHINE: "m" * 20}, "my-repo-0123456-" + "m" * 13),
        ({REPOSITORY: "r" * 60}, "r" * 42),
        ({COMMIT: "abc"}, "abc"),
        ({REPOSITORY: "a", MACHINE: "b"}, "a-b"),
    ],
)
def test_derived_slug(context: dict[str, str], slug: str) -> None:
    assert derived_slug(context) == slug
    assert run(ANONYMOUS, context=context).slug == slug


def test_images_name_projects_before_the_context() -> None:
    assert run(ANONYMOUS, None, "from-image", {REPOSITORY: "from-context"}).slug == "from-image"
    assert run(ANONYMOUS, None, "Not_A_Slug", {REPOSITORY: "from-context"}).slug == "from-context"


def test_project_keys_make_nothing() -> None:
    project = make_project(make_user())
    key = key_of(project)
    assert status(key, "new", context={}) == 404
    assert run(key) == run(key, None, "unknown-image") == run(key, context={REPOSITORY: "x"}) == project


# -- pushes and settings -----------------------------------------------------------------------------------------------
def test_pushes() -> None:
    made = project_for_push(caller=ANONYMOUS, name="pushed", now=NOW)
    assert (made.name, made.slug, made.organization.claimed) == ("pushed", "pushed", None)
    user = make_user()
    assert project_for_push(caller=by(user), name="pushed", now=NOW).organization.claimed == NOW
    for caller, name, wanted in (
        (ANONYMOUS, "pushed", 401),
        (by(make_user()), "pushed", 403),
        (ANONYMOUS, NOWHERE, 404),
        (ANONYMOUS, "two/parts", 400),
        (key_of(make_project(user)), "unknown", 404),
    ):
        with pytest.raises(ServiceError) as refused:
            project_for_push(caller=caller, name=name, now=NOW)
        assert refused.value.status == wanted


def test_without_anonymous_runs(settings: Any) -> None:
    settings.BENCHER_ALLOW_ANONYMOUS_RUNS = False
    assert status(ANONYMOUS, "new", context={}) == 401
    with pytest.raises(ServiceError, match="no anonymous"):
        project_for_push(caller=ANONYMOUS, name="new", now=NOW)
    assert run(by(make_user()), "new", context={}).slug == "new"
