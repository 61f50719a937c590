"""Branches that started from one another count the same versions: reports and deletions on several of them at once. PostgreSQL, threads."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from outputs import models, requests
from outputs.services.reports import delete_report
from tests.races.outputs.services.test_first_reports import at_once, faults
from tests.results_lab import Lab, latency

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
BRANCHES = 4
HASHES = [f"{number:040x}" for number in range(10)]


@pytest.fixture
def lab(transactional_db: None) -> Lab:
    if connection.vendor != "postgresql":
        pytest.skip("threads share no in-memory SQLite database")
    return Lab()


@pytest.mark.parametrize("attempt", range(3))
def test_reports_and_deletions_on_branches_that_share_versions(lab: Lab, attempt: int) -> None:
    made = [lab.report(latency(1.0), hash=hash) for hash in HASHES]
    start = requests.StartPoint(branch="main")
    for number in range(BRANCHES):
        lab.report(latency(1.0), branch=f"b{number}", start_point=start)

    def work(number: int) -> Any:
        if number % 2:
            return delete_report(report=made[number // 2])
        same = HASHES[number // 2] if number % 4 else None
        return lab.report(latency(2.0), branch=f"b{number % BRANCHES}", hash=same)

    assert faults(at_once(work)) == []
    consistent()


@pytest.mark.parametrize("attempt", range(3))
def test_start_points_and_deletions(lab: Lab, attempt: int) -> None:
    """What is cloned is there, and numbered without gaps, when the clone is."""
    made = [lab.report(latency(1.0), hash=hash) for hash in HASHES]
    lab.report(latency(1.0), branch="old")
    start = requests.StartPoint(branch="main")

    def work(number: int) -> Any:
        if number % 2:
            return delete_report(report=made[number // 2])
        return lab.report(latency(2.0), branch="old" if number == 4 else f"new-{number}", start_point=start)

    assert faults(at_once(work)) == []
    consistent()


def consistent() -> None:
    """Heads number their versions without gaps, and every report's version counts in its head."""
    for head in models.Head.objects.all():
        numbers = list(models.HeadVersion.objects.filter(head=head).order_by("number").values_list("number", flat=True))
        assert numbers == list(range(len(numbers)))
    for report in models.Report.objects.all():
        assert models.HeadVersion.objects.filter(head=report.head_id, version=report.version_id).exists()
