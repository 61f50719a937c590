"""`runner run`: one image, here and now, without a server."""

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from runners.agent import machine, options, verdict
from runners.agent.control import Control
from runners.agent.errors import Canceled, RunnerError, Timeout
from runners.agent.execution import Executor, Job, Outcome
from runners.agent.images import reference
from runners.agent.images.layout import Layout
from runners.agent.images.registry import Registry
from runners.agent.progress import Progress
from runners.agent.request import Hardware, Request
from runners.agent.tuning.guard import tuned
from runners.protocol import messages

MAX_WORDS = 64
MIB = 1 << 20
EXIT_ERROR, EXIT_BENCHMARK, EXIT_TIMEOUT, EXIT_INTERRUPTED = 1, 3, 4, 130


class _Words(click.Command):
    """Options that take one to 64 words at once: `--cmd a b c`, and `--cmd=-c` for a word that begins with a hyphen."""

    greedy = ("--entrypoint", "--cmd")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(self._spread(args)))

    def _spread(self, args: Sequence[str]) -> Iterator[str]:
        """`--cmd a b` -> `--cmd=a --cmd=b`."""
        waiting = list(args)
        while waiting:
            word = waiting.pop(0)
            name, equals, first = word.partition("=")
            if name not in self.greedy:
                yield word
                continue
            words = [first] if equals else []
            while waiting and not waiting[0].startswith("-"):
                words.append(waiting.pop(0))
            if not 1 <= len(words) <= MAX_WORDS:
                raise click.UsageError(
                    f"{name} takes 1 to {MAX_WORDS} values, not {len(words)} (write {name}=VALUE for one that begins with -)"
                )
            yield from (f"{name}={value}" for value in words)


@click.command(cls=_Words)
@click.option("--image", required=True, help="OCI layout folder, folder:tag, or registry reference.")
@click.option("--token", envvar="BENCHER_OCI_TOKEN", help="Bearer token for the registry.")
@click.option("--insecure-registry", is_flag=True, help="Plain HTTP for a registry that is not on this machine.")
@click.option("--vcpus", type=options.POSITIVE, default=1, show_default=True)
@click.option("--memory", type=options.POSITIVE, default=512, show_default=True, help="MiB.")
@click.option("--disk", type=options.POSITIVE, default=1024, show_default=True, help="MiB.")
@click.option("--timeout", type=options.POSITIVE, default=300, show_default=True, help="Seconds for each iteration.")
@click.option("--output", multiple=True, metavar="PATH", help="File to collect; repeatable.")
@click.option("--save", type=click.Path(path_type=Path, file_okay=False), help="Folder for collected files (iteration-N/…).")
@click.option("--entrypoint", multiple=True, metavar="A B ..")
@click.option("--cmd", multiple=True, metavar="A B ..")
@click.option("--env", multiple=True, type=options.PairType())
@click.option("--network", is_flag=True, help="Let the benchmark use the network.")
@click.option(
    "--sandbox", type=click.Choice([machine.BUBBLEWRAP, machine.RUNC, machine.FIRECRACKER]), default=machine.BUBBLEWRAP, show_default=True
)
@click.option("--danger-allow-no-sandbox", is_flag=True, envvar="BENCHER_DANGER_ALLOW_NO_SANDBOX", help="Run on the host itself.")
@click.option("--sandbox-log-level", type=options.LOG_LEVELS, default="warning", hidden=True)
@click.option("--iter", "iterations", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True)
@click.option("--build-time", is_flag=True, help="Report the run's wall time as a metric.")
@click.option("--file-size", is_flag=True, help="Report the sizes of collected files as metrics.")
@click.option("--allow-failure", is_flag=True, help="Go on after an iteration that failed.")
@options.shared
def run(**given: Any) -> None:
    """Run one image here and now.

    Exit status: 0 success, 1 the benchmark could not be run, 2 usage, 3 the benchmark failed, 4 it took too long, 130 interrupted.
    """
    progress = options.progress(given)
    try:
        with ExitStack() as held:
            outcome = _execute(held, progress, given)
    except RunnerError as error:
        raise click.ClickException(str(error)) from None
    finally:
        progress.close()
    if not given["as_json"]:
        _show(outcome)
    else:
        results = [json.loads(_encode(item)) for item in verdict.iterations(outcome, with_ext=True)]
        progress.event("result", results=results, error=outcome.error, milliseconds=outcome.milliseconds)
    if given["save"]:
        _save(outcome, given["save"])
    sys.exit(_status(outcome))


