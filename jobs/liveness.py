"""Heartbeats: answered from memory, written once a second for all channels of a process (design.md section 6).

The same write finds out which of the jobs are not this process's to keep alive any more: canceled, reaped, or taken over by another channel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from bencher.core.retry import transient
from jobs import scheduling
from jobs.lifecycle import IN_FLIGHT, Status
from jobs.models import Job
from runners.models import Runner
from runners.protocol.signals import Verdict

RUNNER_EVERY = timedelta(seconds=10)
"""How often a runner's own ``last_heartbeat`` is written, at the most."""

_FLYING = ", ".join(f"'{status}'" for status in sorted(IN_FLIGHT))


@dataclass(slots=True)
class Held:
    """A job that a channel of this process executes."""

    job: UUID
    runner: UUID
    channel: str
    due: datetime | None
    beat: datetime | None = None
    """Not yet written."""
    runner_written: datetime | None = None
    verdict: Verdict = Verdict.ALIVE


@dataclass(frozen=True, slots=True)
class Beat:
    job: UUID
    channel: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Batch:
    """What one write takes along."""

    beats: Sequence[Beat] = ()
    quiet: Sequence[tuple[UUID, str]] = ()
    """Held, but without a beat since the last time: only looked at."""
    runners: Sequence[tuple[UUID, datetime]] = ()
    released: Sequence[tuple[UUID, str]] = ()
    """(job, channel): the channel is gone."""

    def __bool__(self) -> bool:
        return bool(self.beats or self.quiet or self.runners or self.released)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a row says that is not simply in flight and held by the channel that was thought to hold it."""

    job: UUID
    status: Status
    channel: str


@dataclass(slots=True)
class Ledger:
    """Used from the event loop only."""

    held: dict[UUID, Held] = field(default_factory=dict)
    _released: list[tuple[UUID, str]] = field(default_factory=list)
    _greeted: dict[UUID, datetime] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.held or self._released or self._greeted)

    def greet(self, runner: UUID, *, now: datetime) -> None:
        """A runner that executes nothing asks for work: a sign of its life."""
        self._greeted[runner] = now

    def hold(self, job: UUID, *, runner: UUID, channel: str, due: datetime | None, now: datetime) -> None:
        """``channel`` executes the job from now on; whoever did before is told so with its next beat."""
        self.held[job] = Held(job, runner, channel, due, beat=now)

    def beat(self, job: UUID, *, channel: str, now: datetime) -> Verdict:
        """A sign of life. What is known of the job."""
        held = self.held.get(job)
        if held is None or held.channel != channel:
            return Verdict.TAKEN
        if held.verdict is Verdict.ALIVE:
            held.beat = now
            if scheduling.is_over(held.due, now, settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD):
                return Verdict.OVER
        return held.verdict

    def started(self, job: UUID, *, channel: str, due: datetime | None) -> None:
        if (held := self.held.get(job)) and held.channel == channel:
            held.due = due

    def judge(self, job: UUID, verdict: Verdict) -> None:
        """News of a job, if it is held here."""
        if held := self.held.get(job):
            held.verdict = verdict

    def drop(self, job: UUID, *, channel: str) -> None:
        """The channel does not execute the job any more; whose it is then is no concern of ours."""
        if (held := self.held.get(job)) and held.channel == channel:
            del self.held[job]

    def release(self, job: UUID, *, channel: str) -> None:
        """The channel is gone, the job still in flight."""
        if (held := self.held.get(job)) and held.channel == channel:
            del self.held[job]
            self._released.append((job, channel))

    def take(self, size: int, now: datetime) -> list[Batch]:
        """All there is to write, in slices of at most ``size`` jobs; a slice keeps others waiting only shortly."""
        active = [held for held in self.held.values() if held.verdict is Verdict.ALIVE]
        released, self._released = self._released, []
        greeted, self._greeted = list(self._greeted.items()), {}
        batches = []
        for at in range(0, max(len(active), len(released), len(greeted)), size):
            part = active[at : at + size]
            beats = [Beat(held.job, held.channel, held.beat) for held in part if held.beat is not None]
            quiet = [(held.job, held.channel) for held in part if held.beat is None]
            runners = greeted[at : at + size]
            for held in part:
                if held.beat is not None and (held.runner_written is None or now - held.runner_written >= RUNNER_EVERY):
                    runners.append((held.runner, held.beat))
                    held.runner_written = now
                held.beat = None
            batches.append(Batch(beats, quiet, runners, released[at : at + size]))
        return batches

    def learn(self, batch: Batch, seen: Iterable[Seen]) -> list[Held]:
        """What the write of ``batch`` found out. A job that has gone to another channel since is not concerned.

        The result: jobs that failed although their runner beats; perhaps nobody could see it. Without a beat they are left for the next write.
        """
        beats = {beat.job: beat.channel for beat in batch.beats}
        asked, failed = beats | dict(batch.quiet), []
        for row in seen:
            held = self.held.get(row.job)
            if held is None or held.channel != asked.get(row.job):
                continue
            if row.status == Status.CANCELED:
                held.verdict = Verdict.CANCELED
            elif row.status == Status.FAILED:
                failed += [held] if row.job in beats else []
            elif row.status not in IN_FLIGHT:
                held.verdict = Verdict.ENDED
            elif row.channel not in ("", held.channel):
                held.verdict = Verdict.TAKEN
        return failed

    def give_back(self, batch: Batch) -> None:
        """The write failed: the next one takes it along again."""
        for beat in batch.beats:
            held = self.held.get(beat.job)
            if held is not None and held.channel == beat.channel and held.beat is None:
                held.beat = beat.at
        for runner, at in batch.runners:
            self._greeted.setdefault(runner, at)
        self._released.extend(batch.released)


@transient()
def write(batch: Batch) -> list[Seen]:
    """Store the beats, release what was released, and see what has become of the jobs; erased with their project they count as canceled.

    Rows are locked in the order of their keys: processes whose beats overlap wait for one another, and not in a circle. PostgreSQL's UPDATE would take
    them as they lie in the table, which changes with every write.
    """
    with transaction.atomic():
        unsure = [job for job, _ in batch.quiet]
        if batch.beats:
            unsure += _write_beats(batch.beats)
        if batch.runners:
            _write_runners(batch.runners)
        for job, channel in sorted(batch.released):
            Job.objects.filter(pk=job, channel=channel).update(channel="")
        rows = Job.objects.filter(pk__in=unsure).order_by("id").values_list("id", "status", "channel") if unsure else ()
        seen = [Seen(job, Status(status), channel) for job, status, channel in rows]
    erased = set(unsure) - {row.job for row in seen}
    return seen + [Seen(job, Status.CANCELED, "") for job in erased]


def _write_beats(beats: Sequence[Beat]) -> list[UUID]:
    """Jobs whose row was not, or perhaps not, in flight and held by that channel."""
    table = connection.ops.quote_name(Job._meta.db_table)
    jobs = [beat.job for beat in beats]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                f"WITH held AS (SELECT id FROM {table} WHERE id = ANY(%s) AND status IN ({_FLYING}) ORDER BY id FOR NO KEY UPDATE)"
                f" UPDATE {table} AS job SET liveness = GREATEST(job.liveness, beat.at)"
                " FROM held JOIN unnest(%s::uuid[], %s::text[], %s::timestamptz[]) AS beat(id, channel, at) USING (id)"
                f" WHERE job.id = held.id AND job.channel = beat.channel AND job.status IN ({_FLYING}) RETURNING job.id",
                [jobs, jobs, [beat.channel for beat in beats], [beat.at for beat in beats]],
            )
            written = {row[0] for row in cursor.fetchall()}
            return [beat.job for beat in beats if beat.job not in written]
        moment = connection.ops.adapt_datetimefield_value
        cursor.executemany(
            f"UPDATE {table} SET liveness = %s WHERE id = %s AND channel = %s AND status IN ({_FLYING})"
            " AND (liveness IS NULL OR liveness < %s)",
            [(moment(beat.at), beat.job.hex, beat.channel, moment(beat.at)) for beat in beats],
        )
        return [beat.job for beat in beats]


def _write_runners(runners: Sequence[tuple[UUID, datetime]]) -> None:
    table = connection.ops.quote_name(Runner._meta.db_table)
    ids = [runner for runner, _ in runners]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                f"WITH held AS (SELECT id FROM {table} WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE)"
                f" UPDATE {table} AS runner SET last_heartbeat = GREATEST(runner.last_heartbeat, beat.at)"
                " FROM held JOIN unnest(%s::uuid[], %s::timestamptz[]) AS beat(id, at) USING (id) WHERE runner.id = held.id",
                [ids, ids, [at for _, at in runners]],
            )
            return
        moment = connection.ops.adapt_datetimefield_value
        cursor.executemany(f"UPDATE {table} SET last_heartbeat = %s WHERE id = %s", [(moment(at), runner.hex) for runner, at in runners])
