"""Pages of jobs, below both prefixes of a project's pages."""

from __future__ import annotations

from django.urls import URLPattern, path

from jobs import pages


def _below(prefix: str) -> list[URLPattern]:
    return [
        path(f"{prefix}/jobs", pages.Jobs.as_view()),
        path(f"{prefix}/jobs/<str:job>", pages.OneJob.as_view()),
        path(f"{prefix}/jobs/<str:job>/output.json", pages.Output.as_view()),
        path(f"{prefix}/jobs/<str:job>/cancel", pages.Cancel.as_view()),
        path(f"{prefix}/jobs/<str:job>/resubmit", pages.Resubmit.as_view()),
    ]


urlpatterns = [
    path("console/projects/<str:project>", pages.Overview.as_view()),
    *_below("perf/<str:project>"),
    *_below("console/projects/<str:project>"),
]
