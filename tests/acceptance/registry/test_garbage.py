"""Garbage collection beside pushes, and what a killed server leaves."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from bencher.demo.processes import Server
from tests.acceptance.registry.conftest import EMAIL, MANIFEST, Registry, digest_of, image_of

pytestmark = [pytest.mark.acceptance, pytest.mark.enable_socket, pytest.mark.timeout(300)]
IMAGES, PUSHERS = 200, 4


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Registry]:
    """A server of the test's own: its collections and its death disturb nobody."""
    server = Server(tmp_path / "server").start()
    try:
        yield Registry(server, server.admin_key(EMAIL))
    finally:
        server.stop()


def push(client: httpx.Client, name: str, tag: str, content: bytes) -> list[bytes]:
    """As the clients do: look, send what is missing, then the manifest."""
    manifest, *others = image_of(content)
    for blob in others:
        if client.head(f"/v2/{name}/blobs/{digest_of(blob)}").status_code == 404:
            place = client.post(f"/v2/{name}/blobs/uploads/").headers["location"]
            assert client.put(f"{place}?digest={digest_of(blob)}", content=blob).status_code == 201
    response = client.put(f"/v2/{name}/manifests/{tag}", content=manifest, headers={"Content-Type": MANIFEST})
    assert response.status_code == 201, response.text
    return [manifest, *others]


def check(client: httpx.Client, name: str, tag: str, image: list[bytes]) -> None:
    manifest, *others = image
    assert client.get(f"/v2/{name}/manifests/{tag}").content == manifest
    for blob in others:
        response = client.get(f"/v2/{name}/blobs/{digest_of(blob)}")
        assert (response.status_code, response.content) == (200, blob)


def test_collection_in_a_loop_beside_pushes(own: Registry, name: str) -> None:
    """Every image can be pulled afterwards, and what nobody needs is gone at the end."""
    done, runs = threading.Event(), []
    images: dict[str, list[bytes]] = {}
    lonely = [os.urandom(1000) for _ in range(10)]
    collector = threading.Thread(target=lambda: runs.extend(iter(lambda: done.is_set() or own.server.manage("collect_garbage"), True)))
    with own.repository(name) as client:

        def work(number: int) -> None:
            tag, content = f"v{number}", f"content {number // 2}".encode()  # every second image has its blobs already
            images[tag] = push(client, name, tag, content)

        for blob in lonely:
            assert client.post(f"/v2/{name}/blobs/uploads/?digest={digest_of(blob)}", content=blob).status_code == 201
        collector.start()
        try:
            with ThreadPoolExecutor(PUSHERS) as pool:
                list(pool.map(work, range(IMAGES)))
        finally:
            done.set()
            collector.join()
        assert len(runs) >= 1
        assert own.server.manage("collect_garbage", "--keep", "0").startswith(f"removed {len(lonely)} blobs")
        assert len(images) == IMAGES
        for tag, image in images.items():
            check(client, name, tag, image)
        assert {client.head(f"/v2/{name}/blobs/{digest_of(blob)}").status_code for blob in lonely} == {404}
        push(client, name, "again", b"content 0")


def test_a_killed_server_keeps_what_it_confirmed(own: Registry, name: str) -> None:
    """Images, tags and the chunks of a session survive; the chunk that was arriving does not count; the session goes on."""
    data = os.urandom(300_000)
    with own.repository(name) as client:
        image = push(client, name, "v1", uuid.uuid4().bytes)
        place = client.post(f"/v2/{name}/blobs/uploads/").headers["location"]
        assert client.patch(place, content=data[:100_000]).status_code == 202
        halfway = threading.Event()

        def pieces() -> Iterator[bytes]:
            yield data[100_000:150_000]
            halfway.wait(30)
            yield data[150_000:200_000]

        def broken() -> None:
            with pytest.raises(httpx.HTTPError):
                httpx.patch(own.url + place, content=pieces(), headers=client.headers, timeout=60)

        pushing = threading.Thread(target=broken)
        pushing.start()
        own.server.kill()
        halfway.set()
        pushing.join()
    own.server.start()
    with own.repository(name) as client:
        check(client, name, "v1", image)
        state = client.get(place)
        assert (state.status_code, state.headers["range"]) == (204, "0-99999")


def test_expired_sessions_leave_no_file(tmp_path: Path, name: str) -> None:
    """Another upload sweeps them away."""
    server = Server(tmp_path / "server", BENCHER_REGISTRY_UPLOAD_TIMEOUT="1").start()
    try:
        own = Registry(server, server.admin_key(EMAIL))
        uploads = Path(server.env["BENCHER_DATA_DIR"], "storage/_uploads")
        with own.repository(name) as client:
            place = client.post(f"/v2/{name}/blobs/uploads/").headers["location"]
            client.patch(place, content=b"x" * 1000)
            [left] = uploads.iterdir()
            threading.Event().wait(1.2)
            for _ in range(100):
                client.post(f"/v2/{name}/blobs/uploads/")
                if not left.exists():
                    break
                threading.Event().wait(0.1)
            assert not left.exists()
            assert client.get(place).status_code == 404
    finally:
        server.stop()
