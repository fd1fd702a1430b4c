"""Serve the example storefront (examples/storefront) at stores' own addresses, and at the shared address a page that says what is where.

The storefront is one page for all its paths; it knows the public GraphQL endpoint and a storefront key, which the page contains.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from pathlib import Path
from urllib.parse import quote, urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from auth.store_resolution import CachedStoreResolver
from auth.storefront_keys import derived_storefront_key
from domain.content.redirects import SEGMENTS, find_target, opens
from domain.payments.sandbox.gateway import PAGE as PAYMENT_PAGE
from kernel.accepted_types import accepted_types
from kernel.errors import TenantClosed, TenantNotFound
from kernel.scope import Store, active_scope
from kernel.settings import Settings
from server import mail_page
from server.authorization_metadata import own_address
from server.domain_settings import shows_example_storefront
from server.http.families import FAMILIES
from server.http.html_pages import config_script, html_page, page_headers, style_source
from server.http.playground import ASSETS_PATH, BUILT, BUILT_KEY, NOT_BUILT, built_version
from server.openapi.page import PATH as API_DOCS
from server.operations.store_admin import system_scope

KEY_NAME = "example storefront"
# The paths of examples/storefront/src/main.tsx.
PATHS = (
    *(f"/{kind}/{{slug:.+}}" for kind in SEGMENTS.values()),
    "/busca",
    "/carrinho",
    "/finalizar",
    "/pedido",
    "/entrar",
    "/criar-conta",
    "/senha",
    "/conta",
    "/conta/codigo",
    "/conta/dados",
    "/conta/enderecos",
    "/conta/excluida",
    "/conta/seguranca",
)
_DEMO_HOST = "demo.localhost"

_STYLE = (
    "body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem; color: #222 }"
)
_IMPORT = re.compile(r"""(?:from|import)\s*"\./(?P<name>[\w.-]+\.js)\"""")

_BODY = '<div id="shop"><noscript>Esta loja precisa de JavaScript.</noscript></div>'
_headers = functools.partial(page_headers, referrer="strict-origin-when-cross-origin")
# Images of products are links to wherever the merchant keeps them; `data:` are QR codes.
_SHOP_HEADERS = _headers(script="'self'", style="'self'", connect="'self'", img="'self' https: data:")
_PLAIN_HEADERS = _headers(style=style_source(_STYLE), img="data:")


def add_routes(app: web.Application, settings: Settings, store_resolver: CachedStoreResolver) -> None:
    """Add `/` and the paths of the storefront, which are 404 where it is not served; call it after all other routes were added."""
    taken = [*(family.prefix for family in FAMILIES), *(resource.canonical for resource in app.router.resources())]

    async def shop(request: web.Request, *, status: int = 200) -> web.Response:
        host = request.headers.get(hdrs.HOST, "")
        if store_resolver.is_shared(host):
            raise web.HTTPNotFound
        try:
            store = await store_resolver.resolve(host, None, public=True)
        except TenantNotFound as error:
            raise web.HTTPNotFound from error
        except TenantClosed as error:
            return _respond(request, _plain_page("pt-BR", error.message, ""), _PLAIN_HEADERS, status=503)
        if not shows_example_storefront(settings, store):
            raise web.HTTPNotFound
        primary = await store_resolver.primary_host(host)
        if primary is not None:
            raise _redirection(request, settings, primary)
        is_record = "slug" in request.match_info
        if is_record and not await _opens(request, store):
            status = 404
        if status == 404:
            await _follow_redirect(request, store)
        if status == 404 and not is_record and "text/html" not in accepted_types(request.headers.get(hdrs.ACCEPT, "")):
            raise web.HTTPNotFound
        version = built_version(request.config_dict.get(BUILT_KEY, BUILT))
        if version is None:
            return web.Response(status=503, text=NOT_BUILT)
        page = render_shop(version, store, await storefront_key(store), request.config_dict[BUILT_KEY])
        return _respond(request, page, _SHOP_HEADERS, status=status)

    async def home(request: web.Request) -> web.Response:
        if store_resolver.is_shared(request.headers.get(hdrs.HOST, "")):
            return _respond(request, _index_page(request, settings), _PLAIN_HEADERS)
        return await shop(request)

    app.router.add_get("/", home)
    for path in PATHS:
        app.router.add_get(path, shop)
    if settings.example_storefront or (settings.example_storefront is None and not settings.is_production):
        # Elsewhere an unknown path costs no search for its store.
        app.router.register_resource(_unknown_paths(taken, functools.partial(shop, status=404)))


async def _opens(request: web.Request, store: Store) -> bool:
    """Return whether the path is the address of a record that shoppers may open."""
    scope = system_scope(store)
    with active_scope(scope):
        return await opens(scope, request.path.split("/")[1], request.match_info["slug"])


