"""The layer in memory: cheap with many sockets, and it forgets nobody."""

from __future__ import annotations

import time

import pytest

from bencher import layers
from bencher.layers import MemoryLayer


async def test_looking_for_what_expired_is_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Channels looks through all groups at every receive."""
    clock = [1000.0]
    monkeypatch.setattr(layers.time, "monotonic", lambda: clock[0])
    cleaned: list[float] = []
    monkeypatch.setattr(layers.InMemoryChannelLayer, "_clean_expired", lambda self: cleaned.append(clock[0]))
    layer = MemoryLayer()
    name = await layer.new_channel()
    for _ in range(12):
        for number in range(10):
            await layer.send(name, {"type": "x", "number": number})
            assert (await layer.receive(name))["number"] == number
        clock[0] += 1
    assert cleaned == [1000.0, 1005.0, 1010.0]


START = time.time()


async def test_members_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Channels would forget a member after a day, connected or not."""
    layer = MemoryLayer()
    name = await layer.new_channel()
    await layer.group_add("nodes", name)
    monkeypatch.setattr("channels.layers.time.time", lambda: START + 400 * 86400)
    layer._clean_expired()
    await layer.group_send("nodes", {"type": "hello"})
    assert await layer.receive(name) == {"type": "hello"}
