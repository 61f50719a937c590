"""Hooks: filled once, and loud when they are not."""

from __future__ import annotations

import pytest

from bencher.core.hooks import Hook


@Hook
def doubled(*, number: int) -> int:
    """Twice the number."""
    raise NotImplementedError


def test_one_function() -> None:
    def twice(*, number: int) -> int:
        return 2 * number

    with pytest.raises(RuntimeError, match="doubled is not filled"):
        doubled(number=1)
    assert doubled.fill(twice) is twice
    assert doubled(number=2) == 4
    doubled.fill(twice)
    with pytest.raises(RuntimeError, match="filled already"):
        doubled.fill(lambda *, number: number)
    assert doubled.__doc__ == "Twice the number."
