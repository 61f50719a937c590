"""Deleting projects for good: whatever they hold (rest.md 5.1)."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection

from bencher.core.errors import NotAllowed
from bencher.projects.models import Project
from bencher.projects.services.keys import create_project_key
from bencher.projects.services.projects import delete_project
from outputs.models import Report
from tests.jobs_world import make_job
from tests.restworld import NOW, make_project, make_user
from tests.results_lab import Lab, latency, watching

pytestmark = pytest.mark.django_db(transaction=True)


def fill(project: Project) -> None:
    lab = Lab(project)
    for value in (1.0, 1.0, 9.0):
        lab.run(latency(value), thresholds=watching())
    make_job(project)
    create_project_key(project=project, creator=None, name="k", ttl=None, now=NOW)


def rows() -> dict[str, int]:
    kept = {"projects", "outputs", "jobs"}
    return {
        model.__name__: model._default_manager.count()
        for model in apps.get_models()
        if model._meta.app_label in kept and not model._meta.proxy
    }


def test_hard_deletion_erases_everything_of_one_project() -> None:
    admin = make_user(admin=True)
    kept, erased = make_project(admin), make_project(admin)
    fill(kept)
    before = rows()
    fill(erased)
    assert rows()["Metric"] == 2 * before["Metric"] > 0
    delete_project(project=erased, hard=True, by=admin, now=NOW)
    connection.check_constraints()
    after = rows()
    assert after.pop("Project") == before.pop("Project") - 1
    assert after.pop("ProjectRole") == before.pop("ProjectRole") - 1
    assert after == before
    assert Report.objects.filter(project=kept).count() == 4


def test_hard_deletion_is_for_administrators() -> None:
    owner = make_user()
    project = make_project(owner)
    with pytest.raises(NotAllowed):
        delete_project(project=project, hard=True, by=owner, now=NOW)
    assert Project.objects.filter(pk=project.pk, deleted=None).exists()
