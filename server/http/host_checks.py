"""Answer a proxy whether to get a certificate for a host: `/internal/hosts/allowed?host=` (docs/deploy.md#hosts-and-certificates)."""

from __future__ import annotations

from aiohttp import hdrs, web

from auth.store_resolution import CachedStoreResolver
from kernel.errors import TenantClosed, TenantNotFound
from kernel.ip_addresses import is_loopback, peer_address
from kernel.settings import Settings
from kernel.signatures import constant_time_equal
from rest_facade.responses import json_response

PATH = "/internal/hosts/allowed"
# What proxies add to the requests of others: with one of them, loopback is the proxy's address, not the client's.
_FORWARDING = (hdrs.X_FORWARDED_FOR, hdrs.FORWARDED, "Via", "X-Real-IP")


def add_routes(app: web.Application, settings: Settings, store_resolver: CachedStoreResolver) -> None:
    """Add the route. It is for callers on this machine and those that send VITRINE_INTERNAL_SECRET; for others it is 404."""

    async def allowed(request: web.Request) -> web.Response:
        if not _may_ask(request, settings.internal_secret):
            raise web.HTTPNotFound
        # Caddy's on-demand TLS names the parameter `domain`.
        host = request.query.get("host") or request.query.get("domain", "")
        if not await _is_served(store_resolver, host):
            return json_response({"error": "no store has this host"}, status=404)
        return json_response({"host": host})

    app.router.add_get(PATH, allowed)


async def _is_served(store_resolver: CachedStoreResolver, host: str) -> bool:
    """Return whether the host is shared or a store's, open or not: its customers read why it is closed."""
    if store_resolver.is_shared(host):
        return True
    try:
        await store_resolver.resolve(host, None, public=True)
    except TenantClosed:
        return True
    except TenantNotFound:
        return False
    return True


def _may_ask(request: web.Request, secret: str | None) -> bool:
    sent = request.headers.get(hdrs.AUTHORIZATION, "").removeprefix("Bearer ") or request.query.get("secret", "")
    if secret is not None and constant_time_equal(sent, secret):
        return True
    return is_loopback(peer_address(request.remote)) and not any(name in request.headers for name in _FORWARDING)
