"""Find the store and the caller of a request, and bind both into its scope."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from aiohttp import hdrs, web
from multidict import CIMultiDict, istr

from kernel import clock
from kernel.errors import TenantNotFound
from kernel.scope import Actor, ActorKind, Scope, Store
from rest_facade.routing import Needs
from server.mounting import Terms

TENANT_HEADER = istr("X-Tenant-ID")
_CREDENTIALS = (hdrs.AUTHORIZATION, istr("X-API-Key"))
_LONGEST_USER_AGENT = 300
# Whoever asks is nobody yet: the handler says who may go on.
_OPEN = (Needs.STORE, Needs.SIGNATURE)


class Directory(Protocol):
    """Find the store that answers at a host (`auth.tenancy.StoreDirectory`)."""

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


async def enter(
    request: web.Request,
    terms: Terms,
    directory: Directory,
    authenticate: Authenticate,
    client_ip: str,
    request_id: str,
) -> Scope:
    """Give the scope of a request: its store first, then its credential (contract, Order of checks)."""
    headers = request.headers
    # Not request.host: without the header that is the socket's own address, which the client didn't name.
    host = headers.get(hdrs.HOST, "")
    if not host.isascii():
        raise TenantNotFound
    store = await directory.resolve(
        host,
        headers.get(TENANT_HEADER),
        public=terms.needs in _OPEN,
        allow_maintenance=terms.allow_maintenance,
    )
    now = clock.now()
    if terms.needs in _OPEN:
        actor = Actor(ActorKind.ANONYMOUS, credential=f"ip:{client_ip}")
    else:
        actor = await authenticate(
            store,
            terms.needs,
            _readable(headers),
            now=now,
            client_ip=client_ip,
            request_id=request_id,
            family=terms.family.name,
        )
    return Scope(
        store=store,
        actor=actor,
        request_id=request_id,
        now=now,
        family=terms.family.name,
        client_ip=client_ip,
        user_agent=_storable(headers.get(hdrs.USER_AGENT, "")),
    )


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
