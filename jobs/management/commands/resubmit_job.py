"""``manage.py resubmit_job UUID``: the same again, as a new pending job."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from bencher.core import clock
from bencher.core.errors import ServiceError
from jobs import notify
from jobs.actors import SYSTEM
from jobs.run.resubmit import resubmit_job
from jobs.scheduling import MAX_PRIORITY


def _priority(text: str) -> int:
    value = int(text)
    if not 0 <= value <= MAX_PRIORITY:
        raise ArgumentTypeError(f"a priority is 0 to {MAX_PRIORITY}")
    return value


class Command(BaseCommand):
    help = "Submit a job again: same configuration and spec, on a new report."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", type=UUID, metavar="UUID")
        parser.add_argument("--priority", type=_priority, help=f"0 to {MAX_PRIORITY}; default: the organization's")
        parser.add_argument("--json", action="store_true", help="one JSON object on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = resubmit_job(
                job_id=options["job"], user=None, actor=SYSTEM, source_ip=None, priority=options["priority"], now=clock.now()
            )
        except ServiceError as fault:
            raise CommandError(fault.message) from None
        notify.flush()
        answer = {"job": str(options["job"]), "new_job": str(made.pk), "report": str(made.report_id)}
        self.stdout.write(json.dumps(answer) if options["json"] else f"job {options['job']} runs again as {made.pk}")
