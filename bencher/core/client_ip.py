"""Where a request comes from, as far as it can be believed (rest.md 2.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from django.conf import settings

Address = IPv4Address | IPv6Address
LOOPBACK = IPv4Address("127.0.0.1")


def client_ip(meta: Mapping[str, str]) -> str:
    """The caller's address of a request's ``META``, headers of the configured proxies believed."""
    return source_ip(
        meta.get("REMOTE_ADDR", ""),
        fly=meta.get("HTTP_FLY_CLIENT_IP", ""),
        forwarded=meta.get("HTTP_X_FORWARDED_FOR", ""),
        trusted=settings.BENCHER_TRUSTED_PROXIES,
    )


def source_ip(peer: str, *, fly: str = "", forwarded: str = "", trusted: Iterable[str] = ()) -> str:
    """``Fly-Client-IP``, else the first of ``X-Forwarded-For``, else the peer; the headers count only when the peer is one of ``trusted`` (networks).

    A peer without an address (a Unix socket) is a proxy on this machine. What is no address falls back to the peer, in the end to the loopback.
    """
    address = _address(peer) or LOOPBACK
    claimed = _address(fly) or _address(forwarded.split(",")[0])
    if claimed is not None and any(_within(address, network) for network in trusted):
        return str(claimed)
    return str(address)


def _address(text: str) -> Address | None:
    try:
        address = ip_address(text.strip().strip("[]").split("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _within(address: Address, network: str) -> bool:
    found = ip_network(network, strict=False)
    return address.version == (6 if isinstance(found, IPv6Network) else 4) and address in found
