"""Vendors in the back office: an administrator approves and pays them; a vendor works with what is its own."""

from __future__ import annotations

from tests.browser.office import OFFICE_MARKS, SHOWN, Clerk, each_width, on_desktop
from tests.harness.records import PASSWORD, add_user, add_vendor
from tests.harness.scopes import execute, rows, value

pytestmark = OFFICE_MARKS
STAFF = (
    *("view_marketplace", "manage_marketplace", "view_payments", "manage_payments"),
    *("view_products", "view_orders", "view_statuses"),
)
_OF_VENDORS = ["order", "shipment", "product", "combination", "ledger_entry", "payout"]


async def sign_in(clerk: Clerk, *privileges: str) -> None:
    staff = await add_user(clerk.store, *(privileges or STAFF))
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")


@each_width
async def test_a_vendor_that_signed_up_is_approved_with_its_commission(clerk: Clerk) -> None:
    vendor = await add_vendor(clerk.store, name="Ateliê da Serra", status="P")
    user = await add_user(clerk.store, user_type="V", vendor_id=vendor.number, status="P")
    await sign_in(clerk)
    await clerk.go(f"/vendor/{vendor.id}", "Vendedor")
    await clerk.see("espera a aprovação")
    await clerk.check("vendor-waiting")
    await clerk.press("Aprovar")
    await clerk.check("vendor-approve")
    await clerk.fill("input.rate", "")
    await clerk.page.press("Backspace")
    await clerk.submit(closes=False)
    await clerk.page.wait_for("document.querySelector('[role=dialog] .Mui-error') !== null")
    assert await value(clerk.store, "select status from vendors where id = $1", vendor.number) == "P"
    await clerk.fill("input.rate", "12,5")
    await clerk.submit()
    await clerk.see("Vendedor aprovado")
    state = "select array[status, commission::text, commission_type] from vendors where id = $1"
    assert await value(clerk.store, state, vendor.number) == ["A", "12.50", "P"]
    assert await value(clerk.store, "select status from users where id = $1", user.number) == "A"
    await clerk.page.wait_for("document.querySelector('[data-commission]')?.innerText === '12,5 %'")
    assert "espera a aprovação" not in await clerk.page.evaluate(SHOWN)


@each_width
async def test_a_balance_is_corrected_paid_out_and_marked_as_paid(clerk: Clerk) -> None:
    vendor = await add_vendor(clerk.store, name="Olaria Velha", status="A")
    await sign_in(clerk)
    await clerk.go(f"/vendor/{vendor.id}", "Vendedor")
    await clerk.press("Lançar correção")
    await clerk.fill("input.amount_cents", "250,00")
    await clerk.fill("input.reason", "venda na feira")
    await clerk.submit()
    await clerk.page.wait_for("document.querySelector('[data-available]')?.innerText.includes('250,00')")
    await clerk.press("Fazer repasse")
    await clerk.page.wait_for("document.querySelector('[role=dialog] [name=\"input.amount_cents\"]') !== null")
    await clerk.check("vendor-payout")
    await clerk.fill("input.amount_cents", "1000,00")
    await clerk.submit(closes=False)
    await clerk.page.wait_for("document.querySelector('[role=dialog] [role=alert]') !== null")
    await clerk.fill("input.amount_cents", "200,00")
    await clerk.submit()
    await clerk.page.wait_for("document.querySelector('[data-payout=pending]') !== null")
    await clerk.press("Marcar como pago")
    await clerk.submit()
    await clerk.page.wait_for("document.querySelector('[data-payout=paid]') !== null")
    await clerk.check("vendor")
    payouts = await rows(clerk.store, "select amount_cents, status from payouts where vendor_id = $1", vendor.number)
    assert [tuple(payout) for payout in payouts] == [(20_000, "paid")]
    await clerk.page.wait_for("document.querySelector('[data-available]')?.innerText.includes('50,00')")


