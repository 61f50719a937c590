"""jobs/run/request.py: defaults from the context, limits of lists, numbers and texts (rest.md 2.1, 2.2)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bencher.core.newtypes import dec_hook
from jobs.run.request import RunRequest

BASE = {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:00Z", "results": []}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def read(**values: Any) -> RunRequest:
    return msgspec.json.decode(msgspec.json.encode({**BASE, **values}), type=RunRequest, dec_hook=dec_hook)


@pytest.mark.parametrize(
    ("values", "branch", "commit", "testbed"),
    [
        pytest.param({}, "main", None, "localhost", id="nothing"),
        pytest.param({"branch": "own", "hash": "c" * 40, "testbed": "mine"}, "own", "c" * 40, "mine", id="given"),
        pytest.param(
            {
                "context": {
                    "bencher.dev/v0/branch/ref/name": "topic",
                    "bencher.dev/v0/branch/hash": COMMIT,
                    "bencher.dev/v0/testbed/os": "macOS",
                }
            },
            "topic",
            COMMIT,
            "macOS",
            id="context",
        ),
        pytest.param(
            {
                "branch": "own",
                "testbed": "mine",
                "hash": "c" * 40,
                "context": {"bencher.dev/v0/branch/ref/name": "topic", "bencher.dev/v0/branch/hash": COMMIT},
            },
            "own",
            "c" * 40,
            "mine",
            id="given-wins",
        ),
        pytest.param(
            {
                "context": {
                    "bencher.dev/v0/branch/ref/name": "not a branch",
                    "bencher.dev/v0/branch/hash": "short",
                    "bencher.dev/v0/testbed/os": " x",
                }
            },
            "main",
            None,
            "localhost",
            id="unreadable-context",
        ),
        pytest.param({"context": {"more": "y"}}, "main", None, "localhost", id="foreign-context"),
    ],
)
def test_defaults(values: dict[str, Any], branch: str, commit: str | None, testbed: str) -> None:
    request = read(**values)
    assert (request.branch_name, request.commit, request.local_testbed) == (branch, commit, testbed)


def test_the_clients_own_request_is_read() -> None:
    """The example of rest.md 2.8, nulls included."""
    request = read(
        project="demo",
        branch=None,
        hash=None,
        start_point=None,
        testbed=None,
        thresholds=None,
        settings={"adapter": "magic"},
        context={"bencher.dev/v0/testbed/os": "Linux"},
        job={
            "image": "demo:v1",
            "spec": "small",
            "entrypoint": ["/bench"],
            "cmd": ["/bin/sh", "-c", "run --all"],
            "env": {"A": "1"},
            "timeout": 120,
            "iter": 3,
        },
    )
    assert request.job is not None
    assert (request.job.image, request.job.timeout, request.job.iter) == ("demo:v1", 120, 3)


def test_all_maxima_are_accepted() -> None:
    request = read(
        job={
            "image": "x",
            "entrypoint": ["e"] * 64,
            "cmd": ["c"] * 64,
            "env": {f"V{number}": "" for number in range(255)},
            "file_paths": ["/f"] * 255,
            "timeout": 2**31 - 1,
            "iter": 2**32 - 1,
            "priority": 1000,
        }
    )
    assert request.job is not None
    assert len(request.job.env or {}) == 255


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("image", None),
        ("image", 5),
        ("spec", "Not A Slug"),
        ("entrypoint", ["x"] * 65),
        ("cmd", ["x"] * 65),
        ("cmd", "one word"),
        ("cmd", [1]),
        ("env", {f"V{number}": "" for number in range(256)}),
        ("env", ["A=1"]),
        ("env", {"A": 1}),
        ("file_paths", ["/x"] * 256),
        ("file_paths", "/x"),
        ("timeout", 0),
        ("timeout", -1),
        ("timeout", 2**31),
        ("timeout", "60"),
        ("timeout", 1.5),
        ("iter", -1),
        ("iter", 2**32),
        ("build_time", "yes"),
        ("backdate", "yesterday"),
        ("priority", -1),
        ("priority", 1001),
        ("ext", []),
    ],
    ids=lambda value: str(value)[:20],
)
def test_nonsense_is_named(field: str, value: object) -> None:
    with pytest.raises(msgspec.ValidationError, match=rf"\$\.job\.{field}"):
        read(job={"image": "x", field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("branch", ""),
        ("hash", "abc"),
        ("hash", "g" * 40),
        ("testbed", ""),
        ("context", []),
        ("context", {"a": 1}),
        ("results", "text"),
        ("project", "A B"),
        ("idempotency_key", "not-a-uuid"),
        ("start_time", "noon"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_wrong_fields_are_named(field: str, value: object) -> None:
    with pytest.raises(msgspec.ValidationError, match=rf"\$\.{field}"):
        read(**{field: value})
