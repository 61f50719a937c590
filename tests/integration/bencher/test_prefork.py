"""A prefork worker of Celery may have parsing children, though Billiard calls it a daemon."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import billiard, django
django.setup()
from celery.signals import worker_process_init
from bencher.celery import app


def worker():
    from outputs.parsing import parsers
    worker_process_init.send(sender=app)
    (found,) = parsers.parse(["test t::a ... bench: 10 ns/iter (+/- 1)\\n"], adapter="rust_bench")
    parsers.stop()
    print("parsed", *found[1].benchmarks, flush=True)


process = billiard.Process(target=worker, daemon=True)
process.start()
process.join()
"""


def test_a_prefork_worker_parses_in_children_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=100)
    assert done.stdout == "parsed t::a\n", done.stderr
