"""Quantiles of distributions. scipy takes a third of a second to import, so only the first threshold that needs it pays."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(1024)
def normal(share: float) -> float:
    """Of the standard normal distribution; 0 < ``share`` < 1."""
    from scipy.special import ndtri

    return float(ndtri(share))


@lru_cache(1024)
def student(freedom: int, share: float) -> float:
    """Of Student's t distribution with ``freedom`` degrees of freedom; 0 < ``share`` < 1."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))
