"""Slow down who asks too often: per client address, per wrong credential, per app, storefront key and legacy credential."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from aiohttp import hdrs, web
from multidict import istr

from kernel.addresses import counted_as
from kernel.errors import RateLimited
from kernel.scope import Actor, ActorKind, Scope
from kernel.settings import Settings
from server.families import RouteFamily
from server.limits import MINUTE, Counters, RateLimitState, told

APP_RATE = 120
STOREFRONT_KEY_RATE = 600
# The contract's text for a storefront key, which differs from the one for everybody else.
STOREFRONT_KEY_MESSAGE = "rate_limit_exceeded"
WAIT_SECONDS = 60

RateOf = Callable[[Actor], int]

REPORTED = web.RequestKey("reported_rate", RateLimitState)
"""Holds what X-RateLimit-* will say, in the families that say it."""

# Of multidict's own kind, which is looked up without being folded each time.
_CREDENTIALS = (hdrs.AUTHORIZATION, istr("X-API-Key"), istr("X-Hub-Signature-256"), istr("X-Hub-Signature"))


def default_rate_of(actor: Actor) -> int:
    """Give the requests a minute of an app or a storefront key: its own, or the usual ones (decisions section 2)."""
    if actor.rate_limit is not None:
        return actor.rate_limit
    return APP_RATE if actor.kind is ActorKind.APP else STOREFRONT_KEY_RATE


def bears_credential(headers: Mapping[str, str]) -> bool:
    """Say whether the request shows something that can be wrong: a credential or a gateway's signature."""
    for name in _CREDENTIALS:  # noqa: SIM110  # a generator costs three times as much
        if name in headers:
            return True
    return False


class Rates:
    """Count requests on the terms of the settings; a rate of 0 is no limit."""

    def __init__(self, settings: Settings, counters: Counters, rate_of: RateOf = default_rate_of) -> None:
        self._ip_rate = settings.ip_rate
        self._failed_rate = settings.failed_auth_rate
        self._legacy_rate = settings.legacy_rate
        self._counters = counters
        self._rate_of = rate_of

    async def count_address(self, request: web.Request, family: RouteFamily, address: str) -> None:
        """Count the request against its client's address, before anything else is looked at."""
        if not self._ip_rate:
            # These answers carry the headers whatever happens: say what a caller may expect.
            _report(request, family, RateLimitState(APP_RATE, APP_RATE, time.time() + MINUTE, allowed=True))
        elif family.is_counted:
            verdict = self._counters.hit(f"ip:{counted_as(address)}", self._ip_rate)
            if not isinstance(verdict, RateLimitState):
                verdict = await verdict
            _report(request, family, verdict)
            if not verdict.allowed:
                raise _refusal(self._ip_rate, "from this address")

    async def refuse_guessing(self, address: str) -> None:
        """Refuse a credential, right or wrong, from an address that showed too many wrong ones: else guessing would go on."""
        if self._failed_rate:
            verdict = self._counters.peek(f"failed:{counted_as(address)}", self._failed_rate)
            if not isinstance(verdict, RateLimitState):
                verdict = await verdict
            if not verdict.allowed:
                raise _refusal(self._failed_rate, "with a wrong credential from this address")

    async def count_failure(self, address: str) -> None:
        """Count a credential that was wrong."""
        if self._failed_rate:
            await told(self._counters.hit(f"failed:{counted_as(address)}", self._failed_rate))

    async def count_caller(self, request: web.Request, family: RouteFamily, scope: Scope) -> None:
        """Count the request against the limit of its app, storefront key or legacy credential."""
        actor = scope.actor
        if actor.kind is ActorKind.APP:
            await self._count(request, family, scope, self._rate_of(actor), "of this app")
        elif actor.kind is ActorKind.STOREFRONT:
            message = STOREFRONT_KEY_MESSAGE
            await self._count(request, family, scope, self._rate_of(actor), "with this key", message)
        elif self._legacy_rate and family.name == "legacy":
            await self._count(request, family, scope, self._legacy_rate, "with this credential")

    async def _count(
        self,
        request: web.Request,
        family: RouteFamily,
        scope: Scope,
        limit: int,
        whose: str,
        message: str = "rate limit exceeded",
    ) -> None:
        # A storefront key is one, whichever shopper's token stands beside it.
        credential = scope.actor.credential.partition("/")[0]
        key = f"{family.name if family.name == 'legacy' else 'caller'}:{scope.store.id}:{credential}"
        verdict = await told(self._counters.hit(key, limit))
        _report(request, family, verdict)
        if not verdict.allowed:
            raise _refusal(limit, whose, message)


def _report(request: web.Request, family: RouteFamily, verdict: RateLimitState) -> None:
    if family.reports_rates:
        request[REPORTED] = verdict


def _refusal(limit: int, whose: str, message: str = "rate limit exceeded") -> RateLimited:
    return RateLimited(
        f"more than {limit} requests a minute {whose}", retry_after=WAIT_SECONDS, message=message
    )


def put(request: web.Request, response: web.StreamResponse) -> None:
    """Put the three headers on an answer that is about to be sent, in the families that carry them."""
    verdict = request.get(REPORTED)
    if verdict is not None:
        response.headers.update(verdict.headers())
