"""`runner up`: carries out what the session wants. All inputs pass through one queue; jobs run on one thread of their own."""

import asyncio
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from uuid import UUID

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from runners.agent import channel, verdict
from runners.agent.control import Control
from runners.agent.errors import Canceled, InvalidJob, JobDeadline, RunnerError, RunnerShutdown
from runners.agent.execution import Executor, Job, Outcome
from runners.agent.images.registry import PATIENT_ATTEMPTS, Registry
from runners.agent.progress import Progress
from runners.agent.request import of_job
from runners.agent.spool import Spool
from runners.agent.update import notice
from runners.protocol import agent_signals as signals
from runners.protocol import messages
from runners.protocol.agent import AgentSession

SHUTDOWN_SECONDS = 8.0
"""For the delivery of the last result, beyond the grace period of the benchmark itself."""

_SUSPICIOUS = 3
"""Channels that end before the server has said anything: how a stock server refuses a key."""

_REASONS: dict[signals.StopReason, Callable[[], RunnerError]] = {
    signals.StopReason.CANCEL: lambda: Canceled("the job was canceled"),
    signals.StopReason.SHUTDOWN: lambda: RunnerShutdown("the runner was stopped while the job ran"),
    signals.StopReason.DEADLINE: lambda: JobDeadline("the server has ended the job: its time is over"),
    signals.StopReason.UNCONFIRMED: lambda: InvalidJob("the server never heard that the job had started; its result would be refused"),
}


