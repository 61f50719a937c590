"""What jobs print and write, kept byte for byte beside the images.

An output is named by its content, so that deliveries that race never overwrite each other; the job's row names the one that counts.
"""

import hashlib
from uuid import UUID

from outputs.registry.storage.place import get_storage


def put_job_output(project_id: UUID, job_id: UUID, data: bytes) -> str:
    """Store durably; the SHA-256 (hexadecimal) that finds it again. Raises `StorageError`."""
    sha256 = hashlib.sha256(data).hexdigest()
    get_storage().put(output_key(project_id, job_id, sha256), data)
    return sha256


def get_job_output(project_id: UUID, job_id: UUID, sha256: str) -> bytes:
    """Raises `NotFound`, `StorageError`."""
    return get_storage().get(output_key(project_id, job_id, sha256))


def output_key(project_id: UUID, job_id: UUID, sha256: str) -> str:
    return f"{project_id}/output/v0/jobs/{job_id}/{sha256}"
