"""bencher/core/client_ip.py: whose headers are believed."""

from __future__ import annotations

import pytest

from bencher.core.client_ip import client_ip, source_ip

LOOPBACK = ("127.0.0.0/8", "::1/128")


@pytest.mark.parametrize(
    ("peer", "fly", "forwarded", "expected"),
    [
        pytest.param("127.0.0.1", "", "", "127.0.0.1", id="peer"),
        pytest.param("203.0.113.9", "", "", "203.0.113.9", id="far-peer"),
        pytest.param("127.0.0.1", "", "192.0.2.1", "192.0.2.1", id="forwarded"),
        pytest.param("127.0.0.1", "", "192.0.2.1, 10.0.0.1", "192.0.2.1", id="first-of-several"),
        pytest.param("127.0.0.1", "192.0.2.7", "192.0.2.1", "192.0.2.7", id="fly-wins"),
        pytest.param("127.0.0.1", "nonsense", "192.0.2.1", "192.0.2.1", id="fly-nonsense"),
        pytest.param("127.0.0.1", "", "not-an-ip", "127.0.0.1", id="ip-bad"),
        pytest.param("127.0.0.1", "", "", "127.0.0.1", id="empty"),
        pytest.param("203.0.113.9", "192.0.2.7", "192.0.2.1", "203.0.113.9", id="untrusted"),
        pytest.param("::1", "", "2001:db8::5", "2001:db8::5", id="v6"),
        pytest.param("::1", "", "[2001:db8::5]", "2001:db8::5", id="v6-brackets"),
        pytest.param("fe80::1%eth0", "", "192.0.2.1", "fe80::1", id="v6-zone"),
        pytest.param("::ffff:127.0.0.1", "", "192.0.2.1", "192.0.2.1", id="mapped-peer"),
        pytest.param("", "", "192.0.2.1", "192.0.2.1", id="unix-socket"),
        pytest.param("unix:", "", "", "127.0.0.1", id="no-address"),
    ],
)
def test_source(peer: str, fly: str, forwarded: str, expected: str) -> None:
    assert source_ip(peer, fly=fly, forwarded=forwarded, trusted=LOOPBACK) == expected


def test_nobody_is_trusted() -> None:
    assert source_ip("127.0.0.1", forwarded="192.0.2.1", trusted=()) == "127.0.0.1"


def test_of_a_request(settings) -> None:
    settings.BENCHER_TRUSTED_PROXIES = ["10.0.0.0/8"]
    meta = {"REMOTE_ADDR": "10.1.2.3", "HTTP_X_FORWARDED_FOR": "192.0.2.1"}
    assert client_ip(meta) == "192.0.2.1"
    assert client_ip({**meta, "REMOTE_ADDR": "127.0.0.1"}) == "127.0.0.1"
