"""The one clock that doors read (recovery.md section 6)."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The present moment, UTC."""
    return datetime.now(UTC)
