"""One image for all, a server for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.runners.agent.kit import FakeServer
from tests.unit.runners.agent.kit import Blobs, busybox, file


@pytest.fixture(scope="session")
def blobs() -> Blobs:
    return Blobs()


@pytest.fixture(scope="session")
def digest(blobs: Blobs) -> str:
    """An image in which a shell runs."""
    return str(blobs.image(busybox(file("hello.txt", "hello\n")))["digest"])


@pytest.fixture
def server(blobs: Blobs) -> Iterator[FakeServer]:
    with FakeServer(blobs) as server:
        yield server


@pytest.fixture
def stock(blobs: Blobs) -> Iterator[FakeServer]:
    """A server that answers as the stock one does."""
    with FakeServer(blobs, stock=True) as server:
        yield server


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"
