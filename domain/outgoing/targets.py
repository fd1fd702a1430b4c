"""Decide which addresses a store or an app may let us call: the outside world's, never our own network's.

Two questions, because names say nothing about where they lead: `read_target` looks at an address as it is written, `is_outside` at the
IP address that a name turned out to have. The second is asked at every try, of the very address that is connected to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from kernel.text import Malformed, shown

MAX_LENGTH = 2_048

_PORTS = {"https": 443, "http": 80}
# What RFC 3986 lets stand in an address, as sent: letters of other scripts come encoded. No backslash, which some readers take for a
# slash, no blank, no control character.
_WRITTEN = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
_NAME = re.compile(
    r"(?=.{1,253}\.?\Z)(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?"
)
# A name that ends so is a number to C libraries and browsers: 127.1, 0x7f000001, 017700000001, 2130706433.
_ENDS_AS_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?")
_OWN_NAMES = re.compile(
    r"(?:.*\.)?(?:localhost|local|localdomain|internal|intranet|home\.arpa)\.?", re.IGNORECASE
)

# Beyond what `is_global` says: metadata services at addresses that look public, and blocks that belong to no host.
_INSIDE_4 = tuple(
    ip_network(block)
    for block in (
        "192.0.0.0/24",  # protocol assignments; a cloud's metadata at .192
        "192.88.99.0/24",  # 6to4 relays
        "168.63.129.16/32",  # a cloud's own service, seen from its machines only
    )
)
# IPv6 that holds an IPv4 address leads wherever that one does; whoever means one writes it as such.
_INSIDE_6 = tuple(
    ip_network(block)
    for block in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)
_UNICAST_6 = ip_network("2000::/3")


@dataclass(frozen=True, slots=True)
class Target:
    """An address taken apart: `host` is a name in lower case, or an IP address without brackets."""

    scheme: str
    host: str
    port: int


def read_target(url: str, *, allows_private: bool) -> Target:
    """Take an address apart; raises `Malformed` for one that must not be called, whatever its name leads to.

    `allows_private` is VITRINE_PRIVATE_ENDPOINTS: it lets `http` and addresses of this machine and its network pass.
    """
    if not isinstance(url, str) or not _WRITTEN.fullmatch(url) or len(url) > MAX_LENGTH:
        raise Malformed(f"is {shown(url)}; expected an https address of at most {MAX_LENGTH} characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Malformed(f"is {shown(url)}; expected an https address") from error
    scheme = parts.scheme.lower()
    if scheme not in (_PORTS if allows_private else ("https",)):
        raise Malformed(f"is {shown(url)}; expected an address that begins with https://")
    if "@" in parts.netloc:
        raise Malformed("holds a user name; expected an address without credentials")
    if "#" in url:
        raise Malformed("has a fragment; expected an address without one")
    if port == 0:
        raise Malformed(f"is {shown(url)}; expected a port from 1 to 65535")
    return Target(scheme, _host(parts.netloc, parts.hostname or "", allows_private), port or _PORTS[scheme])


def _host(netloc: str, host: str, allows_private: bool) -> str:
    literal = _literal(netloc, host)
    if literal is not None:
        if not allows_private and not is_outside(literal):
            raise Malformed(f"leads to {literal}, which is not an address of the public internet")
        return str(literal)
    if not _NAME.fullmatch(host) or _ENDS_AS_NUMBER.fullmatch(host):
        raise Malformed(f"has the host {shown(host)}; expected a name, or an IP address in its usual form")
    if not allows_private and (_OWN_NAMES.fullmatch(host) or "." not in host.rstrip(".")):
        raise Malformed(f"has the host {shown(host)}, which is not a name of the public internet")
    return host.lower()


def _literal(netloc: str, host: str) -> IPv4Address | IPv6Address | None:
    """Give the IP address that the host is, in the one usual form of each kind."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and (not netloc.startswith("[") or address.scope_id):
        return None
    return address


def is_outside(address: str | IPv4Address | IPv6Address) -> bool:
    """Say whether an IP address belongs to the public internet: not private, loopback, link-local, metadata, multicast, reserved."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if not found.is_global or found.is_multicast or found.is_reserved:
        return False
    if isinstance(found, IPv4Address):
        return not any(found in block for block in _INSIDE_4)
    return found in _UNICAST_6 and not any(found in block for block in _INSIDE_6)
