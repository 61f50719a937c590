"""Branches, heads and versions (rest.md 2.4), beyond what a client can see."""

from __future__ import annotations

import pytest
from django.db import transaction

from bencher.core.errors import Clash, Invalid, Missing
from outputs.models import Alert, Branch, Head, HeadVersion, Threshold, Version
from outputs.requests import StartPoint
from outputs.services import branches
from tests.results_lab import NOW, Lab, baseline, latency, only, place, watching

A, B, C = ("a" * 40, "b" * 40, "c" * 40)


def numbers(head: Head) -> list[int]:
    return list(HeadVersion.objects.filter(head=head).order_by("number").values_list("number", flat=True))


def branch(lab: Lab, name: str) -> Branch:
    return Branch.objects.select_related("head").get(project=lab.project, name=name)


def test_versions_are_numbered_per_head(lab: Lab) -> None:
    assert [place(lab.run(latency(1.0), hash=value)) for value in (A, A, B, None, A)] == [(0, A), (0, A), (1, B), (2, None), (0, A)]


def test_hash_is_compared_as_given(lab: Lab) -> None:
    assert [place(lab.run(latency(1.0), hash=value)) for value in (A, A.upper())] == [(0, A), (1, A.upper())]


def test_cloned_versions_are_shared_not_copied(lab: Lab) -> None:
    lab.run(latency(1.0), hash=A)
    before = Version.objects.count()
    lab.run(latency(1.0), branch="next", start_point=StartPoint(branch="main"), hash=A)
    assert Version.objects.count() == before
    assert numbers(branch(lab, "next").current_head) == [0]


def test_clone_keeps_the_newest(lab: Lab) -> None:
    for _ in range(5):
        lab.report(latency(1.0))
    lab.report(latency(1.0), branch="next", start_point=StartPoint(branch="main", max_versions=2))
    assert numbers(branch(lab, "next").current_head) == [3, 4, 5]


def test_reset_silences_even_dismissed_alerts(lab: Lab) -> None:
    lab.report(latency(1.0, "a", "b"))
    lab.report(latency(9.0, "a", "b"), thresholds=watching())
    Alert.objects.filter(metric__benchmark__name="a").update(status="dismissed")
    lab.report(latency(1.0), start_point=StartPoint(reset=True))
    assert set(Alert.objects.values_list("status", flat=True)) == {"silenced"}


def test_the_held_head_is_the_current_one(lab: Lab) -> None:
    """Also when another request gave the branch a new one after it was loaded."""
    lab.report(latency(1.0))
    loaded = branch(lab, "main")
    with transaction.atomic():
        assert branches.held_head(loaded) is loaded.head
    lab.report(latency(1.0), start_point=StartPoint(reset=True))
    with transaction.atomic():
        held = branches.held_head(loaded)
    assert (held.pk, held.branch) == (branch(lab, "main").head_id, loaded)
    loaded.pk = lab.project.pk
    with pytest.raises(Missing), transaction.atomic():
        branches.held_head(loaded)


def test_old_head_keeps_when_it_was_replaced(lab: Lab) -> None:
    first = branch_head = lab.report(latency(1.0)).head
    lab.report(latency(1.0), start_point=StartPoint(reset=True))
    first.refresh_from_db()
    assert first.replaced == lab.now
    assert branch(lab, "main").head_id != branch_head.id


def test_unknown_or_empty_start_branch_is_no_start_point(lab: Lab) -> None:
    branches.create_branch(project=lab.project, name="empty", slug=None, start_point=None, now=NOW)
    first = lab.report(latency(1.0), branch="next")
    for start in ("nowhere", "empty"):
        assert lab.report(latency(1.0), branch="next", start_point=StartPoint(branch=start)).head_id == first.head_id


def test_start_point_becomes_real_when_the_branch_has_versions(lab: Lab) -> None:
    first = lab.report(latency(1.0), branch="next", start_point=StartPoint(branch="main"))
    lab.report(latency(5.0))
    assert lab.report(latency(1.0), branch="next", start_point=StartPoint(branch="main")).head_id != first.head_id


def test_thresholds_are_cloned_onto_an_existing_branch_too(lab: Lab) -> None:
    lab.report(latency(1.0), thresholds=watching(upper_boundary=0.25))
    lab.report(latency(1.0), branch="next", thresholds=watching(upper_boundary=0.5))
    lab.report(latency(1.0), branch="next", start_point=StartPoint(branch="main", clone_thresholds=True, reset=True))
    [threshold] = Threshold.objects.select_related("model").filter(branch__name="next")
    assert threshold.model is not None
    assert threshold.model.upper_boundary == 0.25
    assert threshold.models.count() == 2


@pytest.mark.parametrize("name", ["", "a b", "x" * 257])
def test_impossible_name(lab: Lab, name: str) -> None:
    with pytest.raises(Invalid, match="branch"):
        lab.report(latency(1.0), branch=name)
    assert not Branch.objects.filter(project=lab.project).exists()


def test_unknown_uuid(lab: Lab) -> None:
    with pytest.raises(Missing, match="branch"):
        lab.report(latency(1.0), branch="01a22d43-bf95-7c25-a99d-8ed8fb5b6f65")


def test_name_that_looks_like_another_slug(lab: Lab) -> None:
    """The slug is looked up first; where nobody has it the name is."""
    lab.report(latency(1.0), branch="Feature/X")
    renamed = branch(lab, "Feature/X")
    branches.change_branch(branch=renamed, name="plain", slug=None, archived=None, start_point=None, now=NOW)
    assert lab.report(latency(1.0), branch="plain").head.branch_id == renamed.id
    assert lab.report(latency(1.0), branch="feature-x").head.branch_id == renamed.id


def test_change_is_all_or_nothing(lab: Lab) -> None:
    for name in ("main", "other"):
        lab.report(latency(1.0), branch=name)
    row = branch(lab, "main")
    with pytest.raises(Clash):
        branches.change_branch(branch=row, name="other", slug=None, archived=None, start_point=StartPoint(reset=True), now=NOW)
    assert Head.objects.filter(branch__name="main").count() == 1


def test_delete_keeps_versions_that_others_count(lab: Lab) -> None:
    lab.report(latency(10.0))
    made = branches.create_branch(project=lab.project, name="next", slug=None, start_point=StartPoint(branch="main"), now=NOW)
    branches.delete_branch(branch=made)
    assert not Branch.objects.filter(name="next").exists()
    assert Version.objects.count() == 1
    assert baseline(lab.run(latency(1.0), thresholds=watching())) == 10.0


def test_delete_of_a_start_branch(lab: Lab) -> None:
    """What started there has its history still, but no start point to show."""
    report = lab.report(latency(10.0))
    lab.report(latency(10.0), branch="next", start_point=StartPoint(branch="main"))
    from outputs.services.reports import delete_report

    delete_report(report=report)
    branches.delete_branch(branch=branch(lab, "main"))
    shown = lab.run(latency(1.0), branch="next")
    assert shown.branch.head.start_point is None
    assert only(shown).metric.value == 1.0


def test_branch_in_use_is_not_deleted(lab: Lab) -> None:
    lab.report(latency(1.0))
    with pytest.raises(Clash, match="report"):
        branches.delete_branch(branch=branch(lab, "main"))
