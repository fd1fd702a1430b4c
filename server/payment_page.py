"""Show the charges of the gateway `sandbox`, and let a person decide what becomes of each (docs/payments.md#sandbox).

Mounted where stores may use the sandbox. A form is accepted from this page alone, and the page can't be framed, run scripts or be cached.
On a development server, whose other data are on its machine too, it answers only to local host names, against DNS rebinding. In production
it shows a store's charges to the administrators of its payments, who sign in by Basic authentication with e-mail and API key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from html import escape

from aiohttp import hdrs, web

from auth.access import Access
from auth.store_resolution import build_store, parse_host
from domain.payments.sandbox import actions
from domain.payments.sandbox.charges import SandboxCharge, find_charge, latest_charges
from domain.payments.sandbox.gateway import PAGE
from kernel.clock import format_rfc3339, now
from kernel.errors import Forbidden, NotFound, RuleViolation
from kernel.money import format_price
from kernel.scope import Store, active_scope
from models.connection import database
from rest_facade.routing import SCOPE, Credential, Handler, Route
from server.http import routes
from server.http.html_pages import html_page, page_headers, style_source
from server.operations.store_admin import system_scope

MAX_STORES = 20
MAX_CHARGES = 50

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff; }
h2 { margin-top: 2.5rem; } article { border: 1px solid #ccc; border-radius: 6px; padding: .8rem 1rem; margin: 1rem 0; }
h3 { margin: 0; } p { margin: .2rem 0; color: #555; } code { overflow-wrap: anywhere; }
form { display: inline; } button { font: inherit; margin: .6rem .4rem 0 0; padding: .2rem .8rem; border: 1px solid #888; border-radius: 4px;
background: #fff; cursor: pointer; } button:hover, button:focus { background: #eee; }
"""
HEADERS = {
    **page_headers(cache="no-store", form="'self'", style=style_source(_STYLE), img="data:"),
    "Cross-Origin-Resource-Policy": "same-origin",
}
_INTRODUCTION = """<h1>Payments</h1>
<p>Charges of the sandbox, newest first: no money moves. What you decide is sent to the store as a signed notification.</p>"""
_STORE = "<section>\n<h2>{name}</h2>\n{charges}\n</section>"
_CHARGE = """<article id="{id}">
<h3>Order {order} · {kind} · {amount}</h3>
<p>{status} · created {created_at}{expires}</p>
{code}
{buttons}
</article>"""
_BUTTON = '<form method="post" action="{page}/{store}/{charge}/{action}"><button>{label}</button></form>'

_STORES = """
    select t.* from tenants t join (select tenant_id, max(created_at) as latest from sandbox_charges group by tenant_id) c
        on c.tenant_id = t.id
    where $2 in ('', t.public_id::text)
    order by c.latest desc limit $1
"""


_ADMINISTRATORS = Access(privileges=("manage_payments",))


def add_production_routes(app: web.Application) -> None:
    """Add the routes for administrators of the store that the address or the path names."""
    routes.add_routes(
        app,
        [
            Route(method, path, _for_administrators(handler), Credential.LEGACY_ADMIN)
            for method, path, handler in (
                (hdrs.METH_GET, PAGE, show_charges),
                (hdrs.METH_GET, f"{PAGE}/{{store}}", show_charges),
                (hdrs.METH_POST, f"{PAGE}/{{store}}/{{charge}}/{{action}}", decide),
            )
        ],
    )


def _for_administrators(handler: Handler) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        scope = request[SCOPE]
        # Callers are cached by their headers, whatever store the path names.
        if request.match_info.get("store", str(scope.store.public_id)) != str(scope.store.public_id):
            raise NotFound("page")
        _ADMINISTRATORS.check(scope)
        return await handler(request)

    return handle


def add_routes(app: web.Application, *, local_only: bool) -> None:
    """Add the routes of a development server; only where stores may use the sandbox."""

    def checked(handler: Callable[[web.Request], Awaitable[web.Response]]) -> Callable[..., Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            name = parse_host(request.headers.get(hdrs.HOST))
            if local_only and (name is None or not (name in _LOCAL or name.endswith(".localhost"))):
                raise NotFound("page")
            return await handler(request)

        return handle

    app.router.add_get(PAGE, checked(show_charges))
    app.router.add_post(f"{PAGE}/{{store}}/{{charge}}/{{action}}", checked(decide))


async def show_charges(request: web.Request) -> web.Response:
    """Render `GET /dev/payments`; `?store=<UUID>` selects one store."""
    sections = [
        _STORE.format(
            name=escape(store.name), charges="\n".join(_article(store, charge) for charge in await _charges_of(store))
        )
        for store in await _stores_with_charges(_shown_store(request))
    ]
    body = "\n".join([_INTRODUCTION, *(sections or ["<p>None yet.</p>"])])
    page = html_page("Vitrine · Payments", f"<style>{_STYLE}</style>", body)
    return web.Response(text=page, content_type="text/html", charset="utf-8", headers=HEADERS)


def _shown_store(request: web.Request) -> str:
    """Return the id of the store to be shown: the administrator's own; on a development server the one that is asked for, or all."""
    scope = request.get(SCOPE)
    return str(scope.store.public_id) if scope is not None else request.query.get("store", "")


async def decide(request: web.Request) -> web.Response:
    """Do what a button of the page says, and show the page again."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin" or not _is_own(request):
        raise Forbidden("insufficient permissions")
    store_id, charge_id = request.match_info["store"], request.match_info["charge"]
    stores = await _stores_with_charges(store_id)
    if not stores or not store_id:
        raise NotFound("charge")
    scope = system_scope(stores[0])
    try:
        await actions.act(scope, charge_id, request.match_info["action"])
    except RuleViolation:  # another window decided first: the page shows how
        with active_scope(scope):
            if await find_charge(scope, charge_id) is None:
                raise
    page = PAGE if request.get(SCOPE) is None else f"{PAGE}/{store_id}"
    raise web.HTTPSeeOther(f"{page}#{charge_id}", headers={hdrs.CACHE_CONTROL: "no-store"})


def _is_own(request: web.Request) -> bool:
    """Return whether the form is of a page of this host; browsers say so with every POST."""
    origin = request.headers.get(hdrs.ORIGIN, "")
    return origin.partition("://")[2] == request.headers.get(hdrs.HOST)


async def _stores_with_charges(public_id: str) -> Sequence[Store]:
    """Return the stores with the newest charges, or the one with this id."""
    async with database.cross_store_connection() as everywhere:
        return [build_store(record) for record in await everywhere.fetch(_STORES, MAX_STORES, public_id)]


async def _charges_of(store: Store) -> list[SandboxCharge]:
    scope = system_scope(store)
    with active_scope(scope):
        return await latest_charges(scope, MAX_CHARGES)


def _article(store: Store, charge: SandboxCharge) -> str:
    state = charge.state(now())
    shown = state.pix.code if state.pix is not None else state.boleto.line if state.boleto is not None else ""
    buttons = [
        _BUTTON.format(
            page=PAGE, store=store.public_id, charge=charge.charge_id, action=name, label=actions.ACTIONS[name].label
        )
        for name in actions.actions_of(charge)
    ]
    return _CHARGE.format(
        id=charge.charge_id,
        order=charge.order_number,
        kind=charge.kind,
        amount=escape(format_price(charge.amount_cents, charge.currency)),
        status=state.status,
        created_at=format_rfc3339(charge.created_at),
        expires=f" · until {format_rfc3339(charge.expires_at)}" if charge.expires_at is not None else "",
        code=f"<p><code>{escape(shown)}</code></p>" if shown else "",
        buttons="\n".join(buttons),
    )
