"""Who is let in to a channel (protocol.md section 1)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bencher.core import ids
from bencher.core.errors import NotAuthenticated, TooMany
from runners.authentication import admit_channel, authenticate_channel, bearer
from runners.models import Runner
from tests.jobs_world import NOW, make_runner

pytestmark = pytest.mark.django_db
KEY = "bencher_runner_" + "A1b2C" * 6


@pytest.fixture
def runner() -> Runner:
    return make_runner(key=KEY)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_let_in(runner: Runner, scheme: str) -> None:
    for name in (str(runner.pk), str(runner.pk).upper(), runner.slug):
        assert authenticate_channel(runner=name, authorization=f"{scheme} {KEY}") == runner


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        KEY,
        f"Basic {KEY}",
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        f"Bearer {KEY[:-1]}-",
        f"Bearer {KEY[:-1]}é",
        f"Bearer {KEY.lower()}",
        "Bearer bencher_runner_" + "0123456789abcdef" * 2,
        "Bearer bencher_user_" + "A" * 30,
        "Bearer a.b.c",
    ],
)
def test_refused(runner: Runner, authorization: str | None) -> None:
    assert authenticate_channel(runner=str(runner.pk), authorization=authorization) is None


def test_only_its_own_channel(runner: Runner) -> None:
    other = make_runner(key=ids.new_key("bencher_runner_"))
    for name in (str(other.pk), other.slug, "", "no such", str(runner.pk).replace("-", ""), f"{{{runner.pk}}}"):
        assert authenticate_channel(runner=name, authorization=f"Bearer {KEY}") is None


def test_archived(runner: Runner) -> None:
    runner.archived = NOW
    runner.save()
    assert authenticate_channel(runner=str(runner.pk), authorization=f"Bearer {KEY}") is None


def test_rotated(runner: Runner) -> None:
    runner.key_hash = ids.key_hash(ids.new_key("bencher_runner_"))
    runner.save()
    assert authenticate_channel(runner=str(runner.pk), authorization=f"Bearer {KEY}") is None


@pytest.mark.parametrize(
    ("header", "credential"), [("Bearer x", "x"), ("bearer  x ", "x"), ("Basic x", None), ("Bearer", None), (None, None)]
)
def test_bearer(header: str | None, credential: str | None) -> None:
    assert bearer(header) == credential


def test_channels_count_against_the_rate_limits(runner: Runner, settings: Any) -> None:
    settings.BENCHER_RATE_LIMITS = "runner.requests=2/minute"
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(2):
        assert admit_channel(runner=runner.slug, authorization=f"Bearer {KEY}", now=now) == runner
    with pytest.raises(TooMany) as refused:
        admit_channel(runner=runner.slug, authorization=f"Bearer {KEY}", now=now)
    assert refused.value.headers == {"Retry-After": "60"}
    with pytest.raises(NotAuthenticated):
        admit_channel(runner=runner.slug, authorization=None, now=now)
