"""The site's own pages."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from bencher.projects.pages import Projects
from bencher.views import Root

_projects, _null = Projects.as_view(), Root.as_view()


@csrf_exempt
def root(request: HttpRequest) -> HttpResponseBase:
    """``null`` for programs, the projects for people: whoever's ``Accept`` names ``text/html`` (design.md section 11)."""
    wants_page = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("Accept", "")
    return _projects(request) if wants_page else _null(request)


root.cls = Root  # type: ignore[attr-defined]  # for the OpenAPI document
root.initkwargs = {}  # type: ignore[attr-defined]


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The REST API, browsable: Swagger UI on our own copy of it."""
    return render(request, "site/docs.html", {"version": settings.BENCHER_API_VERSION})
