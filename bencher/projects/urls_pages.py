"""Pages of people and places."""

from __future__ import annotations

from django.urls import path

from bencher.projects import pages

urlpatterns = [
    path("auth/login", pages.Login.as_view()),
    path("auth/signup", pages.Signup.as_view()),
    path("auth/confirm", pages.Confirm.as_view()),
    path("auth/logout", pages.Logout.as_view()),
    *(path(route, pages.Projects.as_view()) for route in ("perf", "console", "console/projects", "projects")),
]
