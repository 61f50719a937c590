"""Change points: steps are found where they are, noise and spikes are not."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outputs.detection import change_points


def noise(seed: int, count: int, level: float = 100.0, deviation: float = 3.0) -> list[float]:
    source = random.Random(seed)
    return [source.gauss(level, deviation) for _ in range(count)]


def places(values: list[float], **options: float) -> list[int]:
    return [change.index for change in change_points(values, **options)]


@pytest.mark.parametrize("seed", range(20))
def test_a_step_is_found(seed: int) -> None:
    (change,) = change_points(noise(seed, 40) + noise(seed + 100, 40, 112.0))
    assert 37 <= change.index <= 43
    assert change.before_mean == pytest.approx(100, abs=2)
    assert change.after_mean == pytest.approx(112, abs=2)
    assert 0 <= change.p_value < 1e-6


def test_steps_up_and_down() -> None:
    found = places(noise(1, 40) + noise(2, 40, 130.0) + noise(3, 40, 115.0))
    assert found == pytest.approx([40, 80], abs=1)


def test_noise_is_no_change() -> None:
    assert sum(bool(places(noise(seed, 100))) for seed in range(200)) <= 4


def test_a_stricter_alpha_finds_less() -> None:
    values = noise(5, 12) + noise(6, 12, 107.0)
    assert places(values, alpha=0.05)
    assert not places(values, alpha=1e-12)


def test_segments_around_a_dropped_step_are_joined() -> None:
    values = noise(1, 40) + noise(2, 40, 105.0) + noise(3, 40, 125.0) + noise(4, 40, 121.0)
    assert places(values) == pytest.approx([40, 80, 120], abs=2)
    (change,) = change_points(values, alpha=1e-20)
    assert change.index == 80
    assert change.before_mean == pytest.approx(102.5, abs=2)
    assert change.after_mean == pytest.approx(123, abs=2)


@pytest.mark.parametrize("spike", [500.0, 0.0])
def test_a_spike_is_no_change(spike: float) -> None:
    assert places([*noise(1, 20), spike, *noise(2, 20)]) == []
    assert places([100.0] * 10 + [spike] + [100.0] * 10) == []


@pytest.mark.parametrize(("before", "after"), [(1000.0, 1001.0), (1e-200, 2e-200), (-1e300, 1e300)])
def test_counters_that_do_not_vary(before: float, after: float) -> None:
    (change,) = change_points([before] * 6 + [after] * 6)
    assert (change.index, change.before_mean, change.after_mean, change.p_value) == (6, before, after, 0.0)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 1.0, 2.0, 5.0], [7.0] * 50, [1.7e308, -1.7e308] * 20])
def test_nothing_to_find(values: list[float]) -> None:
    assert change_points(values) == []


def test_heavy_tails_are_no_changes() -> None:
    source = random.Random(1)
    assert places([source.choice((100, 100, 100, 101, 102, 50)) for _ in range(2000)]) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_must_be_finite(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        change_points([1.0, bad])


@given(values=st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0]), max_size=40))
def test_changes_are_in_order_and_apart(values: list[float]) -> None:
    found = change_points(values, alpha=0.5)
    edges = [0, *(change.index for change in found), len(values)]
    assert not found or all(after - before >= 3 for before, after in pairwise(edges))
    assert all(change.p_value < 0.5 for change in found)
