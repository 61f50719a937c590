"""``manage.py collect_garbage``: free what the registry's storage holds for nothing; safe beside running servers and pushes."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from bencher.core import clock
from outputs.registry.services.garbage import collect_garbage
from outputs.registry.storage import StorageError


def _seconds(text: str) -> timedelta:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ArgumentTypeError(f"expected a whole number of seconds, got {text!r}")
    return timedelta(seconds=int(text))


class Command(BaseCommand):
    help = (
        "Removes blobs that no manifest needs, expired uploads, and stored objects that nothing knows. Manifests and tags are left alone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
        parser.add_argument(
            "--keep",
            type=_seconds,
            metavar="SECONDS",
            help="leave blobs that a push relied on so recently (default: BENCHER_REGISTRY_UPLOAD_TIMEOUT); less than a push takes is dangerous",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            done = collect_garbage(now=clock.now(), keep_for=options["keep"], dry_run=options["dry_run"])
        except StorageError as problem:
            raise CommandError(f"the storage failed: {problem}") from None
        if options["json"]:
            self.stdout.write(json.dumps({"dry_run": options["dry_run"], **done.as_dict()}))
            return
        verb = "would remove" if options["dry_run"] else "removed"
        self.stdout.write(
            f"{verb} {done.blobs} blobs, {done.uploads} expired uploads and {done.objects} stray objects: {done.bytes / (1 << 20):.1f} MiB"
        )
