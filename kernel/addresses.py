"""Read IP addresses, and tell whose address a request came from when proxies stand between."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# Stands for a caller without an IP address: a Unix socket.
NO_ADDRESS = "unknown"
_LONGEST = 64


@lru_cache(maxsize=16_384)
def parse_address(text: str) -> Address | None:
    """Read an address as sockets and proxies write it (`192.0.2.1:443`, `[2001:db8::1]:443`, `fe80::1%eth0`); None otherwise.

    An IPv4 address inside IPv6 (`::ffff:192.0.2.1`) is the IPv4 address, so that a dual-stack socket counts it once.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def parse_network(text: str) -> Network | None:
    """Read `10.0.0.0/8` or a single address; None otherwise, host bits that are set included."""
    try:
        return ip_network(text)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Say whether the address, or the name localhost, leads to this machine only."""
    address = parse_address(host)
    return address.is_loopback if address is not None else host.lower() == "localhost"


def client_address(peer: str | None, forwarded_for: Sequence[str], trusted: Sequence[Network]) -> str:
    """Give the address of the client: the socket's, or, behind trusted proxies, the right-most entry that is not one of them.

    `forwarded_for` are the values of the X-Forwarded-For headers in their order. An entry that is no address ends the search, and
    the proxy that wrote it stands for the client: what lies further left may be invented.
    """
    if not trusted or not forwarded_for:
        return _written(peer)
    socket = parse_address(peer) if peer else None
    if socket is None:
        return NO_ADDRESS
    nearest = socket
    if _is_among(socket, trusted):
        entries = ",".join(forwarded_for).split(",")
        for entry in reversed(entries):
            address = parse_address(entry)
            if address is None:
                break
            nearest = address
            if not _is_among(address, trusted):
                break
    return str(nearest)


@lru_cache(maxsize=16_384)
def _written(peer: str | None) -> str:
    socket = parse_address(peer) if peer else None
    return NO_ADDRESS if socket is None else str(socket)


@lru_cache(maxsize=16_384)
def counted_as(address: str) -> str:
    """Give the name under which requests of the address are counted: itself, or its /64 in IPv6 (decisions section 2)."""
    parsed = parse_address(address)
    if isinstance(parsed, IPv6Address):
        return f"{IPv6Address(int(parsed) >> 64 << 64)}/64"
    return address


def _is_among(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
