"""Pages of results, below both prefixes of a project's pages."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path

from outputs import pages

PREFIXES = ("perf/<str:project>", "console/projects/<str:project>")
_KIND = "(?P<kind>branches|testbeds|benchmarks|measures)"


def _below(prefix: str) -> list[URLPattern]:
    pattern = f"^{prefix.replace('<str:project>', '(?P<project>[^/]+)')}/"
    return [
        path(f"{prefix}/reports", pages.Reports.as_view()),
        path(f"{prefix}/reports/<str:report>", pages.OneReport.as_view()),
        path(f"{prefix}/alerts", pages.Alerts.as_view()),
        path(f"{prefix}/alerts/<str:alert>", pages.OneAlert.as_view()),
        path(f"{prefix}/thresholds", pages.Thresholds.as_view()),
        path(f"{prefix}/thresholds/<str:threshold>", pages.OneThreshold.as_view()),
        re_path(f"{pattern}{_KIND}$", pages.Things.as_view()),
        re_path(f"{pattern}{_KIND}/(?P<resource>[^/]+)$", pages.OneThing.as_view()),
    ]


urlpatterns = [
    path("perf/<str:project>", pages.Perf.as_view()),
    path("console/projects/<str:project>/perf", pages.Perf.as_view()),
    *(route for prefix in PREFIXES for route in _below(prefix)),
]
