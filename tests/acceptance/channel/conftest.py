"""One production site for all tests of a process; each test finds it whole, and must not have ended a part of it by accident."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from tests.acceptance.channel.site import Beating, Production, World


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Production]:
    if not (os.environ.get("DATABASE_URL", "").startswith("postgres") and os.environ.get("REDIS_URL")):
        pytest.skip("DATABASE_URL and REDIS_URL name no PostgreSQL and Redis")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    site = Production(tmp_path_factory.mktemp("production"))
    try:
        yield site.start()
    finally:
        site.close()


@pytest.fixture(scope="session")
def people(site: Production) -> Iterator[World]:
    world = World(site)
    yield world
    world.http.close()


@pytest.fixture
def production(site: Production) -> Iterator[Production]:
    yield site.mend()
    assert site.dead() == [], "ended by themselves"


@pytest.fixture
def world(production: Production, people: World) -> Iterator[World]:
    people.begin()
    yield people
    people.hang_up()


@pytest.fixture
def beating(world: World) -> Iterator[Beating]:
    beating = Beating()
    yield beating
    beating.stop()
