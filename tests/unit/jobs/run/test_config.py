"""jobs/run/config.py: what is stored is what the runner will read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

from bencher.core.newtypes import dec_hook
from jobs.run.config import encode, job_config
from jobs.run.request import RunRequest
from runners.protocol.messages import JobConfig, decode_config, ext_of

PROJECT = UUID(int=7)
DIGEST = "sha256:" + "0" * 64
BASE = {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:00Z", "results": []}


def stored(job: dict[str, Any] | None = None, **run: Any) -> str:
    request = msgspec.convert({**BASE, "job": {"image": "demo:v1", **(job or {})}, **run}, type=RunRequest, dec_hook=dec_hook)
    return encode(job_config(request, registry="http://localhost:6610", project=PROJECT, digest=DIGEST, timeout=60))


def test_what_was_not_given_is_not_there() -> None:
    assert msgspec.json.decode(stored()) == {
        "registry": "http://localhost:6610/",
        "project": str(PROJECT),
        "digest": DIGEST,
        "image": "demo:v1",
        "timeout": 60,
    }


def test_everything_goes_through() -> None:
    job = {
        "entrypoint": ["/bin/sh", "-c"],
        "cmd": ["cargo", "é 🚀"],
        "env": {"EMPTY": "", "CI": "true"},
        "file_paths": ["/out/a"],
        "build_time": True,
        "file_size": False,
        "iter": 0,
        "allow_failure": True,
    }
    got = decode_config(stored({**job, "backdate": "2020-01-02T05:04:05.6+02:00"}, settings={"average": "median", "fold": "min"}))
    assert {name: getattr(got, name) for name in job} == job
    assert (got.average, got.fold) == ("median", "min")
    assert got.backdate == datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_empty_lists_are_something_else_than_none() -> None:
    got = decode_config(stored({"entrypoint": [], "cmd": [], "env": {}}))
    assert (got.entrypoint, got.cmd, got.env) == ([], [], {})


@pytest.mark.parametrize("registry", ["http://localhost:6610", "http://localhost:6610/"])
def test_the_registry_ends_in_one_slash(registry: str) -> None:
    request = msgspec.convert({**BASE, "job": {"image": "x"}}, type=RunRequest, dec_hook=dec_hook)
    assert job_config(request, registry=registry, project=PROJECT, digest=DIGEST, timeout=1).registry == "http://localhost:6610/"


def test_extensions_are_kept_with_their_version() -> None:
    got = decode_config(stored({"ext": {"result": {"protocol": 1, "mode": "file"}}}))
    assert ext_of(got) == {"v": 1, "result": {"protocol": 1, "mode": "file"}}
    assert bytes(decode_config(stored({"ext": {}})).ext) == b""


def test_a_local_run_has_no_configuration() -> None:
    request = msgspec.convert(BASE, type=RunRequest, dec_hook=dec_hook)
    with pytest.raises(ValueError, match="no job"):
        job_config(request, registry="http://x", project=PROJECT, digest=DIGEST, timeout=1)


def test_the_type_is_the_protocols() -> None:
    assert isinstance(decode_config(stored()), JobConfig)
