"""Reports: made for a job, filled with results, made whole from local results, deleted (rest.md 2.6, 2.9, 3.5, 5.3).

Text is parsed and limits are computed before the transaction that writes; that one is short, and all or nothing (recovery.md section 2).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q

from bencher.core.compiled import Compiled, CompiledUpdate, Slot, create
from bencher.core.errors import Busy, Invalid
from bencher.core.ids import uuid7
from bencher.core.retry import transient
from bencher.projects.models import Project, User
from bencher.specs.models import Spec
from outputs import notify
from outputs.adapters.parse import normalize
from outputs.adapters.results import AdapterError
from outputs.models import Alert, Branch, ChangePoint, Head, HeadVersion, Metric, Report, Testbed, Version
from outputs.parsing import ParserUnavailable, Places, parsers
from outputs.requests import LocalRun, Settings, StartPoint, Thresholds
from outputs.selectors.history import Series
from outputs.selectors.reports import METRIC_COLUMNS, Written
from outputs.services import branches, bulk, dimensions, preparation, thresholds
from outputs.services.preparation import Iterations, Prepared, Target
from outputs.verdicts import Verdict, of_failure, stored

__all__ = ["Prepared", "create_report", "delete_report", "deliver", "prepare", "run_local"]


REQUESTS = Places(5, patience=0.5)
"""Of the eight threads that answer requests (``bencher/api_handler.py``), so many may wait for texts to be parsed; the others go on."""


# -- for a job ------------------------------------------------------------------------------------------------------
def create_report(
    *,
    project: Project,
    user: User | None,
    branch: str,
    hash: str | None,
    start_point: StartPoint | None,
    testbed: str,
    spec: Spec | None = None,
    spec_reset: bool | None = False,
    thresholds: Thresholds | None,
    start_time: datetime,
    end_time: datetime,
    adapter: str | None,
    idempotency_key: UUID | None = None,
    job: UUID | None = None,
    now: datetime,
) -> Report:
    """A report without results, with its branch, version, testbed and thresholds. Raises Missing, Invalid; IntegrityError for a key that is taken."""
    found, place = _resolve(project, branch, start_point, testbed, spec, spec_reset, thresholds, now)
    with transaction.atomic(savepoint=False):
        return _create(
            branches.held_head(found),
            hash,
            project=project,
            user=user,
            idempotency_key=idempotency_key,
            testbed=place,
            spec=spec,
            adapter=normalize(adapter or "magic"),
            start_time=start_time,
            end_time=end_time,
            created=_whole(now),
            job=job,
        )


def _create(head: Head, hash: str | None, *, project: Project, **columns: Any) -> Report:
    """The next report of a head that is held, as ``selectors.reports.shown`` would read it."""
    place = branches.add_version(head, project_id=project.id, hash=hash)
    version = Version(id=place.version_id, project_id=project.id, hash=hash)
    report = create(Report, project=project, head=head, version=version, **columns)
    report.number = place.number  # type: ignore[attr-defined]
    return report


@transient()
def _resolve(
    project: Project,
    branch: str,
    start_point: StartPoint | None,
    testbed: str,
    spec: Spec | None,
    spec_reset: bool | None,
    wanted: Thresholds | None,
    now: datetime,
) -> tuple[Branch, Testbed]:
    found = branches.resolve_branch(project=project, name=branch, start_point=start_point, now=now)
    place = dimensions.resolve_testbed(project=project, name=testbed, now=now)
    if spec is not None or spec_reset:
        dimensions.set_testbed_spec(testbed=place, spec_id=spec.id if spec else None, now=now)
    thresholds.apply(project=project, branch=found, testbed=place, thresholds=wanted, now=now)
    return found, place


def prepare(*, report: Report, parsed: Iterations, now: datetime) -> Prepared:
    """What ``deliver`` will write into the report. Raises Invalid, Missing (BMF that names an unknown UUID)."""
    place = _PLACE.first(head=report.head_id, version=report.version_id)
    if place is None:
        raise HeadVersion.DoesNotExist
    branch_id, number = place
    series = Series(report.head_id, report.testbed_id, report.spec_id, number, report.start_time)
    return preparation.prepare(target=Target(report.project, branch_id, series, report.id), parsed=parsed, now=now)


_PLACE: Compiled[Any] = Compiled(
    lambda: HeadVersion.objects.filter(head_id=Slot("head"), version_id=Slot("version")).values_list("head__branch_id", "number")
)


def deliver(
    *, report: Report, prepared: Prepared, start_time: datetime | None = None, end_time: datetime | None = None, now: datetime
) -> None:
    """Write it, all or nothing; inside the caller's transaction if there is one. A report takes results once: IntegrityError the second time."""
    summary = {
        "start_time": _whole(start_time or report.start_time),
        "end_time": _whole(end_time or report.end_time),
        **_summary(prepared),
    }
    for name, value in summary.items():
        setattr(report, name, value)
    with transaction.atomic(savepoint=False):
        _SUMMARIZE.run({"id": report.id}, summary)
        _fill(report, prepared, now)


