"""Import contracts, doors, migrations, and what the repository may not contain."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[2]


def test_imports_keep_to_the_layers() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_runner_is_importable_without_the_server() -> None:
    probe = "import sys, runners.agent.cli; print(sorted({name.split('.')[0] for name in sys.modules} & {'django', 'celery', 'channels', 'rest_framework', 'bencher', 'jobs', 'outputs'}))"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    out = StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=out)


def test_only_signals_of_the_framework_are_used() -> None:
    offenders = [
        str(path.relative_to(ROOT))
        for top in ("bencher", "jobs", "runners", "outputs")
        for path in (ROOT / top).rglob("*.py")
        if "django.db.models.signals" in path.read_text() or "ATOMIC_REQUESTS" in path.read_text() or path.name == "utils.py"
    ]
    assert not offenders
