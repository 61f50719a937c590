"""What REST takes about specs (rest.md 4.2)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bencher.core.newtypes import PositiveI32, PositiveI64, ResourceName, Slug


class JsonNewSpec(msgspec.Struct, kw_only=True):
    name: ResourceName
    slug: Slug | None = None
    os: Literal["linux", "macos", "windows"]
    architecture: Literal["x86_64", "aarch64"]
    sandbox: Literal["firecracker"] | None = None
    cpu: PositiveI32
    memory: PositiveI64
    """Bytes."""
    disk: PositiveI64
    """Bytes."""
    network: bool | None = None
    fallback: bool | None = None

    def hardware(self) -> dict[str, Any]:
        fields = ("os", "architecture", "sandbox", "cpu", "memory", "disk")
        return {**{name: getattr(self, name) for name in fields}, "network": bool(self.network)}


class JsonUpdateSpec(msgspec.Struct, kw_only=True):
    """The hardware never changes."""

    name: ResourceName | None = None
    slug: Slug | None = None
    fallback: bool | None = None
    archived: bool | None = None
