"""A lost Redis ends no worker, whatever it holds."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from kombu import Connection
from kombu.transport import redis as stock

import bencher.celery
from bencher.broker import Transport

assert bencher.celery.app  # importing it names the transport


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_celery_uses_it(scheme: str) -> None:
    assert Connection(f"{scheme}://127.0.0.1:1/0").get_transport_cls() is Transport


class Delivered(dict[str, Any]):
    """What a channel has handed out; ``restored`` as kombu has it."""

    restored = False


def holding(transport: type[stock.Transport]) -> stock.Channel:
    """A channel whose connection is gone, with one message that was not acknowledged."""
    channel = transport.Channel.__new__(transport.Channel)
    channel.connection = type("Gone", (), {"client": None, "close_channel": lambda self, channel: None})()
    channel.closed, channel._consumers, channel._cycle = False, set(), None
    channel._qos = transport.Channel.QoS.__new__(transport.Channel.QoS)
    channel._qos.channel, channel._qos._delivered, channel._qos._dirty = channel, Delivered(tag="message"), set()
    channel._qos._flush = lambda: None
    channel._qos._on_collect = type("Never", (), {"cancel": lambda self: None})()
    return channel


def test_closing_a_channel_that_holds_messages_after_its_connection_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(AttributeError):  # the reason for all this; when it goes, so may bencher/broker.py
        stock.virtual.Channel.close(holding(stock.Transport))
    channel = holding(Transport)
    with caplog.at_level(logging.WARNING):
        stock.virtual.Channel.close(channel)
    assert channel.closed
    assert channel._qos._delivered == {}
    assert "1 messages are left to the sweep: AttributeError" in caplog.text
