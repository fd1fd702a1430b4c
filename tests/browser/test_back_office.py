"""The back office in a browser: an administrator signs in with two factors and changes a price; a vendor sees its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pyotp
import pytest

from domain.media import addresses as media_addresses
from domain.people import two_factor
from kernel.clock import now
from kernel.scope import Store, active_scope
from kernel.settings import Settings
from models.connection import database
from server.demo.credentials import ensure_owner
from server.demo.seeding import seed_store
from server.demo.stores import DEMO
from tests.auth.kit import user_scope
from tests.browser.chromium import Browser, BrowserError, Page
from tests.browser.shop import AXE, DESKTOP, PHONE, VIOLATIONS, Width
from tests.browser.test_playground import SCREENSHOTS, needs_assets, needs_chromium
from tests.harness.database import NewStore
from tests.harness.http import HttpClient, ServeApplication
from tests.harness.packages import COMMAND, EXAMPLE
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import value

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow(seconds=5),
    needs_assets,
    needs_chromium,
    pytest.mark.skipif(not EXAMPLE.is_installed(), reason=f"{EXAMPLE.title}: not installed ({COMMAND})"),
]
each_width = pytest.mark.parametrize("width", [PHONE, DESKTOP], ids=lambda width: width.name)
PRODUCT = "Pilão de goiabeira"
_SHOWN = "(document.body?.innerText ?? '').replace(/\\s+/g, ' ')"
_TOKENS = "JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie])"
_PRESS = """
    (text => [...document.querySelectorAll('button, a, [role=button], [role=menuitem], [role=option]')]
        .find(each => each.getClientRects().length && !each.disabled
            && (each.ariaLabel || each.innerText).replace(/\\s+/g, ' ').trim().startsWith(text)))(%s)
"""


@pytest.fixture(scope="module")
async def server(serve_application: ServeApplication) -> HttpClient:
    return await serve_application(Settings(ip_rate=0, failed_auth_rate=0))


@pytest.fixture(scope="module")
async def demo_store(new_store: NewStore, demo_pictures: Path) -> Store:
    store = await new_store(name=DEMO.name)
    await seed_store(await ensure_owner(store, DEMO.personas[0]), DEMO, now(), demo_pictures)
    return store


@pytest.fixture(scope="module")
async def address(server: HttpClient, demo_store: Store) -> AsyncIterator[str]:
    host = f"admin-{demo_store.public_id.hex}.localhost"
    async with database.cross_store_connection() as platform:
        await platform.execute("insert into store_hosts (host, store_id) values ($1, $2)", host, demo_store.id)
    port = server.make_url("/").port
    media_addresses.configure(f"http://localhost:{port}")
    yield f"http://{host}:{port}"
    media_addresses.configure("http://localhost")


@dataclass
class Clerk:
    """A person with a browser in a store's back office."""

    page: Page
    store: Store
    address: str
    width: Width

    async def see(self, text: str) -> None:
        try:
            await self.page.wait_for(f"{_SHOWN}.includes({json.dumps(text)})")
        except BrowserError as error:
            raise BrowserError(f"{error}; shown: {await self.page.evaluate(_SHOWN)}") from error

    async def press(self, text: str) -> None:
        control = _PRESS % json.dumps(text)
        await self.page.wait_for(f"!!{control}")
        await self.page.wait_for("document.getAnimations().every(each => each.playState !== 'running')")
        await self.page.evaluate(f"({control}).setAttribute('data-pressed', '')")
        try:
            await self.page.click("[data-pressed]")
        finally:
            await self.page.evaluate("document.querySelector('[data-pressed]')?.removeAttribute('data-pressed')")

    async def fill(self, name: str, text: str) -> None:
        await self.page.fill(f"[name='{name}']", text)

    async def go(self, path: str, title: str) -> None:
        await self.page.call("Page.navigate", url=f"{self.address}/admin{path}")
        await self.page.wait_for(f"document.querySelector('main h1')?.innerText.startsWith({json.dumps(title)})")

    async def sign_in(self, email: str, password: str) -> None:
        await self.fill("identifier", email)
        await self.fill("password", password)
        await self.page.press("Enter")

    async def check(self, name: str) -> None:
        """Check the page that is shown for accessibility and width, and keep a screenshot."""
        await self.page.wait_for(
            "document.querySelector('main h1') !== null && document.querySelector('[aria-busy=true]') === null"
        )
        if not await self.page.evaluate("typeof axe === 'object'"):
            await self.page.evaluate(AXE.read_text(encoding="utf-8"))
        await self.page.wait_for("document.getAnimations().every(each => each.playState !== 'running')")
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        await self.page.screenshot(SCREENSHOTS / f"admin-{self.width.name}-{name}.png", whole=True)
        violations = await self.page.evaluate(VIOLATIONS)
        assert violations == [], (name, violations)
        assert await self.page.evaluate("document.documentElement.scrollWidth") <= self.width.width, name


@pytest.fixture
async def clerk(browser: Browser, demo_store: Store, address: str, width: Width) -> AsyncIterator[Clerk]:
    async with database.cross_store_connection() as platform:
        await platform.execute("delete from signin_counts")  # all tests sign in from the browser's address
    page = await browser.open(f"{address}/admin", width=width.width, height=width.height, is_phone=width.is_phone)
    await page.wait_for("document.querySelector('[name=identifier]') !== null")
    clerk = Clerk(page, demo_store, address, width)
    yield clerk
    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith((f"{address}/", "data:", "blob:"))] == []


