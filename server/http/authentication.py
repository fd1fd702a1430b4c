"""Resolve the store and authenticate the caller of each request, and create its scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Protocol

from aiohttp import hdrs, web
from multidict import CIMultiDict, istr

from auth.credential_cache import process_cache
from auth.store_resolution import CachedStoreResolver
from kernel import clock
from kernel.cache import BoundedCache
from kernel.errors import TenantNotFound
from kernel.scope import Actor, ActorKind, Scope, Store
from kernel.shares import shares_of_address
from rest_facade.routing import Credential
from server.http.routes import RoutePolicy
from server.http.token_store import store_of_client_request

TENANT_HEADER = istr("X-Tenant-ID")
_API_KEY = istr("X-API-Key")
_CREDENTIALS = (hdrs.AUTHORIZATION, _API_KEY)
_MAX_USER_AGENT_LENGTH = 300
_MAX_CACHED = 10_000
# Anonymous here: the handler's operation decides who is allowed.
_ANONYMOUS = (Credential.STORE, Credential.SIGNATURE)


class Authenticate(Protocol):
    """Authenticate a request's credential (`auth.schemes.authenticate`)."""

    async def __call__(
        self,
        store: Store,
        needs: str,
        headers: Mapping[str, str],
        /,
        *,
        now: datetime,
        client_ip: str,
        request_id: str,
        family: str,
    ) -> Actor:
        """Return the caller; raises the authentication errors in the family's words."""
        ...


@dataclass(frozen=True, slots=True)
class _CachedCaller:
    """The cached store and caller of a set of headers, valid until stores or credentials change."""

    store: Store
    actor: Actor
    until: datetime
    generations: tuple[int, int]


class Authenticator:
    """Create the scope of a request: first its store, then its credential (docs/reference/shared.md#order-of-checks).

    Results are cached by a hash of the headers, never the headers themselves: most requests repeat a credential, and the lookups
    cost a tenth of a small read.
    """

    def __init__(self, store_resolver: CachedStoreResolver, authenticate: Authenticate) -> None:
        self._store_resolver = store_resolver
        self._authenticate = authenticate
        self._credentials = process_cache()
        self._cache: BoundedCache[bytes, _CachedCaller] = BoundedCache(_MAX_CACHED)

    async def create_scope(
        self,
        request: web.Request,
        policy: RoutePolicy,
        client_ip: str,
        request_id: str,
        headers: Mapping[str, str] | None = None,
    ) -> Scope:
        """Return the scope; raises the errors of store resolution and authentication.

        `headers` replace the request's for a caller who is named later (a WebSocket).
        """
        if headers is None:
            headers = request.headers
        # Not request.host: without the header that is the socket's own address, which the client didn't send.
        host, now = headers.get(hdrs.HOST, ""), clock.now()
        # Without a credential there is nothing to look up, and the actor is named after the address.
        key = None if policy.route.credential in _ANONYMOUS else _cache_key(headers, host, policy)
        cached = self._find(key, now) if key is not None else None
        if cached is not None:
            store, actor = cached.store, cached.actor
        else:
            if not host.isascii():
                raise TenantNotFound
            generations = self._generations()
            store = await self._store_resolver.resolve(
                host,
                await self._tenant(request, policy, host, headers),
                public=policy.route.credential in _ANONYMOUS,
                allow_maintenance=policy.route.allow_maintenance,
            )
            actor = await self._caller(store, policy, headers, now, client_ip, request_id)
            if key is not None and actor.verified_until is not None:
                cached = _CachedCaller(store, actor, actor.verified_until, generations)
                self._cache.keep(key, cached, shares_of_address(client_ip)[0])
        user_agent = _truncated(headers.get(hdrs.USER_AGENT, ""))
        return Scope(store, actor, request_id, now, policy.family.name, client_ip, user_agent)

    def names_store_later(self, request: web.Request, policy: RoutePolicy) -> bool:
        """Return whether a WebSocket at an address that stores share names its store when it is open: browsers send it no headers."""
        headers = request.headers
        return (
            policy.route.credential is Credential.GRAPHQL
            and request.method == hdrs.METH_GET
            and headers.get(hdrs.UPGRADE, "").lower() == "websocket"
            and not headers.get(TENANT_HEADER, "").strip()
            and self._store_resolver.is_shared(headers.get(hdrs.HOST, ""))
        )

    def _find(self, key: bytes, now: datetime) -> _CachedCaller | None:
        cached = self._cache.find(key)
        is_valid = cached is not None and cached.until > now and cached.generations == self._generations()
        return cached if is_valid else None

    def _generations(self) -> tuple[int, int]:
        return self._store_resolver.generation, self._credentials.generation

    async def _tenant(
        self, request: web.Request, policy: RoutePolicy, host: str, headers: Mapping[str, str]
    ) -> str | None:
        """Return the store id that a request names: in its path or header, else at a shared address by an app's client, code or token."""
        if (in_path := request.match_info.get("store")) is not None:
            return in_path
        header = headers.get(TENANT_HEADER)
        if (header or "").strip() or not policy.route.names_store or not self._store_resolver.is_shared(host):
            return header
        return await store_of_client_request(request) or header

    async def _caller(
        self,
        store: Store,
        policy: RoutePolicy,
        headers: Mapping[str, str],
        now: datetime,
        client_ip: str,
        request_id: str,
    ) -> Actor:
        if policy.route.credential in _ANONYMOUS:
            return Actor(ActorKind.ANONYMOUS, credential=f"ip:{client_ip}")
        return await self._authenticate(
            store,
            policy.route.credential,
            _ascii_credentials(headers),
            now=now,
            client_ip=client_ip,
            request_id=request_id,
            family=policy.family.name,
        )


def _cache_key(headers: Mapping[str, str], host: str, policy: RoutePolicy) -> bytes:
    """Hash everything of a request that store resolution and authentication depend on."""
    # A header can't contain a newline, so this marks an absent one.
    tenant = headers.get(TENANT_HEADER, "\n")
    authorization, api_key = headers.get(hdrs.AUTHORIZATION, "\n"), headers.get(_API_KEY, "\n")
    text = f"{policy.route.credential}\n{policy.route.allow_maintenance}\n{host}\n{tenant}\n{authorization}\n{api_key}"
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=32).digest()


def _ascii_credentials(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Replace non-ASCII characters in credentials: they are wrong anyway, and bytes that aren't UTF-8 can't be hashed."""
    for name in _CREDENTIALS:
        value = headers.get(name)
        if value is not None and not value.isascii():
            return CIMultiDict((each, text.encode("ascii", "replace").decode()) for each, text in headers.items())
    return headers


def _truncated(text: str) -> str:
    """Truncate the header and replace invalid UTF-8, since the session row stores it."""
    if not text.isascii():
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text[:_MAX_USER_AGENT_LENGTH]
