"""`build_time` and `file_size`: numbers that the runner itself measures, as one BMF object among the outputs (runner.md A.3)."""

from collections.abc import Sequence

import msgspec

from runners.agent.collect import File

OUTPUT_KEY = "\0bencher"
"""A NUL cannot occur in a path, so no collected file can have this name."""

MAX_NAME_BYTES = 1024
_Metric = dict[str, float | None]


def output(name: str, seconds: float | None, files: Sequence[File] | None) -> dict[str, str] | None:
    """The `output` of an iteration, None when nothing was measured. `seconds`/`files` are None if not asked for."""
    benchmarks: dict[str, dict[str, _Metric]] = {}
    if seconds is not None and len(name.encode()) <= MAX_NAME_BYTES:
        benchmarks[name] = {"build-time": _metric(round(seconds, 2))}
    for file in files or ():
        base = file.path.rstrip("/").rpartition("/")[2]
        benchmarks.setdefault(base, {})["file-size"] = _metric(float(file.size))
    return {OUTPUT_KEY: msgspec.json.encode(benchmarks).decode()} if benchmarks else None


def _metric(value: float) -> _Metric:
    return {"value": value, "lower_value": None, "upper_value": None}
