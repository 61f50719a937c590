"""``manage.py recover``: decide what a crash left undecided; safe beside a running server."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand

from bencher.core import clock
from jobs import notify
from jobs.processing import process_job
from jobs.recovery import recover

RULES = {
    "canceled": "over the hard limit: canceled",
    "failed": "runner silent for the heartbeat timeout: failed",
    "reprocessed": "delivered but not processed: handed out for processing",
    "broken": "could not be looked after, see the log",
}


class Command(BaseCommand):
    help = "Cancels jobs over their limit, fails jobs whose runner is gone, has results processed that nobody processed. Live jobs are left alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
        parser.add_argument("--json", action="store_true", help="one JSON object on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        def at_once(job_id: UUID) -> None:
            process_job(job_id, now=clock.now())

        process = None if settings.REDIS_URL else at_once  # without a broker no worker would hear of it
        done = recover(now=clock.now(), dry_run=options["dry_run"], process=process)
        notify.flush()
        found = {rule: [str(job) for job in getattr(done, rule)] for rule in RULES}
        if options["json"]:
            self.stdout.write(json.dumps({"dry_run": options["dry_run"], **found}))
            return
        for rule, jobs in found.items():
            for job in jobs:
                self.stdout.write(f"job {job}: {RULES[rule]}{' (dry run)' if options['dry_run'] else ''}")
        self.stdout.write(f"{done.total} jobs" if done.total else "nothing to recover")
