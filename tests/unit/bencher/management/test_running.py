"""What the commands that run a server share."""

from __future__ import annotations

import importlib.util
import resource
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from bencher.management import running


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:6610", ("127.0.0.1", 6610)),
        ("localhost:0", ("localhost", 0)),
        (":80", ("0.0.0.0", 80)),
        ("[::1]:6610", ("::1", 6610)),
        ("[::]:65535", ("::", 65535)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert running.parse_address(text) == address


@pytest.mark.parametrize("text", ["", "6610", "host", "host:", "host:http", "host:65536", "host:-1", "host:٣", "host: 80"])
def test_wrong_addresses(text: str) -> None:
    with pytest.raises(CommandError, match="--bind: expected HOST:PORT"):
        running.parse_address(text)


@pytest.mark.parametrize(
    ("soft", "hard", "set_to"),
    [
        (1024, 4096, (4096, 4096)),
        (1024, 1 << 30, (running.OPEN_FILES, 1 << 30)),
        (1024, resource.RLIM_INFINITY, (running.OPEN_FILES, resource.RLIM_INFINITY)),
        (4096, 4096, None),
        (running.OPEN_FILES * 2, running.OPEN_FILES * 4, None),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None),
    ],
)
def test_open_files(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, set_to: tuple[int, int] | None) -> None:
    """Raised as far as the user may, never lowered."""
    calls: list[Any] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: calls.append(limits))
    running.raise_file_limit()
    assert calls == ([] if set_to is None else [set_to])


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        ([], None),
        (["--data", "x"], "x"),
        (["--data=x y"], "x y"),
        (["--bind", "h:1", "--data", "x"], "x"),
        (["--data"], None),
        (["--", "--data", "x"], None),
        (["--database", "x"], None),
    ],
)
def test_the_data_folder_of_the_command_line(arguments: list[str], folder: str | None) -> None:
    """Settings need it before Django has read the command line."""
    path = Path(__file__).resolve().parents[4] / "manage.py"
    spec = importlib.util.spec_from_file_location("manage_under_test", path)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    manage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(manage)
    assert manage.option(arguments, "--data") == folder
