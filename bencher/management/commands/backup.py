"""``manage.py backup FILE``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from bencher.backups.archive import BackupError, backup
from bencher.core import clock


class Command(BaseCommand):
    help = "Writes database and storage into one file (tar, zstd), also while the server runs. Keep it as safe as the server itself."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--json", action="store_true", help="summary for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            summary = backup(path=options["file"], now=clock.now())
        except BackupError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(summary.json() if options["json"] else f"{summary.file}: {summary}, {summary.file_bytes / 1e6:.1f} MB")