async def _follow_redirect(request: web.Request, store: Store) -> None:
    """Answer the path with a redirect if the store has one."""
    scope = system_scope(store)
    with active_scope(scope):
        target = await find_target(scope, request.rel_url.raw_path)
    if target is not None:
        query = f"?{request.rel_url.raw_query_string}" if request.rel_url.raw_query_string and "?" not in target else ""
        location = quote(target, safe="/:?#[]@!$&'()*+,;=%~") + query
        raise web.HTTPMovedPermanently(location, headers={hdrs.CACHE_CONTROL: "public, max-age=3600"})


class _UnknownPaths(web.DynamicResource):
    """Paths that are unknown to other methods than those of its routes: 404 as everywhere, not 405."""

    async def resolve(self, request: web.Request) -> tuple[web.UrlMappingMatchInfo | None, set[str]]:
        match, _ = await super().resolve(request)
        return match, set()


def _unknown_paths(taken: Iterable[str], not_found: Handler) -> web.DynamicResource:
    """Return pages that nothing serves, which redirects or the shop's 404 page answer, the latter only browsers.

    They are nothing below the first segment of a taken path, and no files but pages of HTML.
    """
    segments = "|".join(sorted({re.escape(path.split("/")[1]) for path in taken if path}))
    resource = _UnknownPaths(f"/{{path:(?!(?:{segments})(?:/|$))[^.]*(?:\\.html?)?/?}}")
    for method in (hdrs.METH_GET, hdrs.METH_HEAD):
        resource.add_route(method, not_found)
    return resource


def _redirection(request: web.Request, settings: Settings, host: str) -> web.HTTPMovedPermanently:
    """Return the redirection of a page to the same page at another host, with the scheme and port of the request."""
    own = urlsplit(own_address(request, settings))
    port = f":{own.port}" if own.port else ""
    location = f"{own.scheme}://{host}{port}{request.rel_url}"
    return web.HTTPMovedPermanently(location, headers={hdrs.CACHE_CONTROL: "public, max-age=3600"})


async def storefront_key(store: Store) -> str:
    """Return the key of the store's page."""
    scope = system_scope(store)
    with active_scope(scope):
        return await derived_storefront_key(scope, KEY_NAME)


def render_shop(version: str, store: Store, key: str, built: Path) -> str:
    """Render the page for one version of the assets in `built`."""
    assets = f"{ASSETS_PATH}/{version}/"
    has_logo = bool(store.settings.get("logo_url"))
    config = {"endpoint": "/graphql", "key": key, "name": store.name, "currency": store.currency, "has_logo": has_logo}
    preloads = [f'<link rel="modulepreload" href="{escape(assets + name)}">' for name in _imported(built / version)]
    head = [
        f'<meta name="description" content="{escape(store.name)}">',
        f'<link rel="stylesheet" href="{escape(assets)}shop.css">',
        config_script(config),
        f'<script type="module" src="{escape(assets)}shop.js"></script>',
    ]
    return html_page(store.name, "\n".join([*head, *preloads]), _BODY, language="pt-BR")


@lru_cache(maxsize=4)
def _imported(folder: Path) -> tuple[str, ...]:
    """Return the files that the storefront's script imports at once, which a browser would find only after reading it."""
    script = folder / "shop.js"
    return tuple(dict.fromkeys(match["name"] for match in _IMPORT.finditer(script.read_text(encoding="utf-8"))))


def _index_page(request: web.Request, settings: Settings) -> str:
    """List what this address serves; stores have addresses of their own."""
    links = {
        "/graphql/playground": "GraphQL playground",
        "/graphql/schema.graphql": "GraphQL schema",
        API_DOCS: "REST APIs",
        "/health/ready": "health",
    }
    if settings.is_private_development:
        links[mail_page.PATH] = "mails that were not sent"
        if settings.has_sandbox:
            links[PAYMENT_PAGE] = "payments of the sandbox"
    if not settings.is_production and settings.example_storefront is not False:
        port = f":{request.url.port}" if request.url.port else ""
        links = {f"http://{_DEMO_HOST}{port}/": "the demo store", **links}
    items = "\n".join(f'<li><a href="{escape(path)}">{escape(path)}</a>: {text}</li>' for path, text in links.items())
    note = "<p>Stores share this address: requests name theirs in the header <code>X-Tenant-ID</code>.</p>"
    return _plain_page("en", "Vitrine", f"{note}\n<ul>\n{items}\n</ul>")


def _plain_page(language: str, title: str, content: str) -> str:
    body = f"<h1>{escape(title)}</h1>\n{content}"
    return html_page(title, f"<style>{_STYLE}</style>", body, language=language)


def _respond(request: web.Request, page: str, headers: dict[str, str], *, status: int = 200) -> web.Response:
    """Return the page, or 304 for a browser that has it."""
    tag = hashlib.sha256(page.encode()).hexdigest()[:32]
    headers = {**headers, hdrs.ETAG: f'"{tag}"'}
    # A weak tag matches too: If-None-Match compares weakly.
    if status == 200 and any(known.value in (tag, "*") for known in request.if_none_match or ()):
        return web.Response(status=304, headers=headers)
    return web.Response(status=status, text=page, content_type="text/html", headers=headers)
