"""An operator is promised a stop within ten seconds, whatever hangs."""

from __future__ import annotations

import logging
import os
import threading
import time

logger = logging.getLogger(__name__)
STOP_WITHIN = 9.0
"""Seconds after which a stop is cut short."""


def watch_stop() -> None:
    """Call when the stop begins."""
    threading.Thread(target=cut_short, name="stop watchdog", daemon=True).start()


def cut_short() -> None:
    """Python would wait for every thread of every pool at its end, for a query without end as well."""
    time.sleep(STOP_WITHIN)
    threads = [thread.name for thread in threading.enumerate()]
    logger.warning("the stop took longer than %.0f s: cut short, threads still running: %s", STOP_WITHIN, threads)
    logging.shutdown()
    os._exit(0)
