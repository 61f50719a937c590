"""The site's own table: signs of life of its parts."""

from __future__ import annotations

from datetime import datetime

from django.db import models

from bencher.core.clock import now


class Pulse(models.Model):
    """When a part of the installation last proved that it is alive."""

    name = models.CharField(max_length=32, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%Y-%m-%d %H:%M:%S}"

    @classmethod
    def beat(cls, name: str, *, now: datetime) -> None:
        cls.objects.update_or_create(name=name, defaults={"at": now})

    @classmethod
    def age(cls, name: str) -> float | None:
        """Seconds since the last sign of life; None when there never was one."""
        at = cls.objects.filter(name=name).values_list("at", flat=True).first()
        return None if at is None else (now() - at).total_seconds()
