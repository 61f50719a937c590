"""The site's own pages."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The REST API, browsable: Swagger UI on our own copy of it."""
    return render(request, "site/docs.html", {"version": settings.BENCHER_API_VERSION})
