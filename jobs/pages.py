"""Pages of jobs and the overview of a project."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from bencher.core.client_ip import client_ip
from bencher.core.errors import Missing
from bencher.core.paging import paged
from bencher.projects.browsing import ProjectPage, places
from bencher.projects.limiting import limit
from bencher.projects.permissions import Permission
from jobs import selectors
from jobs.admin_output import shown_output
from jobs.lifecycle import IN_FLIGHT, Status
from jobs.models import STATUSES, Job
from jobs.output import encode
from jobs.overview import overview
from jobs.run.resubmit import resubmit_job
from jobs.run.service import actor_of
from jobs.serializers import JobsQuery
from jobs.services.cancel import cancel_job

EVENTS = 200
"""Of a job's history, on its page."""


class Overview(ProjectPage):
    template = "queue/overview.html"

    def get(self, request: HttpRequest, project: str) -> HttpResponse:
        found = self.project()
        return self.show(data=overview(found), claimed=found.organization.claimed is not None)


class Jobs(ProjectPage):
    template = "queue/jobs.html"

    def get(self, request: HttpRequest, project: str) -> HttpResponse:
        found, query = self.project(), self.query(JobsQuery)
        rows = selectors.jobs_of(found.pk, status=query.status, ascending=query.direction == "asc")
        return self.show(page=paged(rows, self.parameters), query=query, statuses=STATUSES)


class JobPage(ProjectPage):
    """What the pages of one job share."""

    def job(self, permission: Permission = Permission.VIEW) -> Job:
        job = selectors.find_job(self.project(permission).pk, self.uuid("job"))
        if job is None:
            raise Missing("There is no such job in this project.")
        return job

    def output(self, job: Job) -> Any:
        """What the job delivered: for those who are logged in, as with REST (rest.md 3.2)."""
        return None if self.caller.is_anonymous else selectors.output_of(job)


class OneJob(JobPage):
    template = "queue/job.html"

    def get(self, request: HttpRequest, project: str, job: str) -> HttpResponse:
        found = self.job()
        output = self.output(found)
        here = f"{places(self.found)['root']}/jobs/{found.pk}"
        ended = found.status in selectors.ENDED
        return self.show(
            job=found,
            job_path=here,
            events=list(selectors.events_of(found.pk)[:EVENTS]),
            output=None if output is None else shown_output(output, f"{here}/output.json"),
            hidden_output=ended and bool(found.output) and self.caller.is_anonymous,
            ended=ended,
            may_cancel=found.status in {Status.PENDING, *IN_FLIGHT} and self.may(Permission.EDIT),
            may_resubmit=self.may(Permission.CREATE),
        )


class Output(JobPage):
    """All that was delivered, as a file: a browser never renders it."""

    def get(self, request: HttpRequest, project: str, job: str) -> HttpResponse:
        found = self.job()
        output = self.output(found)
        if output is None:
            raise Missing("No output can be shown: none is stored, or you are not logged in.")
        name = f'attachment; filename="job-{found.pk}.json"'
        return HttpResponse(encode(output.results, output.error), "application/json", headers={"Content-Disposition": name})


class Cancel(JobPage):
    def post(self, request: HttpRequest, project: str, job: str) -> HttpResponseRedirect:
        found = self.job(Permission.EDIT)
        cancel_job(job_id=found.pk, actor=actor_of(self.caller), now=self.now)
        return self.back(f"/jobs/{found.pk}")


class Resubmit(JobPage):
    def post(self, request: HttpRequest, project: str, job: str) -> HttpResponseRedirect:
        found = self.job(Permission.CREATE)
        limit(self.caller, "runs", request.META, now=self.now)
        address = client_ip(request.META)
        made = resubmit_job(job_id=found.pk, user=self.user, actor=actor_of(self.caller), source_ip=address, now=self.now)
        return self.back(f"/jobs/{made.pk}")
