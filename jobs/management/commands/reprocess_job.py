"""``manage.py reprocess_job UUID``: turn a job's stored output into its report, now."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from bencher.core import clock
from bencher.core.errors import ServiceError
from jobs.actors import SYSTEM
from jobs.processing import Outcome, reprocess_job

MEANS = {
    Outcome.PROCESSED: "processed: its report has the results",
    Outcome.FAILED: "failed: its output cannot be read, see its history",
    Outcome.LATER: "put off: storage, database or parser did not answer; the sweeper tries again",
    Outcome.NOTHING: "left alone: somebody else is processing it",
}


class Command(BaseCommand):
    help = "Process a job's stored output: one that waits for it, or that failed because its output could not be read."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", type=UUID, metavar="UUID")
        parser.add_argument("--json", action="store_true", help="one JSON object on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            outcome = reprocess_job(job_id=options["job"], actor=SYSTEM, now=clock.now())
        except ServiceError as fault:
            raise CommandError(fault.message) from None
        answer = {"job": str(options["job"]), "outcome": outcome.value}
        self.stdout.write(json.dumps(answer) if options["json"] else f"job {options['job']}: {MEANS[outcome]}")