class Driver:
    """One run of the program."""

    def __init__(
        self,
        endpoint: channel.Endpoint,
        session: AgentSession,
        spool: Spool,
        executor: Executor,
        progress: Progress,
        *,
        agent: str,
        grace: float,
        pace: channel.Pace,
    ) -> None:
        self._endpoint = endpoint
        self._session = session
        self._spool = spool
        self._executor = executor
        self._progress = progress
        self._agent = agent
        self._grace = grace
        self._inputs: asyncio.Queue[tuple[signals.Input, object]] = asyncio.Queue()
        self._connection: ClientConnection | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._timers: dict[signals.Timer, asyncio.TimerHandle] = {}
        self._pace = pace
        self._retry_after = 0.0
        self._unheard = 0
        self._control: Control | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="job")
        self._ended = False
        self._main: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Returns after a signal, when everything is said or the time for it is over."""
        loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked_to_stop, signal.Signals(number).name)
        try:
            await self._perform(self._session.start())
            while not self._ended:
                given, origin = await self._inputs.get()
                if self._current(given, origin):
                    await self._perform(self._session.step(given))
        except asyncio.CancelledError:
            if not self._ended:
                raise
        finally:
            if self._control is not None:
                self._control.stop(_REASONS[signals.StopReason.SHUTDOWN]())
            await self._close()
            for handle in self._timers.values():
                handle.cancel()
            self._thread.shutdown(wait=True)

    def _current(self, given: signals.Input, origin: object) -> bool:
        """An input of a connection or timer that is gone meanwhile says nothing any more."""
        if isinstance(given, signals.Fired):
            return self._timers.get(given.timer) is origin
        return origin is None or origin is self._connection

    def _put(self, given: signals.Input, origin: object = None) -> None:
        self._inputs.put_nowait((given, origin))

    async def _perform(self, effects: list[signals.Effect]) -> None:
        for effect in effects:
            match effect:
                case signals.Send(message):
                    await self._send(message)
                case signals.SetTimer(timer, seconds):
                    self._set_timer(timer, seconds)
                case signals.Connect(failures):
                    await self._close()
                    self._tasks["connect"] = asyncio.create_task(self._connect(failures))
                case signals.Close():
                    await self._close()
                case signals.Exit():
                    self._ended = True
                case _:
                    self._perform_here(effect)

    def _perform_here(self, effect: signals.Effect) -> None:
        match effect:
            case signals.StartJob(job):
                self._start(job)
            case signals.StopJob(reason):
                if self._control is not None:
                    self._control.stop(_REASONS[reason]())
            case signals.RejectJob(job, problem):
                self._finish(messages.Failed(job=job, results=[], error=f"InvalidJob: {problem}"[:1024]))
            case signals.Delivered(job):
                self._spool.delivered(job)
                self._progress.info(f"job {job}: result delivered")
                self._progress.event("delivered", job=str(job))
            case signals.Refused(job, times):
                self._spool.refused(job, times)
                self._progress.warn(f"job {job}: the server dropped the channel instead of taking the result ({times})")
            case signals.Park(job, why):
                path = self._spool.park(job, why)
                self._progress.warn(f"job {job}: RESULT NOT DELIVERED, {why}. It is kept in {path}")
                self._progress.event("parked", job=str(job), path=str(path))
            case signals.OfferedUpdate(update):
                self._progress.warn(notice(update))
            case signals.Tell(text):
                self._progress.warn(text)

    # -- the connection ----------------------------------------------------------------------------------------------
    async def _connect(self, failures: int | None) -> None:
        for job in self._spool.expired(time.time()):
            self._put(signals.Expired(job))
        await asyncio.sleep(self._pace.pause(failures, time.monotonic(), self._retry_after))
        try:
            connection = await self._endpoint.open(self._agent)
        except channel.Unreachable as problem:
            self._retry_after = min(problem.retry_after, channel.MAX_BACKOFF_SECONDS)
            self._progress.warn(str(problem))
            self._progress.event("unreachable", refused_key=problem.refused_key)
            self._put(signals.Lost())
            return
        self._retry_after = 0.0
        self._connection = connection
        self._progress.info(f"connected to {self._endpoint.url}")
        self._progress.event("connected")
        self._put(signals.Connected(), connection)
        self._tasks["read"] = asyncio.create_task(self._read(connection))

    async def _read(self, connection: ClientConnection) -> None:
        try:
            while True:
                frame = await connection.recv()
                self._unheard = 0
                if isinstance(frame, str):
                    self._put(channel.read(frame), connection)
        except ConnectionClosed as error:
            ended = channel.lost(error)
            self._unheard += 1
            if self._unheard == _SUSPICIOUS:
                self._progress.warn("the server keeps closing the channel without a word: is the key of this runner right?")
            self._progress.info(f"channel lost{f' ({ended.code} {ended.reason})' if ended.code else ''}")
            self._put(ended, connection)

    async def _send(self, message: messages.RunnerMessage) -> None:
        connection = self._connection
        if connection is None:
            return  # the session hears of the loss by its next input
        try:
            await channel.send(connection, messages.encode(message))
        except ConnectionClosed:
            return  # the reader tells how it was closed
        except TimeoutError:
            self._progress.warn("the server takes no data")
            self._put(signals.Lost(), connection)
            connection.transport.abort()

    async def _close(self) -> None:
        """Ends the connection or the attempt to get one. Its last inputs are ignored from here on."""
        connection, self._connection = self._connection, None
        for name in ("connect", "read"):
            task = self._tasks.pop(name, None)
            if task is not None and task is not asyncio.current_task():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        if connection is not None:
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(channel.CLOSE_SECONDS):
                    await connection.close()

    def _set_timer(self, timer: signals.Timer, seconds: float | None) -> None:
        if handle := self._timers.pop(timer, None):
            handle.cancel()
        if seconds is not None:
            self._timers[timer] = asyncio.get_running_loop().call_later(seconds, self._fire, timer)

    def _fire(self, timer: signals.Timer) -> None:
        self._put(signals.Fired(timer), self._timers[timer])

    # -- the job -----------------------------------------------------------------------------------------------------
    def _start(self, job: messages.Job) -> None:
        self._progress.info(f"job {job.uuid} received")
        self._progress.event("job", job=str(job.uuid))
        try:
            self._spool.begin(job.uuid)
        except OSError as error:
            problem = f"DiskLimit: the runner's disk cannot be written: {error.strerror}"
            self._finish(messages.Failed(job=job.uuid, results=[], error=problem))
            return
        self._control = Control()
        future = asyncio.get_running_loop().run_in_executor(self._thread, self._work, job, self._control, self._session.accepts_ext)
        future.add_done_callback(self._worked)

    def _work(self, job: messages.Job, control: Control, with_ext: bool) -> signals.Terminal:
        """On the job's thread: runs it and puts its result on the disk."""
        try:
            message = self._run(job, control, with_ext)
        except Exception as error:
            self._progress.fault(error)
            message = messages.Failed(job=job.uuid, results=[], error=f"SandboxError: internal error of the runner: {error}"[:1024])
        self._file(message)
        return message

    def _run(self, job: messages.Job, control: Control, with_ext: bool) -> signals.Terminal:
        try:
            request, reference = of_job(job)
        except RunnerError as error:
            return messages.Failed(job=job.uuid, results=[], error=error.describe())
        registry = Registry(reference, job.oci_token, control, attempts=PATIENT_ATTEMPTS)
        try:
            wanted = Job(request, registry, reference.target)
            outcome = self._executor.execute(wanted, control, lambda so_far: self._remember(job.uuid, so_far))
        finally:
            registry.close()
        return verdict.message(job.uuid, outcome, with_ext=with_ext)

    def _remember(self, job: UUID, so_far: Outcome) -> None:
        """Keeps finished iterations, so that a crash does not take them."""
        try:
            self._spool.begin(job, verdict.iterations(so_far))
        except OSError as error:
            self._progress.warn(f"job {job}: finished iterations cannot be written to disk: {error.strerror}")

    def _file(self, message: signals.Terminal) -> None:
        try:
            self._spool.file(message)
        except OSError as error:  # a full disk must not take the result with it: it is still in memory
            self._progress.warn(f"job {message.job}: the result cannot be written to disk, it is lost if the runner dies: {error.strerror}")

    def _worked(self, done: asyncio.Future[signals.Terminal]) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        message = done.result()
        kind = type(message).__name__.lower()
        text = message.error if isinstance(message, messages.Failed) else ""
        self._progress.info(f"job {message.job} {kind}{f': {text}' if text else ''}")
        self._progress.event("finished", job=str(message.job), outcome=kind, error=text or None)
        self._put(signals.Finished(message))

    def _finish(self, message: signals.Terminal) -> None:
        self._file(message)
        self._put(signals.Finished(message))

    # -- the end -----------------------------------------------------------------------------------------------------
    def _asked_to_stop(self, name: str) -> None:
        self._progress.info(f"{name}: stopping")
        self._put(signals.Shutdown())
        asyncio.get_running_loop().call_later(self._grace + SHUTDOWN_SECONDS, self._give_up)

    def _give_up(self) -> None:
        if not self._ended and self._main is not None:
            self._progress.warn("stopped before everything was delivered; the next start goes on with it")
            self._ended = True
            self._main.cancel()
