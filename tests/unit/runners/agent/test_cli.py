"""The command line: stock flags, clear refusals, no key in any text."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from runners.agent import local, options, scrub, up
from runners.agent.cli import main
from runners.agent.tuning.knobs import Tuning

KEY = "bencher_runner_" + "k" * 30
UP = ("up", "--key", KEY, "--runner", "bench-1")


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What reaches the work of each command."""
    seen: dict[str, Any] = {}

    def serve(key: str, progress: Any, values: dict[str, Any]) -> None:
        seen.update(values, key=key)

    def execute(held: Any, progress: Any, values: dict[str, Any]) -> Any:
        seen.update(values)
        return local.Outcome()

    monkeypatch.setattr(up, "_serve", serve)
    monkeypatch.setattr(local, "_execute", execute)
    monkeypatch.setattr(scrub, "scrub", lambda _: None)
    for name in list(os.environ):
        if name.startswith("BENCHER_"):
            monkeypatch.delenv(name)
    return seen


def run(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(main, arguments, env=env)


class TestUp:
    def test_the_stock_flags(self, given: dict[str, Any]) -> None:
        result = run(
            *UP, "--host", "https://bench.example", "--poll-timeout", "900", "--max-output-size", "5", "--max-file-count", "6", "--max-symlinks", "7",
            "--grace-period", "8", "--sandbox-log-level", "DEBUG", "--danger-allow-no-sandbox", "--update-channel", "canary", "--max-download-size", "9",
            "--aslr", "--swappiness", "60", "--governor", "powersave", "--perf-event-paranoid", "-1", "--thp", "LEAVE",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        assert given["poll_timeout"] == 900
        assert (given["max_output_size"], given["max_file_count"], given["max_symlinks"], given["grace_period"]) == (5, 6, 7, 8)
        assert given["tuning"] == Tuning(aslr=False, swappiness=60, governor="powersave", thp=None)

    def test_the_defaults(self, given: dict[str, Any]) -> None:
        assert run(*UP).exit_code == 0
        assert (given["poll_timeout"], given["grace_period"], given["max_output_size"], given["max_file_count"]) == (55, 1, 25 << 20, 255)
        assert given["tuning"] == Tuning()
        assert not given["danger_allow_no_sandbox"]

    def test_the_environment(self, given: dict[str, Any]) -> None:
        result = run("up", BENCHER_HOST="http://h", BENCHER_RUNNER_KEY=KEY, BENCHER_RUNNER="r", BENCHER_DANGER_ALLOW_NO_SANDBOX="true")
        assert result.exit_code == 0, result.output
        assert (given["host"], given["key"], given["runner"], given["danger_allow_no_sandbox"]) == ("http://h", KEY, "r", True)

    def test_a_key_from_a_file_or_a_systemd_credential(self, given: dict[str, Any], tmp_path: Path) -> None:
        (tmp_path / "runner-key").write_text(f"{KEY}\n")
        assert run("up", "--runner", "r", "--key-file", str(tmp_path / "runner-key")).exit_code == 0
        assert run("up", "--runner", "r", CREDENTIALS_DIRECTORY=str(tmp_path)).exit_code == 0
        assert given["key"] == KEY

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--poll-timeout", "0"), "--poll-timeout"),
            (("--poll-timeout", "901"), "--poll-timeout"),
            (("--grace-period", "0"), "--grace-period"),
            (("--swappiness", "201"), "--swappiness"),
            (("--perf-event-paranoid", "5"), "--perf-event-paranoid"),
            (("--thp", "sometimes"), "--thp"),
            (("--host", "bench.example"), "--host"),
            (("--host", "ftp://x"), "--host"),
            (("--host", "http://x:99999"), "--host"),
            (("--host", "http://user:pw@x"), "--host"),
            (("--runner", "Not A Slug"), "--runner"),
            (("--runner", "a--b"), "--runner"),
            (("--max-output-size", "0"), "--max-output-size"),
            (("--no-auto-update", "--update-channel", "stable"), "--no-auto-update"),
            (("--no-auto-update", "--max-download-size", "1"), "--no-auto-update"),
            (("-k", "x"), "-k"),
        ],
    )
    def test_usage_errors(self, given: dict[str, Any], arguments: tuple[str, ...], message: str) -> None:
        result = run(*UP, *arguments)
        assert result.exit_code == 2
        assert message in result.output

    @pytest.mark.parametrize(
        "key", ["secret-in-the-wrong-form", f"{KEY}k", KEY[:-1], KEY[:-1] + "é", KEY[:-1] + "\n", "bencher_user_" + "k" * 30]
    )
    def test_a_bad_key_is_refused_and_not_repeated(self, given: dict[str, Any], key: str) -> None:
        result = run("up", "--runner", "r", "--key", key)
        assert result.exit_code == 2
        assert "30 ASCII letters and digits" in result.output
        assert key not in result.output

    def test_no_key(self, given: dict[str, Any]) -> None:
        result = run("up", "--runner", "r")
        assert result.exit_code == 2
        assert "BENCHER_RUNNER_KEY" in result.output

    def test_a_description_only_when_asked_for(self) -> None:
        assert up._description({"no_auto_update": False, "update_channel": None}) is None
        assert up._description({"no_auto_update": True, "update_channel": None}) is None
        info = up._description({"no_auto_update": False, "update_channel": "canary"})
        assert info is not None
        assert (info.os, info.channel, info.checksum) == ("linux", "canary", None)


