"""Thresholds: from the history of a measure to limits for its next value. Pure."""

from .changes import ChangePoint, change_points
from .limits import Limits, Verdict, evaluate
from .models import ALIASES, TESTS, Model, ModelError, validate

__all__ = ["ALIASES", "TESTS", "ChangePoint", "Limits", "Model", "ModelError", "Verdict", "change_points", "evaluate", "validate"]
