"""What the registry knows: which content each project holds, under which names. The bytes are in the storage.

Every stored object has a name of its own, is written once, and belongs to exactly one row, so deleting an object can never hurt a push of the
same content: that makes another. The row comes first: an object is covered by an `Upload` while it grows and by a `Blob` from the moment the
upload is gone (one transaction), so what no row covers is garbage.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.db import models
from django.db.models import Q

from bencher.core.ids import uuid7
from bencher.projects.models import Project

DIGEST_LENGTH = 135  # "sha512:" and 128 digits
TAG_LENGTH = 128


class ByteOrderedField(models.CharField):  # type: ignore[type-arg]  # not generic at run time
    """Text that the database sorts and compares by its bytes, whatever its locale (SQLite always does)."""

    def db_parameters(self, connection: Any) -> Any:
        return {**super().db_parameters(connection), "collation": "C" if connection.vendor == "postgresql" else None}


class Repository(Project):
    """A project seen as an image repository."""

    class Meta:
        proxy = True
        verbose_name_plural = "repositories"


class Blob(models.Model):
    """One content of a project. ``touched``: last time a push relied on it; garbage collection leaves the recent ones alone."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="blobs", db_index=False)
    digest = models.CharField(max_length=DIGEST_LENGTH)
    size = models.BigIntegerField()
    key = models.CharField(max_length=255)
    created = models.DateTimeField()
    touched = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ("created", "id")
        constraints = [models.UniqueConstraint(fields=["project", "digest"], name="blob_digest_in_project")]
        indexes = [models.Index(fields=["key"], name="blob_key")]

    def __str__(self) -> str:
        return self.digest


class Manifest(models.Model):
    """An image manifest or an index. ``artifact_type`` and ``annotations`` are what the list of referrers shows."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="manifests", db_index=False)
    digest = models.CharField(max_length=DIGEST_LENGTH)
    media_type = models.CharField(max_length=100)
    size = models.IntegerField()
    key = models.CharField(max_length=255)
    artifact_type = models.CharField(max_length=255, blank=True)
    subject = models.CharField(max_length=DIGEST_LENGTH, null=True, blank=True)
    annotations = models.JSONField(default=dict, blank=True)
    created = models.DateTimeField()
    last_pulled = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created", "id")
        constraints = [models.UniqueConstraint(fields=["project", "digest"], name="manifest_digest_in_project")]
        indexes = [
            models.Index(fields=["project", "subject"], name="manifest_subject", condition=Q(subject__isnull=False)),
            models.Index(fields=["key"], name="manifest_key"),
        ]

    def __str__(self) -> str:
        return self.digest


class ManifestReference(models.Model):
    """A manifest needs this content of its project: blobs that nothing needs are garbage."""

    manifest = models.ForeignKey(Manifest, on_delete=models.CASCADE, related_name="references", db_index=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    digest = models.CharField(max_length=DIGEST_LENGTH)

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["manifest", "digest"], name="manifest_reference_once")]
        indexes = [models.Index(fields=["project", "digest"], name="manifest_reference_digest")]

    def __str__(self) -> str:
        return str(self.digest)


class Tag(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tags", db_index=False)
    name = ByteOrderedField(max_length=TAG_LENGTH)
    manifest = models.ForeignKey(Manifest, on_delete=models.CASCADE, related_name="tags")
    created = models.DateTimeField()
    modified = models.DateTimeField()

    class Meta:
        ordering = ("name", "id")
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="tag_name_in_project")]

    def __str__(self) -> str:
        return str(self.name)


class Upload(models.Model):
    """A blob that is arriving. ``size`` bytes are safe; ``writer`` holds it until ``writer_until``; ``state`` is the storage's."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="uploads")
    key = models.CharField(max_length=255)
    size = models.BigIntegerField(default=0)
    state = models.JSONField(default=dict)
    writer = models.UUIDField(null=True, blank=True)
    writer_until = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField()
    touched = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ("created", "id")
        indexes = [models.Index(fields=["key"], name="upload_key")]

    def __str__(self) -> str:
        return f"upload {self.id}"
