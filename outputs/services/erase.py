"""Erasing all results of a project that is deleted for good (rest.md 5.1)."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Model

from outputs.models import (
    Alert,
    Benchmark,
    Branch,
    ChangePoint,
    Head,
    HeadVersion,
    Measure,
    Metric,
    Plot,
    Report,
    Testbed,
    Threshold,
    ThresholdModel,
    Version,
)

PATHS: tuple[tuple[type[Model], str], ...] = (
    (ChangePoint, "report__project_id"),
    (Alert, "project_id"),
    (Metric, "report__project_id"),
    (Report, "project_id"),
    (ThresholdModel, "threshold__project_id"),
    (Threshold, "project_id"),
    (Plot, "project_id"),
    (HeadVersion, "head__branch__project_id"),
    (Head, "branch__project_id"),
    (Version, "project_id"),
    (Branch, "project_id"),
    (Testbed, "project_id"),
    (Benchmark, "project_id"),
    (Measure, "project_id"),
)
"""What refers comes before what it refers to; where two refer to each other, the database checks at the end of the transaction."""


def erase_results(*, project_id: UUID) -> None:
    """Delete every row of results of the project, one statement a table. Inside the transaction that deletes the project."""
    for model, path in PATHS:
        rows = model._default_manager.filter(**{path: project_id})
        rows._raw_delete(rows.db)
