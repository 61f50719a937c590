"""The state that REST shows of runners: one query for all of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from runners.models import Runner
from runners.serializers import runners_json
from tests.jobs_world import NOW, make_job, make_runner, make_spec

pytestmark = pytest.mark.django_db


def test_a_runner_is_busy_while_it_holds_a_job(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    spec = make_spec()
    busy, done, heard, silent = (make_runner(spec) for _ in range(4))
    make_job(spec=spec, runner=busy, status="running")
    make_job(spec=spec, runner=done, status="processed")
    Runner.objects.filter(pk=heard.pk).update(last_heartbeat=NOW - timedelta(seconds=5))
    wanted = {busy.pk: "busy", done.pk: "offline", heard.pk: "idle", silent.pk: "offline"}
    rows = list(Runner.objects.prefetch_related("runner_specs").order_by("pk"))
    with django_assert_num_queries(1):
        shown = runners_json(rows, now=NOW)
    assert {row.uuid: row.state for row in shown} == wanted