def _execute(held: ExitStack, progress: Progress, given: dict[str, Any]) -> Outcome:
    state = _state(held, given["state_dir"], progress)
    layout = held.enter_context(tuned(given["tuning"], progress.info))
    name = machine.HOST if given["danger_allow_no_sandbox"] else given["sandbox"]
    default = machine.BUBBLEWRAP if name == machine.FIRECRACKER else name
    executor: Executor = held.enter_context(
        machine.machine(state, layout, machine.Choice(default), options.limits(given), options.settings(given, layout), progress)
    )
    control = held.enter_context(_interruptible())
    job = _job(held, control, progress, given, machine.FIRECRACKER if name == machine.FIRECRACKER else None)
    return executor.execute(job, control)


def _state(held: ExitStack, folder: Path | None, progress: Progress) -> Path:
    try:
        return held.enter_context(machine.state_folder((folder or options.default_state()) / "local"))
    except machine.StateInUse as error:
        progress.info(f"{error}; this run starts with an empty cache")
        return held.enter_context(machine.scratch_folder())


@contextmanager
def _interruptible() -> Iterator[Control]:
    """A stop request by SIGINT or SIGTERM."""
    control = Control()
    previous = {
        number: signal.signal(number, lambda *_: control.stop(Canceled("interrupted"))) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield control
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        control.close()


def _job(held: ExitStack, control: Control, progress: Progress, given: dict[str, Any], sandbox: str | None) -> Job:
    request = Request(
        name=" ".join((*given["entrypoint"], *given["cmd"])) or given["image"],
        hardware=Hardware(given["vcpus"], given["memory"] * MIB, given["disk"] * MIB, given["network"]),
        timeout=given["timeout"],
        sandbox=sandbox,
        entrypoint=given["entrypoint"] or None,
        cmd=given["cmd"] or None,
        env=dict(given["env"]),
        file_paths=given["output"],
        build_time=given["build_time"],
        file_size=given["file_size"],
        iterations=given["iterations"],
        allow_failure=given["allow_failure"],
    )
    if layout := Layout.find(given["image"], control):
        progress.info(f"using the local image {layout}")
        return Job(request, layout, layout.entry().digest)
    where = reference.parse(given["image"], insecure=given["insecure_registry"])
    registry = Registry(where, given["token"], control)
    held.callback(registry.close)
    return Job(request, registry, where.target)


def _show(outcome: Outcome) -> None:
    """Each iteration's stdout, then its stderr; the names and sizes of collected files."""
    for item in outcome.iterations:
        sys.stdout.write(item.stdout)
        sys.stdout.flush()
        sys.stderr.write(item.stderr)
        sys.stderr.flush()
        for path, text in (item.output or {}).items():
            label = path.lstrip("\0")
            print(f"{label}: {text}" if path != label else f"{label}: {len(text.encode())} bytes", file=sys.stderr)
    if outcome.error:
        print(f"Error: {outcome.error}", file=sys.stderr)


def _save(outcome: Outcome, folder: Path) -> None:
    for number, item in enumerate(outcome.iterations, 1):
        for path, text in (item.output or {}).items():
            names = [name for name in path.lstrip("\0").split("/") if name not in {"", ".", ".."}]
            target = folder.joinpath(f"iteration-{number}", *names)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def _encode(item: messages.IterationOutput) -> bytes:
    return msgspec.json.encode(item)


def _status(outcome: Outcome) -> int:
    if outcome.error is None:
        return 0
    if outcome.canceled:
        return EXIT_INTERRUPTED
    if isinstance(outcome.reason, Timeout):
        return EXIT_TIMEOUT
    return EXIT_BENCHMARK if outcome.reason is None else EXIT_ERROR
