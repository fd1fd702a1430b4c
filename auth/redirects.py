"""Decide which addresses an app may be sent back to, and write them (decisions section 10; RFC 6749, section 3.1.2)."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, urlsplit

from kernel.addresses import parse_address
from kernel.text import Malformed, shown

MAX_URIS = 10
MAX_LENGTH = 1_000

# What RFC 3986 lets stand in an address; spaces, controls, backslashes and what is beyond ASCII are read differently by
# different programs.
_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")


def read_redirect_uris(value: object) -> list[str]:
    """Read the addresses of an app, 1 to 10; raises `Malformed`. They are kept as written, for they are compared exactly."""
    if not isinstance(value, list | tuple) or not value:
        raise Malformed(f"is {shown(value)}; expected a list of 1 to {MAX_URIS} addresses")
    if len(value) > MAX_URIS:
        raise Malformed(f"holds {len(value)} addresses; expected at most {MAX_URIS}")
    return list(dict.fromkeys(_read(uri) for uri in value))


def _read(uri: object) -> str:
    if not isinstance(uri, str) or len(uri) > MAX_LENGTH or not _CHARACTERS.fullmatch(uri):
        raise Malformed(f"holds {shown(uri)}; expected an address of at most {MAX_LENGTH} characters")
    if "#" in uri:
        raise Malformed(f"holds {shown(uri)}; expected an address without a fragment")
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError as error:
        raise Malformed(f"holds {shown(uri)}; expected an address") from error
    if not parts.hostname or "@" in parts.netloc or not _is_safe(parts):
        raise Malformed(f"holds {shown(uri)}; expected https, or http on this machine (localhost)")
    return uri


def _is_safe(parts: SplitResult) -> bool:
    if parts.scheme == "https":
        return True
    host = parts.hostname or ""
    address = parse_address(host)
    return parts.scheme == "http" and (host == "localhost" or (address is not None and address.is_loopback))


def with_parameters(uri: str, **parameters: str | None) -> str:
    """Add query parameters to an app's address, leaving what it has as it is; None is left out."""
    added = "&".join(
        f"{name}={quote(value, safe='')}" for name, value in parameters.items() if value is not None
    )
    if not added:
        return uri
    _, mark, query = uri.partition("?")
    if not mark:
        return f"{uri}?{added}"
    return f"{uri}{added}" if not query or query.endswith("&") else f"{uri}&{added}"
