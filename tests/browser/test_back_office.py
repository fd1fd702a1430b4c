"""The back office in a browser: an administrator signs in with two factors and changes a price; a vendor sees its own."""

from __future__ import annotations

import json
from datetime import timedelta

import pyotp
import pytest

from domain.people import two_factor
from kernel.clock import now
from kernel.scope import active_scope
from tests.auth.kit import user_scope
from tests.browser.office import OFFICE_MARKS, SHOWN, Clerk, each_width, on_desktop, recorded_payment
from tests.browser.shop import PHONE
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import value

pytestmark = OFFICE_MARKS
PRODUCT = "Pilão de goiabeira"
_TOKENS = "JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie])"


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
    await clerk.press("Entrega e códigos")
    await clerk.page.wait_for(
        "getComputedStyle(document.querySelector(\"[name='input.gtin']\")).visibility === 'visible'"
    )
    await clerk.fill("input.gtin", "123")
    await clerk.press("Salvar")
    await clerk.page.wait_for("document.querySelector(\"[name='input.gtin']\").getAttribute('aria-invalid') === 'true'")
    assert await value(clerk.store, "select price_cents from products where name = $1", PRODUCT) != 123456
    await clerk.fill("input.gtin", "")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    assert await value(clerk.store, "select price_cents from products where name = $1", PRODUCT) == 123456
    await value(clerk.store, "update products set price_cents = 8990 where name = $1 returning id", PRODUCT)


@on_desktop
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
    assert "Produtos" not in await clerk.page.evaluate(SHOWN)


@on_desktop
async def test_a_customer_is_not_let_in(clerk: Clerk) -> None:
    user = await add_user(clerk.store, user_type="C")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Esta conta não administra a loja.")
    assert (await clerk.page.call("Network.getAllCookies"))["cookies"] == []


@on_desktop
async def test_a_vendor_sees_its_own(clerk: Clerk) -> None:
    vendor = await value(clerk.store, "select min(vendor_id) from products")
    other = await value(clerk.store, "select count(*) from products where vendor_id <> $1", vendor)
    assert other > 0
    user = await add_user(clerk.store, user_type="V", vendor_id=vendor)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    assert "Auditoria" not in await clerk.page.evaluate(SHOWN)
    await clerk.go("/order", "Pedidos")
    await clerk.check("vendor-orders")
    assert await clerk.page.evaluate("document.querySelector('a[href$=\"/product/create\"]') === null")


@each_width
async def test_an_action_that_is_refused_says_why_and_keeps_what_was_typed(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_payments", "manage_payments", "view_orders")
    payment = await recorded_payment(clerk.store)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/payment/{payment}", "Pagamento")
    await clerk.press("Reembolsar")
    await clerk.fill("input.amount_cents", "1,00")
    await clerk.check("action")
    await clerk.page.press("Enter")
    await clerk.page.wait_for("document.querySelector('[role=dialog] [role=alert]') !== null")
    assert await clerk.page.evaluate("document.querySelector(\"[name='input.amount_cents']\").value") == "1,00"


@on_desktop
async def test_a_record_shows_what_refers_to_it(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_products", "view_catalog")
    category = await value(
        clerk.store,
        "select c.public_id from categories c join product_categories p on p.category_id = c.id order by c.id limit 1",
    )
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/category/{category}", "Categoria")
    await clerk.page.click("#related-product")
    await clerk.page.wait_for("document.querySelectorAll('main tbody tr').length > 0")
    await clerk.go("/product", "Produtos")
    await clerk.press("Filtrar")
    await clerk.see("Aparece na loja")
    assert "Is listed" not in await clerk.page.evaluate(SHOWN)


@pytest.mark.parametrize("width", [PHONE], ids=lambda width: width.name)
async def test_the_open_menu_of_a_phone_is_accessible(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_products")
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.press("Menu")
    await clerk.see("Catálogo")
    await clerk.check("menu-open")
