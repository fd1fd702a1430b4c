"""Two administrators change one record, the session ends elsewhere, the server restarts: nothing that was typed is lost."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator

import pytest
from aiohttp.test_utils import TestServer, unused_port

from auth.schemes import authenticate
from auth.store_resolution import CachedStoreResolver
from domain.orders.lifecycle import change_status
from kernel.scope import Store, active_scope
from kernel.settings import Settings
from server.app import create_app
from tests.browser.chromium import Browser, BrowserError
from tests.browser.office import OFFICE_MARKS, Clerk, each_width, on_desktop
from tests.browser.shop import DESKTOP
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import execute, system_scope, value

pytestmark = OFFICE_MARKS
EDITORS = (
    "view_products",
    "manage_products",
    "view_catalog",
    "manage_catalog",
    "view_orders",
    "manage_orders",
    "view_statuses",
)


class RestartingServer:
    """The application at one port, which stops and starts again."""

    def __init__(self) -> None:
        self.port = unused_port()
        self._server: TestServer | None = None

    async def start(self) -> None:
        settings = Settings(ip_rate=0, failed_auth_rate=0)
        app = create_app(settings, store_resolver=CachedStoreResolver(settings.shared_hosts), authenticate=authenticate)
        self._server = TestServer(app, port=self.port)
        await self._server.start_server()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.close()
        self._server = None


@pytest.fixture
async def restarting_server(database: object) -> AsyncIterator[RestartingServer]:
    server = RestartingServer()
    await server.start()
    yield server
    await server.stop()


async def open_category(clerk: Clerk, email: str) -> str:
    """Sign in and open the form of a category that no test has changed; return its ID."""
    rename = "update categories set name = 'Antes' where id = (select min(id) from categories) returning public_id"
    category = str(await value(clerk.store, rename))
    await clerk.sign_in(email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/category/{category}", "Categoria")
    await clerk.page.wait_for("document.querySelector(\"[name='input.name']\")?.value.length > 0")
    return category


async def open_order_of(clerk: Clerk, email: str) -> tuple[str, int]:
    number = await value(clerk.store, "select id from orders where status = 'O' order by id desc limit 1")
    order = str(await value(clerk.store, "select public_id from orders where id = $1", number))
    await clerk.sign_in(email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/order/{order}", "Pedido")
    return order, number


async def shown_value(clerk: Clerk, name: str) -> str:
    return str(await clerk.page.evaluate(f"document.getElementsByName({json.dumps(name)})[0].value"))


@each_width
async def test_the_second_of_two_who_change_a_record_sees_both_values_and_chooses(clerk: Clerk) -> None:
    user = await add_user(clerk.store, *EDITORS)
    category = await open_category(clerk, user.email)
    await execute(clerk.store, "update categories set name = 'Dela' where public_id = $1", category)
    await clerk.fill("input.name", "Minha")
    await clerk.press("Salvar")
    await clerk.page.wait_for("document.querySelector('[data-conflict]') !== null")
    cells = "[...document.querySelectorAll('[data-conflict] tbody tr')].map(row => [...row.cells].map(cell => cell.innerText))"
    assert await clerk.page.evaluate(cells) == [["Nome", "Dela", "Minha"]]
    await clerk.check("conflict")
    assert await value(clerk.store, "select name from categories where public_id = $1", category) == "Dela"
    await clerk.press("Salvar as minhas")
    await clerk.see("Salvo")
    assert await value(clerk.store, "select name from categories where public_id = $1", category) == "Minha"


@on_desktop
async def test_a_conflict_shows_records_by_their_names(clerk: Clerk) -> None:
    user = await add_user(clerk.store, *EDITORS, "view_marketplace")
    category = await open_category(clerk, user.email)
    vendor = await value(clerk.store, "select name from vendors order by id limit 1")
    await execute(
        clerk.store,
        "update categories set vendor_id = (select id from vendors order by id limit 1) where public_id = $1",
        category,
    )
    await clerk.fill("input.name", "Minha")
    await clerk.press("Salvar")
    await clerk.page.wait_for(f"document.querySelector('[data-conflict]')?.innerText.includes({json.dumps(vendor)})")
    await execute(clerk.store, "update categories set vendor_id = null where public_id = $1", category)


@on_desktop
async def test_a_conflict_shows_long_texts_to_their_end(clerk: Clerk) -> None:
    user = await add_user(clerk.store, *EDITORS)
    category = await open_category(clerk, user.email)
    write = "update categories set meta_description = $2 where public_id = $1"
    await execute(clerk.store, write, category, f"{'muito ' * 40}até o fim")
    await clerk.fill("input.name", "Minha")
    await clerk.press("Salvar")
    await clerk.page.wait_for("document.querySelector('[data-conflict]')?.innerText.includes('até o fim')")
    await execute(clerk.store, write, category, "")


@on_desktop
async def test_who_sees_the_conflict_may_take_the_other_version_or_go_on_typing(clerk: Clerk) -> None:
    user = await add_user(clerk.store, *EDITORS)
    category = await open_category(clerk, user.email)
    await execute(clerk.store, "update categories set name = 'Dela' where public_id = $1", category)
    await clerk.fill("input.name", "Minha")
    await clerk.press("Salvar")
    await clerk.press("Voltar")
    await clerk.page.wait_for("document.querySelector('[data-conflict]') === null")
    assert await shown_value(clerk, "input.name") == "Minha"
    await clerk.press("Salvar")
    await clerk.press("Ver a versão nova")
    await clerk.page.wait_for("document.querySelector(\"[name='input.name']\").value === 'Dela'")
    assert await value(clerk.store, "select name from categories where public_id = $1", category) == "Dela"


@on_desktop
async def test_notes_of_an_order_that_another_wrote_meanwhile_are_shown_before_they_are_replaced(clerk: Clerk) -> None:
    user = await add_user(clerk.store, *EDITORS)
    order, _ = await open_order_of(clerk, user.email)
    await clerk.press("Alterar: Anotações internas")
    await clerk.fill("input.details", "minhas")
    await execute(clerk.store, "update orders set details = 'dela' where public_id = $1", order)
    await clerk.page.evaluate("document.querySelector('[role=dialog] [type=submit]').click()")
    await clerk.page.wait_for("document.querySelector('[data-conflict]')?.innerText.includes('dela')")
    assert await value(clerk.store, "select details from orders where public_id = $1", order) == "dela"
    assert await shown_value(clerk, "input.details") == "minhas"
    await clerk.page.evaluate("document.querySelector('[role=dialog] [type=submit]').click()")
    await clerk.page.wait_for("document.querySelector('[role=dialog]') === null")
    assert await value(clerk.store, "select details from orders where public_id = $1", order) == "minhas"


@on_desktop
async def test_lines_of_an_order_that_another_changed_meanwhile_are_shown_before_they_are_replaced(
    clerk: Clerk,
) -> None:
    user = await add_user(clerk.store, *EDITORS)
    _, number = await open_order_of(clerk, user.email)
    price = "select price_cents from order_lines where order_id = $1 order by position limit 1"
    await clerk.press("Alterar itens")
    await clerk.fill("input.items.0.price", "12,34")
    await execute(clerk.store, "update order_lines set price_cents = 777 where order_id = $1", number)
    submit = "document.querySelector('[role=dialog] [type=submit]').click()"
    await clerk.page.evaluate(submit)
    await clerk.page.wait_for("document.querySelector('[data-conflict]')?.innerText.includes('7,77')")
    assert await value(clerk.store, price, number) == 777
    await clerk.check("conflict-lines")
    await clerk.page.evaluate(submit)
    await clerk.page.wait_for("document.querySelector('[role=dialog]') === null")
    assert await value(clerk.store, price, number) == 1234


@each_width
async def test_a_session_that_was_ended_elsewhere_begins_again_above_the_form(
    clerk: Clerk, browser: Browser, address: str
) -> None:
    user = await add_user(clerk.store, *EDITORS)
    category = await open_category(clerk, user.email)
    await clerk.fill("input.name", "Ainda não salva")
    page = await browser.open(f"{address}/admin", width=DESKTOP.width, height=DESKTOP.height)
    elsewhere = Clerk(page, clerk.store, address, DESKTOP)
    await elsewhere.page.wait_for("document.querySelector('[name=identifier]') !== null")
    await elsewhere.sign_in(user.email, PASSWORD)
    await elsewhere.see("Início")
    await elsewhere.press("Conta")
    await elsewhere.press("Sair de todos")
    await elsewhere.see("Entrar")
    await clerk.press("Salvar")
    await clerk.see("Sua sessão terminou. Entre de novo")
    await clerk.check("expired")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.page.wait_for("document.querySelector('[name=identifier]') === null")
    assert await shown_value(clerk, "input.name") == "Ainda não salva"
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    assert await value(clerk.store, "select name from categories where public_id = $1", category) == "Ainda não salva"
    clerk.excuse("401")


@on_desktop
async def test_a_server_that_restarts_in_the_middle_of_a_form_costs_nothing_that_was_typed(
    clerk: Clerk, restarting_server: RestartingServer
) -> None:
    user = await add_user(clerk.store, *EDITORS)
    await go_to(clerk, restarting_server)
    category = await open_category(clerk, user.email)
    await clerk.fill("input.name", "Durante a queda")
    await restarting_server.stop()
    await clerk.press("Salvar")
    await clerk.see("O servidor não respondeu")
    assert await shown_value(clerk, "input.name") == "Durante a queda"
    await restarting_server.start()
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    assert await value(clerk.store, "select name from categories where public_id = $1", category) == "Durante a queda"
    clerk.excuse("ERR_")
    clerk.excuse("WebSocket")
    clerk.excuse("Loading the image")


async def change(store: Store, number: int, status: str) -> None:
    scope = system_scope(store)
    with active_scope(scope):
        await change_status(scope, number, status)


async def change_until_shown(clerk: Clerk, number: int) -> None:
    """Change an open order until the page shows it, which it does from the time on at which its connection is there."""
    name = await value(clerk.store, "select description from statuses where type = 'O' and letter = 'B'")
    for status in ("B", "O", "B", "O", "B"):
        await change(clerk.store, number, status)
        with contextlib.suppress(BrowserError):
            await clerk.page.wait_for(
                f"document.querySelector('main').innerText.includes({json.dumps(name)})", seconds=3
            )
            return
    raise AssertionError("no event arrived")


async def go_to(clerk: Clerk, server: RestartingServer) -> None:
    """Open the back office at a server's port; pictures stay at the address at which the store was filled, and aren't loaded."""
    clerk.address = f"{clerk.address.rpartition(':')[0]}:{server.port}"
    await clerk.page.call("Page.navigate", url=f"{clerk.address}/admin")
    await clerk.page.wait_for("document.querySelector('[name=identifier]') !== null")


@on_desktop
async def test_events_during_a_restart_of_the_server_arrive_afterwards(
    clerk: Clerk, restarting_server: RestartingServer
) -> None:
    user = await add_user(clerk.store, *EDITORS)
    await go_to(clerk, restarting_server)
    _, number = await open_order_of(clerk, user.email)
    await change_until_shown(clerk, number)
    await restarting_server.stop()
    await change(clerk.store, number, "I")
    await restarting_server.start()
    announced = f"document.querySelector('[data-live]').innerText === 'Pedido {number} cancelado'"
    await clerk.page.wait_for(announced, seconds=40)
    clerk.excuse("ERR_")
    clerk.excuse("WebSocket")
    clerk.excuse("Loading the image")
