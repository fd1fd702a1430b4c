"""SSRF protection: decide which URLs chosen by stores or apps may be requested (docs/reference/shared.md#outgoing-requests).

Two checks, because a name doesn't reveal what it resolves to: `parse_target` validates the URL as written, `is_public_address` the resolved
IP address. The second is made on every attempt, on the very address that is connected to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from kernel.text import URL_CHARACTERS, InvalidValue, repr_value

MAX_LENGTH = 2_048

_PORTS = {"https": 443, "http": 80}
_NAME = re.compile(
    r"(?=.{1,253}\.?\Z)(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?"
)
# C libraries and browsers read a name ending like this as an IP address: 127.1, 0x7f000001, 017700000001, 2130706433.
_ENDS_AS_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?")
_PRIVATE_NAMES = re.compile(r"(?:.*\.)?(?:localhost|local|localdomain|internal|intranet|home\.arpa)\.?", re.IGNORECASE)

# Not covered by `is_global`: metadata services at addresses that look public, and blocks without hosts.
_NOT_PUBLIC_4 = tuple(
    ip_network(block)
    for block in (
        "192.0.0.0/24",  # protocol assignments; a cloud's metadata at .192
        "192.88.99.0/24",  # 6to4 relays
        "168.63.129.16/32",  # a cloud's own service, reachable from its machines only
    )
)
# IPv6 addresses that embed an IPv4 address route to that address; a caller that means one can write it as such.
_NOT_PUBLIC_6 = tuple(
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
    """A parsed URL: `host` is a name in lower case, or an IP address without brackets."""

    scheme: str
    host: str
    port: int


def parse_target(url: str, *, allows_private: bool) -> Target:
    """Parse a URL; raises `InvalidValue` for one that must not be requested, whatever its name resolves to.

    `allows_private` is VITRINE_PRIVATE_ENDPOINTS: it permits `http` and private addresses.
    """
    if not isinstance(url, str) or len(url) > MAX_LENGTH or not URL_CHARACTERS.fullmatch(url):
        raise InvalidValue(
            f"is {repr_value(url)}; expected an https address of at most {MAX_LENGTH} characters, in ASCII and without spaces"
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidValue(f"is {repr_value(url)}; expected an https address") from error
    scheme = parts.scheme.lower()
    if scheme not in (_PORTS if allows_private else ("https",)):
        raise InvalidValue(f"is {repr_value(url)}; expected an address that begins with https://")
    if "@" in parts.netloc:
        raise InvalidValue("holds a user name; expected an address without credentials")
    if "#" in url:
        raise InvalidValue("has a fragment; expected an address without one")
    if port == 0:
        raise InvalidValue(f"is {repr_value(url)}; expected a port from 1 to 65535")
    return Target(scheme, _host(parts.netloc, parts.hostname or "", allows_private), port or _PORTS[scheme])


def _host(netloc: str, host: str, allows_private: bool) -> str:
    literal = _literal(netloc, host)
    if literal is not None:
        if not allows_private and not is_public_address(literal):
            raise InvalidValue(f"leads to {literal}, which is not an address of the public internet")
        return str(literal)
    if not _NAME.fullmatch(host) or _ENDS_AS_NUMBER.fullmatch(host):
        raise InvalidValue(f"has the host {repr_value(host)}; expected a name, or an IP address in its usual form")
    if not allows_private and (_PRIVATE_NAMES.fullmatch(host) or "." not in host.rstrip(".")):
        raise InvalidValue(f"has the host {repr_value(host)}, which is not a name of the public internet")
    return host.lower()


def _literal(netloc: str, host: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address if the host is one in canonical form."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and (not netloc.startswith("[") or address.scope_id):
        return None
    return address


def is_public_address(address: str | IPv4Address | IPv6Address) -> bool:
    """Return whether an IP address is public: not private, loopback, link-local, metadata, multicast or reserved."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if not parsed.is_global or parsed.is_multicast or parsed.is_reserved:
        return False
    if isinstance(parsed, IPv4Address):
        return not any(parsed in block for block in _NOT_PUBLIC_4)
    return parsed in _UNICAST_6 and not any(parsed in block for block in _NOT_PUBLIC_6)
