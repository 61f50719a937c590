"""Queries that are compiled once: the same rows as the QuerySet gives, asked for anew each time. ``bencher/core/compiled.py``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.db.models import F, Q
from django.test.utils import CaptureQueriesContext

from bencher.core.compiled import Compiled, CompiledUpdate, Slot, create
from bencher.core.ids import uuid7
from bencher.core.transitions import Transition, compare_and_swap
from bencher.projects.models import Organization, Project, UserKey
from jobs.models import Job
from outputs import models
from tests.jobs_world import make_job
from tests.restworld import NOW, fresh, key_of, make_project, make_user

pytestmark = pytest.mark.django_db
BY_SLUG = Compiled(lambda: Project.objects.select_related("organization").filter(slug=Slot("slug"), deleted=None))
OLDER = Compiled(lambda: Project.objects.filter(created__lt=Slot("moment")).order_by("name", "id").values_list("id", "name", "created"))
NAMES = Compiled(lambda: Project.objects.filter(id__among=Slot("ids")).order_by("name").values_list("name", flat=True))


def test_instances_with_what_they_refer_to() -> None:
    project = make_project(make_user())
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            found = BY_SLUG.first(slug=project.slug)
            assert found == project
            assert found is not None
            assert found.organization == project.organization
        assert len(queries) == 1
    wanted = Project.objects.get(pk=project.pk)
    assert {field.attname: getattr(found, field.attname) for field in Project._meta.concrete_fields} == {
        field.attname: getattr(wanted, field.attname) for field in Project._meta.concrete_fields
    }
    assert not found._state.adding


def test_every_call_sees_what_is_stored_now() -> None:
    project = make_project(make_user())
    assert BY_SLUG.first(slug=project.slug) is not None
    Project.objects.filter(pk=project.pk).update(deleted=NOW)
    assert BY_SLUG.first(slug=project.slug) is None
    Project.objects.filter(pk=project.pk).update(deleted=None, name="another")
    found = BY_SLUG.first(slug=project.slug)
    assert found is not None
    assert found.name == "another"


def test_null_references_are_none() -> None:
    place = models.Testbed.objects.create(project=make_project(make_user()), name="t", slug="t", created=NOW, modified=NOW)
    query: Compiled[models.Testbed] = Compiled(lambda: models.Testbed.objects.select_related("spec").filter(pk=Slot("id")))
    found = query.first(id=place.pk)
    assert found is not None
    assert found.spec is None


def test_tuples_and_single_values() -> None:
    owner = make_user()
    projects = sorted((make_project(owner, name=fresh("listed")) for _ in range(3)), key=lambda row: row.name)
    assert OLDER.rows(moment=NOW + timedelta(seconds=1)) == [(row.id, row.name, row.created) for row in projects]
    assert OLDER.rows(moment=NOW) == []
    assert NAMES.rows(ids={row.id for row in projects[:2]} | {uuid7()}) == [row.name for row in projects[:2]]
    assert NAMES.rows(ids=[]) == []


def test_annotations_constants_and_conditions() -> None:
    project = make_project(make_user(), visibility="private")
    query: Compiled[Project] = Compiled(
        lambda: Project.objects.filter(Q(slug=Slot("text")) | Q(name=Slot("text")), visibility="private").annotate(other=F("name"))
    )
    found = query.first(text=project.name)
    assert found is not None
    assert found.other == project.name  # type: ignore[attr-defined]
    assert query.first(text="'; DROP TABLE projects_project; --%s") is None


def test_what_is_no_query_of_rows_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be compiled"):
        Compiled(lambda: Project.objects.values("id")).rows()


def test_create_writes_what_django_would() -> None:
    owner = make_user()
    project = make_project(owner)
    values = {"project": project, "slug": "näme", "name": "Näme %s '\"", "created": NOW + timedelta(microseconds=7), "modified": NOW}
    made = create(models.Benchmark, **values)
    stored, django = models.Benchmark.objects.get(pk=made.pk), models.Benchmark.objects.create(**{**values, "name": "b", "slug": "b"})
    for name in ("project_id", "created", "modified", "archived"):
        assert getattr(stored, name) == getattr(django, name)
    assert (stored.name, stored.slug) == (values["name"], values["slug"])
    made.name = "renamed"
    made.save()
    assert models.Benchmark.objects.filter(project=project, name="renamed").count() == 1
    with pytest.raises(IntegrityError):
        create(models.Benchmark, **{**values, "name": "renamed", "slug": "other"})


def test_secrets_are_looked_up_by_value() -> None:
    user = make_user()
    key_of(user)
    query: Compiled[UserKey] = Compiled(lambda: UserKey.objects.select_related("user").filter(hash=Slot("hash")))
    known = UserKey.objects.get(user=user)
    found = query.first(hash=known.hash)
    assert found is not None
    assert (found, found.user) == (known, user)
    assert query.first(hash="") is None
    assert Organization.objects.filter(pk=user.pk).exists()


def test_an_update_changes_what_meets_every_condition() -> None:
    project = make_project(make_user())
    change = CompiledUpdate(lambda: Project.objects.filter(pk=Slot("id"), url=Slot("url")), ["name", "modified", "url"])
    later = NOW + timedelta(days=1)
    assert change.run({"id": project.pk, "url": "x"}, {"name": "no", "modified": later, "url": None}) == 0
    Project.objects.filter(pk=project.pk).update(url="x")
    assert change.run({"id": project.pk, "url": "x"}, {"name": "näme", "modified": later, "url": None}) == 1
    project.refresh_from_db()
    assert (project.name, project.modified, project.url) == ("näme", later, None)


GUARDS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"runner": None}, True),
    ({"runner_id": uuid7()}, False),
    ({"output": ""}, True),
    ({"output": "another"}, False),
    ({"processing_until__isnull": True}, True),
    ({"processing_until__isnull": False}, False),
    ({"created__lt": NOW}, False),
    ({"created__lte": NOW}, True),
    ({"channel__in": ["", "x"]}, True),
    ({"channel__in": ["x"]}, False),
]


@pytest.mark.parametrize(("guards", "swapped"), GUARDS)
def test_guards_of_a_swap_are_those_of_a_filter(guards: dict[str, Any], swapped: bool) -> None:
    jobs = [make_job() for _ in range(3)]  # the second time the statement is there already
    Job.objects.update(created=NOW)
    step = Transition("step", frozenset({"pending", "claimed"}), "running")
    for job in jobs[:2]:
        assert compare_and_swap(Job, job.pk, step, now=NOW + timedelta(seconds=1), guards=guards, changes={"started": NOW}) is swapped
        assert compare_and_swap(Job, job.pk, step, now=NOW, guards=guards) is False
    wanted = ("running", NOW, NOW + timedelta(seconds=1)) if swapped else ("pending", None)
    for job in jobs[:2]:
        job.refresh_from_db()
        assert (job.status, job.started, job.modified)[: len(wanted)] == wanted
    assert Job.objects.get(pk=jobs[2].pk).status == "pending"