_SUMMARIZE = CompiledUpdate(lambda: Report.objects.filter(pk=Slot("id")), ("start_time", "end_time", "size", "counts", "verdicts"))


def _summary(prepared: Prepared) -> dict[str, Any]:
    """What a report keeps of its contents."""
    return {"size": len(prepared.values), "counts": prepared.counts, "verdicts": stored(prepared.verdicts)}


def _fill(report: Report, prepared: Prepared, now: datetime) -> None:
    rows = prepared.rows(report.id)
    bulk.insert(Metric, dict(zip(METRIC_COLUMNS, zip(*rows, strict=True), strict=False)))
    _insert_alerts(report, prepared, now)
    if prepared.named:
        report.written = Written(rows, prepared.named)
    if prepared.watched:
        notify.changes_wanted(report.id)


def _insert_alerts(report: Report, prepared: Prepared, now: datetime) -> None:
    """Alerts on a head that was replaced meanwhile are silenced, as its other alerts were then."""
    outside = [(id, verdict.outlier) for id, verdict in prepared.judged.items() if verdict.outlier]
    if not outside:
        return
    replaced = Head.objects.filter(pk=report.head_id, replaced__isnull=False).exists()
    columns: bulk.Columns = {
        "id": [uuid7() for _ in outside],
        "project": [report.project_id] * len(outside),
        "report": [report.id] * len(outside),
        "metric": [id for id, _ in outside],
        "limit": [limit for _, limit in outside],
        "status": ["silenced" if replaced else "active"] * len(outside),
        "modified": [now] * len(outside),
    }
    bulk.insert(Alert, columns)


# -- local results --------------------------------------------------------------------------------------------------
def run_local(*, project: Project, user: User | None, request: LocalRun, now: datetime) -> Report:
    """A complete report of local results, in one transaction.

    Results that cannot be read, or judged, are Invalid and leave the empty report (rest.md 2.6). A fault of ours is Busy and leaves no report, so that a
    repeat starts anew. IntegrityError for an idempotency key that may be taken; without one, what the report mentions was deleted meanwhile: Busy.
    """
    try:
        return _run_local(project, user, request, now)
    except IntegrityError:
        if request.idempotency_key is not None:
            raise
        raise Busy("something that the report mentions was deleted meanwhile: try again") from None


def _run_local(project: Project, user: User | None, request: LocalRun, now: datetime) -> Report:
    branch, testbed = _resolve(
        project, request.branch_name, request.start_point, request.local_testbed, None, request.spec_reset, request.thresholds, now
    )
    settings = request.settings or Settings()
    try:
        parsed = parsers.parse(
            request.results, adapter=settings.adapter or "magic", average=settings.average, fold=settings.fold, places=REQUESTS
        )
        return _complete(project, user, request, branch, testbed, parsed, now)
    except ParserUnavailable as fault:
        raise Busy("the results cannot be parsed right now, try again") from fault
    except AdapterError as fault:
        _leave_empty(project, user, request, branch, testbed, of_failure(fault.verdict, str(fault)), now)
        raise Invalid(f"results: {fault}") from None
    except Invalid as fault:
        _leave_empty(project, user, request, branch, testbed, of_failure("invalid", fault.message), now)
        raise


