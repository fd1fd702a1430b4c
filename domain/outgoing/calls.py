"""Outgoing HTTP requests to URLs chosen by stores or apps; the only interface for them, protected against SSRF.

    response = await calls.post("https://example.com/hook", headers={...}, body=b"...", timeout=10)
    response = await calls.get("https://example.com/image", headers={...}, max_bytes=1_000)

Raises `AddressNotAllowed` for a forbidden address, `RequestFailed` without a response. Redirects are returned, never followed. A call
within a transaction raises `CallInTransaction`. `configure` sets the implementation (`server/outgoing.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from domain.outgoing.targets import parse_target
from kernel.text import InvalidValue, repr_value
from models.connection.database import check_no_transaction, record_effect

TIMEOUT_SECONDS = 10.0
CONNECT_SECONDS = 3.0
MAX_BODY_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class OutgoingResponse:
    """A response; header names are in lower case, `is_truncated` if the body exceeded the limit."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    is_truncated: bool = False


class AddressNotAllowed(Exception):
    """The address, or what its name resolves to, is not public."""


class RequestFailed(Exception):
    """There was no response, with a short reason; `timed_out` if it might still have come."""

    def __init__(self, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.timed_out = timed_out


class HttpCallerNotConfigured(RuntimeError):
    """Programming error: a request before `configure`."""


class HttpCaller(Protocol):
    """Send one request."""

    async def __call__(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        timeout: float,
        connect_timeout: float,
        max_bytes: int,
    ) -> OutgoingResponse:
        """Return the response; raises `AddressNotAllowed` and `RequestFailed`."""


_caller: HttpCaller | None = None
_allows_private = False


def configure(caller: HttpCaller | None, *, allows_private: bool = False) -> None:
    """Set the implementation, or remove it with None; `allows_private` applies to the validation of URLs before they are stored."""
    global _caller, _allows_private
    _caller, _allows_private = caller, allows_private


def allows_private() -> bool:
    """Return whether `http` and private addresses are allowed (VITRINE_PRIVATE_ENDPOINTS)."""
    return _allows_private


def read_address(value: object) -> str:
    """Return an address without blanks around it; raises `InvalidValue` for one that must not be requested, whatever it resolves to."""
    if not isinstance(value, str):
        raise InvalidValue(f"is {repr_value(value)}; expected an https address")
    address = value.strip()
    parse_target(address, allows_private=_allows_private)
    return address


async def post(
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes,
    timeout: float = TIMEOUT_SECONDS,
    connect_timeout: float = CONNECT_SECONDS,
    max_bytes: int = MAX_BODY_BYTES,
) -> OutgoingResponse:
    """Send a POST request; return the response with at most `max_bytes` of its body. Timeouts are in seconds, total and to connect."""
    return await _configured_caller()(
        "POST", url, headers, body, timeout=timeout, connect_timeout=connect_timeout, max_bytes=max_bytes
    )


async def get(
    url: str,
    *,
    headers: Mapping[str, str],
    timeout: float = TIMEOUT_SECONDS,
    connect_timeout: float = CONNECT_SECONDS,
    max_bytes: int = MAX_BODY_BYTES,
) -> OutgoingResponse:
    """Send a GET request; otherwise as `post`."""
    return await _configured_caller()(
        "GET", url, headers, b"", timeout=timeout, connect_timeout=connect_timeout, max_bytes=max_bytes
    )


async def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes = b"",
    timeout: float = TIMEOUT_SECONDS,
    connect_timeout: float = CONNECT_SECONDS,
    max_bytes: int = MAX_BODY_BYTES,
) -> OutgoingResponse:
    """Send a request of any method; otherwise as `post`."""
    return await _configured_caller()(
        method, url, headers, body, timeout=timeout, connect_timeout=connect_timeout, max_bytes=max_bytes
    )


def _configured_caller() -> HttpCaller:
    if _caller is None:
        raise HttpCallerNotConfigured("call domain.outgoing.calls.configure(caller) at start")
    check_no_transaction()
    record_effect()
    return _caller
