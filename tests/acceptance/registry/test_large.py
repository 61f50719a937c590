"""Large images pass through the server without resting in its memory, and without holding up others."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.registry.conftest import Registry, blobs_in, write_layout

pytestmark = [pytest.mark.acceptance, pytest.mark.enable_socket, pytest.mark.timeout(300)]
MIB = 1 << 20
ALLOWED = 64 * MIB


def resident(registry: Registry) -> int:
    """Bytes of the server's process; parsing children come and go and never see a blob."""
    assert registry.server.process is not None
    pages = Path(f"/proc/{registry.server.process.popen.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class Watch:
    """How far the server's memory grows while something is done."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._before, self._done = registry, resident(registry), threading.Event()
        self._peak = self._before
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._done.wait(0.02):
            self._peak = max(self._peak, resident(self._registry))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def growth(self) -> int:
        return self._peak - self._before


@pytest.fixture
def warm(registry: Registry) -> Registry:
    """A server that has moved blobs before, so that what grows is the blob."""
    data = os.urandom(4 * MIB)
    with registry.repository("warm") as client:
        place = client.post(f"/v2/warm/blobs/uploads/?digest=sha256:{hashlib.sha256(data).hexdigest()}", content=data).headers["location"]
        assert client.get(place).content == data
    return registry


def test_in_and_out(warm: Registry, name: str) -> None:
    """256 MiB of unknown length in, then out to a slow reader; the API answers others meanwhile."""
    piece, count, hashed = os.urandom(MIB), 256, hashlib.sha256()
    slowest = 0.0

    def pieces() -> Iterator[bytes]:
        for number in range(count):
            part = number.to_bytes(8, "big") + piece[8:]
            hashed.update(part)
            yield part

    with warm.repository(name) as client, warm.repository(name) as other:
        with Watch(warm) as seen:
            place = client.post(f"/v2/{name}/blobs/uploads/").headers["location"]
            pushing = threading.Thread(target=lambda: client.patch(place, content=pieces()))
            pushing.start()
            while pushing.is_alive():
                started = time.monotonic()
                assert other.get(f"/v2/{name}/tags/list").status_code == 200
                slowest = max(slowest, time.monotonic() - started)
                time.sleep(0.02)
            digest = f"sha256:{hashed.hexdigest()}"
            assert client.put(f"{place}?digest={digest}").status_code == 201
        assert seen.growth < ALLOWED
        assert slowest < 5
        got = hashlib.sha256()
        with Watch(warm) as seen, client.stream("GET", f"/v2/{name}/blobs/{digest}") as response:
            for number, part in enumerate(response.iter_raw(MIB)):
                got.update(part)
                time.sleep(0.1 if number < 10 else 0)
        assert f"sha256:{got.hexdigest()}" == digest
        assert seen.growth < ALLOWED


def test_an_image_of_200_mib(warm: Registry, skopeo: Callable[..., str], name: str, tmp_path: Path) -> None:
    """With skopeo, there and back."""
    layout = write_layout(tmp_path / "large", os.urandom(200 * MIB))
    address = f"docker://{warm.host}/{name}:v1"
    with Watch(warm) as seen:
        skopeo("copy", "--dest-tls-verify=false", "--dest-creds", warm.credentials, f"oci:{layout}:v1", address)
        skopeo("copy", "--src-tls-verify=false", "--src-creds", warm.credentials, address, f"oci:{tmp_path / 'back'}:v1")
    assert blobs_in(tmp_path / "back").keys() == blobs_in(layout).keys()
    assert seen.growth < ALLOWED
