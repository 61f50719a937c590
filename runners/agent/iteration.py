"""One iteration: a fresh root, one process tree, its output and files."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from runners.agent import measures, process, programs, users
from runners.agent.capture import Capture
from runners.agent.cgroups import Cgroups, Group, GroupLimits, Usage
from runners.agent.collect import collect
from runners.agent.command import DEFAULT_PATH, Command
from runners.agent.control import Control
from runners.agent.disk import DiskWatch
from runners.agent.errors import RunnerError, SandboxError
from runners.agent.images.store import Image
from runners.agent.launcher import start
from runners.agent.request import Request
from runners.agent.rooted import Rooted, remove_tree
from runners.agent.sandbox.plan import Plan, Sandbox
from runners.agent.sandbox.rootfs import Roots, View

TIMED_OUT = 124
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's limits on what a job may do to this machine. Bytes, seconds, counts."""

    output_bytes: int = 25 << 20
    file_count: int = 255
    symlinks: int = 40
    grace: float = 1.0
    pids: int = 4096
    cpus: tuple[int, ...] = ()
    stock_build_time: bool = False


@dataclass(frozen=True, slots=True)
class Iteration:
    """What one iteration gave. `error` is why the runner ended it, None if the benchmark came to its own end."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    output: dict[str, str] | None = None
    error: RunnerError | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    milliseconds: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    out_of_memory: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """One iteration to be done: `run` is its unique name, `bounds` its time and output limits."""

    run: str
    request: Request
    image: Image
    command: Command
    bounds: process.Bounds


@dataclass(frozen=True, slots=True)
class Bench:
    """This machine, ready to run benchmarks in one kind of sandbox."""

    sandbox: Sandbox
    roots: Roots
    cgroups: Cgroups
    settings: Settings
    warn: Warn

    def run(self, order: Order, control: Control) -> Iteration:
        """Raises a RunnerError when the benchmark could not even be started. Leaves nothing behind in any case."""
        began = time.monotonic()
        hardware = order.request.hardware
        cpus = self.settings.cpus[: hardware.cpu or None]
        if hardware.cpu and hardware.cpu > len(cpus):
            self.warn(f"the job asks for {hardware.cpu} cores, the benchmark has {len(cpus)}")
        group = self.cgroups.create(order.run, GroupLimits(cpus, hardware.memory, self.settings.pids))
        for problem in group.missing:
            self.warn(problem)
        try:
            view = self.roots.make(order.run, order.image.root, host_path=self.sandbox.needs_host_path, network=hardware.network)
            return self._run_in(view, group, order, cpus, control, began)
        except programs.NoProgram as error:
            return Iteration(error.exit_code, stderr=f"runner: {error}\n")
        except OSError as error:
            raise SandboxError(str(error)) from error
        finally:
            self.sandbox.forget(order.run)
            group.remove()
            remove_tree(self.roots.folder(order.run))

    def _run_in(self, view: View, group: Group, order: Order, cpus: tuple[int, ...], control: Control, began: float) -> Iteration:
        plan = self._plan(view, order, cpus)
        watch = DiskWatch(view.folder, plan.disk)
        with start(plan, view, self.sandbox.launch(plan), group, control) as started, view.open(started.leader) as root:
            root.max_symlinks = self.settings.symlinks
            if not self.sandbox.needs_host_path:
                make_folder(root, plan.workdir)
            prepared = time.monotonic()
            finished = process.run(started, order.bounds, control, watch.problem)
            ran = time.monotonic()
            seconds = ran - began if self.settings.stock_build_time else finished.seconds
            output, dropped = self._output(root, order, seconds)
            times = {"prepare": prepared - began, "run": finished.seconds, "collect": time.monotonic() - ran}
            return replace(
                _verdict(finished),
                output=output,
                dropped=_dropped(finished.stdout, finished.stderr) | dropped,
                milliseconds={phase: round(value * 1000) for phase, value in times.items()},
                usage=group.usage(),
                out_of_memory=finished.exit_code == 137 and group.out_of_memory(plan.memory),
            )

    def _plan(self, view: View, order: Order, cpus: tuple[int, ...]) -> Plan:
        command, hardware = order.command, order.request.hardware
        workdir = f"/{command.workdir.lstrip('/')}"
        with Rooted.at(order.image.root, max_symlinks=self.settings.symlinks) as image:
            identity = users.resolve(command.user, image)
            program = programs.find(image, command.argv[0], command.env, workdir)
        argv, env = command.argv, {"PATH": DEFAULT_PATH, "HOME": identity.home} | dict(command.env)
        if self.sandbox.needs_host_path:
            env = dict(command.env)
            with Rooted.at(view.root, max_symlinks=self.settings.symlinks) as root:
                make_folder(root, workdir)
                argv = (programs.host_program(root, program), *argv[1:])
                workdir = programs.host_path(root, workdir)
        return Plan(
            run=order.run, folder=view.folder, root=view.root, owner=view.namespaces.inside, argv=argv, env=env, workdir=workdir, identity=identity,
            network=hardware.network, memory=hardware.memory, disk=hardware.disk, cpus=cpus, pids=self.settings.pids,
        )  # fmt: skip

    def _output(self, root: Rooted, order: Order, seconds: float) -> tuple[dict[str, str] | None, dict[str, int]]:
        request, settings = order.request, self.settings
        files = collect(
            root, order.command.workdir, request.file_paths, max_count=settings.file_count, max_bytes=settings.output_bytes, warn=self.warn
        )
        if request.build_time or request.file_size:
            return measures.output(request.name, seconds if request.build_time else None, files if request.file_size else None), {}
        dropped = sum(file.dropped for file in files)
        return {file.path: file.text for file in files} or None, {"output": dropped} if dropped else {}


def _verdict(finished: process.Finished) -> Iteration:
    code = finished.exit_code
    if finished.interrupted is not None and code == 0:
        code = TIMED_OUT  # it obeyed SIGTERM with a smile; the iteration is not a success for that
    return Iteration(code, finished.stdout.text(), finished.stderr.text(), error=finished.interrupted)


def _dropped(stdout: Capture, stderr: Capture) -> dict[str, int]:
    return {name: capture.dropped for name, capture in (("stdout", stdout), ("stderr", stderr)) if capture.dropped}


def make_folder(root: Rooted, path: str) -> None:
    """The working directory, made if the image lacks it, as container runtimes do."""
    try:
        os.close(root.directory(path, create=True))
    except OSError as error:
        raise SandboxError(f"the working directory {path!r} cannot be made: {error.strerror}") from None
