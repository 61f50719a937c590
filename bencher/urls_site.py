"""Routes of the site itself: root and server."""

from __future__ import annotations

from django.urls import path

from bencher import pages, views

urlpatterns = [
    path("", pages.root),
    path("docs", pages.docs, name="docs"),
    path("v0/server/version", views.Version.as_view()),
    path("v0/server/spec", views.Document.as_view()),
    path("v0/server/config/console", views.Console.as_view()),
    path("v0/server/config", views.Config.as_view()),
    path("v0/server/stats", views.Stats.as_view()),
    path("v0/server/backup", views.Backup.as_view()),
]
