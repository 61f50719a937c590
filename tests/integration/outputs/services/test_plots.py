"""Pinned plots keep their order (rest.md 5.4)."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID, uuid4

import pytest

from bencher.core.errors import Missing
from outputs import requests
from outputs.models import Plot
from outputs.services import plots
from tests.results_lab import NOW, Lab, latency

FLAGS: dict[str, Any] = dict.fromkeys(("lower_value", "upper_value", "lower_boundary", "upper_boundary"), False)


def make(lab: Lab, title: str, index: int | None = None, **values: Any) -> Plot:
    lists = {
        name: list(kind._default_manager.filter(project=lab.project).values_list("id", flat=True)) for name, kind in plots.LISTS.items()
    }
    new = requests.NewPlot(**{"title": title, "index": index, "x_axis": "version", "window": 60, **FLAGS, **lists, **values})
    return plots.create_plot(project=lab.project, new=new, now=NOW)


def titles(lab: Lab) -> list[str | None]:
    return list(Plot.objects.filter(project=lab.project).order_by("rank", "id").values_list("title", flat=True))


@pytest.fixture
def lab(db: None) -> Lab:
    lab = Lab()
    lab.report(latency(1.0))
    return lab


def test_order_holds_however_they_are_put(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a small gap the ranks are spread anew again and again."""
    monkeypatch.setattr(plots, "GAP", 4)
    dice = random.Random(3)
    expected: list[str] = []
    for number in range(40):
        index = dice.randrange(12)
        make(lab, f"plot {number}", index)
        expected.insert(index, f"plot {number}")
    assert titles(lab) == expected
    for _ in range(40):
        title, index = dice.choice(expected), dice.randrange(12)
        plots.change_plot(plot=Plot.objects.select_related("project").get(title=title), change=requests.PlotChange(index=index), now=NOW)
        expected.remove(title)
        expected.insert(index, title)
        assert titles(lab) == expected


def test_front_is_the_default(lab: Lab) -> None:
    for title in ("first", "second"):
        make(lab, title)
    assert titles(lab) == ["second", "first"]


def test_title_is_kept_cleared_changed(lab: Lab) -> None:
    plot = make(lab, "old")
    for change, title in (
        (requests.PlotChange(window=5), "old"),
        (requests.PlotChange(title="new"), "new"),
        (requests.PlotChange(title=None), None),
    ):
        plots.change_plot(plot=plot, change=change, now=NOW)
        assert Plot.objects.get().title == title


def test_lists_are_the_projects_own_and_have_no_repeats(lab: Lab) -> None:
    other = Lab()
    other.report(latency(1.0))
    [mine] = map(UUID, make(lab, "plot").branches)
    foreign = UUID(make(other, "other").branches[0])
    assert make(lab, "twice", branches=[mine, mine]).branches == [str(mine)]
    for unknown in (uuid4(), foreign):
        with pytest.raises(Missing, match="branches"):
            make(lab, "bad", branches=[unknown])


def test_empty_change_is_no_modification(lab: Lab) -> None:
    plot = make(lab, "plot")
    plots.change_plot(plot=plot, change=requests.PlotChange(), now=NOW.replace(year=2027))
    assert Plot.objects.get().modified == NOW
