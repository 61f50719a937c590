"""Random interleavings of two runners, a user, the sweeper and the weather never break an invariant (design.md sections 4 and 5)."""

from __future__ import annotations

import contextlib
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from bencher.core.errors import Clash, Missing
from jobs import notify
from jobs.actors import user
from jobs.lifecycle import IN_FLIGHT, RULES, Action, Status
from jobs.models import Job
from jobs.output import decode
from jobs.services.cancel import cancel_job
from jobs.services.reap import sweep
from outputs.registry.storage import StorageError, get_job_output
from runners.protocol import messages as m
from runners.protocol import signals
from tests.channelsim import Clock, Line, Site, without_threads
from tests.jobs_world import make_job, make_project, make_runner, make_spec

pytestmark = pytest.mark.django_db
HT, GP, TIMEOUT = 5, 3, 20
SECONDS = st.sampled_from([0, 1, 1, 2, 2, 3, 8, 30])
DATA = st.data()


class Interleaving(RuleBasedStateMachine):
    clock: Clock
    patch: pytest.MonkeyPatch

    @initialize()
    def build(self) -> None:
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.site = Site(self.clock)
        self.spec = make_spec(self.clock.now())
        self.project = make_project(claimed=True, now=self.clock.now())
        self.runners = [make_runner(self.spec, now=self.clock.now()) for _ in range(2)]
        self.acked: dict[UUID, list[str]] = {}
        self.deliveries = 0
        for runner in self.runners:
            self.site.connect(runner)
            make_job(spec=self.spec, project=self.project, now=self.clock.now(), timeout=TIMEOUT)

    def teardown(self) -> None:
        self.site.close()
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    # -- what may happen -------------------------------------------------------------------------------------------
    @rule()
    def submit(self) -> None:
        if Job.objects.count() < 6:
            make_job(spec=self.spec, project=self.project, now=self.clock.now(), timeout=TIMEOUT)
            notify.pending(self.spec.pk)
            self.site.settle()

    @rule(number=st.integers(0, 1))
    def connect(self, number: int) -> None:
        if len(self.site.lines) < 5:
            self.clock.forward(0.001)
            self.site.connect(self.runners[number])

    def line(self, data: Any) -> Line:
        return data.draw(st.sampled_from(self.site.lines))

    def job(self, data: Any) -> UUID:
        known = list(Job.objects.order_by("id").values_list("id", flat=True))
        return data.draw(st.sampled_from([*known, UUID(int=404)]))

    @precondition(lambda self: self.site.lines)
    @rule(data=DATA, message=st.sampled_from([m.Ready(), m.Running(), m.Heartbeat()]))
    def say(self, data: Any, message: Any) -> None:
        line = self.line(data)
        if line.closed is None:
            self.site.say(line, message)

    @precondition(lambda self: self.site.lines)
    @rule(data=DATA)
    def work(self, data: Any) -> None:
        """What an honest runner does: ask, begin, beat."""
        line = self.line(data)
        for message in (m.Ready(), m.Running(), m.Heartbeat()):
            if line.closed is None:
                self.site.say(line, message)

    @precondition(lambda self: any(line.executing for line in self.site.lines))
    @rule(data=DATA, event=st.sampled_from(["completed", "completed", "failed", "canceled"]))
    def finish(self, data: Any, event: str) -> None:
        line = data.draw(st.sampled_from([line for line in self.site.lines if line.executing]))
        self._deliver(line, event, line.executing, broken=False)

    @precondition(lambda self: self.site.lines)
    @rule(data=DATA, event=st.sampled_from(["completed", "failed", "canceled"]), own=st.booleans(), broken=st.booleans())
    def deliver(self, data: Any, event: str, own: bool, broken: bool) -> None:
        line = self.line(data)
        if line.closed is None:
            self._deliver(line, event, line.executing if own and line.executing else self.job(data), broken=broken)

    def _deliver(self, line: Line, event: str, job: UUID, *, broken: bool) -> None:
        self.deliveries += 1
        text = f"delivery {self.deliveries}"
        results = [m.IterationOutput(exit_code=0, stdout=text)]
        given: Any = {
            "completed": m.Completed(job=job, results=results),
            "failed": m.Failed(job=job, results=results, error=text),
            "canceled": m.Canceled(job=job),
        }[event]
        before = Job.objects.filter(pk=job, runner_id=line.runner.pk).values_list("status", flat=True).first()
        with self.patch.context() as patched:
            if broken:
                patched.setattr("jobs.services.terminal.put_job_output", _fail)
            heard = self.site.say(line, given)
        if m.Ack(job=job) in heard and before in ("claimed", "running", "failed") and event == "completed":
            self.acked.setdefault(job, []).append(text)
        if not broken:
            assert m.Ack(job=job) in heard

    @precondition(lambda self: self.site.lines)
    @rule(data=DATA, given=st.sampled_from([signals.Silence(), signals.Deadline(), signals.Binary()]))
    def time_out(self, data: Any, given: Any) -> None:
        line = self.line(data)
        if isinstance(given, signals.Silence) and isinstance(line.session.state, signals.Polling):
            return  # no read timer there
        self.site.say(line, given)

    @precondition(lambda self: self.site.lines)
    @rule(data=DATA)
    def drop(self, data: Any) -> None:
        self.site.leave(self.line(data))

    @rule(data=DATA, seldom=st.sampled_from([True, False, False, False]))
    def user_cancels(self, data: Any, seldom: bool) -> None:
        if seldom:
            self._without_a_sign_of_life(lambda: self._cancel(self.job(data)))

    def _cancel(self, job: UUID) -> None:
        with contextlib.suppress(Clash, Missing):
            cancel_job(job_id=job, actor=user(uuid4(), "u"), now=self.clock.now())

    @rule()
    def sweeper(self) -> None:
        self._without_a_sign_of_life(lambda: sweep(now=self.clock.now(), process=lambda job: None))

    @rule()
    def flush(self) -> None:
        self.site.flush()

    @rule(seconds=SECONDS)
    def wait(self, seconds: int) -> None:
        self.clock.forward(seconds)

    def _without_a_sign_of_life(self, act: Any) -> None:
        before = dict(Job.objects.values_list("id", "liveness"))
        act()
        assert dict(Job.objects.values_list("id", "liveness")) == before
        self.site.settle()

    # -- what must hold --------------------------------------------------------------------------------------------
    @invariant()
    def one_holder(self) -> None:
        """No job is executed by two channels that keep it alive; who executes it on behalf of its row is its runner's."""
        for job in Job.objects.filter(status__in=IN_FLIGHT):
            lines = [line for line in self.site.lines if line.executing == job.pk and line.dispatch.id == job.channel]
            assert len(lines) <= 1
            assert all(line.runner.pk == job.runner_id for line in lines)

    @invariant()
    def legal_histories(self) -> None:
        for job in Job.objects.all():
            now = Status.PENDING.value
            for event in job.events.order_by("id"):
                assert event.source == now
                assert now in RULES[Action(event.action)].sources
                assert event.target == RULES[Action(event.action)].target
                now = event.target
            assert job.status == now

    @invariant()
    def acked_results_are_stored(self) -> None:
        for pk, texts in self.acked.items():
            job = Job.objects.get(pk=pk)
            assert job.output
            stored = decode(get_job_output(job.project_id, job.pk, job.output)).results[0].stdout
            if job.status in (Status.COMPLETED, Status.PROCESSED):
                assert stored in texts

    @invariant()
    def columns_fit_the_status(self) -> None:
        for job in Job.objects.all():
            assert (job.status == Status.PENDING) == (job.claimed is None) or job.status == Status.CANCELED
            assert (job.completed is not None) == (job.status not in (*IN_FLIGHT, Status.PENDING))
            assert job.status not in (Status.RUNNING, Status.COMPLETED) or (job.started is not None and job.due is not None)
            assert job.status in IN_FLIGHT or job.channel == ""

    @invariant()
    def waiters_poll(self) -> None:
        for line in self.site.lines:
            if line.dispatch in self.site.node.waiting:
                assert isinstance(line.session.state, signals.Polling)
            for job in [line.executing] if line.executing else []:
                assert self.site.node.ledger.held.get(job) is not None


def _fail(*_: Any) -> str:
    raise StorageError("read-only")


@pytest.mark.timeout(600)
def test_interleavings(monkeypatch: pytest.MonkeyPatch, settings_of_times: None) -> None:
    Interleaving.patch = monkeypatch
    Interleaving.clock = Clock()
    without_threads(monkeypatch, Interleaving.clock)
    run_state_machine_as_test(
        Interleaving,
        settings=hypothesis_settings(
            max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck), database=None
        ),
    )


@pytest.fixture
def settings_of_times(settings: Any) -> None:
    settings.BENCHER_HEARTBEAT_TIMEOUT, settings.BENCHER_JOB_TIMEOUT_GRACE_PERIOD = HT, GP
