"""Requests out of ASGI scopes, refusals as bodies."""

import json
from typing import Any

import pytest

from outputs.registry.errors import BlobUnknown, Unavailable
from outputs.registry.http import Request, read_request, refusal


def test_read_request() -> None:
    scope = {
        "method": "get",
        "path": "/v2/x/tags/list",
        "query_string": b"n=2&tag=a&tag=b&empty=&plus=a+b%2Fc",
        "headers": [(b"Authorization", b"Bearer x"), (b"accept", b"a"), (b"accept", b"b")],
        "client": ["192.0.2.1", 5],
    }
    request = read_request(scope)
    assert (request.method, request.path, request.address) == ("GET", "/v2/x/tags/list", "192.0.2.1")
    assert request.parameters("tag") == ["a", "b"]
    assert (request.parameter("n"), request.parameter("empty"), request.parameter("absent")) == ("2", "", None)
    assert request.parameter("plus") == "a b/c"
    assert request.headers["authorization"] == "Bearer x"


@pytest.mark.parametrize(("text", "length"), [("0", 0), ("12", 12), ("", None), ("-1", None), ("x", None), ("٣", None), ("9" * 30, None)])
def test_content_length(text: str, length: int | None) -> None:
    assert Request("PUT", "/", headers={"content-length": text} if text else {}).content_length == length


@pytest.mark.parametrize(("problem", "status", "headers"), [(BlobUnknown(), 404, {}), (Unavailable("busy"), 503, {"Retry-After": "1"})])
def test_refusal(problem: Any, status: int, headers: dict[str, str]) -> None:
    answer = refusal(problem)
    assert answer.status == status
    assert answer.headers == {"Content-Type": "application/json", **headers}
    assert json.loads(answer.body) == {"errors": [{"code": problem.code, "message": problem.message}]}
