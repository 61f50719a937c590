"""What the machines produced: images (registry), results (reports, thresholds, plots)."""

from outputs.models import lookups as lookups
from outputs.models.plots import Plot
from outputs.models.registry import Blob, Manifest, ManifestReference, Repository, Tag, Upload
from outputs.models.reports import Benchmark, Branch, Head, HeadVersion, Measure, Metric, Report, Testbed, Version
from outputs.models.thresholds import Alert, ChangePoint, Threshold, ThresholdModel

__all__ = [
    "Alert",
    "Benchmark",
    "Blob",
    "Branch",
    "ChangePoint",
    "Head",
    "HeadVersion",
    "Manifest",
    "ManifestReference",
    "Measure",
    "Metric",
    "Plot",
    "Report",
    "Repository",
    "Tag",
    "Testbed",
    "Threshold",
    "ThresholdModel",
    "Upload",
    "Version",
]
