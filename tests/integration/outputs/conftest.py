from __future__ import annotations

import pytest

from tests.results_lab import Lab


@pytest.fixture
def lab(db: None) -> Lab:
    return Lab()
