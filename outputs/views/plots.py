"""``…/plots`` (rest.md 5.4)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from bencher.core.api import Reply, no_content, ordered, searched
from bencher.core.errors import Missing
from bencher.core.newtypes import ResourceId
from bencher.core.schema import documented
from bencher.projects.endpoints import Access, ApiView
from bencher.projects.permissions import Permission
from outputs.models import Plot
from outputs.requests import NewPlot, PlotChange
from outputs.serializers.plots import JsonPlot, plot_json
from outputs.services import plots
from outputs.views.queries import PlotList


class Plots(ApiView):
    access = {"GET": Access.ACTOR, "POST": Access.USER}
    path_shapes = {"project": ResourceId}

    @documented(query=PlotList, returns=list[JsonPlot])
    def get(self, request: Any, project: str) -> Reply:
        """Pinned plots in their order, or by title."""
        query = self.query(PlotList)
        rows = searched(Plot.objects.filter(project=self.project()), query.search, "title")
        if query.title is not None:
            rows = rows.filter(title=query.title)
        key = "rank" if query.sort == "index" else "title"
        page, total = query.cut(ordered(rows, query.direction, key, texts=("title",)))
        return Reply([plot_json(row) for row in page], total=total)

    @documented(body=NewPlot, returns=JsonPlot, status=201)
    def post(self, request: Any, project: str) -> Reply:
        """Pin a plot; ``index`` says where, by default in front."""
        body, found = self.body(NewPlot), self.project(Permission.CREATE)
        return Reply(plot_json(plots.create_plot(project=found, new=body, now=self.now)), 201)


class OnePlot(ApiView):
    access = {"GET": Access.ACTOR, "PATCH": Access.USER, "DELETE": Access.USER}
    path_shapes = {"project": ResourceId, "plot": UUID}

    def row(self, permission: Permission) -> Plot:
        uuid = self.uuid("plot")
        row = Plot.objects.select_related("project").filter(project=self.project(permission), id=uuid).first()
        if row is None:
            raise Missing("no such plot")
        return row

    @documented(returns=JsonPlot)
    def get(self, request: Any, project: str, plot: str) -> Reply:
        """One plot."""
        return Reply(plot_json(self.row(Permission.VIEW)))

    @documented(body=PlotChange, returns=JsonPlot)
    def patch(self, request: Any, project: str, plot: str) -> Reply:
        """Change a plot; ``index`` moves it, ``title: null`` clears the title, lists are replaced."""
        body, row = self.body(PlotChange), self.row(Permission.EDIT)
        plots.change_plot(plot=row, change=body, now=self.now)
        return Reply(plot_json(row))

    @documented(status=204)
    def delete(self, request: Any, project: str, plot: str) -> Reply:
        """Remove a plot."""
        plots.delete_plot(plot=self.row(Permission.DELETE))
        return no_content()
