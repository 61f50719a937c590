"""`runner up`: serve a bench machine until stopped."""

import asyncio
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from runners.agent import channel, machine, options, scrub
from runners.agent.driver import Driver
from runners.agent.errors import RunnerError
from runners.agent.progress import Progress
from runners.agent.spool import Spool
from runners.agent.tuning import preflight
from runners.agent.tuning.guard import tuned
from runners.agent.tuning.knobs import Tuning
from runners.agent.update import own_version
from runners.protocol import messages
from runners.protocol.agent import AgentSession
from runners.protocol.agent_signals import Pending
from runners.protocol.agent_trimming import HEADROOM_BYTES
from runners.protocol.limits import DEFAULT_MAX_MESSAGE_BYTES

_SANDBOXES = click.Choice([machine.BUBBLEWRAP, machine.RUNC])


@click.command()
@click.option(
    "--host", type=options.HostType(), envvar="BENCHER_HOST", default="http://localhost:6610", show_default=True, show_envvar=True
)
@click.option("--key", type=options.KeyType(), envvar="BENCHER_RUNNER_KEY", show_envvar=True, help="The runner's key.")
@click.option(
    "--key-file", type=click.Path(path_type=Path, exists=True, dir_okay=False), envvar="BENCHER_RUNNER_KEY_FILE", show_envvar=True
)
@click.option(
    "--runner", type=options.RunnerType(), envvar="BENCHER_RUNNER", show_envvar=True, required=True, help="UUID or slug of this runner."
)
@click.option("--poll-timeout", type=options.SECONDS, default=55, show_default=True, help="Seconds to wait for a job before asking again.")
@click.option(
    "--sandbox", type=_SANDBOXES, envvar="BENCHER_RUNNER_SANDBOX", default=machine.BUBBLEWRAP, show_default=True, show_envvar=True
)
@click.option("--firecracker-as", type=_SANDBOXES, help="Run specs that ask for firecracker in this sandbox; you vouch for its isolation.")
@click.option("--sandbox-log-level", type=options.LOG_LEVELS, default="warning", help="Accepted for compatibility.", hidden=True)
@click.option(
    "--danger-allow-no-sandbox",
    is_flag=True,
    envvar="BENCHER_DANGER_ALLOW_NO_SANDBOX",
    show_envvar=True,
    help="Run specs without a sandbox on the host.",
)
@click.option("--no-auto-update", is_flag=True, envvar="BENCHER_NO_AUTO_UPDATE", help="Never describe this program to the server.")
@click.option(
    "--update-channel",
    type=click.Choice(["stable", "canary"]),
    envvar="BENCHER_UPDATE_CHANNEL",
    help="Ask the server for news of this channel.",
)
@click.option(
    "--max-download-size", type=options.POSITIVE, help="Accepted for compatibility: this runner downloads no program.", hidden=True
)
@click.option(
    "--backoff",
    type=click.FloatRange(min=0),
    default=channel.BACKOFF_SECONDS,
    hidden=True,
    help="First pause between connects, in seconds.",
)
@options.shared
def up(**given: Any) -> None:
    """Connect to a server and run its jobs until stopped."""
    if given["no_auto_update"] and (given["update_channel"] or given["max_download_size"]):
        raise click.UsageError("--no-auto-update cannot be used with --update-channel or --max-download-size")
    key = _key(given)
    scrub.scrub(key)
    progress = options.progress(given)
    try:
        _serve(key, progress, given)
    except RunnerError as error:
        raise click.ClickException(str(error)) from None
    finally:
        progress.close()


def _key(given: dict[str, Any]) -> str:
    if given["key"] and given["key_file"]:
        raise click.UsageError("--key and --key-file cannot be used together")
    if given["key"]:
        return str(given["key"])
    credential = Path(os.environ.get("CREDENTIALS_DIRECTORY", "/nonexistent"), "runner-key")
    path = given["key_file"] or (credential if credential.exists() else None)
    if path is None:
        raise click.UsageError("Missing option '--key' (env var: 'BENCHER_RUNNER_KEY') or '--key-file'.")
    return options.KeyType().convert(path.read_text().strip(), None, click.get_current_context())


def _serve(key: str, progress: Progress, given: dict[str, Any]) -> None:
    tuning: Tuning = given["tuning"]
    default = machine.HOST if given["danger_allow_no_sandbox"] else given["sandbox"]
    with ExitStack() as held:
        state = held.enter_context(machine.state_folder((given["state_dir"] or options.default_state()) / given["runner"]))
        layout = held.enter_context(tuned(tuning, progress.info))
        for text in preflight.warnings():
            progress.warn(text)
        choice = machine.Choice(default, given["firecracker_as"])
        executor = held.enter_context(
            machine.machine(state, layout, choice, options.limits(given), options.settings(given, layout), progress)
        )
        spool = Spool(state / "spool")
        for message in spool.interrupted():
            progress.warn(f"job {message.job}: the runner was killed while it ran; reporting it as failed")
            spool.file(message)
        session = AgentSession(
            poll_timeout=given["poll_timeout"], pending=list(_pending(spool, progress)), runner=_description(given), ext=_offer()
        )
        endpoint = channel.Endpoint(given["host"], given["runner"], key)
        driver = Driver(
            endpoint,
            session,
            spool,
            executor,
            progress,
            agent=f"bencher-runner/{own_version()}",
            grace=given["grace_period"],
            pace=channel.Pace(given["backoff"]),
        )
        asyncio.run(driver.run())


def _pending(spool: Spool, progress: Progress) -> "list[Pending]":
    pending = list(spool.load())
    if pending:
        progress.info(f"{len(pending)} results of an earlier run are still to be delivered")
    return pending


def _description(given: dict[str, Any]) -> messages.RunnerInfo | None:
    """Only when the operator asked for news: the object makes a server offer a program that this one is not (typed-results D2)."""
    if given["no_auto_update"] or not given["update_channel"]:
        return None
    arch = {"x86_64": "x86_64", "aarch64": "aarch64"}.get(os.uname().machine)
    if arch is None:
        return None
    canary = "canary" if given["update_channel"] == "canary" else None
    return messages.RunnerInfo(os="linux", arch=arch, version=own_version(), channel=canary)  # type: ignore[arg-type]


def _offer() -> dict[str, Any]:
    agent = {"name": "bencher-runner", "version": own_version()}
    return {"v": 1, "features": ["resume"], "agent": agent, "max_output_bytes": DEFAULT_MAX_MESSAGE_BYTES - HEADROOM_BYTES}
