"""Celery: the work behind the answers. A message is a hint, never the truth: all work is rows, swept by the beat (recovery.md).

Losing the broker therefore costs time, not jobs: publishing is best effort with short time-outs, and every task may run twice.

Nothing here or in an ``AppConfig.ready`` touches the database: a worker forks, and each child opens connections and a pool of its own.
"""

from __future__ import annotations

import logging
import os
import time
from multiprocessing import process
from typing import Any, ClassVar

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bencher.settings")

from celery import Celery, Task
from celery.exceptions import Ignore
from celery.signals import beat_init, celeryd_init, setup_logging, worker_process_init
from django.conf import settings
from kombu.exceptions import OperationalError
from kombu.transport import TRANSPORT_ALIASES

from bencher.rhythm import Every

TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), "bencher.broker:Transport"), memory="bencher.broker_memory:Transport")
logger = logging.getLogger(__name__)
MAIN_PROCESS = process.current_process()
PAUSE = 2.0
"""Seconds during which nothing is published after a failure: a dead broker must not slow every request down."""


embedded = False
"""Do worker and beat run inside the web server (bencher/embedded.py)?"""


class Hint(Task):
    """A task whose publication may be lost, and which the beat may send too often."""

    _silent_until = 0.0
    _begun: ClassVar[dict[str, float]] = {}

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        """What the beat sent while no worker was there is done once, not a thousand times. Celery's ``expires`` would compare two machines' clocks, and
        drop everything when one of them is wrong."""
        least = LEAST.get(self.name, 0.0)
        if least and time.monotonic() - Hint._begun.get(self.name, -least) < least:
            raise Ignore
        Hint._begun[self.name] = time.monotonic()

    def apply_async(self, *args: Any, **options: Any) -> Any:
        """Publish; None when the broker cannot be reached (the sweep will find the work)."""
        if time.monotonic() < Hint._silent_until:
            return None
        try:
            return super().apply_async(*args, **options)
        except (OperationalError, OSError) as error:
            Hint._silent_until = time.monotonic() + PAUSE
            logger.warning("the broker cannot be reached, %s is left to the sweep: %s", self.name, type(error).__name__)
            return None


app = Celery("bencher", task_cls=Hint)
app.conf.update(
    broker_url=settings.REDIS_URL or "memory://localhost/",
    broker_connection_timeout=2,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options=(
        {
            "global_keyprefix": f"{settings.BENCHER_REDIS_PREFIX}.celery.",
            "socket_connect_timeout": 1,
            "socket_timeout": 5,
            "socket_keepalive": True,
            "health_check_interval": 10,
            "max_retries": 0,
        }
        if settings.REDIS_URL
        else {}
    ),
    task_publish_retry=False,
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_serializer="json",
    accept_content=["json"],
    worker_prefetch_multiplier=1,
    worker_max_tasks_per_child=1000,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_send_task_events=False,
    timezone="UTC",
    enable_utc=True,
)
app.set_default()  # in every thread, not only in the one that imports this
app.autodiscover_tasks()
app.autodiscover_tasks(related_name="tasks_registry")


def every(task: str, seconds: float) -> dict[str, Any]:
    return {"task": task, "schedule": Every(seconds)}


app.conf.beat_schedule = {
    "sweep": every("jobs.sweep", settings.BENCHER_SWEEP_INTERVAL),
    "canary": every("bencher.canary", 10),
    "garbage": every("outputs.collect_garbage", 3600),
}
LEAST = {entry["task"]: entry["schedule"].seconds / 2 for entry in app.conf.beat_schedule.values()}
"""Seconds between two runs of one of the beat's tasks in one process."""


@app.task(name="bencher.canary")
def canary() -> None:
    """Proves that beat, broker, worker and database are alive; ``/readyz`` looks at its age."""
    from bencher.core.clock import now
    from bencher.models import Pulse

    Pulse.beat("canary", now=now())


@setup_logging.connect
def keep_logging(**_: Any) -> None:
    """Whoever listens here keeps Celery from setting the root logger's level: in the embedded server that silenced the web server's log, and its mails."""


@celeryd_init.connect
@beat_init.connect
def needs_redis(**_: Any) -> None:
    """A worker or a beat of its own would hear nobody through a broker in memory."""
    if not settings.REDIS_URL and not embedded:
        raise SystemExit(
            "celery: a worker or a beat of its own meets the web servers in Redis: set REDIS_URL (manage.py up has both inside)"
        )


@worker_process_init.connect
def allow_children(**_: Any) -> None:
    """Billiard shows a prefork worker to multiprocessing as a daemon of its own kind, which may have no children. Parsing needs some (outputs/parsing.py);
    they end with the worker that started them."""
    process._current_process = MAIN_PROCESS  # type: ignore[attr-defined]
