"""``…/branches``, ``…/testbeds``, ``…/benchmarks``, ``…/measures`` (rest.md 5.2)."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from bencher.core.api import Reply, no_content, ordered
from bencher.core.newtypes import ResourceId
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from bencher.projects.permissions import Permission
from outputs import requests as bodies
from outputs.models import Benchmark, Branch, Measure, Testbed
from outputs.models.reports import Dimension
from outputs.selectors import dimensions as selectors
from outputs.serializers.dimensions import (
    JsonBenchmark,
    JsonBranch,
    JsonMeasure,
    JsonTestbed,
    benchmark_json,
    branch_json,
    measure_json,
    stored_testbed_json,
)
from outputs.services import branches, dimensions
from outputs.views.queries import DimensionList, OneBranchQuery, OneTestbedQuery


class Family(ApiView):
    """What the four kinds share."""

    model: ClassVar[type[Dimension]]
    json: ClassVar[Any]
    access = {"GET": Access.ACTOR, "POST": Access.ACTOR, "PATCH": Access.ACTOR, "DELETE": Access.USER}
    path_shapes: ClassVar[dict[str, Any]] = {"project": ResourceId, "resource": ResourceId}

    def listed(self) -> Reply:
        query = self.query(DimensionList)
        rows = selectors.rows(self.model, self.project()).filter(archived__isnull=not query.archived)
        found, total = query.cut(ordered(query.filtered(rows), query.direction, "name"))
        return Reply([type(self).json(row) for row in found], total=total)

    def row(self, permission: Permission = Permission.VIEW) -> Any:
        resource = self.resource_id("resource")
        return selectors.get(self.model, self.project(permission), resource)

    def changed(self, shape: type[msgspec.Struct]) -> tuple[Any, Any]:
        """(the row, the body of a PATCH). Whoever may archive may do just that."""
        row = self.row(Permission.ARCHIVE)
        body = self.body(shape)
        if any(getattr(body, name) not in (None, msgspec.UNSET) for name in body.__struct_fields__ if name != "archived"):
            self.project(Permission.EDIT)
        return row, body

    def deleted(self) -> Reply:
        dimensions.delete(row=self.row(Permission.DELETE))
        return no_content()


# -- branches -------------------------------------------------------------------------------------------------------
class Branches(Family):
    model, json = Branch, staticmethod(branch_json)

    @documented(query=DimensionList, returns=list[JsonBranch])
    def get(self, request: Any, project: str) -> Reply:
        """Branches by name."""
        return self.listed()

    @documented(body=bodies.NewBranch, returns=JsonBranch, status=201)
    def post(self, request: Any, project: str) -> Reply:
        """Make a branch; with a start point it begins with the versions of another."""
        body, found = self.body(bodies.NewBranch), self.project(Permission.CREATE)
        made = branches.create_branch(project=found, name=body.name, slug=body.slug, start_point=body.start_point, now=self.now)
        return Reply(branch_json(made), 201)


class OneBranch(Family):
    model = Branch

    @documented(query=OneBranchQuery, returns=JsonBranch)
    def get(self, request: Any, project: str, resource: str) -> Reply:
        """One branch; ``head`` shows another of its heads than the current."""
        query, row = self.query(OneBranchQuery), self.row()
        return Reply(branch_json(row, selectors.get_head(row, query.head) if query.head else None))

    @documented(body=bodies.BranchChange, returns=JsonBranch)
    def patch(self, request: Any, project: str, resource: str) -> Reply:
        """Rename or archive a branch, or give it a new start point."""
        row, body = self.changed(bodies.BranchChange)
        changed = branches.change_branch(
            branch=row, name=body.name, slug=body.slug, archived=body.archived, start_point=body.start_point, now=self.now
        )
        return Reply(branch_json(changed))

    @documented(status=204)
    def delete(self, request: Any, project: str, resource: str) -> Reply:
        """Delete a branch without reports and thresholds."""
        branches.delete_branch(branch=self.row(Permission.DELETE))
        return no_content()


# -- testbeds -------------------------------------------------------------------------------------------------------
class Testbeds(Family):
    model, json = Testbed, staticmethod(stored_testbed_json)

    @documented(query=DimensionList, returns=list[JsonTestbed])
    def get(self, request: Any, project: str) -> Reply:
        """Testbeds by name."""
        return self.listed()

    @documented(body=bodies.NewTestbed, returns=JsonTestbed, status=201)
    def post(self, request: Any, project: str) -> Reply:
        """Make a testbed."""
        body, found = self.body(bodies.NewTestbed), self.project(Permission.CREATE)
        spec = selectors.get_live_spec(body.spec) if body.spec else None
        made = dimensions.create(Testbed, project=found, name=body.name, slug=body.slug, spec=spec, now=self.now)
        return Reply(stored_testbed_json(made), 201)


class OneTestbed(Family):
    model = Testbed

    @documented(query=OneTestbedQuery, returns=JsonTestbed)
    def get(self, request: Any, project: str, resource: str) -> Reply:
        """One testbed; ``spec`` shows it with another spec than the stored one."""
        query, row = self.query(OneTestbedQuery), self.row()
        if query.spec is not None:
            row.spec = selectors.get_any_spec(query.spec)
        return Reply(stored_testbed_json(row))

    @documented(body=bodies.TestbedChange, returns=JsonTestbed)
    def patch(self, request: Any, project: str, resource: str) -> Reply:
        """Rename or archive a testbed, or change the spec that it remembers; ``spec: null`` forgets it."""
        row, body = self.changed(bodies.TestbedChange)
        values = {}
        if body.spec is not msgspec.UNSET:
            self.project(Permission.EDIT)
            values["spec"] = selectors.get_live_spec(body.spec) if body.spec else None
        dimensions.change(row, name=body.name, slug=body.slug, archived=body.archived, now=self.now, values=values)
        return Reply(stored_testbed_json(row))

    @documented(status=204)
    def delete(self, request: Any, project: str, resource: str) -> Reply:
        """Delete a testbed without reports and thresholds."""
        return self.deleted()


# -- benchmarks -----------------------------------------------------------------------------------------------------
class Benchmarks(Family):
    model, json = Benchmark, staticmethod(benchmark_json)

    @documented(query=DimensionList, returns=list[JsonBenchmark])
    def get(self, request: Any, project: str) -> Reply:
        """Benchmarks by name."""
        return self.listed()

    @documented(body=bodies.NewBenchmark, returns=JsonBenchmark, status=201)
    def post(self, request: Any, project: str) -> Reply:
        """Make a benchmark."""
        body, found = self.body(bodies.NewBenchmark), self.project(Permission.CREATE)
        return Reply(benchmark_json(dimensions.create(Benchmark, project=found, name=body.name, slug=body.slug, now=self.now)), 201)


class OneBenchmark(Family):
    model = Benchmark

    @documented(returns=JsonBenchmark)
    def get(self, request: Any, project: str, resource: str) -> Reply:
        """One benchmark."""
        return Reply(benchmark_json(self.row()))

    @documented(body=bodies.BenchmarkChange, returns=JsonBenchmark)
    def patch(self, request: Any, project: str, resource: str) -> Reply:
        """Rename or archive a benchmark."""
        row, body = self.changed(bodies.BenchmarkChange)
        dimensions.change(row, name=body.name, slug=body.slug, archived=body.archived, now=self.now)
        return Reply(benchmark_json(row))

    @documented(status=204)
    def delete(self, request: Any, project: str, resource: str) -> Reply:
        """Delete a benchmark that was never measured."""
        return self.deleted()


# -- measures -------------------------------------------------------------------------------------------------------
class Measures(Family):
    model, json = Measure, staticmethod(measure_json)

    @documented(query=DimensionList, returns=list[JsonMeasure])
    def get(self, request: Any, project: str) -> Reply:
        """Measures by name."""
        return self.listed()

    @documented(body=bodies.NewMeasure, returns=JsonMeasure, status=201)
    def post(self, request: Any, project: str) -> Reply:
        """Make a measure."""
        body, found = self.body(bodies.NewMeasure), self.project(Permission.CREATE)
        made = dimensions.create(Measure, project=found, name=body.name, slug=body.slug, units=body.units, now=self.now)
        return Reply(measure_json(made), 201)


class OneMeasure(Family):
    model = Measure

    @documented(returns=JsonMeasure)
    def get(self, request: Any, project: str, resource: str) -> Reply:
        """One measure."""
        return Reply(measure_json(self.row()))

    @documented(body=bodies.MeasureChange, returns=JsonMeasure)
    def patch(self, request: Any, project: str, resource: str) -> Reply:
        """Rename or archive a measure, or change its units."""
        row, body = self.changed(bodies.MeasureChange)
        values = {} if body.units is None else {"units": body.units}
        dimensions.change(row, name=body.name, slug=body.slug, archived=body.archived, now=self.now, values=values)
        return Reply(measure_json(row))

    @documented(status=204)
    def delete(self, request: Any, project: str, resource: str) -> Reply:
        """Delete a measure that was never measured and has no threshold."""
        return self.deleted()
