"""Writes ``docs/protocol.md`` and ``docs/lifecycle.md`` from the tables in the code; ``--check`` only says whether they are fresh."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from jobs.lifecycle import DELIVERIES, FINAL, IN_FLIGHT, RULES, Status  # noqa: E402
from runners.protocol import limits, messages, negotiation, signals  # noqa: E402
from runners.protocol.errors import CloseCode, CloseReason  # noqa: E402
from runners.protocol.server import INPUTS, ServerSession  # noqa: E402

JOB, OTHER = UUID(int=1), UUID(int=2)
_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
_NAMES = {JOB: "job", OTHER: "other job"}


# -- Markdown ------------------------------------------------------------------------------------------------------
def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def sentence(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split()).replace("``", "`")


# -- protocol.md ---------------------------------------------------------------------------------------------------
def _type(kind: Any) -> str:
    """A field's type in a reader's words."""
    match kind:
        case msgspec.inspect.UnionType(types=types):
            return " or ".join(_type(one) for one in types if not isinstance(one, msgspec.inspect.NoneType))
        case msgspec.inspect.LiteralType(values=values):
            return " / ".join(f"`{value}`" for value in values)
        case msgspec.inspect.IntType(ge=low, le=high) if low is not None or high is not None:
            return f"integer {low}..{high}"
        case msgspec.inspect.StrType(pattern=pattern) if pattern:
            return f"text `{pattern}`".replace("\\Z", "$")
        case msgspec.inspect.ListType(item_type=item, max_length=most):
            return f"list of {_type(item)}" + (f", at most {most}" if most is not None else "")
        case msgspec.inspect.DictType(value_type=item, max_length=most):
            return f"object: text to {_type(item)}" + (f", at most {most}" if most is not None else "")
        case msgspec.inspect.StructType(cls=cls):
            return f"{cls.__name__}"
    return {
        "IntType": "integer", "StrType": "text", "BoolType": "true or false", "UUIDType": "UUID", "DateTimeType": "time (RFC 3339)", "RawType": "object",
    }[type(kind).__name__]  # fmt: skip


def _fields(struct: type[msgspec.Struct]) -> str:
    info = msgspec.inspect.type_info(struct)
    assert isinstance(info, msgspec.inspect.StructType)  # noqa: S101
    parts = [
        f"`{field.encode_name}`{'' if field.required else '?'}: {_type(field.type)}" for field in info.fields if field.encode_name != "ext"
    ]
    return "; ".join(parts) or "none"


def _messages(*structs: type[msgspec.Struct]) -> str:
    rows = [[f"`{struct.__struct_config__.tag}`", sentence(struct.__doc__), _fields(struct)] for struct in structs]
    return table(["event", "means", "fields"], rows)


def _parts(*structs: type[msgspec.Struct]) -> str:
    return table(["part", "means", "fields"], [[struct.__name__, sentence(struct.__doc__), _fields(struct)] for struct in structs])


def _samples() -> dict[type[Any], Any]:
    spec = messages.Spec(
        uuid=JOB,
        name="s",
        slug="s",
        os="linux",
        architecture="x86_64",
        cpu=1,
        memory=1,
        disk=1,
        network=False,
        created=_MOMENT,
        modified=_MOMENT,
    )
    config = messages.JobConfig(registry="r", project=JOB, digest="sha256:" + "0" * 64, timeout=1)
    job = messages.Job(uuid=JOB, spec=spec, config=config, oci_token="", timeout=1, created=_MOMENT)
    return {
        messages.Ready: messages.Ready(),
        messages.Completed: messages.Completed(job=JOB, results=[]),
        messages.Failed: messages.Failed(job=JOB, results=[], error=""),
        messages.Canceled: messages.Canceled(job=JOB),
        signals.Garbage: signals.Garbage(CloseCode.INVALID, "why"),
        signals.Superseded: signals.Superseded(JOB),
        signals.Outdated: signals.Outdated(messages.Update(version="", url="", checksum="0" * 64)),
        signals.Claimed: signals.Claimed(job),
        signals.Delivered: signals.Delivered(JOB),
        signals.NotStored: signals.NotStored(JOB),
        signals.Judged: signals.Judged(signals.Verdict.ALIVE),
        signals.Resumed: signals.Resumed(JOB),
        signals.Expired: signals.Expired("why"),
    }


def _variants(kind: type[Any], state: Any) -> list[tuple[str, Any]]:
    """Inputs of one kind that are worth a row of their own, each with what tells it apart."""
    sample = _samples().get(kind) or kind()
    info = messages.RunnerInfo(os="linux", arch="x86_64", version="")
    executing = isinstance(state, signals.Executing)
    match kind:
        case messages.Ready if isinstance(state, signals.Idle | signals.Polling):
            return [(" without `runner`", sample), (" with `runner`", messages.Ready(runner=info))]
        case signals.Judged if executing:
            return [(f": {verdict.value}", signals.Judged(verdict)) for verdict in signals.Verdict]
        case signals.Delivered if executing:
            return [(" of this job", sample), (" of another job", signals.Delivered(OTHER))]
        case signals.Superseded if executing:
            return [(" by a channel that took this job", sample), (" by a channel without it", signals.Superseded())]
    return [("", sample)]


def _input(kind: type[Any]) -> str:
    if issubclass(kind, msgspec.Struct):
        return f"`{kind.__struct_config__.tag}`"
    return kind.__name__


def _effect(effect: Any) -> str:
    match effect:
        case signals.Send(message):
            named = getattr(message, "job", None) if isinstance(message, messages.Ack) else None
            return f"**send `{message.__struct_config__.tag}`**" + (f" ({_NAMES[named]})" if named else "")
        case signals.Close(code, reason):
            return f"**close {int(code)}**" + (f" `{reason}`" if reason else "")
        case signals.ReadTimer(on):
            return "read timer restarts" if on else "read timer off"
        case signals.PollTimer(seconds):
            return "poll timer off" if seconds is None else "poll timer starts"
    return type(effect).__name__


def _state(state: Any) -> str:
    match state:
        case signals.Idle(may_resume):
            return "Idle" if may_resume else "Idle (no resuming)"
        case signals.Executing(unsure=True):
            return "Executing (start not known to be stored)"
    return type(state).__name__


def _session() -> str:
    text = ""
    for state in (signals.Idle(), signals.Idle(may_resume=False), signals.Polling(), signals.Executing(JOB), signals.Closed()):
        rows, ignored = [], []
        for kind in INPUTS:
            for suffix, given in _variants(kind, state):
                session = ServerSession()
                session.state = state
                effects = session.step(given)
                if effects or session.state != state:
                    after = "" if session.state == state else _state(session.state)
                    rows.append([_input(kind) + suffix, ", ".join(map(_effect, effects)), after])
                else:
                    ignored.append(_input(kind) + suffix)
        text += f"### {_state(state)}\n{sentence(type(state).__doc__)}\n\n" + table(["input", "effects, in order", "then"], rows)
        text += f"\nWithout effect here: {', '.join(ignored)}.\n\n"
    return text


def _glossary() -> str:
    rows = [[name, sentence(kind.__doc__)] for name, kind in sorted(vars(signals).items()) if _explains_itself(kind)]
    return table(["signal", "means"], rows)


def _explains_itself(kind: Any) -> bool:
    return (
        isinstance(kind, type)
        and kind.__module__ == signals.__name__
        and not (kind.__doc__ or f"{kind.__name__}(").startswith(f"{kind.__name__}(")
    )


def protocol() -> str:
    m = messages
    reasons = {name.lower(): value for name, value in vars(CloseReason).items() if name.isupper() and value}
    return f"""# The runner channel
