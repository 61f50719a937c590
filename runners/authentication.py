"""Who may open a channel: a runner, with its own key (protocol.md section 1)."""

from __future__ import annotations

import hmac
from datetime import datetime

from bencher.core import ids
from bencher.core.errors import NotAuthenticated
from bencher.core.ratelimits import count
from runners.models import Runner

KEY_PREFIX = "bencher_runner_"


def bearer(authorization: str | None) -> str | None:
    """The credential of an ``Authorization`` header with the scheme Bearer, in any case of letters."""
    scheme, _, credential = (authorization or "").partition(" ")
    return credential.strip() if scheme.lower() == "bearer" and credential.strip() else None


def admit_channel(*, runner: str, authorization: str | None, now: datetime) -> Runner:
    """The runner whose channel may open now; raises NotAuthenticated, whatever is wrong, and TooMany beyond the configured rate."""
    found = authenticate_channel(runner=runner, authorization=authorization)
    if found is None:
        raise NotAuthenticated("A runner channel needs the key of that runner, and the runner must not be archived")
    count("runner", "requests", found.pk, now=now)
    return found


def authenticate_channel(*, runner: str, authorization: str | None) -> Runner | None:
    """The runner that ``runner`` (UUID or slug) names, if the key is its own and it is not archived; else None, whatever is wrong."""
    key = bearer(authorization)
    if key is None or not ids.is_key(key, KEY_PREFIX):
        return None
    found = Runner.objects.filter(key_hash=ids.key_hash(key), archived__isnull=True).first()
    if found is None:
        return None
    uuid = ids.as_uuid(runner)
    named = found.pk == uuid if uuid is not None else hmac.compare_digest(found.slug.encode(), runner.encode())
    return found if named else None
