"""Find the store and the caller of a request, and bind both into its scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Protocol

from aiohttp import hdrs, web
from multidict import CIMultiDict, istr

from auth.credential_cache import process_memory
from kernel import clock
from kernel.errors import TenantNotFound
from kernel.scope import Actor, ActorKind, Scope, Store
from rest_facade.routing import Needs
from server.mounting import RouteTerms

TENANT_HEADER = istr("X-Tenant-ID")
_API_KEY = istr("X-API-Key")
_CREDENTIALS = (hdrs.AUTHORIZATION, _API_KEY)
_LONGEST_USER_AGENT = 300
_MOST_SEEN = 10_000
# Whoever asks is nobody yet: the handler says who may go on.
_OPEN = (Needs.STORE, Needs.SIGNATURE)


class Directory(Protocol):
    """Find the store that answers at a host (`auth.tenancy.StoreDirectory`).

    `generation`, where there is one, grows whenever what was found before may be stale.
    """

    async def resolve(
        self, host: str, tenant_header: str | None, *, public: bool, allow_maintenance: bool = False
    ) -> Store:
        """Give the store; raises TenantNotFound, TenantMismatch (not on public routes) or TenantClosed."""
        ...


class Authenticate(Protocol):
    """Tell who a request's credential belongs to (`auth.schemes.authenticate`)."""

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
        """Give the caller, or raise the contract's refusal in the family's words."""
        ...


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the headers of a request led to: good as long as neither directory nor credentials have changed."""

    store: Store
    actor: Actor
    until: datetime
    generations: tuple[int | None, int]


class Entrance:
    """Give the scope of a request: its store first, then its credential (contract, Order of checks).

    Who comes again with the same headers is let in without looking store and credential up in their own memories: most requests are
    of such callers, and the look-ups cost a tenth of a small read. Headers are remembered by their hash, never as they are.
    """

    def __init__(self, directory: Directory, authenticate: Authenticate) -> None:
        self._directory = directory
        self._authenticate = authenticate
        self._seen: dict[bytes, _Seen] = {}

    async def enter(self, request: web.Request, terms: RouteTerms, client_ip: str, request_id: str) -> Scope:
        """Give the scope; raises the contract's refusals."""
        headers = request.headers
        # Not request.host: without the header that is the socket's own address, which the client didn't name.
        host = headers.get(hdrs.HOST, "")
        if not host.isascii():
            raise TenantNotFound
        now = clock.now()
        generations = (getattr(self._directory, "generation", None), process_memory().generation)
        key = _key(headers, host, terms) if terms.needs not in _OPEN else None
        seen = self._seen.get(key) if key is not None else None
        if seen is not None and seen.until > now and seen.generations == generations:
            store, actor = seen.store, seen.actor
        else:
            store = await self._directory.resolve(
                host,
                headers.get(TENANT_HEADER),
                public=terms.needs in _OPEN,
                allow_maintenance=terms.allow_maintenance,
            )
            actor = await self._caller(store, terms, headers, now, client_ip, request_id)
            if key is not None and generations[0] is not None and actor.proven_until is not None:
                self._remember(key, _Seen(store, actor, actor.proven_until, generations))
        return Scope(
            store=store,
            actor=actor,
            request_id=request_id,
            now=now,
            family=terms.family.name,
            client_ip=client_ip,
            user_agent=_storable(headers.get(hdrs.USER_AGENT, "")),
        )

    async def _caller(
        self,
        store: Store,
        terms: RouteTerms,
        headers: Mapping[str, str],
        now: datetime,
        client_ip: str,
        request_id: str,
    ) -> Actor:
        if terms.needs in _OPEN:
            return Actor(ActorKind.ANONYMOUS, credential=f"ip:{client_ip}")
        return await self._authenticate(
            store,
            terms.needs,
            _readable(headers),
            now=now,
            client_ip=client_ip,
            request_id=request_id,
            family=terms.family.name,
        )

    def _remember(self, key: bytes, seen: _Seen) -> None:
        if len(self._seen) >= _MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[key] = seen


def _key(headers: Mapping[str, str], host: str, terms: RouteTerms) -> bytes:
    """Name what decides who a caller is: everything of a request that the directory and the schemes look at."""
    # No header holds a newline, so this is none.
    tenant = headers.get(TENANT_HEADER, "\n")
    authorization, api_key = headers.get(hdrs.AUTHORIZATION, "\n"), headers.get(_API_KEY, "\n")
    asked = f"{terms.needs}\n{terms.allow_maintenance}\n{host}\n{tenant}\n{authorization}\n{api_key}"
    return sha256(asked.encode("utf-8", "surrogateescape")).digest()


def _readable(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Make a credential ASCII, as all of ours are: bytes that are not UTF-8 can't be hashed, and must be merely wrong."""
    for name in _CREDENTIALS:
        value = headers.get(name)
        if value is not None and not value.isascii():
            return CIMultiDict(
                (each, text.encode("ascii", "replace").decode()) for each, text in headers.items()
            )
    return headers


def _storable(text: str) -> str:
    """Cut a header's text, and replace the bytes that are not UTF-8: the session's row will hold it."""
    if not text.isascii():
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text[:_LONGEST_USER_AGENT]
