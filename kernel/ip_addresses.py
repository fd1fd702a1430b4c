"""Parse IP addresses and determine a request's client address behind proxies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

IPAddress: TypeAlias = IPv4Address | IPv6Address
IPNetwork: TypeAlias = IPv4Network | IPv6Network

# The address of a caller without an IP address (Unix socket).
NO_ADDRESS = "unknown"
_MAX_LENGTH = 64


@lru_cache(maxsize=16_384)
def parse_ip_address(text: str) -> IPAddress | None:
    """Parse an address as sockets and proxies write it (`192.0.2.1:443`, `[2001:db8::1]:443`, `fe80::1%eth0`); None if invalid.

    An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) becomes the IPv4 address, so that a dual-stack socket counts it once.
    """
    text = text.strip()
    if len(text) > _MAX_LENGTH:
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


def parse_network(text: str) -> IPNetwork | None:
    """Parse `10.0.0.0/8` or a single address; None if invalid or if host bits are set."""
    try:
        return ip_network(text)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Return whether the address, or the name localhost, is reachable from this machine only."""
    address = parse_ip_address(host)
    return address.is_loopback if address is not None else host.lower() == "localhost"


def client_address(peer: str | None, forwarded_for: Sequence[str], trusted: Sequence[IPNetwork]) -> str:
    """Return the client's address: the peer's or, behind trusted proxies, the right-most X-Forwarded-For entry that isn't one.

    Without such entries it is `peer_address`.

    `forwarded_for` holds the X-Forwarded-For values in order. An invalid entry ends the search, and the proxy that wrote it counts as
    the client: anything further left may be forged.
    """
    if not trusted or not forwarded_for:
        return peer_address(peer)
    client = parse_ip_address(peer) if peer else None
    if client is None:
        return NO_ADDRESS
    if _is_in(client, trusted):
        entries = ",".join(forwarded_for).split(",")
        for entry in reversed(entries):
            address = parse_ip_address(entry)
            if address is None:
                break
            client = address
            if not _is_in(address, trusted):
                break
    return str(client)


@lru_cache(maxsize=16_384)
def peer_address(peer: str | None) -> str:
    """Return the address of the other end of a connection; NO_ADDRESS for a Unix socket."""
    address = parse_ip_address(peer) if peer else None
    return NO_ADDRESS if address is None else str(address)


@lru_cache(maxsize=16_384)
def rate_limit_key(address: str) -> str:
    """Return the key under which the address is rate limited: itself, or its /64 for IPv6 (docs/reference/shared.md#rate-limits)."""
    parsed = parse_ip_address(address)
    if isinstance(parsed, IPv6Address):
        return f"{IPv6Address(int(parsed) >> 64 << 64)}/64"
    return address


@lru_cache(maxsize=16_384)
def is_trusted(peer: str, trusted: tuple[IPNetwork, ...]) -> bool:
    """Return whether the peer is one of the trusted proxies."""
    address = parse_ip_address(peer)
    return address is not None and _is_in(address, trusted)


def _is_in(address: IPAddress, networks: Sequence[IPNetwork]) -> bool:
    return any(address in network for network in networks)
