"""Errors without an application have the documented bodies."""

from __future__ import annotations

import json
import uuid

import pytest

from bencher.serving.limits import Limits, in_registry
from bencher.serving.refusals import body_too_large, refusal


@pytest.mark.parametrize(
    ("target", "registry"),
    [
        (b"/v2/", True), (b"/v2", True), (b"/v2?x", True), (b"/v2/a/blobs/uploads/?digest=x", True),
        (b"/v0/run", False), (b"/v20", False), (b"/", False), (b"", False), (b"/x/v2/", False),
    ],
)  # fmt: skip
def test_the_registrys_targets(target: bytes, registry: bool) -> None:
    limits = Limits(body=1, registry_body=2)
    assert in_registry(target) is registry
    assert limits.of_body(target) == (2 if registry else 1)
    answer = body_too_large(target, 7)
    assert answer.status == (413 if registry else 400)
    assert "7 bytes" in answer.body.decode()


@pytest.mark.parametrize("status", [400, 403, 404, 413, 431, 500, 503])
def test_documented_bodies(status: int) -> None:
    answer = refusal(b"/v0/x", status, "why")
    headers = dict(answer.headers)
    body = json.loads(answer.body)
    assert body == {"request_id": headers[b"x-request-id"].decode(), "message": "why"}
    assert uuid.UUID(body["request_id"]).version == 4
    assert headers[b"content-length"] == b"%d" % len(answer.body)
    assert (b"retry-after" in headers) is (status == 503)
    assert headers[b"access-control-allow-origin"] == b"*"


@pytest.mark.parametrize(
    ("status", "code"), [(400, "UNSUPPORTED"), (413, "SIZE_INVALID"), (429, "TOOMANYREQUESTS"), (500, "UNKNOWN"), (503, "UNKNOWN")]
)
def test_registry_bodies(status: int, code: str) -> None:
    answer = refusal(b"/v2/x/y", status, "why")
    assert json.loads(answer.body) == {"errors": [{"code": code, "message": "why"}]}


def test_the_last_response_of_a_connection() -> None:
    head, body = refusal(b"", 431, "too large").encode().split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert b"connection: close" in head
    assert json.loads(body)["message"] == "too large"
