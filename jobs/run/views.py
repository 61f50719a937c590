"""REST: ``POST /v0/run`` (rest.md section 2)."""

from __future__ import annotations

from typing import Any

from bencher.core.api import Reply
from bencher.core.client_ip import client_ip
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from jobs.run.request import RunRequest
from jobs.run.service import run
from outputs.serializers.reports import JsonReport, report_json


class RunView(ApiView):
    """Local results, or a remote job."""

    access = Access.ACTOR
    authenticated_headers = True

    @documented(body=RunRequest, returns=JsonReport, status=201, errors=(402,))
    def post(self, request: Any) -> Reply:
        """Report local results, or submit a remote job."""
        body = self.body(RunRequest)
        self.limit("runs")
        report = run(caller=self.caller, request=body, source_ip=client_ip(request.META), now=self.now)
        return Reply(report_json(report), 201)
