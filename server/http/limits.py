"""Count requests against a rate limit per window: per client address, wrong credential, app, storefront key and legacy credential.

`RateLimiter` applies the limits, `Counters` is the interface that it counts with. `ProcessCounters` counts in this process; with REDIS_URL
`server.http.shared_limits` counts for the whole deployment (docs/reference/shared.md#rate-limits). Sign-in attempts and the lockout are
counted in PostgreSQL, by `auth`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from aiohttp import hdrs, web
from multidict import istr

from auth import storefront_keys
from kernel import metrics
from kernel.errors import RateLimited
from kernel.ip_addresses import rate_limit_key
from kernel.scope import Actor, ActorKind, Scope, Store
from kernel.settings import Settings
from server.http.families import RouteFamily

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
    """Count requests (hits) of a key in fixed windows; a key's window starts with its first hit and lasts `window` seconds."""

    async def hit(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Count one request; not allowed when the limit was reached before."""
        ...

    async def peek(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Return what `hit` would return, without counting."""
        ...

    async def begin(self, key: str, limit: int, seconds: float) -> str | None:
        """Count what runs until `end` is called with the result, and at most for so long; None when so much runs already."""
        ...

    def end(self, key: str, token: str) -> None:
        """Count it no longer."""
        ...


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
        self._running = ConcurrencyLimiter(0)

    async def hit(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Count one request; not allowed when the limit was reached before."""
        now = self._clock()
        windows = self._windows.setdefault(window, {})
        current = windows.get(key)
        if current is None or current.ends_at <= now:
            windows.pop(key, None)  # a new window goes to the end of the dict
            self._evict(windows, now)
            current = windows[key] = _Window(now + window, time.time() + window)
        current.count += 1
        return _state(limit, current.count, current.reset_at)

    async def peek(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Return what `hit` would return, without counting."""
        current = self._windows.get(window, {}).get(key)
        if current is None or current.ends_at <= self._clock():
            return _state(limit, 1, time.time() + window)
        return _state(limit, current.count + 1, current.reset_at)

    async def begin(self, key: str, limit: int, seconds: float) -> str | None:
        """Count what runs until `end`; None when so much runs already. It ends in this process: `seconds` has no effect."""
        if self._running.begin(key) > limit:
            self._running.end(key)
            return None
        return ""

    def end(self, key: str, token: str) -> None:
        """Count it no longer."""
        self._running.end(key)

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


@dataclass(slots=True)
class _Window:
    """A count with its end on the monotonic clock and, for the response headers, on the wall clock."""

    ends_at: float
    reset_at: float
    count: int = 0


def _state(limit: int, count: int, reset_at: float) -> RateLimitState:
    return RateLimitState(limit, limit - count if count < limit else 0, reset_at, count <= limit)


# --- Limits of a request -----------------------------------------------------------------------------------------------

APP_RATE = 120
# The error text of a storefront key differs from all others.
STOREFRONT_KEY_MESSAGE = "rate_limit_exceeded"
WAIT_SECONDS = 60

LIMITED = metrics.counter(
    "vitrine_limited_total", "Requests refused by a rate limit, or a limit of connections.", "limit"
)

LimitOf = Callable[[Actor], int]

HEADER_STATE = web.RequestKey("reported_rate", RateLimitState)
"""The state for the X-RateLimit-* headers, in the families that have them."""

_LIMIT, _REMAINING, _RESET = (
    istr("X-RateLimit-Limit"),
    istr("X-RateLimit-Remaining"),
    istr("X-RateLimit-Reset"),
)
_SLOT = web.RequestKey("slot", str)
_STORE_SLOT = web.RequestKey("store_slot", ExitStack)

# multidict's istr is looked up without case folding each time.
_CREDENTIALS = (hdrs.AUTHORIZATION, istr("X-API-Key"), istr("X-Hub-Signature-256"), istr("X-Hub-Signature"))


def default_limit_of(actor: Actor) -> int:
    """Return the requests per minute of an app or storefront key: its own limit or the default."""
    if actor.rate_limit is not None:
        return actor.rate_limit
    return APP_RATE if actor.kind is ActorKind.APP else storefront_keys.DEFAULT_RATE


def has_credential(headers: Mapping[str, str]) -> bool:
    """Return whether the request carries a credential or a gateway signature."""
    return any(name in headers for name in _CREDENTIALS)


class _CallerLimit(NamedTuple):
    """A limit of requests per minute, with what is said and logged when it is reached."""

    name: str
    key: str
    limit: int
    scope_text: str
    message: str = "rate limit exceeded"
    is_reported: bool = True


class RateLimiter:
    """Count requests against the configured limits; 0 means no limit."""

    def __init__(self, settings: Settings, counters: Counters, limit_of: LimitOf = default_limit_of) -> None:
        self._ip_rate = settings.ip_rate
        self._failed_rate = settings.failed_auth_rate
        self._legacy_rate = settings.legacy_rate
        self._counters = counters
        self._limit_of = limit_of
        self._requests = ConcurrencyLimiter(settings.address_requests)
        self._longest = settings.request_timeout + MINUTE

    def begin_request(self, request: web.Request, family: RouteFamily, address: str) -> None:
        """Count a request that runs, until `end_request`; reject it if its client address has too many."""
        if self._requests.limit and family.is_rate_limited:
            request[_SLOT] = self._begin(address)

    def slot(self, address: str) -> ExitStack:
        """Count an operation of a WebSocket as a request that runs, until the result is closed; reject it as `begin_request` does."""
        slot = ExitStack()
        if self._requests.limit:
            slot.callback(self._requests.end, self._begin(address))
        return slot

    def _begin(self, address: str) -> str:
        requests, key = self._requests, rate_limit_key(address)
        if requests.begin(key) > requests.limit:
            requests.end(key)
            LIMITED.add("concurrent_requests")
            raise RateLimited(f"more than {requests.limit} concurrent requests from this address", retry_after=1)
        return key

    def end_request(self, request: web.Request) -> None:
        """Count the request no longer, if it is counted: it has ended, or become a stream."""
        slot = request.pop(_SLOT, None)
        if slot is not None:
            self._requests.end(slot)
        store_slot = request.pop(_STORE_SLOT, None)
        if store_slot is not None:
            store_slot.close()

    async def begin_for_store(self, request: web.Request, store: Store) -> None:
        """Count a request against the limits of its store until `end_request`; for stores with limits."""
        slot = request[_STORE_SLOT] = ExitStack()
        await self.count_store(store, slot)

    async def count_store(self, store: Store, slot: ExitStack) -> None:
        """Count a request or an operation against the limits of its store, as one that runs until the slot is closed."""
        limits, key = store.limits, f"store:{store.id}"
        if (limit := limits.get("requests_per_minute")) is not None:
            state = await self._counters.hit(key, limit)
            if not state.allowed:
                LIMITED.add("store_requests")
                wait = max(1, math.ceil(state.reset_at - time.time()))
                raise RateLimited(f"more than {limit} requests a minute of this store", retry_after=wait)
        if (limit := limits.get("concurrent_requests")) is None:
            return
        token = await self._counters.begin(key, limit, self._longest)
        if token is None:
            LIMITED.add("store_concurrent_requests")
            raise RateLimited(f"more than {limit} concurrent requests of this store", retry_after=1)
        slot.callback(self._counters.end, key, token)

    async def count_address(self, request: web.Request, family: RouteFamily, address: str) -> None:
        """Count the request against its client address, before any other check."""
        if not self._ip_rate:
            _set_header_state(request, family, _unlimited())
        elif family.is_rate_limited:
            state = await self._counters.hit(f"ip:{rate_limit_key(address)}", self._ip_rate)
            _set_header_state(request, family, state)
            if not state.allowed:
                raise _error("address", self._ip_rate, "from this address")

    async def count_failure(self, address: str) -> None:
        """Count a wrong credential; reject it as one too many of its address.

        Right ones go on: who shares an address with a client whose token has expired is not to suffer, and no credential can be guessed.
        """
        if self._failed_rate:
            state = await self._counters.hit(f"failed:{rate_limit_key(address)}", self._failed_rate)
            if not state.allowed:
                raise _error("wrong_credential", self._failed_rate, "with a wrong credential from this address")

    async def count_caller(self, request: web.Request, family: RouteFamily, scope: Scope) -> None:
        """Count the request against the limit of its app, storefront key or legacy credential, or as one without a credential."""
        limits = self._caller_limits(family, scope.client_ip, scope.store, scope.actor)
        for each in limits:
            state = await self._counters.hit(each.key, each.limit)
            own = limits[-1]  # its state is reported, also where the address's share of it is exhausted
            if each is own and own.is_reported:
                _set_header_state(request, family, state)
            elif not state.allowed and own.is_reported:
                _set_header_state(request, family, await self._counters.peek(own.key, own.limit))
            if not state.allowed:
                raise _error(each.name, each.limit, each.scope_text, each.message)

    def _caller_limits(self, family: RouteFamily, address: str, store: Store, actor: Actor) -> list[_CallerLimit]:
        """Return the limits of a caller in the order in which they count; one that refuses leaves those after it alone."""
        of_key = [] if actor.key is None else self._own_limits(family, address, store, actor.key)
        return of_key + self._own_limits(family, address, store, actor)

    def _own_limits(self, family: RouteFamily, address: str, store: Store, actor: Actor) -> list[_CallerLimit]:
        if actor.kind is ActorKind.ANONYMOUS:
            if not self._failed_rate or family.name != "graphql":
                return []
            text, key = "without a credential from this address", f"anonymous:{rate_limit_key(address)}"
            return [_CallerLimit("anonymous", key, self._failed_rate, text, is_reported=False)]
        if actor.kind is ActorKind.APP:
            return [_CallerLimit("caller", _caller_key(family, store, actor), self._limit_of(actor), "of this app")]
        if actor.kind is ActorKind.STOREFRONT:
            key, message = _caller_key(family, store, actor), STOREFRONT_KEY_MESSAGE
            own = _CallerLimit("caller", key, self._limit_of(actor), "with this key", message)
            if not (share := actor.rate_limit_per_address):
                return [own]
            text = "with this key from this address"
            return [_CallerLimit("key_address", f"{key}:{rate_limit_key(address)}", share, text, message), own]
        if self._legacy_rate and family.name == "legacy":
            key = _caller_key(family, store, actor)
            return [_CallerLimit("caller", key, self._legacy_rate, "with this credential")]
        return []


def _caller_key(family: RouteFamily, store: Store, actor: Actor) -> str:
    # All customers' tokens share the limit of the storefront key.
    credential = actor.credential.partition("/")[0]
    return f"{family.name if family.name == 'legacy' else 'caller'}:{store.id}:{credential}"


def _unlimited() -> RateLimitState:
    """Return the default limit, which families with the headers report where there is none."""
    return RateLimitState(APP_RATE, APP_RATE, time.time() + MINUTE, allowed=True)


def _set_header_state(request: web.Request, family: RouteFamily, state: RateLimitState) -> None:
    if family.has_rate_limit_headers:
        request[HEADER_STATE] = state


def _error(name: str, limit: int, scope_text: str, message: str = "rate limit exceeded") -> RateLimited:
    LIMITED.add(name)
    return RateLimited(f"more than {limit} requests a minute {scope_text}", retry_after=WAIT_SECONDS, message=message)


def add_headers(request: web.Request, headers: MutableMapping[str, str]) -> None:
    """Add the rate-limit headers to those of a response, in the families that have them."""
    state = request.get(HEADER_STATE)
    if state is not None:
        limit, remaining, reset_at, _ = state
        headers[_LIMIT] = str(limit)
        headers[_REMAINING] = str(remaining)
        headers[_RESET] = str(math.ceil(reset_at))
