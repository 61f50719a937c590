"""Statements without Django's cursor, rows without its models' constructor: nobody sees a difference. ``bencher/core/statements.py``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, ProgrammingError, connection, models, transaction
from django.db.transaction import TransactionManagementError
from django.db.utils import OperationalError
from django.test.utils import CaptureQueriesContext

from bencher.core.compiled import Compiled, Slot, create
from bencher.core.ids import uuid7
from bencher.core.statements import Maker, Statement, stored, writer_of
from bencher.projects.models import Project, User
from outputs.models import Report
from tests.restworld import NOW, make_project, make_user

pytestmark = pytest.mark.django_db
COUNT = Statement("SELECT COUNT(*), '%%' FROM projects_project WHERE name = %s")
RENAME = Statement("UPDATE projects_project SET name = %s WHERE id = %s")


def test_parameters_and_percent_signs() -> None:
    project = make_project(make_user())
    assert COUNT.rows([project.name]) == [(1, "%")]
    assert RENAME.change(["100 % '?' näme", stored(project.pk, connection)]) == 1
    assert COUNT.rows([project.name]) == [(0, "%")]
    assert COUNT.rows(["100 % '?' näme"]) == [(1, "%")]


def test_who_looks_on_sees_every_statement() -> None:
    seen: list[str] = []

    def look(execute: Any, sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(look):
        COUNT.rows(["x"])
        RENAME.change(["x", stored(uuid7(), connection)])
    with CaptureQueriesContext(connection) as queries:
        COUNT.rows(["x"])
    assert seen == [COUNT.sql, RENAME.sql]
    assert len(queries) == 1


def test_faults_are_djangos() -> None:
    with pytest.raises((OperationalError, ProgrammingError)), transaction.atomic():
        Statement("SELECT nonsense FROM nowhere WHERE %s = 1").rows([1])
    owner = make_user()
    with pytest.raises(IntegrityError), transaction.atomic():
        create(User, id=owner.id, name="n", slug="n", email="n@x.org", created=NOW, modified=NOW)
    assert issubclass(IntegrityError, DatabaseError)


def test_nothing_runs_in_a_broken_transaction() -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            COUNT.rows(["x"])
        with pytest.raises(TransactionManagementError):
            RENAME.change(["x", "y" * 32])


def test_what_a_transaction_wrote_goes_with_it() -> None:
    project = make_project(make_user())
    with transaction.atomic():
        assert RENAME.change(["other", stored(project.pk, connection)]) == 1
        transaction.set_rollback(True)
    assert COUNT.rows([project.name]) == [(1, "%")]


def test_moments_keep_their_microseconds_and_zone() -> None:
    moment = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
    project = make_project(make_user())
    zone = datetime.fromisoformat("2026-01-31T13:00:00.123456+01:00")
    Project.objects.filter(pk=project.pk).update(created=moment)
    query: Compiled[Any] = Compiled(lambda: Project.objects.filter(created=Slot("at")).values_list("created", flat=True))
    assert query.rows(at=zone) == [moment]
    assert query.rows(at=moment)[0].tzinfo is UTC
    assert query.rows(at=moment + timedelta(microseconds=1)) == []
    newest: Compiled[Any] = Compiled(
        lambda: Project.objects.filter(pk=Slot("id")).annotate(at=models.Max("created")).values_list("at", flat=True)
    )
    assert newest.rows(id=project.pk) == [moment]


def test_instances_are_what_django_makes() -> None:
    project = make_project(make_user())
    some: Compiled[Project] = Compiled(lambda: Project.objects.filter(pk=Slot("id")).only("id", "name"))
    found, wanted = some.first(id=project.pk), Project.objects.only("id", "name").get(pk=project.pk)
    assert found is not None
    assert found.get_deferred_fields() == wanted.get_deferred_fields() != set()
    assert found.slug == project.slug  # read when it is asked for
    found.name = "renamed"
    found.save()
    assert Project.objects.get(pk=project.pk).name == "renamed"


def test_a_model_with_a_constructor_of_its_own_is_refused() -> None:
    class Own(models.Model):
        class Meta:
            app_label = "nowhere"

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

    with pytest.raises(TypeError, match="a way of its own"):
        Maker(Own)


def test_fields_are_written_as_django_writes_them() -> None:
    moment = datetime.fromisoformat("2026-01-31T13:00:00.5+01:00")
    values = {"id": make_user().id, "name": "n", "created": moment, "admin": True}
    for name, value in values.items():
        field = User._meta.get_field(name)
        assert writer_of(field, connection)(value) == field.get_db_prep_save(value, connection)  # type: ignore[union-attr]


def test_a_new_row_is_what_the_constructor_makes() -> None:
    project = make_project(make_user())
    values = {"id": uuid7(), "project": project, "user": None, "head_id": uuid7(), "adapter": "json", "start_time": NOW, "counts": [[1, 2]]}
    made, expected = Maker(Report).new("default", values), Report(**values)
    assert {name: value for name, value in vars(made).items() if name != "_state"} == {
        name: value for name, value in vars(expected).items() if name != "_state"
    }
    assert made._state.fields_cache == expected._state.fields_cache == {"project": project, "user": None}
    assert (made._state.adding, made._state.db) == (False, "default")
    assert made.verdicts is not Maker(Report).new("default", values).verdicts
    assert (made.project, made.user, made.size) == (project, None, 0)
    for wrong in ("nonsense", "project_idx"):
        with pytest.raises(TypeError, match=wrong):
            Maker(Report).new("default", {wrong: 1})
