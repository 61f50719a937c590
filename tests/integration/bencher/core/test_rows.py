"""Rows with slugs, and changes of single rows: ``bencher/core/slugs.py``, ``bencher/core/saving.py``."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import IntegrityError

from bencher.core.errors import Clash
from bencher.core.saving import change
from bencher.core.slugs import create_with_slug
from bencher.projects.models import Organization, Project
from tests.restworld import NOW

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=1)


def make(name: str, slug: str | None = None) -> Organization:
    return create_with_slug(Organization, slug=slug, name=name, created=NOW, modified=NOW)


def test_slugs_are_unique() -> None:
    assert [make("Same").slug, make("Other", "same").slug[:5]] == ["same", "same-"]
    assert re.fullmatch(r"[a-z0-9]{8}", make("🚀").slug)
    assert re.fullmatch(r"y{55}-[a-z0-9]{8}", [make("y" * 64).slug for _ in range(2)][1])


def test_other_clashes_stay_clashes() -> None:
    organization = make("o")
    values = {"organization": organization, "name": "same", "created": NOW, "modified": NOW}
    create_with_slug(Project, slug="a", **values)
    with pytest.raises(IntegrityError):
        create_with_slug(Project, slug="b", **values)
    assert Project.objects.count() == 1


def test_change() -> None:
    row, other = make("one"), make("two")
    change(row, {}, now=LATER, clash="")
    assert Organization.objects.get(pk=row.pk).modified == NOW
    change(row, {"name": "first"}, now=LATER, clash="")
    assert (Organization.objects.get(pk=row.pk).name, row.modified) == ("first", LATER)
    with pytest.raises(Clash, match="taken"):
        change(row, {"slug": other.slug, "name": "third"}, now=LATER, clash="taken")
    assert (row.slug, row.name) == ("one", "first")
    assert Organization.objects.get(pk=row.pk).name == "first"
