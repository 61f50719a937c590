"""The configuration in force, as ``GET /v0/server/config`` shows it: no secret leaves (rest.md 5.9)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings

REDACTED = "************"


def configuration() -> dict[str, Any]:
    """The documented shape; secrets and passwords in addresses are replaced by asterisks."""
    return {
        "console": {"url": settings.BENCHER_CONSOLE_URL},
        "security": {"issuer": settings.BENCHER_CONSOLE_URL, "secret_key": REDACTED},
        "server": {
            "public_url": settings.BENCHER_PUBLIC_URL,
            "request_body_max_bytes": settings.BENCHER_REQUEST_BODY_MAX_BYTES,
            "trusted_proxies": list(settings.BENCHER_TRUSTED_PROXIES),
        },
        "logging": {"name": "bencher", "log": {"terminal": {"level": settings.LOG_LEVEL.lower()}}},
        "database": {"file": str(settings.DATABASES["default"]["NAME"]), "url": without_password(settings.DATABASE_URL)},
        "redis": {"url": without_password(settings.REDIS_URL) or None, "prefix": settings.BENCHER_REDIS_PREFIX},
        "storage": {"url": without_password(settings.STORAGE_URL)},
        "smtp": {"backend": settings.EMAIL_BACKEND, "from": settings.DEFAULT_FROM_EMAIL},
        "plus": {
            "registry": {
                "url": settings.BENCHER_REGISTRY_URL,
                "max_body_size": settings.BENCHER_REGISTRY_MAX_BODY_BYTES,
                "upload_timeout": settings.BENCHER_REGISTRY_UPLOAD_TIMEOUT,
            },
            "runners": {
                "heartbeat_timeout": settings.BENCHER_HEARTBEAT_TIMEOUT,
                "job_timeout_grace_period": settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD,
                "update_base_url": settings.BENCHER_UPDATE_BASE_URL or None,
            },
            "rate_limiting": settings.BENCHER_RATE_LIMITS or None,
            "tier_limits": settings.BENCHER_TIER_LIMITS,
            "anonymous_runs": settings.BENCHER_ALLOW_ANONYMOUS_RUNS,
            "project_concurrency": settings.BENCHER_PROJECT_CONCURRENCY,
        },
    }


def without_password(url: str) -> str:
    """The address with name and password, and a query that may hold some, hidden."""
    parts = urlsplit(url)
    if "@" not in parts.netloc and not parts.query:
        return url
    place = parts.netloc.rpartition("@")[2]
    netloc = f"{REDACTED}@{place}" if "@" in parts.netloc else place
    return urlunsplit((parts.scheme, netloc, parts.path, REDACTED if parts.query else "", ""))
