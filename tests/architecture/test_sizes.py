"""Files and functions stay small (design.md section 3): 400 lines a source file, 500 a test file, 50 a function."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path for top in ("bencher", "jobs", "runners", "outputs") for path in (ROOT / top).rglob("*.py") if "migrations" not in path.parts
)
TESTS = sorted((ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("path", [ROOT / "manage.py", *SOURCES], ids=lambda path: str(path.relative_to(ROOT)))
def test_a_source_file_has_at_most_400_lines_and_its_functions_50(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 400
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno + 1 > 50
    }
    assert not long


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_test_file_has_at_most_500_lines(path: Path) -> None:
    assert path.read_text().count("\n") <= 500
