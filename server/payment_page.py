"""Show the charges of the gateway `sandbox`, and let a person decide what becomes of each (docs/payments.md#sandbox).

Mounted where stores may use the sandbox. A form is accepted from this page alone.
On a development server, whose other data are on its machine too, it answers only to local host names, against DNS rebinding. In production
it shows a store's charges to the administrators of its payments, who sign in by Basic authentication with e-mail and API key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from html import escape

from aiohttp import hdrs, web

from auth.access import Access
from domain.payments.sandbox import actions
from domain.payments.sandbox.charges import SandboxCharge, find_charge, latest_charges
from domain.payments.sandbox.gateway import PAGE
from kernel.clock import format_rfc3339, now
from kernel.errors import Forbidden, NotFound, RuleViolation
from kernel.money import format_price
from kernel.scope import Store, active_scope
from rest_facade.routing import SCOPE, Credential, Handler, Route
from server.development_pages import is_local, page_response, stores_with_newest
from server.http import routes
from server.operations.store_admin import system_scope

MAX_CHARGES = 50

_INTRODUCTION = "Charges of the sandbox, newest first: no money moves. What you decide is sent to the store as a signed notification."
_CHARGE = """<article id="{id}">
<h3>Order {order} · {kind} · {amount}</h3>
<p>{status} · created {created_at}{expires}</p>
{code}
{buttons}
</article>"""
_BUTTON = '<form method="post" action="{page}/{store}/{charge}/{action}"><button>{label}</button></form>'

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
            if local_only and not is_local(request):
                raise NotFound("page")
            return await handler(request)

        return handle

    app.router.add_get(PAGE, checked(show_charges))
    app.router.add_post(f"{PAGE}/{{store}}/{{charge}}/{{action}}", checked(decide))


async def show_charges(request: web.Request) -> web.Response:
    """Render `GET /dev/payments`; `?store=<UUID>` selects one store."""
    stores = await _stores(request, request.query.get("store", ""))
    charges = [(store, [_article(store, charge) for charge in await _charges_of(store)]) for store in stores]
    return page_response("Payments", _INTRODUCTION, charges, form="'self'")


async def decide(request: web.Request) -> web.Response:
    """Do what a button of the page says, and show the page again."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin" or not _is_own(request):
        raise Forbidden("insufficient permissions")
    store_id, charge_id = request.match_info["store"], request.match_info["charge"]
    stores = await _stores(request, store_id)
    if not stores:
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


async def _stores(request: web.Request, public_id: str) -> Sequence[Store]:
    """Return the administrator's own store; on a development server that with this id, or those with the newest charges."""
    scope = request.get(SCOPE)
    return [scope.store] if scope is not None else await stores_with_newest("sandbox_charges", public_id)


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
