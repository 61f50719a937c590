"""Branches, their heads and versions (rest.md 2.4).

Whoever changes a branch's head or adds a version holds the branch's row: versions are numbered without gaps, and two resets do not cross.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from bencher.core.compiled import Compiled, Slot, create
from bencher.core.errors import Clash, Missing
from bencher.core.slugs import create_with_slug
from bencher.projects.limiting import creating
from bencher.projects.models import Project
from outputs.models import Alert, Branch, Head, HeadVersion, Report, Threshold, Version
from outputs.requests import MAX_VERSIONS, StartPoint
from outputs.selectors.dimensions import find, read
from outputs.services import bulk, dimensions, thresholds

_HELD = Compiled(lambda: Branch.objects.select_for_update(no_key=True).filter(pk=Slot("id")))
_HELD_HEAD: Compiled[UUID] = Compiled(
    lambda: Branch.objects.select_for_update(no_key=True).filter(pk=Slot("id")).values_list("head_id", flat=True)
)
_HEAD = Compiled(lambda: Head.objects.select_related("start_version").filter(pk=Slot("id")))


def _places(*conditions: Q) -> Compiled[Any]:
    """``(version, number)`` of a head, the newest one first."""
    return Compiled(
        lambda: (
            HeadVersion.objects.filter(*conditions, head_id=Slot("head")).order_by("-number", "-id").values_list("version_id", "number")[:1]
        )
    )


_NEWEST, _OF_HASH = _places(), _places(Q(version__hash=Slot("hash")))


class Start(NamedTuple):
    """A start point that exists."""

    branch_id: UUID
    head_id: UUID
    version_id: UUID
    number: int
    hash: str | None


class Place(NamedTuple):
    """A version in its head."""

    version_id: UUID
    number: int


# -- naming a branch ------------------------------------------------------------------------------------------------
def resolve_branch(*, project: Project, name: str, start_point: StartPoint | None, now: datetime) -> Branch:
    """The branch that ``name`` names, made when it is missing, on the head that ``start_point`` asks for."""
    said = read(Branch, name)
    branch = find(Branch, project, said)
    if branch is None:
        if said.uuid is not None:
            raise Missing(f"no such branch: {said.uuid}")
        try:
            return _make(project, said.name, said.slug, start_point, now)
        except IntegrityError:
            if (branch := find(Branch, project, said)) is None:
                raise
    dimensions.revive(branch, now=now)
    return move(branch, start_point=start_point, now=now)


def create_branch(*, project: Project, name: str, slug: str | None, start_point: StartPoint | None, now: datetime) -> Branch:
    """``POST …/branches``: Clash when there is one of that name."""
    if Branch.objects.filter(project=project, name=name).exists():
        raise Clash("there is a branch of that name already")
    try:
        return _make(project, name, slug, start_point, now)
    except IntegrityError:
        raise Clash("there is a branch of that name already") from None


def _make(project: Project, name: str, slug: str | None, point: StartPoint | None, now: datetime) -> Branch:
    """A new branch with its first head; IntegrityError when somebody else made one of that name."""
    creating("branch", project_id=project.pk, now=now)
    with transaction.atomic():
        start = _held_start(project, point) if point is not None else None
        branch = create_with_slug(Branch, slug=slug, scope={"project": project}, name=name, created=now, modified=now)
        branch.head = _new_head(branch, start, point, now)
        branch.save(update_fields=["head"])
        return branch


def change_branch(
    *, branch: Branch, name: str | None, slug: str | None, archived: bool | None, start_point: StartPoint | None, now: datetime
) -> Branch:
    """``PATCH …/branches``: all of it or nothing."""
    with transaction.atomic():
        dimensions.change(branch, name=name, slug=slug, archived=archived, now=now)
        return move(branch, start_point=start_point, now=now)


def delete_branch(*, branch: Branch) -> None:
    """Delete a branch without reports and thresholds; what started from it keeps its versions."""
    with transaction.atomic():
        if Report.objects.filter(head__branch=branch).exists() or Threshold.objects.filter(branch=branch).exists():
            raise Clash("the branch is used by a report or a threshold: archive it, or delete them first")
        dimensions.unpin(branch)
        versions = list(Version.objects.filter(head_versions__head__branch=branch).values_list("id", flat=True))
        Branch.objects.filter(pk=branch.pk).update(head=None)
        branch.head = None
        branch.delete()
        Version.objects.filter(id__among=versions, head_versions=None, reports=None).delete()


# -- heads ----------------------------------------------------------------------------------------------------------
def find_start(project: Project, point: StartPoint) -> Start | None:
    """Where the point lies: the version of the given hash, else the latest; None without a branch, or when nothing is there."""
    if point.branch is None or (branch := find(Branch, project, read(Branch, point.branch))) is None:
        return None
    head_id = branch.current_head.pk
    versions = HeadVersion.objects.filter(head_id=head_id).select_related("version").order_by("-number", "-id")
    found = (versions.filter(version__hash=point.hash).first() if point.hash else None) or versions.first()
    if found is None:
        return None
    return Start(branch.id, head_id, found.version_id, found.number, found.version.hash)


def _held_start(project: Project, point: StartPoint) -> Start | None:
    """As `find_start`; the branch is held, so that its versions stay as they are until they are cloned."""
    if (start := find_start(project, point)) is None:
        return None
    _HELD.first(id=start.branch_id)
    return find_start(project, point)


def move(branch: Branch, *, start_point: StartPoint | None, now: datetime) -> Branch:
    """Give the branch a new head if the start point asks for one: a reset, another branch, another hash, or the first start point at all."""
    if start_point is None or (start_point.branch is None and not start_point.reset):
        return branch
    with transaction.atomic():
        locked = lock(branch.pk)
        start = find_start(branch.project, start_point)
        head = locked.head
        if head is None or not _differs(head, start, start_point):
            return branch
        start = _held_start(branch.project, start_point)
        branch.head = _new_head(locked, start, start_point, now)
        branch.modified = now
        branch.save(update_fields=["head", "modified"])
        Head.objects.filter(pk=head.pk).update(replaced=now)
        Alert.objects.filter(report__head=head).exclude(status="silenced").update(status="silenced", modified=now)
        return branch


def _differs(head: Head, start: Start | None, point: StartPoint) -> bool:
    if point.reset:
        return True
    if start is None:
        return False
    recorded = head.start_version.hash if head.start_version else None
    return head.start_branch_id != start.branch_id or (point.hash is not None and point.hash != recorded)


def lock(branch_id: UUID) -> Branch:
    """The branch, held until the transaction ends, with its head.

    The head is read afterwards: a joined row comes from before the wait, when a new head did not exist yet.
    """
    branch = _HELD.first(id=branch_id)
    if branch is None:
        raise Missing("the branch was deleted meanwhile")
    branch.head = _HEAD.first(id=branch.head_id)
    branch.current_head.branch = branch
    return branch


def held_head(branch: Branch) -> Head:
    """The current head of the branch, which is held until the transaction ends; read anew only if it is no longer the one that was loaded."""
    head_id = _HELD_HEAD.first(id=branch.pk)
    if head_id is None:
        raise Missing("the branch was deleted meanwhile")
    if head_id != branch.head_id or branch.head is None:
        branch.head = _HEAD.first(id=head_id)
    branch.current_head.branch = branch
    return branch.current_head


def lock_counting(version_id: UUID, *, branch_id: UUID) -> None:
    """The branch, and every branch of which a head counts the version, held until the transaction ends."""
    held: set[UUID] = set()
    while True:
        counting = HeadVersion.objects.filter(version_id=version_id).values_list("head__branch_id", flat=True)
        missing = {branch_id, *counting} - held
        if not missing:
            return
        list(Branch.objects.select_for_update(no_key=True).filter(pk__in=missing).order_by("pk").values_list("pk"))
        held |= missing


def _new_head(branch: Branch, start: Start | None, point: StartPoint | None, now: datetime) -> Head:
    if start is None or point is None:
        return Head.objects.create(branch=branch, created=now)
    head = Head.objects.create(
        branch=branch,
        start_branch_id=start.branch_id,
        start_head_id=start.head_id,
        start_version_id=start.version_id,
        start_number=start.number,
        created=now,
    )
    newest = MAX_VERSIONS if point.max_versions is None else point.max_versions
    cloned = list(
        HeadVersion.objects.filter(head_id=start.head_id, number__lte=start.number)
        .order_by("-number", "-id")
        .values_list("version_id", "number")[:newest]
    )
    cloned.reverse()
    bulk.insert(
        HeadVersion,
        {
            "head": [head.id] * len(cloned),
            "version": [version for version, _ in cloned],
            "number": [number for _, number in cloned],
        },
    )
    if point.clone_thresholds and start.branch_id != branch.id:
        thresholds.clone(source_id=start.branch_id, branch=branch, now=now)
    return head


# -- versions -------------------------------------------------------------------------------------------------------
def known_version(head_id: UUID, hash: str | None) -> Place | None:
    """The version of that hash in the head."""
    if hash is None:
        return None
    row = _OF_HASH.first(head=head_id, hash=hash)
    return Place(*row) if row else None


def add_version(head: Head, *, project_id: UUID, hash: str | None) -> Place:
    """The version of that hash, else the next one. The caller holds the branch."""
    if (known := known_version(head.pk, hash)) is not None:
        return known
    newest = _NEWEST.first(head=head.pk)
    version = create(Version, project_id=project_id, hash=hash)
    number = 0 if newest is None else newest[1] + 1
    create(HeadVersion, head_id=head.pk, version_id=version.id, number=number)
    return Place(version.id, number)
