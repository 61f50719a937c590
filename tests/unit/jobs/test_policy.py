"""jobs/policy.py: rows jt-* of the conformance list."""

from __future__ import annotations

import pytest

from jobs.policy import Tier, effective_timeout, tier


@pytest.mark.parametrize(
    ("organization", "asked", "given"),
    [
        pytest.param(Tier.UNCLAIMED, None, 60, id="jt-unclaimed-def"),
        pytest.param(Tier.UNCLAIMED, 120, 60, id="jt-unclaimed-clamp"),
        pytest.param(Tier.UNCLAIMED, 30, 30, id="jt-unclaimed-low"),
        pytest.param(Tier.FREE, None, 300, id="jt-free-def"),
        pytest.param(Tier.FREE, 600, 300, id="jt-free-clamp"),
        pytest.param(Tier.FREE, 120, 120, id="jt-free-low"),
        pytest.param(Tier.PLUS, None, 3600, id="jt-metered-def"),
        pytest.param(Tier.PLUS, 7200, 7200, id="jt-metered-custom"),
    ],
)
def test_timeout_with_limits(organization: Tier, asked: int | None, given: int) -> None:
    assert effective_timeout(asked, organization, limits=True) == given


@pytest.mark.parametrize("organization", Tier)
@pytest.mark.parametrize(("asked", "given"), [(None, 3600), (1, 1), (7200, 7200), (2**31 - 1, 2**31 - 1)])
def test_timeout_without_limits(organization: Tier, asked: int | None, given: int) -> None:
    assert effective_timeout(asked, organization, limits=False) == given


@pytest.mark.parametrize(
    ("claimed", "priority", "expected"),
    [
        (False, 0, Tier.UNCLAIMED),
        (False, 500, Tier.UNCLAIMED),
        (True, 0, Tier.FREE),
        (True, 100, Tier.FREE),
        (True, 199, Tier.FREE),
        (True, 200, Tier.PLUS),
        (True, 1000, Tier.PLUS),
    ],
)
def test_tier(claimed: bool, priority: int, expected: Tier) -> None:
    assert tier(claimed=claimed, priority=priority) is expected
