"""Manifests, tags and referrers from outside (registry.md section 7)."""

from __future__ import annotations

import json
import os
import uuid
from typing import Any

import pytest

from outputs.registry.digest import digest_of
from outputs.registry.manifests import OCI_INDEX, OCI_MANIFEST
from tests.integration.outputs.registry.client import UNKNOWN, Client
from tests.integration.outputs.registry.conftest import image_of

DATA = os.urandom(1000)
DIGEST = digest_of(DATA)


# -- manifests and lists -----------------------------------------------------------------------------------------------------
def put_image(client: Client, token: str, reference: str = "v1", **fields: Any) -> bytes:
    config = client.push_blob("mine", token, uuid.uuid4().bytes)
    content = image_of(config, **fields)
    query = f"{reference or digest_of(content)}"
    answer = client.ask("PUT", f"/v2/mine/manifests/{query}", content, token=token, headers={"Content-Type": OCI_MANIFEST})
    assert (answer.status, answer.headers["docker-content-digest"]) == (201, str(digest_of(content)))
    assert answer.headers["location"] == f"/v2/mine/manifests/{digest_of(content)}"
    return content


def test_manifest(client: Client, token: str) -> None:
    content = put_image(client, token)
    for reference in ("v1", str(digest_of(content))):
        for method, body in (("HEAD", b""), ("GET", content)):
            answer = client.ask(method, f"/v2/mine/manifests/{reference}", token=token)
            assert (answer.status, answer.content, answer.headers["content-type"]) == (200, body, OCI_MANIFEST)
            assert answer.headers["content-length"] == str(len(content))
            assert answer.headers["docker-content-digest"] == str(digest_of(content))
    deleted = client.ask("DELETE", "/v2/mine/manifests/v1", token=token)
    assert (deleted.status, deleted.headers["docker-content-digest"]) == (202, str(digest_of(content)))
    assert client.ask("GET", "/v2/mine/manifests/v1", token=token).code == "MANIFEST_UNKNOWN"


@pytest.mark.parametrize("reference", [".INVALID_MANIFEST_NAME", "sha256:totallywrong", "-", "a%00b"])
def test_odd_references(client: Client, token: str, reference: str) -> None:
    assert client.ask("GET", f"/v2/mine/manifests/{reference}", token=token).code == "MANIFEST_UNKNOWN"


def test_tags_of_one_put(client: Client, token: str) -> None:
    config = client.push_blob("mine", token, DATA)
    content = image_of(config)
    answer = client.ask("PUT", f"/v2/mine/manifests/{digest_of(content)}?tag=one&tag=two&tag=one", content, token=token)
    assert (answer.status, answer.headers["oci-tag"]) == (201, "one, two")
    assert client.ask("GET", "/v2/mine/tags/list", token=token).json() == {"name": "mine", "tags": ["one", "two"]}


def test_tag_pages(client: Client, token: str) -> None:
    content = put_image(client, token, "a")
    for tag in "bcde":
        client.ask("PUT", f"/v2/mine/manifests/{tag}", content, token=token)
    pages, path = [], "/v2/mine/tags/list?n=2"
    while path:
        answer = client.ask("GET", path, token=token)
        pages.append(answer.json()["tags"])
        link = answer.headers.get("link", "")
        path = link.removeprefix("<").removesuffix('>; rel="next"')
        assert not link or answer.headers["access-control-expose-headers"] == "Link"
    assert pages == [["a", "b"], ["c", "d"], ["e"]]
    for query, tags in (
        ("n=0", []),
        ("n=99999999999", list("abcde")),
        ("last=c", ["d", "e"]),
        ("n=1&last=bb", ["c"]),
        ("n=5", list("abcde")),
    ):
        answer = client.ask("GET", f"/v2/mine/tags/list?{query}", token=token)
        assert answer.json()["tags"] == tags
        assert ("link" in answer.headers) == (query == "n=1&last=bb")


@pytest.mark.parametrize(
    ("query", "code"), [("n=abc", "PAGINATION_NUMBER_INVALID"), ("n=-1", "PAGINATION_NUMBER_INVALID"), ("last=-bad", "TAG_INVALID")]
)
def test_bad_pages(client: Client, token: str, query: str, code: str) -> None:
    answer = client.ask("GET", f"/v2/mine/tags/list?{query}", token=token)
    assert (answer.status, answer.code) == (400, code)


def test_referrers(client: Client, token: str) -> None:
    base = put_image(client, token)
    subject = {"mediaType": OCI_MANIFEST, "digest": str(digest_of(base)), "size": len(base)}
    config = client.push_blob("mine", token, DATA)
    content = image_of(config, subject=subject, artifactType="a/b")
    answer = client.ask("PUT", f"/v2/mine/manifests/{digest_of(content)}", content, token=token)
    assert answer.headers["oci-subject"] == str(digest_of(base))
    for query, found in (("", 1), ("?artifactType=a/b", 1), ("?artifactType=c/d", 0), ("?artifactType=%00", 0)):
        answer = client.ask("GET", f"/v2/mine/referrers/{digest_of(base)}{query}", token=token)
        assert (answer.status, answer.headers["content-type"]) == (200, OCI_INDEX)
        assert len(answer.json()["manifests"]) == found
        assert answer.headers.get("oci-filters-applied") == ("artifactType" if query else None)
    assert client.ask("GET", f"/v2/mine/referrers/{UNKNOWN}", token=token).json()["manifests"] == []
    assert client.ask("GET", "/v2/mine/referrers/latest", token=token).code == "DIGEST_INVALID"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{}", "MANIFEST_INVALID"),
        (b"\xff", "MANIFEST_INVALID"),
        (
            json.dumps({"schemaVersion": 2, "config": {"mediaType": "a", "digest": UNKNOWN, "size": 1}, "layers": []}).encode(),
            "MANIFEST_BLOB_UNKNOWN",
        ),
    ],
)
def test_bad_manifests(client: Client, token: str, content: bytes, code: str) -> None:
    answer = client.ask("PUT", "/v2/mine/manifests/v1", content, token=token)
    assert (answer.status, answer.code) == (400, code)
