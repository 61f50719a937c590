"""Outputs of jobs: named by what they hold."""

import hashlib
import uuid
from typing import Any

import pytest

from outputs.registry.storage import NotFound, get_job_output, get_storage, put_job_output

PROJECT, JOB = uuid.uuid4(), uuid.uuid4()


@pytest.fixture(autouse=True)
def _storage(settings: Any) -> None:
    settings.STORAGE_URL = f"memory://{uuid.uuid4()}"


@pytest.mark.parametrize("data", [b"", b'{"results":[]}', b"\x00\xff"])
def test_byte_for_byte(data: bytes) -> None:
    name = put_job_output(PROJECT, JOB, data)
    assert name == hashlib.sha256(data).hexdigest()
    assert get_job_output(PROJECT, JOB, name) == data
    assert [entry.key for entry in get_storage().list()] == [f"{PROJECT}/output/v0/jobs/{JOB}/{name}"]


def test_racing_deliveries_do_not_overwrite() -> None:
    first, second = put_job_output(PROJECT, JOB, b"first"), put_job_output(PROJECT, JOB, b"second")
    assert (get_job_output(PROJECT, JOB, first), get_job_output(PROJECT, JOB, second)) == (b"first", b"second")
    assert put_job_output(PROJECT, JOB, b"first") == first


def test_absent() -> None:
    with pytest.raises(NotFound):
        get_job_output(PROJECT, JOB, "0" * 64)
