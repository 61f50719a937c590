"""A job's status has one writer, and every door goes through it (design.md section 4)."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRITERS = {"jobs/transitions.py", "bencher/core/transitions.py"}


def _writes_job_status(tree: ast.AST) -> list[int]:
    """Lines that assign ``.status`` of something named like a job, or update ``status=`` on rows of Job."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            lines += [
                node.lineno
                for target in targets
                if isinstance(target, ast.Attribute) and target.attr == "status" and "job" in ast.unparse(target.value).lower()
            ]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and any(keyword.arg == "status" for keyword in node.keywords)
        ):
            source = ast.unparse(node.func)
            if "Job" in source and node.func.attr in ("update", "update_or_create", "bulk_update"):
                lines.append(node.lineno)
    return lines


def test_only_transitions_write_a_jobs_status() -> None:
    offenders = {}
    for top in ("bencher", "jobs", "runners", "outputs"):
        for path in (ROOT / top).rglob("*.py"):
            name = str(path.relative_to(ROOT))
            if "migrations" in path.parts or name in WRITERS:
                continue
            if lines := _writes_job_status(ast.parse(path.read_text())):
                offenders[name] = lines
    assert not offenders


def test_the_search_finds_what_it_looks_for() -> None:
    assert _writes_job_status(ast.parse("job.status = 'failed'")) == [1]
    assert _writes_job_status(ast.parse("Job.objects.filter(pk=1).update(status='failed')")) == [1]
