"""Call an address that a store or an app chose: the one interface for all who do.

    answer = await calls.post("https://example.com/hook", headers={...}, body=b"...", timeout=10)
    answer = await calls.get("https://example.com/score", headers={...})

Raises `NotAllowed` for an address that must not be called, `NotReached` when no answer came. Redirects are answers like others and
followed nowhere. Never to be called while a transaction is open. The composition root says who does it (`use`; `server/outgoing.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

TIMEOUT_SECONDS = 10.0
CONNECT_SECONDS = 3.0
MOST_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class OutgoingResponse:
    """What was answered; header names are in lower case, `is_cut` says that the body was longer than what is kept of it."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    is_cut: bool = False


class NotAllowed(Exception):
    """Say that an address must not be called: what it is, or what its name leads to, lies inside."""


class NotReached(Exception):
    """Say in a few words why no answer came; `timed_out` when it might still have come."""

    def __init__(self, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.timed_out = timed_out


class CallerNotConfigured(RuntimeError):
    """Report a programming error: somebody is to be called before the composition root said who does it."""


class Caller(Protocol):
    """Call one address, once."""

    async def __call__(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        timeout: float,
        connect_timeout: float,
        most: int,
    ) -> OutgoingResponse:
        """Give the answer; raises `NotAllowed` and `NotReached`."""


_caller: Caller | None = None
_allows_private = False


def use(caller: Caller | None, *, allows_private: bool = False) -> None:
    """Let this one call; None ends it. `allows_private` is what addresses are checked by before they are stored."""
    global _caller, _allows_private
    _caller, _allows_private = caller, allows_private


def allows_private() -> bool:
    """Say whether `http` and addresses of our own network may be called (VITRINE_PRIVATE_ENDPOINTS)."""
    return _allows_private


async def post(
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes,
    timeout: float = TIMEOUT_SECONDS,
    connect_timeout: float = CONNECT_SECONDS,
    most: int = MOST_BYTES,
) -> OutgoingResponse:
    """Post the bytes and give the answer with at most `most` bytes of its body; times are seconds, for the whole and to connect."""
    return await _called()(
        "POST", url, headers, body, timeout=timeout, connect_timeout=connect_timeout, most=most
    )


async def get(
    url: str,
    *,
    headers: Mapping[str, str],
    timeout: float = TIMEOUT_SECONDS,
    connect_timeout: float = CONNECT_SECONDS,
    most: int = MOST_BYTES,
) -> OutgoingResponse:
    """Get an address and give the answer with at most `most` bytes of its body."""
    return await _called()(
        "GET", url, headers, None, timeout=timeout, connect_timeout=connect_timeout, most=most
    )


def _called() -> Caller:
    if _caller is None:
        raise CallerNotConfigured("call domain.outgoing.calls.use(caller) at start")
    return _caller
