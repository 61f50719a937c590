"""Blobs from outside: pushing, reading, ranges, limits, mounts (registry.md section 7)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bencher.projects.models import User
from outputs.models import Upload
from outputs.registry.digest import digest_of
from outputs.registry.storage import get_storage
from outputs.registry.tokens import mint_anonymous_token, mint_project_token
from tests.integration.outputs.registry.client import ALL, UNKNOWN, Client, user_token
from tests.integration.outputs.registry.conftest import make_project, make_user

DATA = bytes(range(250)) * 4
DIGEST = digest_of(DATA)


def start(client: Client, token: str) -> str:
    return client.ask("POST", "/v2/mine/blobs/uploads/", token=token).headers["location"]


# -- blobs -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize("data", [b"", DATA], ids=["empty", "some"])
@pytest.mark.parametrize("way", ["put", "post", "post-put", "patch-put", "chunks", "pieces"])
def test_ways_to_push(client: Client, token: str, way: str, data: bytes, algorithm: str) -> None:
    digest, uploads = digest_of(data, algorithm), "/v2/mine/blobs/uploads/"
    if way == "put":
        answer = client.ask("PUT", f"/v2/mine/blobs/uploads?digest={digest}", data, token=token)
    elif way == "post":
        answer = client.ask("POST", f"{uploads}?digest={digest}", data, token=token)
    elif way == "post-put":
        answer = client.ask("PUT", f"{start(client, token)}?digest={digest}", data, token=token)
    elif way == "pieces":
        answer = client.ask("PUT", f"{start(client, token)}?digest={digest}", [data[:1], data[1:7], b"", data[7:]], token=token)
    else:
        place, size = start(client, token), (len(data) or 1) if way == "patch-put" else 400
        for at in range(0, len(data), size):
            chunk = data[at : at + size]
            said = client.ask("PATCH", place, chunk, token=token, headers={"Content-Range": f"{at}-{at + len(chunk) - 1}"})
            assert (said.status, said.headers["range"]) == (202, f"0-{at + len(chunk) - 1}")
            place = said.headers["location"]
        answer = client.ask("PUT", f"{place}?digest={digest}", token=token)
    assert answer.status == 201
    assert answer.headers["location"] == f"/v2/mine/blobs/{digest}"
    assert answer.headers["docker-content-digest"] == str(digest)
    assert client.ask("GET", answer.headers["location"], token=token).content == data


@pytest.mark.parametrize("way", ["put", "post", "session"])
def test_a_wrong_digest(client: Client, token: str, way: str) -> None:
    place = "/v2/mine/blobs/uploads/" if way != "session" else start(client, token)
    answer = client.ask("POST" if way == "post" else "PUT", f"{place}?digest={UNKNOWN}", DATA, token=token)
    assert (answer.status, answer.code) == (400, "DIGEST_INVALID")
    assert not Upload.objects.exists()
    assert client.ask("HEAD", f"/v2/mine/blobs/{DIGEST}", token=token).status == 404


@pytest.mark.parametrize("query", ["", "?digest=", "?digest=sha256:short", "?digest=md5:00", "?digest=sha256:" + "g" * 64])
def test_no_digest(client: Client, token: str, query: str) -> None:
    """Refused, and the session goes on."""
    place = start(client, token)
    client.ask("PATCH", place, DATA, token=token)
    assert client.ask("PUT", f"{place}{query}", token=token).code == "DIGEST_INVALID"
    assert client.ask("PUT", f"{place}?digest={DIGEST}", token=token).status == 201
    assert client.ask("PUT", f"/v2/mine/blobs/uploads{query}", DATA, token=token).code == "DIGEST_INVALID"


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
@pytest.mark.parametrize("content_range", ["100-199", "0-5", "garbage-value", "10-abc", "x-20", "19-10", "10-29"])
def test_out_of_order(client: Client, token: str, method: str, content_range: str) -> None:
    """416 that tells how far the session is; then the right chunk goes in."""
    place = start(client, token)
    client.ask("PATCH", place, DATA[:10], token=token)
    query = f"?digest={DIGEST}" if method == "PUT" else ""
    refused = client.ask(method, f"{place}{query}", DATA[10:20], token=token, headers={"Content-Range": content_range})
    assert (refused.status, refused.headers["range"], refused.headers["location"]) == (416, "0-9", place)
    assert refused.headers["docker-upload-uuid"] == place.rsplit("/", 1)[1]
    state = client.ask("GET", place, token=token)
    assert (state.status, state.headers["range"], state.content) == (204, "0-9", b"")
    assert "content-length" not in state.headers
    done = client.ask("PUT", f"{place}?digest={DIGEST}", DATA[10:], token=token, headers={"Content-Range": f"10-{len(DATA) - 1}"})
    assert done.status == 201


def test_a_streamed_chunk_that_is_longer_than_it_says(client: Client, token: str) -> None:
    place = start(client, token)
    assert client.ask("PATCH", place, [DATA, DATA], token=token, headers={"Content-Range": "0-999"}).status == 416
    assert client.ask("GET", place, token=token).headers["range"] == "0-0"


@pytest.mark.parametrize("whole", [True, False])
def test_a_broken_connection(client: Client, token: str, whole: bool) -> None:
    """Nothing of the request counts, nothing is held back."""
    place = f"/v2/mine/blobs/uploads/?digest={DIGEST}" if whole else start(client, token)
    assert client.call("PUT" if whole else "PATCH", place, [DATA[:500]], token=token, cut=True) is None
    if whole:
        assert not Upload.objects.exists()
        assert list(get_storage().uploads()) == []
        return
    assert client.ask("GET", place, token=token).headers["range"] == "0-0"
    assert client.ask("PATCH", place, DATA, token=token, headers={"Content-Range": "0-999"}).status == 202


def test_limits(client: Client, token: str, settings: Any) -> None:
    settings.BENCHER_REGISTRY_MAX_BODY_BYTES = 100
    for body in (DATA, [DATA[:50], DATA[50:101]]):
        answer = client.ask("PUT", f"/v2/mine/blobs/uploads?digest={DIGEST}", body, token=token)
        assert (answer.status, answer.code) == (413, "SIZE_INVALID")
    place = start(client, token)
    client.ask("PATCH", place, DATA[:60], token=token)
    for body in (DATA[:41], [DATA[:20], DATA[:21]]):
        assert client.ask("PATCH", place, body, token=token).status == 413
    assert client.ask("GET", place, token=token).headers["range"] == "0-59"
    digest = digest_of(DATA[:100])
    assert client.ask("PUT", f"{place}?digest={digest}", DATA[60:100], token=token).status == 201
    assert client.ask("PUT", "/v2/mine/manifests/v1", b"{" + b" " * 100, token=token).code == "SIZE_INVALID"
    assert client.ask("PUT", "/v2/mine/manifests/v1", [b"{", b" " * 100], token=token).code == "SIZE_INVALID"


def test_cancel(client: Client, token: str) -> None:
    place = start(client, token)
    client.ask("PATCH", place, DATA, token=token)
    answer = client.ask("DELETE", place, token=token)
    assert (answer.status, answer.content) == (204, b"")
    for method in ("GET", "PATCH", "PUT", "DELETE"):
        assert client.ask(method, f"{place}?digest={DIGEST}", token=token).code == "BLOB_UPLOAD_UNKNOWN"


def test_the_state_may_be_asked_with_any_token_of_the_repository(client: Client, token: str, owner: User) -> None:
    place = start(client, token)
    for actions in (("pull",), ("push",)):
        assert client.ask("GET", place, token=user_token(owner, actions=actions)).status == 204
    assert client.ask("GET", place).status == 401
    assert client.ask("PATCH", place, DATA, token=user_token(owner, actions=("pull",))).status == 403


def test_head_and_get(client: Client, token: str) -> None:
    client.push_blob("mine", token, DATA)
    for method, body in (("HEAD", b""), ("GET", DATA)):
        answer = client.ask(method, f"/v2/mine/blobs/{DIGEST}", token=token)
        assert (answer.status, answer.content) == (200, body)
        assert answer.headers["content-type"] == "application/octet-stream"
        assert (answer.headers["content-length"], answer.headers["docker-content-digest"]) == ("1000", str(DIGEST))
        assert answer.headers["accept-ranges"] == "bytes"
    assert client.ask("GET", "/v2/mine/blobs/sha256:short", token=token).code == "DIGEST_INVALID"
    assert client.ask("GET", f"/v2/mine/blobs/{UNKNOWN}", token=token).code == "BLOB_UNKNOWN"


@pytest.mark.parametrize(
    ("asked", "first", "last"), [("bytes=0-99", 0, 99), ("bytes=900-", 900, 999), ("bytes=-5", 995, 999), ("bytes=7-5000", 7, 999)]
)
def test_range(client: Client, token: str, asked: str, first: int, last: int) -> None:
    client.push_blob("mine", token, DATA)
    answer = client.ask("GET", f"/v2/mine/blobs/{DIGEST}", token=token, headers={"Range": asked})
    assert (answer.status, answer.content) == (206, DATA[first : last + 1])
    assert answer.headers["content-range"] == f"bytes {first}-{last}/1000"
    assert answer.headers["content-length"] == str(last - first + 1)


def test_range_beyond_the_end(client: Client, token: str) -> None:
    client.push_blob("mine", token, DATA)
    answer = client.ask("GET", f"/v2/mine/blobs/{DIGEST}", token=token, headers={"Range": "bytes=1000-"})
    assert (answer.status, answer.headers["content-range"]) == (416, "bytes */1000")


def test_delete(client: Client, token: str, django_capture_on_commit_callbacks: Any) -> None:
    client.push_blob("mine", token, DATA)
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.ask("DELETE", f"/v2/mine/blobs/{DIGEST}", token=token)
    assert (answer.status, answer.content) == (202, b"")
    assert client.ask("HEAD", f"/v2/mine/blobs/{DIGEST}", token=token).status == 404
    assert client.ask("DELETE", f"/v2/mine/blobs/{DIGEST}", token=token).code == "BLOB_UNKNOWN"
    client.push_blob("mine", token, DATA)
    assert client.ask("GET", f"/v2/mine/blobs/{DIGEST}", token=token).content == DATA


# -- mounts ----------------------------------------------------------------------------------------------------------------
def test_mount(client: Client, token: str, owner: User) -> None:
    """Decided on the caller's rights: the token names the target only."""
    client.push_blob("mine", token, DATA)
    second = user_token(owner, "second")
    answer = client.ask("POST", f"/v2/second/blobs/uploads/?mount={DIGEST}&from=mine", token=second)
    assert (answer.status, answer.headers["location"]) == (201, f"/v2/second/blobs/{DIGEST}")
    assert answer.headers["docker-content-digest"] == str(DIGEST)
    assert client.ask("GET", f"/v2/second/blobs/{DIGEST}", token=second).content == DATA