@each_width
async def test_an_administrator_changes_a_price(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_products", "manage_products", "view_orders", "view_catalog")
    await clerk.check("sign-in")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.check("home")
    await clerk.go("/product", "Produtos")
    await clerk.fill("search", "pilao")
    await clerk.see("1–1 de 1")
    await clerk.check("products")
    await clerk.press(PRODUCT) if clerk.width.is_phone else await clerk.page.click("tbody tr td:nth-child(3)")
    await clerk.page.wait_for("document.querySelector(\"[name='input.price_cents']\")?.value.length > 0")
    await clerk.check("product")
    await clerk.fill("input.price_cents", "1.234,56")
    await clerk.fill("input.gtin", "123")
    await clerk.press("Salvar")
    await clerk.page.wait_for("document.querySelector(\"[name='input.gtin']\").getAttribute('aria-invalid') === 'true'")
    assert await value(clerk.store, "select price_cents from products where name = $1", PRODUCT) != 123456
    await clerk.fill("input.gtin", "")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    assert await value(clerk.store, "select price_cents from products where name = $1", PRODUCT) == 123456
    await value(clerk.store, "update products set price_cents = 8990 where name = $1 returning id", PRODUCT)


@pytest.mark.parametrize("width", [DESKTOP], ids=lambda width: width.name)
async def test_the_session_survives_a_reload_and_no_script_can_read_it(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_products")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    kept = await clerk.page.evaluate(_TOKENS)
    assert "eyJ" not in kept
    assert json.loads(kept)[2] == ""
    (cookie,) = (await clerk.page.call("Network.getAllCookies"))["cookies"]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert cookie["value"] not in kept
    await clerk.go("/product", "Produtos")
    await clerk.press("Conta")
    await clerk.press("Sair de todos")
    await clerk.see("Entrar")
    assert (await clerk.page.call("Network.getAllCookies"))["cookies"] == []
    await clerk.page.call("Page.reload")
    await clerk.see("E-mail, CPF ou telefone")


@pytest.mark.parametrize("width", [PHONE], ids=lambda width: width.name)
async def test_two_factors_are_asked_for(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_orders")
    scope = await user_scope(clerk.store, user.number)
    with active_scope(scope):
        enrolment = await two_factor.begin_enrolment(scope)
        await two_factor.confirm(scope, pyotp.TOTP(enrolment.secret).at(now()))
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Código de verificação")
    await clerk.check("code")
    await clerk.fill("code", pyotp.TOTP(enrolment.secret).at(now() + timedelta(seconds=30)))
    await clerk.page.press("Enter")
    await clerk.see("Início")
    # A menu of what the user may read.
    await clerk.press("Menu")
    await clerk.see("Pedidos")
    assert "Produtos" not in await clerk.page.evaluate(_SHOWN)


@pytest.mark.parametrize("width", [DESKTOP], ids=lambda width: width.name)
async def test_a_customer_is_not_let_in(clerk: Clerk) -> None:
    user = await add_user(clerk.store, user_type="C")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Esta conta não administra a loja.")
    assert (await clerk.page.call("Network.getAllCookies"))["cookies"] == []


@pytest.mark.parametrize("width", [DESKTOP], ids=lambda width: width.name)
async def test_a_vendor_sees_its_own(clerk: Clerk) -> None:
    vendor = await value(clerk.store, "select min(vendor_id) from products")
    other = await value(clerk.store, "select count(*) from products where vendor_id <> $1", vendor)
    assert other > 0
    user = await add_user(clerk.store, user_type="V", vendor_id=vendor)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    assert "Auditoria" not in await clerk.page.evaluate(_SHOWN)
    await clerk.go("/order", "Pedidos")
    await clerk.check("vendor-orders")
    assert await clerk.page.evaluate("document.querySelector('a[href$=\"/product/create\"]') === null")


@each_width
async def test_an_order_is_changed_by_an_action_and_shows_what_refers_to_it(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_orders", "manage_orders", "view_payments", "view_statuses")
    order = await value(clerk.store, "select public_id from orders where status = 'O' order by id desc limit 1")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/order/{order}", "Pedido")
    await clerk.see("Pagamentos")
    await clerk.see("Nada ainda.")
    await clerk.check("order")
    await clerk.press("Mudar o status")
    await clerk.page.wait_for("document.querySelector('[role=dialog]') !== null")
    await clerk.page.click("[role=dialog] [role=combobox]")
    await clerk.press("Cancelado")
    await clerk.page.fill("[role=dialog] [name='input.reason']", "o cliente desistiu")
    await clerk.check("order-status")
    await clerk.page.evaluate("document.querySelector('[role=dialog] [type=submit]').click()")
    await clerk.see("Mudar o status: feito")
    assert await value(clerk.store, "select status from orders where public_id = $1", order) == "I"
    assert (
        await value(
            clerk.store, "select reason from order_status_changes where to_status = 'I' order by id desc limit 1"
        )
        == "o cliente desistiu"
    )
