"""Describe the authorization server to OAuth clients, `GET /.well-known/oauth-authorization-server` (RFC 8414)."""

from __future__ import annotations

from urllib.parse import urlsplit

from aiohttp import hdrs, web

from auth.app_scopes import APP_SCOPES
from auth.store_resolution import parse_host
from kernel.errors import TenantNotFound
from kernel.ip_addresses import is_trusted
from kernel.settings import Settings
from rest_facade.responses import json_response

PATH = "/.well-known/oauth-authorization-server"
_CLIENT_AUTHENTICATION = ["client_secret_basic", "client_secret_post"]


def add_routes(app: web.Application, settings: Settings) -> None:
    """Add the route; it needs no store, because its answer is the same for all stores of an address."""

    async def metadata(request: web.Request) -> web.Response:
        base = own_address(request, settings)
        body = {
            "issuer": base,
            "authorization_endpoint": f"{base}/api/v1/oauth/authorize",
            "token_endpoint": f"{base}/api/v1/oauth/token",
            "token_endpoint_auth_methods_supported": _CLIENT_AUTHENTICATION,
            "revocation_endpoint": f"{base}/api/v1/oauth/revoke",
            "revocation_endpoint_auth_methods_supported": _CLIENT_AUTHENTICATION,
            "scopes_supported": sorted(APP_SCOPES),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "ui_locales_supported": ["en", "pt-BR"],
        }
        # It names the address of the request: no cache may give it to another.
        return json_response(body, headers={hdrs.CACHE_CONTROL: "private, max-age=3600"})

    app.router.add_get(PATH, metadata)


def own_address(request: web.Request, settings: Settings) -> str:
    """Return the scheme and host by which the client called.

    A trusted proxy names the scheme in `X-Forwarded-Proto`; otherwise it is that of `VITRINE_BASE_URL` at its host. Raises TenantNotFound
    for a malformed `Host`.
    """
    host = request.headers.get(hdrs.HOST, "")
    if parse_host(host) is None:
        raise TenantNotFound
    host, base = host.strip().lower(), urlsplit(settings.public_url)
    scheme = base.scheme if host == base.netloc else request.scheme
    if settings.trusted_proxies and is_trusted(request.remote or "", settings.trusted_proxies):
        forwarded = request.headers.get(hdrs.X_FORWARDED_PROTO, "").rpartition(",")[2].strip().lower()
        scheme = forwarded if forwarded in ("http", "https") else scheme
    return f"{scheme}://{host}"
