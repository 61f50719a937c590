"""REST: jobs (rest.md section 3)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from bencher.core.api import Reply
from bencher.core.client_ip import client_ip
from bencher.core.errors import Missing, NotAllowed
from bencher.core.newtypes import ResourceId
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from jobs import selectors
from jobs.models import Job
from jobs.run.resubmit import resubmit_job
from jobs.run.service import actor_of
from jobs.serializers import (
    EventsQuery,
    JobsQuery,
    JsonJob,
    JsonJobEvent,
    JsonResubmitJob,
    JsonUpdateJob,
    event_json,
    job_json,
    shown_output,
)
from jobs.services.cancel import cancel_job


class JobView(ApiView):
    """What the views of one job share."""

    access = Access.ACTOR
    path_shapes = {"project": ResourceId, "job": UUID}

    def job(self, permission: str = "view") -> Job:
        """The job of the path, in the project of the path."""
        project = self.project(permission)
        job = selectors.find_job(project.pk, self.uuid("job"))
        if job is None:
            raise Missing("there is no such job in this project")
        return job


class JobsView(ApiView):
    access = Access.ACTOR
    path_shapes = {"project": ResourceId}

    @documented(query=JobsQuery, returns=list[JsonJob])
    def get(self, request: Any, project: str) -> Reply:
        """Jobs of a project, the newest first."""
        query = self.query(JobsQuery)
        rows, total = query.cut(selectors.jobs_of(self.project().pk, status=query.status, ascending=query.direction == "asc"))
        return Reply([job_json(row) for row in rows], total=total)


class OneJobView(JobView):
    @documented(returns=JsonJob)
    def get(self, request: Any, project: str, job: str) -> Reply:
        """One job; what it delivered, once it has ended, is for authenticated callers."""
        found = self.job()
        return Reply(job_json(found, None if self.caller.is_anonymous else shown_output(found)))

    @documented(body=JsonUpdateJob, returns=JsonJob)
    def patch(self, request: Any, project: str, job: str) -> Reply:
        """Cancel a job that has not ended."""
        found = self.job("edit")
        self.body(JsonUpdateJob)
        canceled = cancel_job(job_id=found.pk, actor=actor_of(self.caller), now=self.now)
        return Reply(job_json(canceled))


class ResubmitView(JobView):
    @documented(body=JsonResubmitJob, returns=JsonJob, status=201)
    def post(self, request: Any, project: str, job: str) -> Reply:
        """Run a job again: same configuration and spec, on a new report."""
        self.limit("runs")
        found = self.job("create")
        wanted = self.body(JsonResubmitJob) if self.request._request.body else JsonResubmitJob()
        if wanted.priority is not None and not self.caller.is_admin:
            raise NotAllowed("priority: only a server administrator may set it")
        made = resubmit_job(
            job_id=found.pk,
            user=self.caller.user,
            actor=actor_of(self.caller),
            source_ip=client_ip(request.META),
            priority=wanted.priority,
            now=self.now,
        )
        return Reply(job_json(made), 201)


class JobEventsView(JobView):
    @documented(query=EventsQuery, returns=list[JsonJobEvent])
    def get(self, request: Any, project: str, job: str) -> Reply:
        """A job's history, oldest first."""
        query = self.query(EventsQuery)
        rows, total = query.cut(selectors.events_of(self.job().pk, ascending=query.direction != "desc"))
        return Reply([event_json(row) for row in rows], total=total)
