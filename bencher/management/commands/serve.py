"""``manage.py serve``: the web server alone, for installations with PostgreSQL, Redis, Celery workers and a beat of their own."""

from __future__ import annotations

import logging
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections

from bencher.core import clock
from bencher.management.running import DEFAULT, announce, check_settings, ignore_signals, leave, parse_address, raise_file_limit
from bencher.serving.watchdog import watch_stop
from bencher.serving.workers import Workers
from jobs.recovery import recover_beside
from outputs.parsing import parsers

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Serves HTTP and WebSockets. Migrations, workers and beat are apart: migrate, celery -A bencher worker, celery -A bencher beat."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bind", default=DEFAULT, metavar="HOST:PORT", help="address to listen on (default %(default)s)")
        parser.add_argument(
            "--workers",
            type=int,
            default=1,
            metavar="N",
            help="processes, one port each, counted up from the given one: a proxy spreads the load",
        )
        parser.add_argument(
            "--server", choices=["daphne", "uvicorn"], default="daphne", help="uvicorn needs half the CPU for each heartbeat"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = parse_address(options["bind"])
        check_settings()
        raise_file_limit()
        if options["workers"] > 1:
            sys.exit(self._several(host, port, options))
        try:
            recover_beside(now=clock.now())
        except DatabaseError as error:
            logger.error("no recovery, the database cannot be reached; the sweeper will do it: %s", type(error).__name__)
        connections.close_all()
        parsers.start()
        try:
            serve(options["server"], host, port)
        except OSError as error:
            raise CommandError(str(error)) from None
        finally:
            ignore_signals()
            parsers.stop()
        leave()

    def _several(self, host: str, port: int, options: dict[str, Any]) -> int:
        if not settings.REDIS_URL:
            raise CommandError("--workers: several web processes tell each other about jobs through Redis: set REDIS_URL")
        if port == 0 or port + options["workers"] > 65536:
            raise CommandError(f"--workers: {options['workers']} ports, counted up from {port}, do not exist")
        program = [sys.executable, sys.argv[0], "serve", "--server", options["server"]]
        bracketed = f"[{host}]" if ":" in host else host
        return Workers([[*program, "--bind", f"{bracketed}:{port + number}"] for number in range(options["workers"])]).run()


def serve(server: str, host: str, port: int) -> None:
    """Until SIGTERM or SIGINT."""
    from bencher.routing import configured_limits, site

    limits = configured_limits()
    if server == "uvicorn":
        from bencher.serving.uvicorn_server import Server as UvicornServer

        UvicornServer(site(), host=host, port=port, limits=limits, ready=announce).run()
    else:
        from bencher.server import Server

        Server(site(), host=host, port=port, limits=limits, ready=announce, stopping=watch_stop).run()
