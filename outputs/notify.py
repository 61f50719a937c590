"""Telling the workers, once the transaction is committed. A message that is lost costs nothing but time."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction


def changes_wanted(report_id: UUID) -> None:
    """A report is stored whose series are watched for change points."""

    def publish() -> None:
        from outputs.tasks import find_changes  # tasks import services, which import this

        find_changes.delay(str(report_id))

    transaction.on_commit(publish)
