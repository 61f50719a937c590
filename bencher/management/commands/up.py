"""``manage.py up``: the whole server in one process tree."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from bencher.core import clock
from bencher.core.cores import OneCore
from bencher.embedded import AlreadyRunning, Background, DataLock
from bencher.management.running import DEFAULT, announce, check_settings, ignore_signals, leave, parse_address, raise_file_limit
from jobs.recovery import recover_embedded


class Command(BaseCommand):
    help = "Runs everything: migrates and recovers, then serves HTTP and WebSockets and runs the worker and the beat. SIGTERM or SIGINT stops it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bind", default=DEFAULT, metavar="HOST:PORT", help="address to listen on (default %(default)s)")
        parser.add_argument(
            "--data", metavar="DIR", help="data folder (default: $BENCHER_DATA_DIR, else ./data); manage.py reads it before the settings"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = parse_address(options["bind"])
        check_settings()
        raise_file_limit()
        core = OneCore() if settings.BENCHER_ONE_CORE else None
        try:
            lock = DataLock(settings.BENCHER_DATA_DIR)
        except AlreadyRunning as error:
            raise CommandError(str(error)) from None
        call_command("migrate", interactive=False, verbosity=0)
        recover_embedded(now=clock.now())
        connections.close_all()

        from bencher.routing import configured_limits, site
        from bencher.server import Server

        background = Background()
        server = Server(
            site(),
            host=host,
            port=port,
            limits=configured_limits(),
            ready=announce,
            stopping=background.stop_soon,
            pulse=core.look if core else None,
        )
        background.start()
        try:
            server.run()
        except OSError as error:
            raise CommandError(str(error)) from None
        finally:
            ignore_signals()
            background.join()
            lock.release()
        leave()
