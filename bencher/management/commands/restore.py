"""``manage.py restore FILE``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from bencher.backups.archive import BackupError, restore
from bencher.embedded import AlreadyRunning, DataLock


class Command(BaseCommand):
    help = "Replaces the database by that of a backup and stores the backup's objects. Stop the server before. SQLite and PostgreSQL read each other's backups."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--json", action="store_true", help="summary for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            lock = DataLock(settings.BENCHER_DATA_DIR)
        except AlreadyRunning as error:
            raise CommandError(f"{error}: stop it before a restore") from None
        try:
            call_command("migrate", interactive=False, verbosity=0)
            summary = restore(path=options["file"])
        except BackupError as error:
            raise CommandError(str(error)) from None
        finally:
            lock.release()
        self.stdout.write(summary.json() if options["json"] else f"restored from {summary.file}: {summary}")
