"""The table of built-in measures, against the units that real reports have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from outputs.adapters.gungraun import TOOLS
from outputs.adapters.measures import BUILTIN, builtin

DATA = Path(__file__).resolve().parents[3] / "data" / "adapters"
FORGOTTEN = {"allocated", "gen0-collects", "gen1-collects", "gen2-collects", "total-operations"} | {
    "maximum-bytes",
    "maximum-blocks",
    "total-units",
    "total-events",
    "total-lifetimes",
}
"""Measures for which the recorded server forgot name and units."""


def test_nothing_is_listed_twice() -> None:
    assert len({entry.slug for entry in BUILTIN}) == len({entry.name for entry in BUILTIN}) == len(BUILTIN) == 80


@pytest.mark.parametrize("entry", BUILTIN, ids=lambda entry: entry.slug)
def test_each_is_found_by_name_and_slug(entry: object) -> None:
    assert builtin(entry.name) == builtin(entry.slug) == entry


@pytest.mark.parametrize(
    ("text", "slug", "units"),
    [
        ("Latency", "latency", "nanoseconds (ns)"),
        ("Build Time", "build-time", "seconds (s)"),
        ("Total read+write", "total-read-write", "reads/writes"),
        ("Ge", "global-bus-events", "events"),
        ("I/O Jitter", "io-jitter", "percentage (%)"),
        ("Errors", "memcheck-errors", "errors"),
        ("Suppressed Contexts", "memcheck-suppressed-contexts", "suppressed contexts"),
        ("DRD Errors", "drd-errors", "errors"),
    ],
)
def test_lookup(text: str, slug: str, units: str) -> None:
    found = builtin(text)
    assert found is not None
    assert (found.slug, found.units) == (slug, units)


@pytest.mark.parametrize("text", ["", "latency ", "LATENCY", "Peak RSS", "errors"])
def test_unknown(text: str) -> None:
    assert builtin(text) is None


def test_units_of_real_reports() -> None:
    units = {
        slug: metric["units"]
        for entry in json.loads((DATA / "expected.json").read_text())
        if not entry["fixture"].startswith("json/")
        for iteration in entry.get("results", [])
        for measures in iteration.values()
        for slug, metric in measures.items()
        if slug not in FORGOTTEN
    }
    assert len(units) > 50
    assert {slug: builtin(slug).units for slug in units} == units


def test_every_measure_of_gungraun_is_built_in() -> None:
    for labels in TOOLS.values():
        for label, (_, slug) in labels.items():
            found = builtin(slug)
            assert found is not None
            assert found.base == label
