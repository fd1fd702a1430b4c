"""Count requests against a limit a window: per client address, per wrong credential, per app, key and legacy credential.

`Counters` is what the middleware knows. `ProcessCounters` counts in this process; with REDIS_URL `server.shared_limits` counts for
the whole deployment (decisions section 2: said so at start). Sign-in and lockout are counted in PostgreSQL, by `auth`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

MINUTE = 60.0
# What an attacker with many addresses may fill: about 20 MB.
MOST_KEYS = 100_000
_EXPIRED_AT_ONCE = 4


class RateLimitState(NamedTuple):
    """Say how a key stands: the limit, what is left of it, and when (Unix seconds) the count begins anew."""

    limit: int
    remaining: int
    reset_at: float
    allowed: bool

    def headers(self) -> dict[str, str]:
        """Give the contract's three rate-limit headers."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(math.ceil(self.reset_at)),
        }


class Counters(Protocol):
    """Count hits of a key; a key's window begins with its first hit and lasts `window` seconds.

    Who has to ask elsewhere gives a promise of the verdict; who knows it gives it at once, which spares what is counted at every
    request a coroutine (`told` takes both, where that doesn't matter).
    """

    def hit(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState | Awaitable[RateLimitState]:
        """Count one more; not allowed when the limit was reached before."""
        ...

    def peek(
        self, key: str, limit: int, window: float = MINUTE
    ) -> RateLimitState | Awaitable[RateLimitState]:
        """Say what one more hit would be told, without counting it."""
        ...


async def told(verdict: RateLimitState | Awaitable[RateLimitState]) -> RateLimitState:
    """Give the verdict that was given or promised."""
    return verdict if isinstance(verdict, RateLimitState) else await verdict


class ProcessCounters:
    """Count in the memory of this process.

    A window that begins with the first hit, rather than with the minute, can't be met at its seam: `limit + 1` requests within one
    window of time are refused unless the first of them began it earlier. Expired windows are dropped a few at a time as new ones
    begin; past `MOST_KEYS` the oldest give way, which lets a flood of addresses through rather than exhaust the memory.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # By length of window, so that the first key of each is always the first to expire.
        self._windows: dict[float, dict[str, _Window]] = {}

    def hit(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Count one more; not allowed when the limit was reached before."""
        now = self._clock()
        windows = self._windows.get(window)
        if windows is None:
            windows = self._windows[window] = {}
        found = windows.get(key)
        if found is None or found.ends_at <= now:
            windows.pop(key, None)  # a new window goes to the end of the dict
            self._make_room(windows, now)
            found = windows[key] = _Window(now + window, time.time() + window)
        found.count += 1
        return _verdict(limit, found.count, found.reset_at)

    def peek(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Say what one more hit would be told, without counting it."""
        windows = self._windows.get(window)
        found = None if windows is None else windows.get(key)
        if found is None or found.ends_at <= self._clock():
            return _verdict(limit, 1, time.time() + window)
        return _verdict(limit, found.count + 1, found.reset_at)

    def _make_room(self, windows: dict[str, _Window], now: float) -> None:
        for _ in range(_EXPIRED_AT_ONCE):
            oldest = next(iter(windows), None)
            if oldest is None or (windows[oldest].ends_at > now and len(windows) < MOST_KEYS):
                return
            del windows[oldest]


class _Window:
    """Hold a count, and when it ends: by the clock that counts, and by the one on the wall, which answers tell."""

    __slots__ = ("count", "ends_at", "reset_at")

    def __init__(self, ends_at: float, reset_at: float) -> None:
        self.count = 0
        self.ends_at = ends_at
        self.reset_at = reset_at


def _verdict(limit: int, count: int, reset_at: float) -> RateLimitState:
    return RateLimitState(limit, limit - count if count < limit else 0, reset_at, count <= limit)
