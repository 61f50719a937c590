"""Branches, testbeds, benchmarks and measures: found by UUID, slug or name; lists."""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet

from bencher.core.compiled import Compiled, Slot
from bencher.core.errors import Invalid, Missing
from bencher.core.ids import as_uuid
from bencher.core.newtypes import Checked
from bencher.projects.models import Project
from bencher.specs.models import Spec
from bencher.specs.selectors import find_spec, get_spec
from outputs.models import Benchmark, Branch, Head, Measure, Testbed
from outputs.models.reports import Dimension
from outputs.names import BenchmarkName, BranchName, Mention, ResourceName, mention

D = TypeVar("D", bound=Dimension)
RULES: dict[type[Dimension], type[Checked]] = {Branch: BranchName, Testbed: ResourceName, Benchmark: BenchmarkName, Measure: ResourceName}  # type: ignore[dict-item]
RELATED: dict[type[Dimension], tuple[str, ...]] = {
    Branch: ("head__start_version",),
    Testbed: ("spec",),
    Benchmark: (),
    Measure: (),
}
"""What the JSON of a row shows of other tables."""


_KINDS: tuple[type[Any], ...] = (Branch, Testbed, Benchmark, Measure)


def _compiled(*conditions: Q) -> dict[type[Dimension], Compiled[Any]]:
    """For each kind, its rows of a project under the conditions."""

    def one(kind: type[Any]) -> Compiled[Any]:
        return Compiled(lambda: rows(kind, Slot("project")).filter(*conditions).order_by("id"))

    return {kind: one(kind) for kind in _KINDS}


_BY_ID = _compiled(Q(id=Slot("id")))
_BY_NAME = _compiled(Q(name=Slot("name")))
_BY_SLUG = _compiled(Q(slug=Slot("slug")))
_BY_SLUG_OR_NAME = _compiled(Q(slug=Slot("slug")) | Q(name=Slot("name")))


def word(model: type[Dimension]) -> str:
    return model._meta.model_name or ""


def rows(model: type[D], project: Project | UUID | Slot) -> QuerySet[D]:
    """All of one kind in a project, with what their JSON needs."""
    return model._default_manager.select_related(*RELATED[model]).filter(project=project)


def read(model: type[Dimension], text: str) -> Mention:
    """``text`` as what names a thing of this kind; Invalid when nothing can be called so."""
    try:
        return mention(text, RULES[model])
    except (TypeError, ValueError) as fault:
        raise Invalid(f"{word(model)}: {fault}") from None


def find(model: type[D], project: Project, said: Mention) -> D | None:
    """The thing that is meant: by UUID; else by slug; else by name."""
    if said.uuid is not None:
        return _BY_ID[model].first(project=project.id, id=said.uuid)
    if said.slug is None:
        return _BY_NAME[model].first(project=project.id, name=said.name)
    found: dict[bool, D] = {
        row.slug == said.slug: row for row in _BY_SLUG_OR_NAME[model].rows(project=project.id, slug=said.slug, name=said.name)
    }
    return found.get(True) or found.get(False)


def get_mentioned(model: type[D], project: Project, text: str) -> D:
    """The thing that ``text`` names (a NameId); Missing otherwise."""
    if (row := find(model, project, read(model, text))) is None:
        raise Missing(f"no such {word(model)}")
    return row


def get(model: type[D], project: Project, resource_id: str) -> D:
    """By UUID or slug; Missing otherwise."""
    uuid = as_uuid(resource_id)
    row: D | None = (
        _BY_SLUG[model].first(project=project.id, slug=resource_id) if uuid is None else _BY_ID[model].first(project=project.id, id=uuid)
    )
    if row is None:
        raise Missing(f"no such {word(model)}")
    return row


def filter_by(queryset: QuerySet[Any], path: str, model: type[Dimension], project: Project, text: str | None) -> QuerySet[Any]:
    """Rows whose ``path`` is the thing that ``text`` names; none when nothing is called so."""
    if text is None:
        return queryset
    found = find(model, project, read(model, text))
    return queryset.none() if found is None else queryset.filter(**{path: found.pk})


def get_head(branch: Branch, uuid: UUID) -> Head:
    """One of the branch's heads, with its start point."""
    head = Head.objects.select_related("start_version").filter(branch=branch, id=uuid).first()
    if head is None:
        raise Missing("no such head of the branch")
    return head


def get_live_spec(resource_id: str) -> Spec:
    """A spec that may be stored with a testbed."""
    spec = find_spec(resource_id)
    if spec is None or spec.archived is not None:
        raise Missing("no such spec")
    return spec


def get_any_spec(uuid: UUID) -> Spec:
    return get_spec(str(uuid))
