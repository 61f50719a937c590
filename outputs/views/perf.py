"""``…/perf`` and ``…/perf/img`` (rest.md 5.8)."""

from __future__ import annotations

from typing import Any

from bencher.core.api import Reply
from bencher.core.newtypes import ResourceId
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from outputs.charts import chart
from outputs.selectors.perf import perf
from outputs.serializers.perf import JsonPerf, perf_json
from outputs.views.queries import PerfImageQuery, PerfQuery, wanted


class Perf(ApiView):
    access = Access.ACTOR
    path_shapes = {"project": ResourceId}

    @documented(query=PerfQuery, returns=JsonPerf)
    def get(self, request: Any, project: str) -> Reply:
        """Series of metrics: one for each combination of the four lists that has data."""
        found, query = self.project(), self.query(PerfQuery)
        lines, models = perf(found, wanted(query))
        return Reply(perf_json(found, lines, models, start_time=query.start_time, end_time=query.end_time))


class PerfImage(ApiView):
    access = Access.ACTOR
    path_shapes = {"project": ResourceId}

    @documented(query=PerfImageQuery, returns=bytes, media="image/jpeg")
    def get(self, request: Any, project: str) -> Reply:
        """The same as a picture with up to eight lines."""
        found, query = self.project(), self.query(PerfImageQuery)
        lines, _ = perf(found, wanted(query))
        return Reply(chart(lines, title=query.title or found.name), headers={"content-type": "image/jpeg"})
