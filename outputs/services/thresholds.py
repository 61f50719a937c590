"""Thresholds and their models (rest.md 2.7, 5.5)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from bencher.core.errors import Clash, Invalid, Missing
from bencher.core.ids import uuid7
from bencher.projects.limiting import creating
from bencher.projects.models import Project
from outputs import detection
from outputs.detection.models import ALIASES, ModelError
from outputs.models import Branch, Measure, Metric, Testbed, Threshold, ThresholdModel
from outputs.requests import NewModel, NewThreshold, ThresholdChange, Thresholds
from outputs.selectors.dimensions import get_mentioned
from outputs.selectors.reports import in_bulk
from outputs.services import bulk, dimensions


class Key(NamedTuple):
    testbed_id: UUID
    measure_id: UUID


def model_of(new: NewModel | ThresholdChange) -> detection.Model:
    """The model that was sent."""
    test = new.test or ""
    return detection.Model(
        ALIASES.get(test, test), new.min_sample_size, new.max_sample_size, new.window, new.lower_boundary, new.upper_boundary
    )


def model_in(row: ThresholdModel) -> detection.Model:
    """The model that is stored."""
    return detection.Model(row.test, row.min_sample_size, row.max_sample_size, row.window, row.lower_boundary, row.upper_boundary)


def _valid(new: NewModel | ThresholdChange) -> detection.Model:
    model = model_of(new)
    try:
        detection.validate(model)
    except ModelError as fault:
        raise Invalid(f"model: {fault}") from None
    return model


# -- within a run ---------------------------------------------------------------------------------------------------
def apply(*, project: Project, branch: Branch, testbed: Testbed, thresholds: Thresholds | None, now: datetime) -> None:
    """What a run says about the thresholds of its branch and testbed. The models are not judged here: a client does that before it sends."""
    if thresholds is None:
        return
    wanted = {
        Key(testbed.id, dimensions.resolve_measure(project=project, text=text, now=now).id): model_of(model)
        for text, model in (thresholds.models or {}).items()
    }
    set_models(project_id=project.id, branch_id=branch.id, wanted=wanted, now=now)
    if thresholds.reset:
        with transaction.atomic():
            for row in _hold(Threshold.objects.filter(branch=branch, testbed=testbed, model__isnull=False)):
                if Key(row.testbed_id, row.measure_id) not in wanted:
                    _replace(row, None, now)


def set_models(*, project_id: UUID, branch_id: UUID, wanted: Mapping[Key, detection.Model], now: datetime) -> None:
    """Each threshold of the branch gets its model; missing thresholds are made, equal models stay. Safe under competition."""
    if not wanted or not (keys := _behind(branch_id, wanted)):
        return
    keys.sort()
    creating("threshold", project_id=project_id, now=now, number=len(keys))
    with transaction.atomic():
        columns: bulk.Columns = {
            "id": [uuid7() for _ in keys],
            "project": [project_id] * len(keys),
            "branch": [branch_id] * len(keys),
            "testbed": [key.testbed_id for key in keys],
            "measure": [key.measure_id for key in keys],
            "model": [None] * len(keys),
            "change_points": [False] * len(keys),
            "created": [now] * len(keys),
            "modified": [now] * len(keys),
        }
        bulk.insert(Threshold, columns, ignore_conflicts=True)
        rows = Threshold.objects.filter(branch_id=branch_id, measure__among=[key.measure_id for key in keys])
        for row in _hold(rows):
            model = wanted.get(Key(row.testbed_id, row.measure_id))
            if model is not None and (row.model is None or model_in(row.model) != model):
                _replace(row, model, now)


def _behind(branch_id: UUID, wanted: Mapping[Key, detection.Model]) -> list[Key]:
    """The keys whose threshold or model is missing or another: in the usual run none, and nothing is written."""
    rows = Threshold.objects.select_related("model").filter(branch_id=branch_id, measure__among={key.measure_id for key in wanted})
    current = {Key(row.testbed_id, row.measure_id): model_in(row.model) for row in rows if row.model is not None}
    return [key for key, model in wanted.items() if current.get(key) != model]


def clone(*, source_id: UUID, branch: Branch, now: datetime) -> None:
    """The source branch's models for another branch."""
    rows = Threshold.objects.select_related("model").filter(branch_id=source_id, model__isnull=False).order_by("created", "id")
    wanted = {Key(row.testbed_id, row.measure_id): model_in(row.model) for row in rows if row.model is not None}
    set_models(project_id=branch.project_id, branch_id=branch.id, wanted=wanted, now=now)


def _hold(rows: QuerySet[Threshold]) -> list[Threshold]:
    """The thresholds, held until the transaction ends, with their models. These are read afterwards: a joined row comes from before the wait."""
    held = list(rows.select_for_update().order_by("id"))
    models = in_bulk(ThresholdModel.objects.all(), {row.model_id for row in held if row.model_id})
    for row in held:
        row.model = models[row.model_id] if row.model_id else None
    return held


def _replace(row: Threshold, model: detection.Model | None, now: datetime) -> None:
    """Another model, or none, for a threshold that is held."""
    if row.model_id is not None:
        ThresholdModel.objects.filter(pk=row.model_id).update(replaced=now)
    row.model = None
    if model is not None:
        row.model = ThresholdModel.objects.create(
            threshold=row,
            test=model.test,
            min_sample_size=model.min_sample_size,
            max_sample_size=model.max_sample_size,
            window=model.window,
            lower_boundary=model.lower_boundary,
            upper_boundary=model.upper_boundary,
            created=now,
        )
    row.modified = now
    row.save(update_fields=["model", "modified"])


# -- by hand --------------------------------------------------------------------------------------------------------
def create_threshold(*, project: Project, new: NewThreshold, now: datetime) -> Threshold:
    """``POST …/thresholds``: the dimensions exist, the threshold does not."""
    model = _valid(new)
    creating("threshold", project_id=project.pk, now=now)
    branch = get_mentioned(Branch, project, new.branch)
    testbed = get_mentioned(Testbed, project, new.testbed)
    measure = get_mentioned(Measure, project, new.measure)
    try:
        with transaction.atomic():
            row = Threshold.objects.create(
                project=project,
                branch=branch,
                testbed=testbed,
                measure=measure,
                change_points=bool(new.change_points),
                created=now,
                modified=now,
            )
            _replace(row, model, now)
    except IntegrityError:
        raise Clash("there is a threshold for this branch, testbed and measure already") from None
    return row


def put_threshold(*, threshold: Threshold, change: ThresholdChange, now: datetime) -> None:
    """``PUT …/thresholds/{threshold}``: the model is replaced as a whole; an equal one changes nothing."""
    model = None if change.test is None else _valid(change)
    with transaction.atomic():
        if not (held := _hold(Threshold.objects.filter(pk=threshold.pk))):
            raise Missing("no such threshold")
        row = held[0]
        if (None if row.model is None else model_in(row.model)) != model:
            _replace(row, model, now)
        if change.change_points is not None and change.change_points != row.change_points:
            row.change_points, row.modified = change.change_points, now
            row.save(update_fields=["change_points", "modified"])


def delete_threshold(*, threshold: Threshold) -> None:
    """Delete a threshold that judged no stored metric; Clash otherwise."""
    with transaction.atomic():
        models = ThresholdModel.objects.filter(threshold=threshold).values_list("id", flat=True)
        if Metric.objects.filter(model__among=list(models)).exists():
            raise Clash('boundaries of stored reports refer to this threshold: delete those reports, or PUT {"test": null}')
        Threshold.objects.filter(pk=threshold.pk).update(model=None)
        threshold.delete()
