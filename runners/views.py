"""``/v0/runners*``: for server administrators (rest.md 4.1)."""

from __future__ import annotations

from typing import Any

import msgspec

from bencher.core.api import Inventory, Reply, given, no_content
from bencher.core.errors import Invalid
from bencher.core.newtypes import ResourceId, ResourceName, Slug
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from bencher.specs.selectors import find_spec, get_spec
from bencher.specs.serializers import JsonSpec, spec_json
from runners import services
from runners.models import Runner
from runners.selectors import get_runner, runners, specs_of
from runners.serializers import JsonRunner, JsonRunnerKey, runners_json


class JsonNewRunner(msgspec.Struct, kw_only=True):
    name: ResourceName
    slug: Slug | None = None


class JsonUpdateRunner(msgspec.Struct, kw_only=True):
    name: ResourceName | None = None
    slug: Slug | None = None
    archived: bool | None = None


class JsonNewRunnerSpec(msgspec.Struct, kw_only=True):
    spec: ResourceId


class RunnerView(ApiView):
    access = Access.ADMIN
    path_shapes = {"runner": ResourceId, "spec": ResourceId}

    def row(self) -> Runner:
        return get_runner(self.resource_id("runner"))


class Runners(ApiView):
    access = Access.ADMIN

    @documented(query=Inventory, returns=list[JsonRunner])
    def get(self, request: Any) -> Reply:
        """All runners; ``archived=true`` includes archived ones."""
        rows, total = self.query(Inventory).listed(runners())
        return Reply(runners_json(rows, now=self.now), total=total)

    @documented(body=JsonNewRunner, returns=JsonRunnerKey, status=201)
    def post(self, request: Any) -> Reply:
        """Register a runner; the answer is the only place where its key shows."""
        body = self.body(JsonNewRunner)
        runner, key = services.create_runner(name=body.name, slug=body.slug, now=self.now)
        return Reply(JsonRunnerKey(runner.pk, key), 201)


class OneRunner(RunnerView):
    @documented(returns=JsonRunner)
    def get(self, request: Any, runner: str) -> Reply:
        """One runner."""
        return Reply(runners_json([self.row()], now=self.now)[0])

    @documented(body=JsonUpdateRunner, returns=JsonRunner)
    def patch(self, request: Any, runner: str) -> Reply:
        """Rename or archive a runner. There is no deleting."""
        values = given(self.body(JsonUpdateRunner))
        changed = services.change_runner(runner=self.row(), values=values, now=self.now)
        return Reply(runners_json([changed], now=self.now)[0])


class Key(RunnerView):
    @documented(returns=JsonRunnerKey, status=201)
    def post(self, request: Any, runner: str) -> Reply:
        """Replace the runner's key; the old one ends at once."""
        row = self.row()
        return Reply(JsonRunnerKey(row.pk, services.rotate_key(runner=row, now=self.now)), 201)


class Channel(ApiView):
    """The channel's address, asked without an upgrade."""

    access = Access.PUBLIC
    schema = None  # OpenAPI knows no WebSockets

    def get(self, request: Any, runner: str) -> Reply:
        """The runner's channel: a WebSocket, opened with the runner's key."""
        raise Invalid("this is a WebSocket: it needs an upgrade, and the runner's key")


class RunnerSpecs(RunnerView):
    @documented(returns=list[JsonSpec])
    def get(self, request: Any, runner: str) -> Reply:
        """All specs of a runner, not paged."""
        found = [spec_json(spec) for spec in specs_of(self.row())]
        return Reply(found, total=len(found))

    @documented(body=JsonNewRunnerSpec, returns=JsonSpec, status=201)
    def post(self, request: Any, runner: str) -> Reply:
        """Let the runner take jobs of a spec."""
        body, row = self.body(JsonNewRunnerSpec), self.row()
        spec = get_spec(body.spec)
        services.attach_spec(runner=row, spec=spec, now=self.now)
        return Reply(spec_json(spec), 201)


class OneRunnerSpec(RunnerView):
    @documented(status=204)
    def delete(self, request: Any, runner: str, spec: str) -> Reply:
        """Let the runner take no more jobs of a spec."""
        services.detach_spec(runner=self.row(), spec=find_spec(self.resource_id("spec")))
        return no_content()
