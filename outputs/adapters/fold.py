"""Several iterations into one (spec 6.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from .results import Benchmarks, Metric, Parsed


def fold(iterations: Sequence[Parsed], how: str) -> Parsed:
    """Fold ``iterations`` by ``how``, a key of FOLDS. Raises KeyError for any other.

    Benchmarks and measures keep the order of their first appearance. When only some of the texts were BMF, all keys are taken as NameIds:
    a NameId that is no UUID finds names too.
    """
    combine = FOLDS[how]
    collected: dict[str, dict[str, list[Metric]]] = {}
    for iteration in iterations:
        for benchmark, measures in iteration.benchmarks.items():
            seen = collected.setdefault(benchmark, {})
            for measure, metric in measures.items():
                seen.setdefault(measure, []).append(metric)
    folded: Benchmarks = {
        benchmark: {measure: combine(metrics, len(iterations)) for measure, metrics in measures.items()}
        for benchmark, measures in collected.items()
    }
    return Parsed(folded, any(iteration.name_ids for iteration in iterations))


def _order(metric: Metric) -> tuple[float, float, float]:
    """By value, then upper, then lower; no bound comes before any bound."""
    return metric.value, _bound(metric.upper), _bound(metric.lower)


def _bound(number: float | None) -> float:
    return -math.inf if number is None else number


def _smallest(metrics: Sequence[Metric], _texts: int) -> Metric:
    return min(metrics, key=_order)


def _largest(metrics: Sequence[Metric], _texts: int) -> Metric:
    return max(metrics, key=_order)


def _mean(metrics: Sequence[Metric], texts: int) -> Metric:
    """Divided by the number of texts, not of occurrences: where a benchmark is missing it counts as zero."""
    lower = [metric.value if metric.lower is None else metric.lower for metric in metrics]
    upper = [metric.value if metric.upper is None else metric.upper for metric in metrics]
    return Metric(
        _divided([metric.value for metric in metrics], texts),
        None if all(metric.lower is None for metric in metrics) else _divided(lower, texts),
        None if all(metric.upper is None for metric in metrics) else _divided(upper, texts),
    )


def _divided(numbers: Sequence[float], by: int) -> float:
    try:
        return math.fsum(numbers) / by
    except OverflowError:
        return math.fsum(number / by for number in numbers)


def _median(metrics: Sequence[Metric], _texts: int) -> Metric:
    ordered = sorted(metrics, key=_order)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else _mean(ordered[middle - 1 : middle + 1], 2)


FOLDS: Final[dict[str, Callable[[Sequence[Metric], int], Metric]]] = {"min": _smallest, "max": _largest, "mean": _mean, "median": _median}