<!-- written by docs/generate.py from runners/protocol; do not edit -->

One WebSocket per runner, `GET /v0/runners/{{runner}}/channel` with `Authorization: Bearer bencher_runner_…`. Every frame is a text, one JSON object, told
apart by its key `event`. Unknown keys are ignored, `null` is absence; what goes beyond the stock protocol travels in the key `ext`. A message has at most
`BENCHER_REQUEST_BODY_MAX_BYTES` ({limits.DEFAULT_MAX_MESSAGE_BYTES} bytes unless set).

A runner that offers extensions (`ready.ext`: `v` 1 and a list `features`) finds in the `ext` of `job` and `no_job` which of them this server has too
({", ".join(f"`{name}`" for name in negotiation.FEATURES)}) and `max_message_bytes`. With `re`, the ack to a message with `ext.id` carries the same as `ext.re`. Without an offer
nothing of this is sent.

## From the runner
{_messages(m.Ready, m.Running, m.Heartbeat, m.Completed, m.Failed, m.Canceled)}
## From the server
{_messages(m.Ack, m.Job, m.NoJob, m.Cancel, m.Update)}
## Parts
A `?` marks what may be absent.

{_parts(m.RunnerInfo, m.IterationOutput, m.Spec, m.JobConfig)}
## How a channel ends
{table(["code", "name"], [[str(int(code)), code.name.lower().replace("_", " ")] for code in CloseCode])}
{table(["reason", "text on the wire"], [[name.replace("_", " "), f"`{value}`"] for name, value in reasons.items()])}
## The server's session
A machine without input or output: `step(input) -> effects`. An effect that asks for something is the last of its step, and its outcome is the next input.

{_session()}## Signals
{_glossary()}"""


# -- lifecycle.md --------------------------------------------------------------------------------------------------
def lifecycle() -> str:
    transitions = [
        [str(action), ", ".join(sorted(rule.sources, key=lambda one: list(Status).index(Status(one)))), str(rule.target), rule.when]
        for action, rule in RULES.items()
    ]
    statuses = [
        [str(status), "a runner has it" if status in IN_FLIGHT else "final" if status in FINAL else "", ", ".join(a for a in RULES if status in RULES[a].sources) or "none"]
        for status in Status
    ]  # fmt: skip
    deliveries = [
        [event, str(status), ", then ".join(delivery.actions) or "nothing", str(RULES[delivery.actions[-1]].target if delivery.actions else status), str(delivery.keep)]
        for (event, status), delivery in DELIVERIES.items()
    ]  # fmt: skip
    return f"""# The life of a job
<!-- written by docs/generate.py from jobs/lifecycle.py; do not edit -->

Every change of status is one conditional UPDATE on the status before, and one row of the job's history. Nothing else writes a status.

## Statuses
{table(["status", "", "what may happen to it"], statuses)}
## Transitions
{table(["action", "from", "to", "trigger"], transitions)}
## Terminal messages
What a message of the job's own runner does. It is always acknowledged, once what there is to store is stored; of another runner's job, or an unknown one,
nothing changes.

{table(["message", "status now", "transitions", "status then", "output is stored"], deliveries)}"""


PAGES = {ROOT / "docs" / "protocol.md": protocol, ROOT / "docs" / "lifecycle.md": lifecycle}


def stale() -> list[Path]:
    """Pages that are not what the code says."""
    return [path for path, page in PAGES.items() if not path.is_file() or path.read_text() != page()]


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit("\n".join(f"{path}: stale, run docs/generate.py" for path in stale()) or 0)
    for path, page in PAGES.items():
        path.write_text(page())
