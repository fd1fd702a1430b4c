"""Answer requests for the catalogue that repeat an earlier one to the byte, before their HTTP is parsed.

A program that renders a store's pages sends the same bytes for each visitor, over connections that it keeps. What such bytes are parsed
to, up to the answer in memory (`server.catalogue_cache`), is the same each time; it is remembered by a hash of the bytes. Everything
that may change in between is checked for each request as the pipeline does: the limits, the store, the credential and the version of
the catalogue. Where one of them does not let the request through, nothing is counted, and the request goes the whole way.
"""

from __future__ import annotations

import secrets
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from time import perf_counter

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.helpers import rfc822_formatted_time

from kernel import clock, ids
from kernel.ip_addresses import client_address
from kernel.settings import Settings
from rest_facade.responses import WRITE_SIZE, BytesResponse
from rest_facade.routing import SCOPE, Credential
from server.catalogue_cache import KEPT_ANSWER, Answer, CatalogueCache, count_repeated
from server.health import Readiness
from server.middleware import access_log, rate_limits, request_id, request_metrics
from server.middleware.authentication import Authenticator, CachedCaller
from server.routes import RoutePolicy

REPEATED_REQUESTS: web.AppKey[RepeatedRequests] = web.AppKey("repeated_requests")

# The request line and headers as well: GraphQL by GET has its document in the address.
_MAX_BYTES = 8_000
_MAX_REQUESTS = 2_000
_METHODS = (hdrs.METH_GET, hdrs.METH_POST)
# Written for each response; the length belongs to the body.
_CHANGING = {each.lower() for each in (hdrs.DATE, hdrs.CONTENT_LENGTH, request_id.HEADER, *rate_limits.HEADERS)}
_NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class _Known:
    """What the bytes of a request are, and how their answer begins."""

    policy: RoutePolicy
    method: str
    path: str
    forwarded_for: tuple[str, ...]
    request_id: str | None
    caller_key: bytes
    caller: CachedCaller
    answer: weakref.ref[Answer]
    coding: str | None
    status: int
    head: bytes


class RepeatedRequests:
    """The requests remembered by a process, the most recently used ones; a request is remembered when it comes the second time."""

    def __init__(
        self,
        settings: Settings,
        limiter: rate_limits.RateLimiter,
        authenticator: Authenticator,
        catalogue: CatalogueCache,
        health: Readiness,
        policies: Mapping[web.AbstractRoute, RoutePolicy],
    ) -> None:
        self._trusted = settings.trusted_proxies
        self._limiter = limiter
        self._authenticator = authenticator
        self._catalogue = catalogue
        self._health = health
        self._policies = policies
        self._beginnings = tuple(_beginnings(policies))
        # Not even a hash of a credential that someone could guess from it.
        self._hash_key = secrets.token_bytes(16)
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._once: dict[bytes, None] = {}

    def digest(self, data: bytes) -> bytes | None:
        """Return the hash of a request's bytes; None for what isn't remembered."""
        if len(data) > _MAX_BYTES or not data.startswith(self._beginnings):
            return None
        return blake2b(data, digest_size=16, key=self._hash_key).digest()

    def answer(self, digest: bytes, remote: str) -> bytes | None:
        """Return the whole response to a request of the connection with this peer; None for one that must go the whole way."""
        known = self._known.get(digest)
        if known is None or self._health.stopping:
            return None
        started = perf_counter()
        caller, answer = known.caller, known.answer()
        if answer is None or not self._catalogue.is_current(answer) or caller is not self._find(known.caller_key):
            return None
        family = known.policy.family
        address = client_address(remote, known.forwarded_for, self._trusted)
        state = self._limiter.count_at_once(family, address, caller.store, caller.actor)
        if state is None:
            return None
        self._known.move_to_end(digest)
        own_id = known.request_id or ids.request_id_from(None)
        count_repeated(is_revalidated=known.status == _NOT_MODIFIED)
        request_metrics.record(known.policy, family.name, known.status, perf_counter() - started)
        access_log.write_line(own_id, known.method, known.path, known.status, started, caller)
        headers = f"Date: {rfc822_formatted_time()}\r\nX-Request-Id: {own_id}\r\n"
        if family.has_rate_limit_headers:
            headers += "".join(f"{name}: {value}\r\n" for name, value in rate_limits.headers_of(state))
        if known.status == _NOT_MODIFIED:
            return known.head + headers.encode("ascii") + b"\r\n"
        body = answer.body if known.coding is None else answer.encodings[known.coding]
        return b"%s%sContent-Length: %d\r\n\r\n%s" % (known.head, headers.encode("ascii"), len(body), body)

    def remember(self, digest: bytes, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Remember a request that was answered from memory, if it came before."""
        answer = request._state.get(KEPT_ANSWER)
        if answer is None or not self._is_repeated(digest) or not _can_repeat(request, response):
            return
        assert isinstance(request, web.Request)
        coding = response.headers.get(hdrs.CONTENT_ENCODING)
        policy = self._policies[request.match_info.route]
        caller_key = self._authenticator.key(request.headers, policy)
        caller = self._find(caller_key)
        if caller is None or caller.store is not request[SCOPE].store:
            return
        sent_id = request.headers.get(request_id.HEADER)
        own_id = ids.request_id_from(sent_id)
        lines = [f"HTTP/1.1 {response.status} {response.reason}"]
        lines += [f"{name}: {value}" for name, value in response.headers.items() if name.lower() not in _CHANGING]
        known = _Known(
            policy,
            request.method,
            request.rel_url.path,
            tuple(request.headers.getall(hdrs.X_FORWARDED_FOR, ())),
            sent_id if own_id == sent_id else None,
            caller_key,
            caller,
            weakref.ref(answer),
            coding,
            response.status,
            "\r\n".join([*lines, ""]).encode(),
        )
        self._known[digest] = known
        if len(self._known) > _MAX_REQUESTS:
            self._known.popitem(last=False)

    def _find(self, caller_key: bytes) -> CachedCaller | None:
        return self._authenticator.find(caller_key, clock.now())

    def _is_repeated(self, digest: bytes) -> bool:
        """Return whether the request came before; those that come once don't take the place of others."""
        if digest in self._known or digest in self._once:
            self._once.pop(digest, None)
            return True
        self._once[digest] = None
        if len(self._once) > _MAX_REQUESTS:
            del self._once[next(iter(self._once))]
        return False

    def __len__(self) -> int:
        return len(self._known)


def _can_repeat(request: web.BaseRequest, response: web.StreamResponse) -> bool:
    """Return whether the connection goes on after a response that was written at once."""
    return (
        request.method in _METHODS
        and request.version == HttpVersion11
        and hdrs.EXPECT not in request.headers
        and bool(response.keep_alive)
        and isinstance(response, BytesResponse)
        and isinstance(response.body, bytes)
        and len(response.body) <= WRITE_SIZE
    )


def _beginnings(policies: Mapping[web.AbstractRoute, RoutePolicy]) -> Iterable[bytes]:
    """Return how requests for the catalogue may begin: its routes, up to their parameters, and `/graphql`."""
    for route, policy in policies.items():
        if route.method in _METHODS and (policy.is_catalogue or policy.credential is Credential.GRAPHQL):
            assert route.resource is not None
            yield f"{route.method} {route.resource.canonical.partition('{')[0]}".encode()
