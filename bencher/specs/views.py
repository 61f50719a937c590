"""``/v0/specs*`` (rest.md 4.2)."""

from __future__ import annotations

from typing import Any

from bencher.core.api import Inventory, Reply, given, no_content
from bencher.core.newtypes import ResourceId
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from bencher.specs.models import Spec
from bencher.specs.requests import JsonNewSpec, JsonUpdateSpec
from bencher.specs.selectors import get_spec
from bencher.specs.serializers import JsonSpec, spec_json
from bencher.specs.services import change_spec, create_spec, delete_spec


class Specs(ApiView):
    access = Access.ADMIN

    @documented(query=Inventory, returns=list[JsonSpec])
    def get(self, request: Any) -> Reply:
        """All specs; ``archived=true`` includes archived ones."""
        rows, total = self.query(Inventory).listed(Spec.objects.all())
        return Reply([spec_json(row) for row in rows], total=total)

    @documented(body=JsonNewSpec, returns=JsonSpec, status=201)
    def post(self, request: Any) -> Reply:
        """Make a spec."""
        body = self.body(JsonNewSpec)
        made = create_spec(name=body.name, slug=body.slug, hardware=body.hardware(), fallback=bool(body.fallback), now=self.now)
        return Reply(spec_json(made), 201)


class OneSpec(ApiView):
    access = Access.ADMIN
    path_shapes = {"spec": ResourceId}

    def row(self) -> Spec:
        return get_spec(self.resource_id("spec"))

    @documented(returns=JsonSpec)
    def get(self, request: Any, spec: str) -> Reply:
        """One spec."""
        return Reply(spec_json(self.row()))

    @documented(body=JsonUpdateSpec, returns=JsonSpec)
    def patch(self, request: Any, spec: str) -> Reply:
        """Rename or archive a spec, or make it the fallback."""
        values = given(self.body(JsonUpdateSpec))
        return Reply(spec_json(change_spec(spec=self.row(), values=values, now=self.now)))

    @documented(status=204)
    def delete(self, request: Any, spec: str) -> Reply:
        """Delete a spec that nobody uses."""
        delete_spec(spec=self.row())
        return no_content()
