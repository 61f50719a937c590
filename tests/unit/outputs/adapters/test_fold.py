"""Folding iterations (spec 6.4); more cases are in the data of test_parse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outputs.adapters.fold import FOLDS, fold
from outputs.adapters.results import Metric, Parsed


def iteration(name_ids: bool = True, **benchmarks: Metric) -> Parsed:
    return Parsed({name: {"latency": metric} for name, metric in benchmarks.items()}, name_ids)


def folded(how: str, *metrics: Metric) -> Metric:
    return fold([iteration(b=metric) for metric in metrics], how).benchmarks["b"]["latency"]


def test_no_bound_comes_before_any_bound() -> None:
    bare, bounded = Metric(1.0), Metric(1.0, -5.0, -4.0)
    assert folded("min", bounded, bare) == bare
    assert folded("max", bare, bounded) == bounded


def test_ties_go_by_upper_then_lower() -> None:
    metrics = [Metric(1.0, 0.5, 2.0), Metric(1.0, 0.1, 2.0), Metric(1.0, 0.9, 1.5)]
    assert folded("min", *metrics) == metrics[2]
    assert folded("max", *metrics) == metrics[0]
    assert folded("median", *metrics) == metrics[1]


def test_mean_counts_texts_not_occurrences() -> None:
    assert fold([iteration(b=Metric(9.0, 6.0)), iteration(), iteration()], "mean").benchmarks == {"b": {"latency": Metric(3.0, 2.0)}}


def test_median_counts_occurrences() -> None:
    assert fold([iteration(b=Metric(9.0)), iteration(), iteration()], "median").benchmarks == {"b": {"latency": Metric(9.0)}}


def test_huge_values_do_not_overflow() -> None:
    assert folded("mean", Metric(1.5e308), Metric(1.5e308)) == Metric(1.5e308)


def test_order_of_first_appearance() -> None:
    assert list(fold([iteration(z=Metric(1.0)), iteration(a=Metric(1.0), z=Metric(1.0))], "min").benchmarks) == ["z", "a"]


def test_benchmarks_without_measures_stay() -> None:
    assert fold([Parsed({"b": {}}, False)], "mean") == Parsed({"b": {}}, False)


def test_name_ids_when_any_text_had_them() -> None:
    assert fold([iteration(name_ids=False), iteration(name_ids=True)], "min").name_ids
    assert not fold([iteration(name_ids=False)], "min").name_ids


METRICS = st.builds(lambda value, down, up: Metric(value, value - down, value + up), *[st.floats(0, 1e6)] * 3)


@given(metrics=st.lists(METRICS, min_size=1, max_size=7), how=st.sampled_from(sorted(FOLDS)))
def test_folds_lie_within(metrics: list[Metric], how: str) -> None:
    value = folded(how, *metrics).value
    slack = 1e-9 * max(1.0, max(metric.value for metric in metrics))
    assert min(metric.value for metric in metrics) - slack <= value <= max(metric.value for metric in metrics) + slack
    assert folded(how, *[metrics[0]] * 3).value == pytest.approx(metrics[0].value)