@on_desktop
async def test_who_may_only_read_the_marketplace_is_offered_no_money_and_no_approval(clerk: Clerk) -> None:
    vendor = await add_vendor(clerk.store, name="Só leitura", status="P")
    await sign_in(clerk, "view_marketplace")
    await clerk.go(f"/vendor/{vendor.id}", "Vendedor")
    await clerk.see("Extrato")
    shown = await clerk.page.evaluate("[...document.querySelectorAll('main button')].map(each => each.innerText)")
    assert {"Aprovar", "Recusar", "Fazer repasse", "Lançar correção", "Salvar"}.isdisjoint(shown)


@each_width
async def test_a_day_of_a_vendor(clerk: Clerk) -> None:
    order, number = await value(
        clerk.store,
        "select array[min(o.public_id::text), min(l.vendor_id)::text] from orders o join order_lines l on l.order_id = o.id"
        " where o.status = 'P' and not exists (select 1 from shipments s where s.order_id = o.id)"
        " group by o.id having count(*) = count(l.vendor_id) and min(l.vendor_id) = max(l.vendor_id) order by o.id limit 1",
    )
    vendor = int(number)
    own = await value(clerk.store, "select public_id from vendors where id = $1", vendor)
    user = await add_user(clerk.store, user_type="V", vendor_id=vendor)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Vendas")
    await clerk.see("Disponível para repasse")
    await clerk.check("vendor-day-home")
    # The menu has what a vendor works with, and nothing that it only may look up.
    await open_menu(clerk)
    paths = await clerk.page.evaluate("[...document.querySelectorAll('nav a')].map(each => each.pathname)")
    assert paths == ["/admin", *(f"/admin/{name}" for name in _OF_VENDORS), f"/admin/vendor/{own}"]
    await clerk.press("Produtos")
    await clerk.page.wait_for("location.pathname === '/admin/product'")
    total = await value(
        clerk.store, "select count(*) from products where vendor_id = $1 and deleted_at is null", vendor
    )
    await clerk.see(f"de {total}")
    await clerk.check("vendor-day-products")
    await ship(clerk, order)
    await clerk.go("/ledger_entry", "Extrato")
    entries = await value(clerk.store, "select count(*) from ledger_entries where vendor_id = $1", vendor)
    await clerk.see(f"de {entries}" if entries else "Nada encontrado")
    await clerk.check("vendor-day-ledger")
    await change_profile(clerk, str(own), vendor)
    other = await value(clerk.store, "select public_id from vendors where id <> $1 order by id limit 1", vendor)
    await clerk.page.call("Page.navigate", url=f"{clerk.address}/admin/vendor/{other}")
    await clerk.see("Não encontrado")
    assert "Disponível para repasse" not in await clerk.page.evaluate(SHOWN)


async def open_menu(clerk: Clerk) -> None:
    if clerk.width.is_phone:
        await clerk.press("Menu")
    await clerk.page.wait_for("document.querySelector('nav a') !== null")


async def ship(clerk: Clerk, order: str) -> None:
    await clerk.go(f"/order/{order}", "Pedido")
    await clerk.press("Enviar")
    await clerk.page.wait_for("document.querySelector(\"[name='input.tracking_number']\") !== null")
    await clerk.fill("input.tracking_number", f"VD{clerk.width.name}")
    await clerk.submit()
    await clerk.see(f"VD{clerk.width.name}")


async def change_profile(clerk: Clerk, own: str, vendor: int) -> None:
    await open_menu(clerk)
    await clerk.press("Perfil e saldo")
    await clerk.page.wait_for(f"location.pathname === '/admin/vendor/{own}'")
    await clerk.see("Disponível para repasse")
    await clerk.page.wait_for("document.querySelector(\"[name='input.phone']\") !== null")
    await clerk.check("vendor-day-profile")
    inputs = await clerk.page.evaluate(
        "[...document.querySelectorAll('main form [name^=\"input.\"]')].map(each => each.name)"
    )
    assert {"input.commission", "input.cnpj", "input.recipient_id", "input.slug"}.isdisjoint(inputs)
    await clerk.fill("input.phone", "11955554444")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    assert await value(clerk.store, "select phone from vendors where id = $1", vendor) == "11955554444"
    await execute(clerk.store, "update vendors set phone = '' where id = $1", vendor)
