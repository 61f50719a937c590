"""``reprocess_job`` and ``resubmit_job``: exit codes, sentences, JSON."""

from __future__ import annotations

import json
import uuid
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs.models import Job
from tests.jobs_world import bmf, iteration, make_job, ran

pytestmark = pytest.mark.django_db


def command(*arguments: Any) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out)
    return out.getvalue()


def test_reprocess() -> None:
    job = ran(make_job(), iteration(bmf(a=1)))
    assert "has the results" in command("reprocess_job", job.pk)
    assert Job.objects.get(pk=job.pk).status == "processed"
    job = ran(make_job(), iteration("no benchmark"))
    assert json.loads(command("reprocess_job", job.pk, "--json")) == {"job": str(job.pk), "outcome": "failed"}


def test_reprocess_refuses() -> None:
    with pytest.raises(CommandError, match="pending"):
        command("reprocess_job", make_job().pk)
    with pytest.raises(CommandError, match="no job"):
        command("reprocess_job", uuid.uuid4())
    with pytest.raises(CommandError, match="invalid UUID"):
        command("reprocess_job", "x")


def test_resubmit() -> None:
    job = ran(make_job(), status="failed")
    assert str(job.pk) in command("resubmit_job", job.pk)
    answer = json.loads(command("resubmit_job", job.pk, "--priority", "7", "--json"))
    made = Job.objects.get(pk=answer["new_job"])
    assert (made.status, made.priority, str(made.report_id), made.config) == ("pending", 7, answer["report"], job.config)


@pytest.mark.parametrize("priority", ["-1", "1001", "high"])
def test_resubmit_checks_the_priority(priority: str) -> None:
    with pytest.raises(CommandError, match="priority"):
        command("resubmit_job", make_job().pk, f"--priority={priority}")


def test_resubmit_refuses() -> None:
    with pytest.raises(CommandError, match="no job"):
        command("resubmit_job", uuid.uuid4())
