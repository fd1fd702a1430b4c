"""Validate and build the redirect URIs of apps (docs/reference/current.md#apps; RFC 6749, section 3.1.2)."""

from __future__ import annotations

from urllib.parse import SplitResult, quote, urlsplit

from kernel.ip_addresses import parse_ip_address
from kernel.text import URL_CHARACTERS, InvalidValue, repr_value

MAX_URIS = 10
MAX_LENGTH = 1_000


def parse_redirect_uris(value: object) -> list[str]:
    """Parse an app's 1 to 10 redirect URIs; raise `InvalidValue`. They are stored unchanged, because they are compared exactly."""
    if not isinstance(value, list | tuple) or not value:
        raise InvalidValue(f"is {repr_value(value)}; expected a list of 1 to {MAX_URIS} addresses")
    if len(value) > MAX_URIS:
        raise InvalidValue(f"holds {len(value)} addresses; expected at most {MAX_URIS}")
    return list(dict.fromkeys(_parse_redirect_uri(uri) for uri in value))


def _parse_redirect_uri(uri: object) -> str:
    if not isinstance(uri, str) or len(uri) > MAX_LENGTH or not URL_CHARACTERS.fullmatch(uri):
        raise InvalidValue(
            f"holds {repr_value(uri)}; expected an address of at most {MAX_LENGTH} characters, in ASCII and without spaces"
        )
    if "#" in uri:
        raise InvalidValue(f"holds {repr_value(uri)}; expected an address without a fragment")
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError as error:
        raise InvalidValue(f"holds {repr_value(uri)}; expected an address") from error
    if not parts.hostname or "@" in parts.netloc or not _is_safe(parts):
        raise InvalidValue(f"holds {repr_value(uri)}; expected https, or http on this machine (localhost)")
    return uri


def _is_safe(parts: SplitResult) -> bool:
    if parts.scheme == "https":
        return True
    host = parts.hostname or ""
    address = parse_ip_address(host)
    return parts.scheme == "http" and (host == "localhost" or (address is not None and address.is_loopback))


def add_query_parameters(uri: str, **parameters: str | None) -> str:
    """Add query parameters to a redirect URI, leaving the rest unchanged; None is omitted."""
    added = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items() if value is not None)
    if not added:
        return uri
    _, separator, query = uri.partition("?")
    if not separator:
        return f"{uri}?{added}"
    return f"{uri}{added}" if not query or query.endswith("&") else f"{uri}&{added}"
