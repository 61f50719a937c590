"""How long a job may take: a table (rest.md 2.5). Pure. Its priority is a matter of ``scheduling.py``."""

from __future__ import annotations

from enum import Enum

from jobs.scheduling import PLUS

DEFAULT_TIMEOUT = 3600
"""Seconds for a job that asks for no time."""


class Tier(Enum):
    """What limits look at: the organization, never the single job."""

    UNCLAIMED = "unclaimed"
    """Without members: anybody may run there."""
    FREE = "free"
    PLUS = "plus"
    """What a plan is to the stock server is a priority here, given by a server administrator."""


CAPS: dict[Tier, int | None] = {Tier.UNCLAIMED: 60, Tier.FREE: 300, Tier.PLUS: None}
"""Longest time in seconds while tier limits are on; also the time of a job that asks for none."""


def tier(*, claimed: bool, priority: int) -> Tier:
    """The tier of an organization with this priority."""
    if not claimed:
        return Tier.UNCLAIMED
    return Tier.PLUS if priority >= PLUS else Tier.FREE


def effective_timeout(asked: int | None, organization: Tier, *, limits: bool) -> int:
    """Seconds that a job gets. ``limits``: are tier limits on (``BENCHER_TIER_LIMITS``)?"""
    cap = CAPS[organization] if limits else None
    if cap is None:
        return DEFAULT_TIMEOUT if asked is None else asked
    return cap if asked is None else min(asked, cap)
