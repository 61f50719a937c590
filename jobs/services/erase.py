"""Erasing all jobs of a project that is deleted for good (rest.md 5.1)."""

from __future__ import annotations

from uuid import UUID

from jobs.models import Job, JobEvent


def erase_jobs(*, project_id: UUID) -> None:
    """Delete the jobs of the project with their history. Inside the transaction that deletes the project, before its reports go."""
    for rows in (JobEvent.objects.filter(job__project_id=project_id), Job.objects.filter(project_id=project_id)):
        rows._raw_delete(rows.db)
