"""The audit trail in the log: who did what to which object, one line each, never a secret."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.http import HttpRequest

from bencher.core.client_ip import client_ip

logger = logging.getLogger("bencher.audit")
LONGEST = 200


def address(request: HttpRequest | None) -> str | None:
    """Where the request comes from."""
    return None if request is None else client_ip(request.META)


def record(request: HttpRequest | None, action: str, **facts: Any) -> None:
    """``action=… actor=… ip=… fact=…``; values are JSON strings, so that no name forges a line or a field. Facts that are None are left out."""
    user = getattr(request, "user", None)
    fields: dict[str, Any] = {
        "action": action,
        "actor": getattr(user, "email", None) or None,
        "actor_id": getattr(user, "pk", None),
        "ip": address(request),
        **facts,
    }
    logger.info(" ".join(f"{name}={json.dumps(str(value)[:LONGEST])}" for name, value in fields.items() if value is not None))
