"""What the machines produced: images (registry), results (reports, thresholds, plots)."""

from outputs.models.plots import Plot
from outputs.models.reports import Benchmark, Branch, Head, HeadVersion, Measure, Metric, Report, Testbed, Version
from outputs.models.thresholds import Alert, Boundary, Threshold, ThresholdModel

__all__ = [
    "Alert",
    "Benchmark",
    "Boundary",
    "Branch",
    "Head",
    "HeadVersion",
    "Measure",
    "Metric",
    "Plot",
    "Report",
    "Testbed",
    "Threshold",
    "ThresholdModel",
    "Version",
]
