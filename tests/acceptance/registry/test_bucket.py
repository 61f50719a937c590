"""The whole server on an S3-compatible bucket: images in parts and in one piece, sessions over several requests, collection."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from bencher.demo.processes import Server
from tests.acceptance.registry.conftest import EMAIL, Registry, blobs_in, digest_of, write_layout

pytestmark = [pytest.mark.acceptance, pytest.mark.enable_socket, pytest.mark.timeout(300)]
MIB = 1 << 20
ACCOUNT = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """Makes a bucket; gives the names of what is in it."""
    for name, value in ACCOUNT.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=endpoint)
    client.create_bucket(Bucket="images")
    return lambda: {entry["Key"] for entry in client.list_objects_v2(Bucket="images").get("Contents", ())} - {"some/where/_uploads/_probe"}


@pytest.fixture
def on_bucket(tmp_path: Path, endpoint: str, bucket: object) -> Iterator[Registry]:
    server = Server(tmp_path / "server", STORAGE_URL=f"s3://images/some/where?endpoint_url={endpoint}", **ACCOUNT).start()
    try:
        yield Registry(server, server.admin_key(EMAIL))
    finally:
        server.stop()


def test_images(on_bucket: Registry, bucket: Callable[[], set[str]], skopeo: Callable[..., str], name: str, tmp_path: Path) -> None:
    layout = write_layout(tmp_path / "layout", os.urandom(20 * MIB))
    address = f"docker://{on_bucket.host}/{name}:v1"
    skopeo("copy", "--dest-tls-verify=false", "--dest-creds", on_bucket.credentials, f"oci:{layout}:v1", address)
    skopeo("copy", "--src-tls-verify=false", "--src-creds", on_bucket.credentials, address, f"oci:{tmp_path / 'back'}:v1")
    assert blobs_in(tmp_path / "back") == blobs_in(layout)

    data = os.urandom(11 * MIB)
    with on_bucket.repository(name) as client:
        place = client.post(f"/v2/{name}/blobs/uploads/").headers["location"]
        for at in range(0, len(data), 3 * MIB):
            assert client.patch(place, content=data[at : at + 3 * MIB]).status_code == 202
        assert client.patch(place, content=b"x", headers={"Content-Range": "5-5"}).status_code == 416
        assert client.put(f"{place}?digest={digest_of(data)}").status_code == 201
        path = f"/v2/{name}/blobs/{digest_of(data)}"
        assert client.get(path).content == data
        assert client.get(path, headers={"Range": f"bytes={10 * MIB}-"}).content == data[10 * MIB :]
        assert client.delete(path).status_code == 202
        assert client.get(path).status_code == 404
    on_bucket.server.manage("collect_garbage")
    assert len(bucket()) == 3
    assert all(key.startswith("some/where/") for key in bucket())
