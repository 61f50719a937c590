"""``manage.py demo``: the main job from end to end, with a server and a runner of its own."""

from __future__ import annotations

import logging
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.table import Table

from bencher.demo.client import Refused
from bencher.demo.processes import NotStarted
from bencher.demo.story import Ending, JobFailed, tell

WIDTH = 100
"""Of the table where there is no terminal."""


class Command(BaseCommand):
    help = (
        "Pushes an image, submits a job, runs it and shows the report: with a server and a runner of its own, which leave nothing behind."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--keep", action="store_true", help="leave server and runner up until Ctrl-C, to look around")

    def handle(self, *args: Any, **options: Any) -> None:
        out: Any = self.stdout
        console = Console(file=out, width=None if out.isatty() else WIDTH)
        logging.getLogger("httpx").setLevel(logging.WARNING)
        begin = time.monotonic()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # unwinds, so that nothing is left behind then either
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bencher-demo-", ignore_cleanup_errors=True)))
            try:
                ending = tell(folder, stack, lambda text: console.print(text, highlight=False, markup=False, soft_wrap=True))
            except (JobFailed, NotStarted, Refused) as fault:
                raise CommandError(str(fault)) from None
            show(console, ending)
            if options["keep"]:
                console.print("Ctrl-C ends it.")
                wait_for_interrupt()
        console.print(f"done in {time.monotonic() - begin:.1f} s")


def show(console: Console, ending: Ending) -> None:
    """The report as a table, and where to find it."""
    report = ending.report
    table = Table(title=f"{report['project']['name']}: {report['branch']['name']} on {report['testbed']['name']}", title_justify="left")
    for name in ("Benchmark", "Measure"):
        table.add_column(name)
    for name in ("Value", "Lower", "Upper"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows(report):
        table.add_row(*row)
    console.print(table)
    console.print(f"report: {ending.url}", highlight=False, markup=False, soft_wrap=True)


def rows(report: dict[str, Any]) -> list[tuple[str, ...]]:
    """One line for each metric."""
    return [
        (
            entry["benchmark"]["name"],
            f"{one['measure']['name']}, {one['measure']['units']}",
            *(_number(one["metric"][key]) for key in ("value", "lower_value", "upper_value")),
        )
        for iteration in report["results"]
        for entry in iteration
        for one in entry["measures"]
    ]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}"


def wait_for_interrupt() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        pass