@transient()
def _complete(
    project: Project, user: User | None, request: LocalRun, branch: Branch, testbed: Testbed, parsed: Iterations, now: datetime
) -> Report:
    """Judge by the history of the branch as it is, then write; anew if the branch got another head meanwhile."""
    for _ in range(3):
        target = _target(project, branch, testbed, request)
        prepared = preparation.prepare(target=target, parsed=parsed, now=now)
        with transaction.atomic():
            head = branches.held_head(branch)
            if head.pk != target.series.head_id:
                branch.head = head
                continue
            report = _insert(project, user, request, head, testbed, _summary(prepared), now)
            _fill(report, prepared, now)
            return report
    raise Busy("the branch is being reset over and over, try again")


def _target(project: Project, branch: Branch, testbed: Testbed, request: LocalRun) -> Target:
    """Where a new report of the branch will stand: with a known hash beside its version, else after all others."""
    head_id = branch.current_head.pk
    known = branches.known_version(head_id, request.commit)
    last = 2**31 - 1
    series = Series(head_id, testbed.pk, None, known.number if known else last, request.start_time)
    return Target(project, branch.pk, series)


def _insert(
    project: Project, user: User | None, request: LocalRun, head: Head, testbed: Testbed, summary: dict[str, Any], now: datetime
) -> Report:
    settings = request.settings or Settings()
    return _create(
        head,
        request.commit,
        project=project,
        user=user,
        idempotency_key=request.idempotency_key,
        testbed=testbed,
        spec=None,
        adapter=normalize(settings.adapter or "magic"),
        start_time=request.start_time,
        end_time=request.end_time,
        created=_whole(now),
        **summary,
    )


@transient()
def _leave_empty(
    project: Project, user: User | None, request: LocalRun, branch: Branch, testbed: Testbed, verdict: Verdict, now: datetime
) -> None:
    with transaction.atomic():
        _insert(project, user, request, branches.held_head(branch), testbed, {"verdicts": stored([verdict])}, now)


def _whole(moment: datetime) -> datetime:
    """Whole seconds are stored (rest.md 0.6)."""
    return moment.replace(microsecond=0)


# -- deletion -------------------------------------------------------------------------------------------------------
@transient()
def delete_report(*, report: Report) -> None:
    """Delete a report with its metrics and alerts; its version goes with the last report of it, and later versions move down (rest.md 5.3)."""
    with transaction.atomic():
        branches.lock_counting(report.version_id, branch_id=report.head.branch_id)
        ChangePoint.objects.filter(Q(report=report) | Q(metric__report=report)).delete()
        for model in (Alert, Metric):
            rows = model._default_manager.filter(report=report)
            rows._raw_delete(rows.db)  # Django's own delete would load every metric
        report.delete()
        if not Report.objects.filter(version_id=report.version_id).exists():
            _remove_version(report.version_id)


def _remove_version(version_id: UUID) -> None:
    """Take the version out of every head that counts it; heads that start at it start at the one before."""
    for place in list(HeadVersion.objects.filter(version_id=version_id).order_by("head_id")):
        earlier = HeadVersion.objects.filter(head_id=place.head_id, number__lt=place.number).order_by("-number", "-id").first()
        starters = Head.objects.filter(start_head_id=place.head_id)
        starters.filter(start_version_id=version_id).update(
            start_version=earlier and earlier.version_id, start_number=earlier and earlier.number
        )
        starters.filter(start_number__gt=place.number).update(start_number=F("start_number") - 1)
        HeadVersion.objects.filter(head_id=place.head_id, number__gt=place.number).update(number=F("number") - 1)
    Version.objects.filter(pk=version_id).delete()
