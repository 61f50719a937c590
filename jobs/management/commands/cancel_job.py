"""``manage.py cancel_job UUID``: cancel a job, as a user would by REST."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from bencher.core import clock
from bencher.core.errors import ServiceError
from jobs import notify
from jobs.actors import Actor
from jobs.services.cancel import cancel_job


class Command(BaseCommand):
    help = "Cancel a job that has not ended; its runner hears it with its next heartbeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", type=UUID, metavar="UUID")
        parser.add_argument("--json", action="store_true", help="one JSON object on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            job = cancel_job(job_id=options["job"], actor=Actor("system", name="cancel_job"), now=clock.now())
        except ServiceError as fault:
            raise CommandError(fault.message) from None
        notify.flush()
        answer = {"job": str(job.pk), "status": job.status}
        self.stdout.write(json.dumps(answer) if options["json"] else f"job {job.pk}: canceled")