class TestRun:
    def test_words(self, given: dict[str, Any]) -> None:
        result = run(
            "run",
            "--image",
            "i",
            "--entrypoint",
            "a",
            "b",
            "--cmd=-c",
            "x y",
            "--entrypoint",
            "c",
            "--env",
            "A=1",
            "--env",
            "B=",
            "--env",
            "A=2=3",
        )
        assert result.exit_code == 0, result.output
        assert given["entrypoint"] == ("a", "b", "c")
        assert given["cmd"] == ("-c", "x y")
        assert dict(given["env"]) == {"A": "2=3", "B": ""}

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--cmd",), "1 to 64 values"),
            (("--cmd", *"x" * 65), "1 to 64 values"),
            (("--cmd", "-c"), "1 to 64 values"),
            (("--env", "NOPE"), "KEY=VALUE"),
            (("--env", "=x"), "KEY=VALUE"),
            (("--sandbox", "Firecracker"), "--sandbox"),
            (("--iter", "-1"), "--iter"),
            (("--iter", str(2**32)), "--iter"),
            (("--timeout", "0"), "--timeout"),
        ],
    )
    def test_usage_errors(self, given: dict[str, Any], arguments: tuple[str, ...], message: str) -> None:
        result = run("run", "--image", "i", *arguments)
        assert result.exit_code == 2
        assert message in result.output

    def test_defaults(self, given: dict[str, Any]) -> None:
        assert run("run", "--image", "i").exit_code == 0
        assert (given["vcpus"], given["memory"], given["disk"], given["timeout"], given["iterations"]) == (1, 512, 1024, 300, 1)


def test_help_and_version() -> None:
    assert run("--help").exit_code == 0
    assert run("--version").output.startswith("runner, version ")
    assert run("vmm").exit_code == 2


def test_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/a:/var/lib/b")
    assert options.default_state() == Path("/var/lib/a")
    monkeypatch.delenv("STATE_DIRECTORY")
    monkeypatch.setattr(options.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert options.default_state() == tmp_path / "bencher-runner"


def test_a_key_leaves_the_arguments_and_the_environment() -> None:
    probe = (
        "import os, sys; from pathlib import Path; from runners.agent.scrub import scrub\n"
        "scrub(sys.argv[1])\n"
        "assert 'BENCHER_RUNNER_KEY' not in os.environ and os.environ['OTHER'] == 'kept'\n"
        "print(Path('/proc/self/cmdline').read_bytes() + Path('/proc/self/environ').read_bytes())"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, KEY],
        env={"BENCHER_RUNNER_KEY": KEY, "OTHER": "kept"},
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        check=True,
    )
    assert KEY not in done.stdout
    assert "OTHER=kept" in done.stdout


def test_the_program_needs_no_server() -> None:
    probe = "import sys, runners.agent.cli; print({name.partition('.')[0] for name in sys.modules} & {'django', 'channels', 'celery', 'bencher', 'jobs', 'outputs'})"
    done = subprocess.run([sys.executable, "-c", probe], cwd=Path(__file__).parents[4], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
