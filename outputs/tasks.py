"""Celery tasks of results. Each may run twice, and may be lost: the next report of the same series does its work too."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from bencher.core import clock
from outputs.services import changes


@shared_task(name="outputs.find_changes", acks_late=True, reject_on_worker_lost=True)
def find_changes(report: str) -> None:
    """Look for change points in the watched series of a report."""
    changes.find_changes(report_id=UUID(report), now=clock.now())
