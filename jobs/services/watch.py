"""Is a silent runner silent, or could nobody write that it was heard? (recovery.md section 2)

While the database was away, or everything stood still, no heartbeat was stored: the first sweep afterwards would fail every live job. Each sweep therefore
notes that it looked. After a gap in which heartbeats may have been lost nobody is judged silent until every process has had the time to write anew.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db.models import Case, F, Value, When
from django.db.models.functions import Greatest

from bencher.core.retry import transient
from jobs import scheduling
from jobs.models import Watch

ROW = 1


@transient()
def look(*, now: datetime) -> bool:
    """Note that somebody looks. May silence be judged?"""
    rows = Watch.objects.filter(pk=ROW)
    gap = scheduling.gap_before(now, settings.BENCHER_HEARTBEAT_TIMEOUT, settings.BENCHER_SWEEP_INTERVAL)
    since = Case(When(looked__lt=gap, then=Value(now)), default=F("since"))
    if not rows.update(since=since, looked=Greatest(F("looked"), Value(now))):
        Watch.objects.get_or_create(pk=ROW, defaults={"looked": now, "since": now - scheduling.SETTLING})
    return scheduling.is_settled(rows.values_list("since", flat=True).get(), now)


@transient()
def begin(*, now: datetime) -> None:
    """The only process there is has just started, and no runner is connected yet: there is nothing to wait for."""
    Watch.objects.update_or_create(pk=ROW, defaults={"looked": now, "since": now - scheduling.SETTLING})
