"""System checks: settings that do not fit together, and what an operator should know before the server is public."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from bencher.core.ratelimits import BadLimits, parse


@register()
def rate_limits(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """BENCHER_RATE_LIMITS can be read."""
    try:
        parse(settings.BENCHER_RATE_LIMITS)
    except BadLimits as fault:
        return [Error(f"BENCHER_RATE_LIMITS: {fault}", id="bencher.E001")]
    return []


@register(Tags.security, deploy=True)
def anonymous_runs(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Whether strangers may run and push."""
    if not settings.BENCHER_ALLOW_ANONYMOUS_RUNS:
        return []
    hint = "Set BENCHER_ALLOW_ANONYMOUS_RUNS=0 unless everybody who reaches the server may use it."
    return [Warning("Anybody may submit runs and push images without a credential.", hint=hint, id="bencher.W001")]