@pytest.mark.parametrize(
    "query",
    [f"mount={DIGEST}", f"mount={DIGEST}&from=nowhere", "mount=junk&from=mine", f"mount={UNKNOWN}&from=mine", f"digest={DIGEST}&from=mine"],
)
def test_no_mount(client: Client, token: str, owner: User, query: str) -> None:
    client.push_blob("mine", token, DATA)
    answer = client.ask("POST", f"/v2/second/blobs/uploads/?{query}", token=user_token(owner, "second"))
    assert answer.status == 202
    assert answer.headers["location"].startswith("/v2/second/blobs/uploads/")


def test_mount_of_what_one_may_not_read(client: Client, token: str, owner: User) -> None:
    """Looks like a mount of nothing."""
    client.push_blob("mine", token, DATA)
    now, project, stranger = datetime.now(UTC), make_project("other"), make_user("stranger")
    for bearer in (
        user_token(stranger, "other"),
        mint_project_token(project_id=project.pk, repository="other", actions=ALL, now=now),
    ):
        assert client.ask("POST", f"/v2/other/blobs/uploads/?mount={DIGEST}&from=mine", token=bearer).status == 202
    anonymous = mint_anonymous_token(repository="free", actions=ALL, now=now)
    assert client.ask("POST", f"/v2/free/blobs/uploads/?mount={DIGEST}&from=mine", token=anonymous).status == 202
    stranger.admin = True
    stranger.save()
    assert client.ask("POST", f"/v2/other/blobs/uploads/?mount={DIGEST}&from=mine", token=user_token(stranger, "other")).status == 201
