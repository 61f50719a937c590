"""All routes: each app lists its own below ``/v0``; the site adds health, admin and pages."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from django.contrib import admin
from django.urls import include, path

ROUTES = (
    "bencher.urls_site",  # first: the version is asked for before every request of the command line
    "bencher.projects.urls",
    "bencher.specs.urls",
    "runners.urls",
    "outputs.urls",
    "outputs.urls_registry",
    "jobs.urls",
    "bencher.projects.urls_pages",
    "outputs.urls_pages",
    "jobs.urls_pages",
)

urlpatterns = [path("admin/", admin.site.urls), *(path("", include(import_module(name))) for name in ROUTES if find_spec(name))]
