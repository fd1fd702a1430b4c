"""Count requests against a rate limit per window: per client address, wrong credential, app, storefront key and legacy credential.

`Counters` is the interface the middleware uses. `ProcessCounters` counts in this process; with REDIS_URL `server.http.shared_limits` counts
for the whole deployment (docs/reference/shared.md#rate-limits). Sign-in attempts and the lockout are counted in PostgreSQL, by `auth`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

MINUTE = 60.0
# Bounds the memory an attacker with many addresses can use: about 20 MB.
MAX_KEYS = 100_000
_EXPIRED_AT_ONCE = 4


class RateLimitState(NamedTuple):
    """The state of a rate limit: the limit, what remains, and when the window resets (Unix seconds)."""

    limit: int
    remaining: int
    reset_at: float
    allowed: bool


class Counters(Protocol):
    """Count requests (hits) of a key in fixed windows; a key's window starts with its first hit and lasts `window` seconds.

    Methods may return an awaitable or, to spare a coroutine per request, the state itself (`resolved` accepts both).
    """

    def hit(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState | Awaitable[RateLimitState]:
        """Count one request; not allowed when the limit was reached before."""
        ...

    def peek(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState | Awaitable[RateLimitState]:
        """Return what `hit` would return, without counting."""
        ...


async def resolved(state: RateLimitState | Awaitable[RateLimitState]) -> RateLimitState:
    """Return the state, awaiting it if necessary."""
    return state if isinstance(state, RateLimitState) else await state


class ProcessCounters:
    """Count in the memory of this process.

    A window starts with a key's first hit rather than with the clock minute, so bursts around a minute boundary can't double the limit.
    Expired windows are evicted a few at a time; beyond `MAX_KEYS` the oldest are evicted, which lets a flood of addresses pass
    rather than exhaust the memory.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # By window length, so that the first key of each is always the first to expire.
        self._windows: dict[float, dict[str, _Window]] = {}

    def hit(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Count one request; not allowed when the limit was reached before."""
        now = self._clock()
        windows = self._windows.get(window)
        if windows is None:
            windows = self._windows[window] = {}
        current = windows.get(key)
        if current is None or current.ends_at <= now:
            windows.pop(key, None)  # a new window goes to the end of the dict
            self._evict(windows, now)
            current = windows[key] = _Window(now + window, time.time() + window)
        count = current.count = current.count + 1
        # Its own constructor is a function of Python, which calls this.
        return tuple.__new__(
            RateLimitState, (limit, limit - count if count < limit else 0, current.reset_at, count <= limit)
        )

    def peek(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Return what `hit` would return, without counting."""
        windows = self._windows.get(window)
        current = None if windows is None else windows.get(key)
        if current is None or current.ends_at <= self._clock():
            return _state(limit, 1, time.time() + window)
        return _state(limit, current.count + 1, current.reset_at)

    def _evict(self, windows: dict[str, _Window], now: float) -> None:
        for _ in range(_EXPIRED_AT_ONCE):
            oldest = next(iter(windows), None)
            if oldest is None or (windows[oldest].ends_at > now and len(windows) < MAX_KEYS):
                return
            del windows[oldest]


class ConcurrencyLimiter:
    """Limit what one client address has open at the same time in this process; 0 means no limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: dict[str, int] = {}

    def begin(self, key: str) -> int:
        """Count one more and return how many are open now; `end` must follow."""
        count = self._open[key] = self._open.get(key, 0) + 1
        return count

    def end(self, key: str) -> None:
        """Count one less."""
        count = self._open[key] - 1
        if count:
            self._open[key] = count
        else:
            del self._open[key]


class _Window:
    """A count with its end on the monotonic clock and, for the response headers, on the wall clock."""

    __slots__ = ("count", "ends_at", "reset_at")

    def __init__(self, ends_at: float, reset_at: float) -> None:
        self.count = 0
        self.ends_at = ends_at
        self.reset_at = reset_at


def _state(limit: int, count: int, reset_at: float) -> RateLimitState:
    return RateLimitState(limit, limit - count if count < limit else 0, reset_at, count <= limit)
