"""Alerts are dismissed and made active again (rest.md 5.7); the server itself makes and silences them."""

from __future__ import annotations

from datetime import datetime

from outputs.models import Alert


def change_alert(*, alert: Alert, status: str | None, now: datetime) -> None:
    """Give it the status; the one it has already, or None, changes nothing."""
    if status is None or status == alert.status:
        return
    Alert.objects.filter(pk=alert.pk).update(status=status, modified=now)
    alert.status, alert.modified = status, now
