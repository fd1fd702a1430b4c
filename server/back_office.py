"""Serve the back office (backoffice/) at `/admin` of stores' own addresses and of the shared one (docs/backoffice.md).

One page for all its paths: a client of `/graphql` without rights of its own. Its scripts are the server's files. The style sheets that its
components write while it runs carry a nonce, fresh in each response, so that no other style is accepted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from secrets import token_urlsafe
from typing import Any

from aiohttp import hdrs, web

from auth.store_resolution import CachedStoreResolver
from kernel.errors import TenantClosed, TenantNotFound
from kernel.settings import Settings
from server.domain_settings import shows_example_storefront
from server.http.html_pages import config_script, html_page, page_headers
from server.http.playground import ASSETS_PATH, BUILT, BUILT_KEY, NOT_BUILT, OfferedStore, built_version

PATH = "/admin"
_TITLE = "Vitrine"
_BODY = '<div id="backoffice"><noscript>A administração da loja precisa de JavaScript.</noscript></div>'


def add_routes(
    app: web.Application,
    settings: Settings,
    store_resolver: CachedStoreResolver,
    offered_store: Callable[[web.Request], Awaitable[OfferedStore]],
) -> None:
    """Add `/admin` and the paths below it, which are 404 at an address of no store."""

    async def page(request: web.Request) -> web.Response:
        host = request.headers.get(hdrs.HOST, "")
        name, store, has_shop = _TITLE, "", False
        if store_resolver.is_shared(host):
            store = (await offered_store(request)).id
        else:
            try:
                resolved = await store_resolver.resolve(host, None, public=True)
                name, has_shop = resolved.name, shows_example_storefront(settings, resolved)
            except TenantNotFound as error:
                raise web.HTTPNotFound from error
            except TenantClosed:
                pass  # its staff may sign in nevertheless
        version = built_version(request.config_dict.get(BUILT_KEY, BUILT))
        if version is None:
            return web.Response(status=503, text=NOT_BUILT)
        config = {"store": store, "isShared": store_resolver.is_shared(host), "name": name, "hasShop": has_shop}
        nonce = token_urlsafe(16)
        return web.Response(
            text=render_page(version, nonce, config), content_type="text/html", headers=_page_headers(nonce)
        )

    app.router.add_get(PATH, page)
    app.router.add_get(PATH + "/{path:.*}", page)


def render_page(version: str, nonce: str, config: dict[str, Any]) -> str:
    """Render the page for one version of the assets."""
    assets = f"{ASSETS_PATH}/{version}/"
    head = [
        f'<link rel="stylesheet" href="{escape(assets)}admin.css">',
        config_script({**config, "nonce": nonce}),
        f'<script type="module" src="{escape(assets)}admin.js"></script>',
    ]
    return html_page(f"{config['name']} · administração", "\n".join(head), _BODY, language="pt-BR")


def _page_headers(nonce: str) -> dict[str, str]:
    return page_headers(
        cache="no-store",
        script="'self'",
        style=f"'self' 'nonce-{nonce}'",
        connect="'self'",
        # Images of products may be links to wherever the merchant keeps them; `blob:` are files chosen for an upload.
        img="'self' https: data: blob:",
    )
