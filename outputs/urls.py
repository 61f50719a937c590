"""Routes of results."""

from __future__ import annotations

from django.urls import path

from outputs.views import dimensions, perf, plots, reports, thresholds

PROJECT = "v0/projects/<str:project>"

urlpatterns = [
    path(f"{PROJECT}/branches", dimensions.Branches.as_view()),
    path(f"{PROJECT}/branches/<str:resource>", dimensions.OneBranch.as_view()),
    path(f"{PROJECT}/testbeds", dimensions.Testbeds.as_view()),
    path(f"{PROJECT}/testbeds/<str:resource>", dimensions.OneTestbed.as_view()),
    path(f"{PROJECT}/benchmarks", dimensions.Benchmarks.as_view()),
    path(f"{PROJECT}/benchmarks/<str:resource>", dimensions.OneBenchmark.as_view()),
    path(f"{PROJECT}/measures", dimensions.Measures.as_view()),
    path(f"{PROJECT}/measures/<str:resource>", dimensions.OneMeasure.as_view()),
    path(f"{PROJECT}/reports", reports.Reports.as_view()),
    path(f"{PROJECT}/reports/<str:report>", reports.OneReport.as_view()),
    path(f"{PROJECT}/metrics/<str:metric>", reports.OneMetric.as_view()),
    path(f"{PROJECT}/thresholds", thresholds.Thresholds.as_view()),
    path(f"{PROJECT}/thresholds/<str:threshold>", thresholds.OneThreshold.as_view()),
    path(f"{PROJECT}/alerts", thresholds.Alerts.as_view()),
    path(f"{PROJECT}/alerts/<str:alert>", thresholds.OneAlert.as_view()),
    path(f"{PROJECT}/plots", plots.Plots.as_view()),
    path(f"{PROJECT}/plots/<str:plot>", plots.OnePlot.as_view()),
    path(f"{PROJECT}/perf", perf.Perf.as_view()),
    path(f"{PROJECT}/perf/img", perf.PerfImage.as_view()),
]
