"""Verdicts: what they say, that they survive storage, and that their lists are bounded."""

from __future__ import annotations

from uuid import UUID

from bencher.core.ids import uuid7
from outputs import verdicts

REPORT, OTHER = uuid7(), uuid7()
A, B, C = uuid7(), uuid7(), uuid7()


def test_nothing_to_say() -> None:
    assert verdicts.nothing_parsed([], none=False) == []
    assert verdicts.spec_changed(A, A, report=REPORT) == []
    assert verdicts.missing_since({}) == []


def test_some_iterations_are_empty() -> None:
    [verdict] = verdicts.nothing_parsed([1, 3], none=False)
    assert (verdict.kind, verdict.iterations, verdict.message) == ("nothing_parsed", [1, 3], "no metrics were found in 2 iterations")


def test_nothing_at_all() -> None:
    [verdict] = verdicts.nothing_parsed([], none=True)
    assert verdict.message == "no metrics were found"


def test_a_benchmark_counts_once() -> None:
    verdict = verdicts.without_baseline(verdicts.NO_BASELINE, C, [A, B, A])
    assert (verdict.count, verdict.benchmarks, verdict.measure) == (2, [A, B], C)


def test_lists_are_bounded_counts_are_not() -> None:
    many = [uuid7() for _ in range(1000)]
    for verdict in (
        verdicts.without_baseline(verdicts.NO_SPREAD, C, many),
        verdicts.change_point(C, many),
        *verdicts.missing_since({(REPORT, "2026-01-01T00:00:00Z"): many}),
    ):
        assert verdict.count == 1000
        assert isinstance(verdict.benchmarks, list)
        assert len(verdict.benchmarks) == verdicts.LISTED


def missing(former: list[verdicts.Verdict], before: set[UUID], present: set[UUID]) -> dict[verdicts.LastSeen, list[UUID]]:
    return verdicts.missing(former, before, present, report=REPORT, since="2026-02-01T00:00:00Z")


def test_missing_from_the_report_before() -> None:
    assert missing([], {A, B}, {A}) == {(REPORT, "2026-02-01T00:00:00Z"): [B]}


def test_missing_stays_missing_since_it_was_last_seen() -> None:
    former = verdicts.missing_since({(OTHER, "2026-01-01T00:00:00Z"): [B, C]})
    assert missing(former, {A}, {A, C}) == {(OTHER, "2026-01-01T00:00:00Z"): [B]}


def test_storage_keeps_everything() -> None:
    said = [
        *verdicts.nothing_parsed([1], none=False),
        verdicts.without_baseline(verdicts.NO_BASELINE, C, [A]),
        *verdicts.missing_since({(REPORT, "2026-01-01T00:00:00Z"): [A]}),
        *verdicts.spec_changed(None, B, report=REPORT),
        verdicts.of_failure("truncated", "the text ends in the middle"),
        verdicts.change_point(C, [A, B]),
    ]
    assert verdicts.load(verdicts.stored(said)) == said


def test_absent_fields_are_left_out_but_no_spec_is_null() -> None:
    [row] = verdicts.stored(verdicts.spec_changed(A, None, report=REPORT))
    assert row["spec"] is None
    assert row["former_spec"] == str(A)
    assert "benchmarks" not in row
