"""Celery tasks of the registry. Each may run twice, at once and elsewhere."""

from __future__ import annotations

from celery import shared_task

from bencher.core import clock
from outputs.registry.services import garbage


@shared_task(name="outputs.collect_garbage", acks_late=True, reject_on_worker_lost=True)  # type: ignore[untyped-decorator]
def collect_garbage() -> None:
    """What a crash or a storage fault leaves, the next run takes."""
    garbage.collect_garbage(now=clock.now())
