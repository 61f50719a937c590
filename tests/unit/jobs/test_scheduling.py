"""Priorities, limits, and time in whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import scheduling as s

START = datetime(2026, 1, 1, 12, 0, 0, 900_000, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
SECONDS = st.integers(1, 1000)


@pytest.mark.parametrize(
    ("organization", "claimed", "asked", "priority"),
    [
        (100, False, None, 0),
        (0, False, None, 0),
        (100, True, None, 100),
        (250, True, None, 250),
        (100, True, 7, 7),
        (0, False, 1000, 1000),
        (100, True, 0, 0),
    ],
)
def test_priority(organization: int, claimed: bool, asked: int | None, priority: int) -> None:
    assert s.job_priority(organization=organization, claimed=claimed, asked=asked) == priority


@pytest.mark.parametrize(
    ("organization", "claimed", "limit"),
    [
        (0, False, s.Limit.ADDRESS),
        (200, False, s.Limit.ADDRESS),
        (99, True, s.Limit.ADDRESS),
        (100, True, s.Limit.ORGANIZATION),
        (199, True, s.Limit.ORGANIZATION),
        (200, True, s.Limit.NONE),
        (1000, True, s.Limit.NONE),
    ],
)
def test_limits(organization: int, claimed: bool, limit: s.Limit) -> None:
    assert s.limit_of(organization=organization, claimed=claimed) is limit


@pytest.mark.parametrize(
    ("after", "silent"), [(0.0, False), (5.0, False), (5.09, False), (5.1, True), (5.2, True), (60.0, True), (-100.0, False)]
)
def test_silence_is_whole_seconds_and_strict(after: float, silent: bool) -> None:
    """Of a beat at .9 s the fifth second ends at .0 of the sixth: equality is not over."""
    assert s.is_silent(START, START + timedelta(seconds=after), 5) is silent


@pytest.mark.parametrize(("after", "over"), [(69.0, False), (70.0, False), (70.09, False), (70.1, True), (71.0, True)])
def test_hard_limit_is_timeout_and_grace_period(after: float, over: bool) -> None:
    assert s.is_over(s.due(START, 10), START + timedelta(seconds=after), 60) is over


def test_what_has_not_started_is_never_over() -> None:
    assert not s.is_over(None, START + timedelta(days=400), 1)


@given(MOMENTS, MOMENTS, SECONDS)
def test_the_query_for_silence_says_the_same(last: datetime, now: datetime, timeout: int) -> None:
    assert s.is_silent(last, now, timeout) == (last < s.silent_before(now, timeout))


@given(MOMENTS, MOMENTS, SECONDS, SECONDS)
def test_the_query_for_the_limit_says_the_same(started: datetime, now: datetime, timeout: int, grace: int) -> None:
    due = s.due(started, timeout)
    assert (
        s.is_over(due, now, grace)
        == (due <= s.over_until(now, grace))
        == (now >= s.over_at(due, grace))
        == (s.elapsed(started, now) > timeout + grace)
    )
