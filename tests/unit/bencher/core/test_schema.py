"""JSON Schema of the structs as OpenAPI 3.0 says it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from bencher.core.newtypes import ResourceName, Slug
from bencher.core.schema import components, documentation_of, documented, operation_id, tag


class Inner(msgspec.Struct):
    name: ResourceName


class Sample(msgspec.Struct, kw_only=True):
    kind: Literal["a", "b"] | None = None
    only: Literal["x"]
    inner: Inner | None = None
    slug: Slug | msgspec.UnsetType | None = msgspec.UNSET
    nothing: None = None
    many: list[Inner] = []


def properties() -> dict[str, Any]:
    found: dict[str, Any] = components((Sample,))[1]["Sample"]["properties"]
    return found


def test_null_is_nullable() -> None:
    made = properties()
    assert made["kind"] == {"enum": ["a", "b", None], "nullable": True}
    assert (made["slug"]["type"], made["slug"]["nullable"]) == ("string", True)
    assert made["nothing"] == {"nullable": True, "enum": [None]}
    assert made["inner"] == {"anyOf": [{"$ref": "#/components/schemas/Inner"}], "nullable": True}


def test_nothing_of_newer_dialects_is_left() -> None:
    text = msgspec.json.encode(components((Sample,))).decode()
    for word in ('"const"', '"type":"null"', '"$defs"', '"default":null'):
        assert word not in text


def test_only_what_must_be_there_is_required() -> None:
    assert components((Sample,))[1]["Sample"]["required"] == ["only"]


@pytest.mark.parametrize(
    ("path", "method", "name", "group"),
    [
        ("/v0/projects/{project}/jobs/{job}", "GET", "get_projects_project_jobs_job", "jobs"),
        ("/v0/projects/{project}/perf/img", "GET", "get_projects_project_perf_img", "perf"),
        ("/v0/projects/{project}", "PATCH", "patch_projects_project", "projects"),
        ("/v0/server/version", "GET", "get_server_version", "server"),
        ("/", "GET", "get", "server"),
    ],
)
def test_names(path: str, method: str, name: str, group: str) -> None:
    assert (operation_id(path, method), tag(path)) == (name, group)


def test_documentation_stays_with_the_handler() -> None:
    @documented(body=Sample, returns=Inner, status=201, errors=[402])
    def handler() -> None: ...

    says = documentation_of(handler)
    assert (says.body, says.returns, says.status, says.errors) == (Sample, Inner, 201, (402,))
    assert documentation_of(lambda: None).status == 200
