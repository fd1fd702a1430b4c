"""Apps in the back office: registered, installed, limited and uninstalled; webhooks with their deliveries; the event feed."""

from __future__ import annotations

from domain.orders.lifecycle import change_status
from domain.webhooks.fan_out import fan_out_events
from kernel.scope import active_scope
from tests.browser.office import OFFICE_MARKS, SHOWN, Clerk, each_width, on_desktop
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import system_scope, value

pytestmark = OFFICE_MARKS
STAFF = ("view_apps", "manage_apps", "view_orders", "manage_orders", "view_products", "view_statuses")
_ONLY_CANCELLED = """
    (names => names.length > 0 && names.every(each => each === 'order.cancelled'))(
        [...document.querySelectorAll('[data-event]')].map(each => each.dataset.event))
"""
_SCOPE = "[name='input.scopes.%s']"


async def sign_in(clerk: Clerk, *privileges: str) -> None:
    staff = await add_user(clerk.store, *(privileges or STAFF))
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")


async def cancel_an_order(clerk: Clerk) -> None:
    """Cause an event of an order."""
    number = await value(clerk.store, "select id from orders where status = 'O' order by id desc limit 1")
    scope = system_scope(clerk.store)
    with active_scope(scope):
        await change_status(scope, number, "I")


async def install(clerk: Clerk, name: str) -> str:
    """Register an app and install it by the pages; return its ID."""
    await clerk.go("/installed_app", "Aplicativos")
    await clerk.press("Registrar aplicativo")
    await clerk.page.wait_for("document.querySelector(\"[name='input.name']\") !== null")
    await clerk.check("app-register")
    await clerk.fill("input.name", name)
    await clerk.fill("input.redirect_uri", "https://app.example.com/done")
    for scope in ("read_orders", "read_products"):
        await clerk.page.click(_SCOPE % scope)
    await clerk.submit(closes=False)
    await clerk.page.wait_for("document.querySelector('[data-secret]')?.innerText.length > 20")
    await clerk.press("Fechar")
    await clerk.press(f"Instalar: {name}")
    await clerk.page.wait_for(f'document.querySelector("{_SCOPE % "read_orders"}") !== null')
    await clerk.check("app-install")
    await clerk.submit(closes=False)
    await clerk.see("Abrir o aplicativo")
    await clerk.press("Fechar")
    sql = "select i.public_id from app_installations i join apps a on a.id = i.app_id where a.name = $1"
    return str(await value(clerk.store, sql, name))


@each_width
async def test_an_app_is_installed_limited_and_uninstalled(clerk: Clerk) -> None:
    await sign_in(clerk)
    name = f"Contador {clerk.width.name}"
    app = await install(clerk, name)
    await clerk.check("apps")
    await clerk.go(f"/installed_app/{app}", name)
    await clerk.see("Ler pedidos")
    await clerk.press("Tirar permissões")
    await clerk.page.wait_for(f'document.querySelector("{_SCOPE % "read_products"}") !== null')
    await clerk.page.click(_SCOPE % "read_products")
    await clerk.submit()
    await clerk.page.wait_for("!document.querySelector('main').innerText.includes('Ler produtos')")
    await clerk.press("Desinstalar")
    await clerk.submit()
    await clerk.page.wait_for("location.pathname === '/admin/installed_app'")
    await clerk.go(f"/installed_app/{app}", "Não encontrado")


@each_width
async def test_deliveries_of_a_webhook_are_shown_and_sent_again(clerk: Clerk) -> None:
    await sign_in(clerk)
    name = f"Ganchos {clerk.width.name}"
    app = await install(clerk, name)
    await clerk.go(f"/installed_app/{app}", name)
    await clerk.press("Adicionar webhook")
    await clerk.page.wait_for("document.querySelector(\"[name='input.url']\") !== null")
    await clerk.fill("input.url", "ftp://hooks.example.com")
    await clerk.fill("input.events", "order.cancelled, order.created")
    await clerk.submit(closes=False)
    await clerk.page.wait_for("document.querySelector('[role=dialog] [role=alert]') !== null")
    await clerk.fill("input.url", "https://hooks.example.com/vitrine")
    await clerk.submit()
    await clerk.page.wait_for("document.querySelector('[data-endpoint]') !== null")
    await cancel_an_order(clerk)
    while (await fan_out_events()).has_more:  # events of other stores are fanned out first
        pass
    await clerk.press("Testar")
    await clerk.page.wait_for("document.querySelectorAll('[data-delivery]').length === 2")
    await clerk.check("app")
    failed = """update event_deliveries set state = 'dead', tries = 8, last_status = 500, last_error = 'status 500', due_at = null
        where name = 'order.cancelled' returning id"""
    assert await value(clerk.store, failed)
    await clerk.page.click("[data-endpoint] [type=checkbox]")
    await clerk.page.wait_for("document.querySelectorAll('[data-delivery=dead]').length === 1")
    await clerk.press("Entregar de novo")
    await clerk.see("Entrega marcada")
    await clerk.page.wait_for("document.querySelectorAll('[data-delivery=dead]').length === 0")
    await clerk.press("Enviar de novo")
    await clerk.page.wait_for("document.querySelector(\"[name='input.since']\") !== null")
    await clerk.check("app-replay")
    await clerk.submit()
    await clerk.see("Eventos a enviar de novo:")
    await clerk.press("Desligar")
    await clerk.see("Inativo")


@each_width
async def test_the_event_feed_shows_what_happened(clerk: Clerk) -> None:
    await sign_in(clerk)
    await cancel_an_order(clerk)
    await clerk.go("/events", "Eventos da loja")
    await clerk.page.wait_for("document.querySelectorAll('[data-event]').length > 0")
    await clerk.check("feed")
    await clerk.fill("type", "order.cancelled")
    await clerk.page.wait_for(_ONLY_CANCELLED)
    before = await clerk.page.evaluate("document.querySelectorAll('[data-event]').length")
    await cancel_an_order(clerk)
    await clerk.see("Estes são os mais novos.")
    await clerk.press("Buscar novos")
    await clerk.page.wait_for(f"document.querySelectorAll('[data-event]').length === {before + 1}")


@on_desktop
async def test_who_may_only_read_apps_is_offered_no_installation(clerk: Clerk) -> None:
    await sign_in(clerk, "view_apps")
    await clerk.go("/installed_app", "Aplicativos")
    await clerk.see("Registrados nesta loja")
    assert "Registrar aplicativo" not in await clerk.page.evaluate(SHOWN)
