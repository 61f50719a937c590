"""A job from its image to its verdict: one pull, the iterations one after the other, and what to tell the server."""

import itertools
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from runners.agent import command, process
from runners.agent.control import Control
from runners.agent.errors import Canceled, InvalidJob, JobDeadline, RunnerError, SandboxError, Timeout
from runners.agent.images.store import Image, ImageStore, Source
from runners.agent.iteration import Bench, Iteration, Order
from runners.agent.progress import Progress
from runners.agent.request import Request


@dataclass(slots=True)
class Outcome:
    """How a job went. `error` None means completed; the iterations are there either way, in order."""

    iterations: list[Iteration] = field(default_factory=list)
    error: str | None = None
    reason: RunnerError | None = None
    milliseconds: dict[str, int] = field(default_factory=dict)

    @property
    def canceled(self) -> bool:
        return isinstance(self.reason, Canceled)


@dataclass(frozen=True, slots=True)
class Job:
    """Everything one job needs. `source` is where `target`, a digest or tag, can be pulled from."""

    request: Request
    source: Source
    target: str


@dataclass(frozen=True, slots=True)
class Executor:
    """Runs jobs one at a time, on the thread that calls it."""

    store: ImageStore
    bench: Callable[[str | None], Bench]
    """The bench for a spec's `sandbox`; raises SandboxError when there is none."""
    progress: Progress

    def execute(self, job: Job, control: Control, finished: Callable[[Outcome], None] = lambda _: None) -> Outcome:
        """Never raises for what a job can do. `finished` hears of the outcome so far after every iteration."""
        outcome = Outcome()
        began = time.monotonic()
        try:
            self._run(job, control, outcome, began, finished)
        except RunnerError as error:
            outcome.reason = error
            outcome.error = error.describe()
        except Exception as error:  # a fault of the runner's own must not take the job's end away
            self.progress.fault(error)
            outcome.reason = SandboxError(f"internal error of the runner: {type(error).__name__}: {error}")
            outcome.error = outcome.reason.describe()
        outcome.milliseconds["total"] = round((time.monotonic() - began) * 1000)
        return outcome

    def _run(self, job: Job, control: Control, outcome: Outcome, began: float, finished: Callable[[Outcome], None]) -> None:
        request = job.request
        bench = self.bench(request.sandbox)
        image = self.store.obtain(job.source, job.target, control, self.progress.note, time.monotonic)
        outcome.milliseconds |= {"pull": round(image.pull_seconds * 1000), "unpack": round(image.unpack_seconds * 1000)}
        what = command.resolve(image.config, request.entrypoint, request.cmd, request.env)
        for number in itertools.count(1):
            if number > request.iterations:
                return
            control.check()
            self.progress.iteration(number, request.iterations)
            iteration = self._iterate(bench, request, image, what, control, began)
            if iteration is None:
                continue
            outcome.iterations.append(iteration)
            self.progress.iterated(number, request.iterations, iteration)
            problem = _problem(iteration)
            ended = control.reason or (iteration.error if isinstance(iteration.error, JobDeadline) else None)
            if ended is not None:
                raise ended
            if problem is not None and not request.allow_failure:
                outcome.error, outcome.reason = problem, iteration.error
                return
            finished(outcome)

    def _iterate(
        self, bench: Bench, request: Request, image: Image, what: command.Command, control: Control, began: float
    ) -> Iteration | None:
        """None for an iteration that could not be started though the job allows failures: it vanishes."""
        order = Order(secrets.token_hex(8), request, image, what, _bounds(bench, request, began))
        try:
            return bench.run(order, control)
        except (InvalidJob, SandboxError) as error:
            if not request.allow_failure:
                raise
            self.progress.warn(f"iteration skipped: {error}")
            return None


def _bounds(bench: Bench, request: Request, began: float) -> process.Bounds:
    seconds: float = request.timeout
    overrun: RunnerError = Timeout(f"the benchmark did not complete within {request.timeout:g} s")
    if request.deadline is not None:
        left = request.deadline - (time.monotonic() - began)
        late = JobDeadline(f"the job did not complete within {request.deadline:g} s")
        if left <= 0:
            raise late
        if left < seconds:
            seconds, overrun = left, late
    return process.Bounds(seconds, overrun, bench.settings.grace, bench.settings.output_bytes)


def _problem(iteration: Iteration) -> str | None:
    """Why the iteration counts as failed."""
    if iteration.error is not None:
        return iteration.error.describe()
    if iteration.exit_code == 0:
        return None
    hint = " (out of memory)" if iteration.out_of_memory else ""
    return f"Benchmark exited with non-zero exit code: {iteration.exit_code}{hint}"
