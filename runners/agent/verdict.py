"""A job's outcome as the message that tells it to the server (runner.md A.3 "Outcome choice", typed-results D6)."""

from typing import Any
from uuid import UUID

from runners.agent.execution import Outcome
from runners.agent.iteration import Iteration
from runners.protocol import messages
from runners.protocol.agent_signals import Terminal


def message(job: UUID, outcome: Outcome, *, with_ext: bool = False) -> Terminal:
    """`canceled` when the server asked for it, whatever the benchmark made of it; `failed` for any error; else `completed`."""
    if outcome.canceled:
        return messages.Canceled(job=job)
    results = iterations(outcome, with_ext=with_ext)
    if outcome.error is not None:
        return messages.Failed(job=job, results=results, error=outcome.error)
    return messages.Completed(job=job, results=results)


def iterations(outcome: Outcome, *, with_ext: bool = False) -> list[messages.IterationOutput]:
    return [
        messages.IterationOutput(
            exit_code=item.exit_code,
            stdout=item.stdout or None,
            stderr=item.stderr or None,
            output=item.output,
            ext=messages.raw_ext(_ext(item, outcome) if with_ext else None),
        )
        for item in outcome.iterations
    ]


def _ext(item: Iteration, outcome: Outcome) -> dict[str, Any]:
    """Phases in milliseconds; pulling and unpacking happen once and count for the first iteration."""
    setup = {phase: outcome.milliseconds.get(phase, 0) for phase in ("pull", "unpack")} if item is outcome.iterations[0] else {}
    usage = {"cpu_user_us": item.usage.cpu_user_us, "cpu_sys_us": item.usage.cpu_sys_us, "mem_peak": item.usage.mem_peak}
    ext: dict[str, Any] = {
        "v": 1,
        "status": "success" if item.exit_code == 0 and item.error is None else "failed",
        "phases": setup | dict(item.milliseconds),
        "usage": {name: value for name, value in usage.items() if value is not None},
    }
    if item.dropped:
        ext["dropped"] = dict(item.dropped)
    if item.error is not None:
        ext["error"] = {"type": item.error.kind, "message": str(item.error)}
    return ext
