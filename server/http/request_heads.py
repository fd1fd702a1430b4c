"""What the head of a request says, for requests that are answered without aiohttp: by which route, for whom, within which limits.

Clients that keep a connection repeat their head. `RequestHeads.read` takes it apart once, after a request that went the whole way;
`admit` and `finish` do for later ones what `server.http.pipeline` does before and after the handler, with the same parts: both must
check, count and log the same. Where a check fails, nothing is counted, and the request goes the whole way, which answers with the error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import NamedTuple

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http_writer import _serialize_headers
from multidict import CIMultiDict

from kernel import clock, ids
from kernel.ip_addresses import client_address
from kernel.scope import Scope
from kernel.settings import Settings
from rest_facade.routing import SCOPE
from server.http import access_log, rate_limits, request_id, request_metrics
from server.http.authentication import Authenticator, CachedCaller
from server.http.health import Readiness
from server.http.limits import Counted
from server.http.routes import RoutePolicy

# Written for each response; the length belongs to the body.
_CHANGING = {each.lower() for each in (hdrs.DATE, hdrs.CONTENT_LENGTH, request_id.HEADER, *rate_limits.HEADERS)}
METHODS = (hdrs.METH_GET, hdrs.METH_POST)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The parts of a request's head that later steps depend on."""

    policy: RoutePolicy
    method: str
    path: str
    forwarded_for: tuple[str, ...]
    request_id: str | None
    """The valid one that the client sent."""
    user_agent: str
    caller_key: bytes
    caller: CachedCaller


class Admission(NamedTuple):
    """A request that was counted against its limits."""

    head: RequestHead
    request_id: str
    address: str
    counted: Counted
    now: datetime
    started: float


class RequestHeads:
    """Read heads, and check the requests that have them."""

    def __init__(
        self,
        settings: Settings,
        limiter: rate_limits.RateLimiter,
        authenticator: Authenticator,
        health: Readiness,
        policies: Mapping[web.AbstractRoute, RoutePolicy],
    ) -> None:
        self._trusted = settings.trusted_proxies
        self._limiter = limiter
        self._authenticator = authenticator
        self.health = health
        self.policies = policies

    def read(self, request: web.BaseRequest, response: web.StreamResponse) -> RequestHead | None:
        """Return the head of a request that was answered; None for one that aiohttp has to read each time."""
        headers = request.headers
        if (
            not isinstance(request, web.Request)
            or request.method not in METHODS
            or request.version != HttpVersion11
            or not response.keep_alive
            or hdrs.EXPECT in headers
            or hdrs.UPGRADE in headers
            or hdrs.CONTENT_ENCODING in headers
        ):
            return None
        policy, scope = self.policies[request.match_info.route], request[SCOPE]
        caller_key = self._authenticator.key(headers, policy)
        caller = self._authenticator.find(caller_key, clock.now())
        if caller is None or caller.store is not scope.store or caller.actor is not scope.actor:
            return None  # replaced while the request was answered
        sent_id = headers.get(request_id.HEADER)
        return RequestHead(
            policy,
            request.method,
            request.rel_url.path,
            tuple(headers.getall(hdrs.X_FORWARDED_FOR, ())) if self._trusted else (),
            sent_id if ids.request_id_from(sent_id) == sent_id else None,
            scope.user_agent,
            caller_key,
            caller,
        )

    def is_valid(self, head: RequestHead, now: datetime) -> bool:
        """Return whether the head still has the same store and caller."""
        return self._authenticator.find(head.caller_key, now) is head.caller

    def admit(self, head: RequestHead, remote: str) -> Admission | None:
        """Count a request of the connection with this peer; None, and nothing is counted, where something else is to be answered."""
        now, started = clock.now(), perf_counter()
        if self.health.stopping or not self.is_valid(head, now):
            return None
        address = client_address(remote, head.forwarded_for, self._trusted)
        counted = self._limiter.count_at_once(head.policy.family, address, head.caller.store, head.caller.actor)
        if counted is None:
            return None
        return Admission(head, head.request_id or ids.request_id_from(None), address, counted, now, started)

    def begin(self, admission: Admission) -> Scope:
        """Return the scope of an admitted request, which is counted as running until `end`."""
        head, caller = admission.head, admission.head.caller
        self._limiter.begin_admitted(admission.address)
        own_id, family = admission.request_id, head.policy.family.name
        return Scope(caller.store, caller.actor, own_id, admission.now, family, admission.address, head.user_agent)

    def end(self, admission: Admission) -> None:
        """Count the request as running no longer."""
        self._limiter.end_admitted(admission.address)

    def take_back(self, admission: Admission) -> None:
        """Undo `admit` for a request that goes the whole way, and is counted there."""
        self._limiter.take_back(admission.counted)

    def finish(self, admission: Admission, status: int) -> bytes:
        """Log and measure an answered request; return the headers of this response."""
        head, own_id = admission.head, admission.request_id
        family = head.policy.family
        request_metrics.record(head.policy, family.name, status, perf_counter() - admission.started)
        access_log.write_line(own_id, head.method, head.path, status, admission.started, head.caller)
        lines = f"Date: {rfc822_formatted_time()}\r\nX-Request-Id: {own_id}\r\n"
        if family.has_rate_limit_headers:
            lines += rate_limits.header_lines(admission.counted.state)
        return lines.encode("ascii")


def lasting_head(response: web.StreamResponse, headers: Mapping[str, str]) -> bytes:
    """Return the status line of a response and those of the headers that are the same each time."""
    lasting = CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _CHANGING)
    head: bytes = _serialize_headers(f"HTTP/1.1 {response.status} {response.reason}", lasting)
    return head.removesuffix(b"\r\n")  # more lines follow
