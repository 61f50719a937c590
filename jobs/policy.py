"""How long a job may take and how early it is taken: two tables (rest.md 2.5, protocol.md section 8). Pure."""

from __future__ import annotations

from enum import Enum

PLUS_PRIORITY = 200
"""From here on an organization has no limits: what a plan is to the stock server, a server administrator's word is here."""
UNCLAIMED_PRIORITY = 0
MAX_PRIORITY = 1000
DEFAULT_TIMEOUT = 3600
"""Seconds for a job that asks for no time."""


class Tier(Enum):
    """What limits look at: the organization, never the single job."""

    UNCLAIMED = "unclaimed"
    """Without members: anybody may run there."""
    FREE = "free"
    PLUS = "plus"


CAPS: dict[Tier, int | None] = {Tier.UNCLAIMED: 60, Tier.FREE: 300, Tier.PLUS: None}
"""Longest time in seconds while tier limits are on; also the time of a job that asks for none."""


def tier(*, claimed: bool, priority: int) -> Tier:
    """The tier of an organization with this priority."""
    if not claimed:
        return Tier.UNCLAIMED
    return Tier.PLUS if priority >= PLUS_PRIORITY else Tier.FREE


def effective_timeout(asked: int | None, organization: Tier, *, limits: bool) -> int:
    """Seconds that a job gets. ``limits``: are tier limits on (``BENCHER_TIER_LIMITS``)?"""
    cap = CAPS[organization] if limits else None
    if cap is None:
        return DEFAULT_TIMEOUT if asked is None else asked
    return cap if asked is None else min(asked, cap)


def job_priority(asked: int | None, *, claimed: bool, organization_priority: int) -> int:
    """The priority of a new job. Who may ask for one (a server administrator) is not decided here."""
    if asked is not None:
        return asked
    return organization_priority if claimed else UNCLAIMED_PRIORITY
