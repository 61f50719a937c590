"""What rows call themselves in lists, histories and logs: something to tell them apart by, at no query."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db.models import Model

from tests.adminworld import make_everything
from tests.jobs_world import make_user

OURS = [model for model in apps.get_models() if model.__module__.split(".")[0] in ("bencher", "jobs", "runners", "outputs")]


@pytest.mark.django_db
def test_every_row_has_a_name_that_costs_nothing(django_assert_num_queries: Any) -> None:
    make_everything(make_user(admin=True))
    rows = [row for model in OURS if (row := model._default_manager.first()) is not None]
    assert len(rows) > 25
    with django_assert_num_queries(0):
        names = [str(row) for row in rows]
    assert all(name and " object (" not in name for name in names), names


def test_no_model_leaves_it_to_the_framework() -> None:
    assert [model.__name__ for model in OURS if model.__str__ is Model.__str__] == []
