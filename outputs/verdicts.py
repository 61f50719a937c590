"""What a reader would miss in the numbers (docs/results.md). Pure.

An extension: an optional list ``verdicts`` in a report, which clients of the stock server pass over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from bencher.core.newtypes import Moment

NO_BASELINE: Final = "no_baseline"
NO_SPREAD: Final = "no_spread"
LISTED: Final = 255
"""Benchmarks that one verdict names; ``count`` is of all."""


class Verdict(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One remark about a report. Which of the optional fields there are depends on ``kind``."""

    kind: Literal[
        "no_baseline",  # a threshold had too little history to judge by
        "no_spread",  # a threshold's test can do nothing with the history (it does not vary, is not positive …)
        "missing_since",  # benchmarks of earlier reports of this branch and testbed are not in this one
        "spec_changed",  # measured on other hardware than the report before
        "nothing_parsed",  # a text, or all of it, held no metrics
        "truncated",  # the text ends in the middle: the report is empty
        "invalid",  # the tool's output is broken: the report is empty
        "too_slow",  # the text took more time or memory than is allowed: the report is empty
        "change_point",  # series moved to another level for good (opt-in per threshold)
    ]
    message: str
    count: int | UnsetType = UNSET
    benchmarks: list[UUID] | UnsetType = UNSET
    """At most 255 of ``count``."""
    measure: UUID | UnsetType = UNSET
    iterations: list[int] | UnsetType = UNSET
    report: UUID | UnsetType = UNSET
    """``missing_since``: the last report that had them; ``spec_changed``: the report before."""
    since: Moment | UnsetType = UNSET
    """``missing_since``: start of that report."""
    spec: UUID | UnsetType | None = UNSET
    former_spec: UUID | UnsetType | None = UNSET


def stored(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """As a report keeps them."""
    return [msgspec.to_builtins(verdict) for verdict in verdicts]


def load(rows: Any) -> list[Verdict]:
    return msgspec.convert(rows, list[Verdict])


def of_failure(kind: Any, message: str) -> Verdict:
    """Why a report is empty."""
    return Verdict(kind=kind, message=message)


def nothing_parsed(iterations: Sequence[int], *, none: bool) -> list[Verdict]:
    """``iterations``: those without metrics. ``none``: there are no metrics at all."""
    if not iterations and not none:
        return []
    message = "no metrics were found" if none else f"no metrics were found in {_many(len(iterations), 'iteration')}"
    return [Verdict(kind="nothing_parsed", message=message, iterations=list(iterations[:LISTED]))]


def without_baseline(kind: Any, measure: UUID, benchmarks: Sequence[UUID]) -> Verdict:
    distinct = list(dict.fromkeys(benchmarks))
    cause = "there is too little history" if kind == NO_BASELINE else "the history gives no spread to judge by"
    return Verdict(
        kind=kind,
        message=f"{_many(len(distinct), 'benchmark')} could not be judged: {cause}",
        count=len(distinct),
        benchmarks=distinct[:LISTED],
        measure=measure,
    )


LastSeen = tuple[UUID, str]
"""Report and its start (RFC 3339)."""


def missing(
    former: Iterable[Verdict], before: Collection[UUID], present: Collection[UUID], *, report: UUID, since: str
) -> dict[LastSeen, list[UUID]]:
    """What is not in this report, by where it was last seen: what the report before had or missed itself (``former``, its verdicts)."""
    found: dict[LastSeen, list[UUID]] = {}
    for verdict in former:
        if verdict.kind != "missing_since" or not (verdict.report and verdict.since and verdict.benchmarks):
            continue
        if gone := [benchmark for benchmark in verdict.benchmarks if benchmark not in present]:
            found[verdict.report, verdict.since] = gone
    if gone := sorted(set(before) - set(present)):
        found[report, since] = gone
    return found


def missing_since(gone: Mapping[LastSeen, Sequence[UUID]]) -> list[Verdict]:
    return [
        Verdict(
            kind="missing_since",
            message=f"{_many(len(benchmarks), 'benchmark')} missing since the report of {since}",
            count=len(benchmarks),
            benchmarks=list(benchmarks[:LISTED]),
            report=report,
            since=since,
        )
        for (report, since), benchmarks in gone.items()
    ]


def spec_changed(before: UUID | None, now: UUID | None, *, report: UUID) -> list[Verdict]:
    if before == now:
        return []
    return [
        Verdict(
            kind="spec_changed",
            message="the hardware spec is not that of the report before: differences may come from it",
            report=report,
            spec=now,
            former_spec=before,
        )
    ]


def change_point(measure: UUID, benchmarks: Sequence[UUID]) -> Verdict:
    return Verdict(
        kind="change_point",
        message=f"{_many(len(benchmarks), 'benchmark')} moved to another level",
        count=len(benchmarks),
        benchmarks=list(benchmarks[:LISTED]),
        measure=measure,
    )


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
