"""The page of a customer in the back office: orders, points, addresses, and what the LGPD asks for."""

from __future__ import annotations

import json
from typing import Any

from tests.browser.office import OFFICE_MARKS, Clerk, each_width, on_desktop
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import execute, value

pytestmark = OFFICE_MARKS
STAFF = ("view_users", "manage_users", "view_orders", "view_statuses")
# What a page saves is read here in place of the browser's folder of downloads.
_KEEP_SAVED = """
    URL.createObjectURL = (create => blob => {
        blob.text().then(text => { window.saved = text });
        return create.call(URL, blob);
    })(URL.createObjectURL)
"""
_SUBMIT = "document.querySelector('[role=dialog] [type=submit]').click()"
_DIALOG_IS_CLOSED = "document.querySelector('[role=dialog]') === null"


async def open_customer(clerk: Clerk, *privileges: str) -> dict[str, Any]:
    """Open the page of a customer who ordered and has an address; return the customer."""
    record = await value(
        clerk.store,
        "select jsonb_build_object('id', u.public_id, 'number', u.id, 'email', u.email, 'points', u.points)::text from users u"
        " where user_type = 'C' and email is not null and exists (select 1 from orders o where o.user_id = u.id)"
        " order by u.id limit 1",
    )
    customer: dict[str, Any] = json.loads(record)
    await execute(
        clerk.store,
        "insert into user_addresses (tenant_id, public_id, user_id, name, street, number, city, state, is_default_shipping)"
        " select tenant_id, vitrine_uuid7(), id, 'Oficina', 'Rua das Laranjeiras', '7', 'Niterói', 'RJ', true from users"
        " where id = $1 and not exists (select 1 from user_addresses a where a.user_id = users.id)",
        customer["number"],
    )
    staff = await add_user(clerk.store, *(privileges or STAFF))
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/user/{customer['id']}", "Usuário")
    return customer


@each_width
async def test_a_customer_has_orders_addresses_and_points_on_one_page(clerk: Clerk) -> None:
    customer = await open_customer(clerk)
    await clerk.see("Dados pessoais (LGPD)")
    newest = await value(
        clerk.store, "select max(id) from orders where user_id = $1 and deleted_at is null", customer["number"]
    )
    await clerk.see(f"Pedido {newest}")
    await clerk.see("Niterói/RJ")
    await clerk.check("customer")
    await clerk.press("Ajustar pontos")
    await clerk.check("customer-points")
    await clerk.fill("input.added", "15")
    await clerk.fill("input.reason", "pedido de desculpas")
    await clerk.page.evaluate(_SUBMIT)
    await clerk.see(f"Pontos: {customer['points'] + 15}")
    await clerk.see("pedido de desculpas")
    assert await value(clerk.store, "select points from users where id = $1", customer["number"]) == (
        customer["points"] + 15
    )


@each_width
async def test_an_address_is_changed_and_a_session_ended_by_staff(clerk: Clerk) -> None:
    customer = await open_customer(clerk)
    await execute(
        clerk.store,
        "insert into sessions (tenant_id, public_id, user_id, expires_at, ip_address, user_agent) select tenant_id, vitrine_uuid7(), id,"
        " now() + interval '1 day', '203.0.113.9', 'Balcão' from users where id = $1",
        customer["number"],
    )
    await clerk.press("Adicionar endereço")
    await clerk.page.fill("[role=dialog] [name='input.name']", "Sítio")
    await clerk.fill("input.zipcode", "1234")
    await clerk.submit(closes=False)
    await clerk.page.wait_for("document.querySelector('[role=dialog] .Mui-error') !== null")
    await clerk.check("customer-address")
    await clerk.fill("input.zipcode", "28990-000")
    await clerk.fill("input.city", "Saquarema")
    await clerk.submit()
    await clerk.see("Saquarema")
    await clerk.press("Usar para cobrança")
    billing = "select name from user_addresses where user_id = $1 and is_default_billing"
    await clerk.page.wait_for(
        "[...document.querySelectorAll('article')].some(each => each.innerText.includes('Cobrança'))"
    )
    assert await value(clerk.store, billing, customer["number"]) is not None
    addresses = "select count(*) from user_addresses where user_id = $1 and name = 'Sítio'"
    for answer, left in (("Cancelar", 1), ("Confirmar", 0)):
        await clerk.press("Excluir o endereço Sítio")
        await clerk.see("Tem certeza?")
        await clerk.press(answer)
        await clerk.page.wait_for("document.querySelector('[role=dialog]') === null")
        await clerk.page.wait_for(f"document.querySelectorAll('article[aria-label=Sítio]').length === {left}")
        assert await value(clerk.store, addresses, customer["number"]) == left
    await clerk.go(f"/user_session?filter={json.dumps({'user_id': customer['id']})}", "Sessões abertas")
    await clerk.see("203.0.113.9")
    await clerk.check("sessions-of-all")
    session = await value(
        clerk.store, "select public_id from sessions where user_agent = 'Balcão' and ended_at is null"
    )
    await clerk.go(f"/user_session/{session}", "Sessão")
    await clerk.press("Encerrar a sessão")
    await clerk.submit()
    assert (
        await value(clerk.store, "select count(*) from sessions where user_agent = 'Balcão' and ended_at is null") == 0
    )
    clerk.excuse("422")
    clerk.excuse("404")


@on_desktop
async def test_the_data_of_a_customer_are_saved_as_a_file(clerk: Clerk) -> None:
    customer = await open_customer(clerk)
    await clerk.page.evaluate(_KEEP_SAVED)
    await clerk.press("Exportar os dados")
    await clerk.see("Cópia dos dados salva")
    saved = json.loads(await clerk.page.wait_for("window.saved"))
    assert [user["email"] for user in saved["users"]] == [customer["email"]]
    orders = await value(clerk.store, "select count(*) from orders where user_id = $1", customer["number"])
    assert len(saved["orders"]) >= orders


@each_width
async def test_a_customer_is_erased_only_after_the_e_mail_was_entered_again(clerk: Clerk) -> None:
    staff = await add_user(clerk.store, *STAFF)
    customer = await add_user(clerk.store, user_type="C")
    public_id = await value(clerk.store, "select public_id from users where id = $1", customer.number)
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/user/{public_id}", "Usuário")
    await clerk.see("Pontos: 0")
    await clerk.press("Apagar os dados")
    await clerk.fill("input.confirmation", "outro@example.com")
    await clerk.page.evaluate(_SUBMIT)
    await clerk.see("Não é o mesmo texto")
    await clerk.check("customer-erase")
    assert await value(clerk.store, "select email from users where id = $1", customer.number) == customer.email
    await clerk.fill("input.confirmation", customer.email)
    await clerk.page.evaluate(_SUBMIT)
    await clerk.see("Dados pessoais apagados")
    await clerk.page.wait_for(_DIALOG_IS_CLOSED)
    assert await value(clerk.store, "select email from users where id = $1", customer.number) != customer.email
    await clerk.page.wait_for(
        "![...document.querySelectorAll('main button')].some(each => each.innerText === 'Apagar os dados')"
    )


@each_width
async def test_a_guest_is_exported_and_erased_by_e_mail(clerk: Clerk) -> None:
    order = "(select max(id) from orders where status = 'C')"
    await value(
        clerk.store, f"update orders set email = 'visita@example.com', user_id = null where id = {order} returning id"
    )
    staff = await add_user(clerk.store, *STAFF)
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go("/user", "Clientes e usuários")
    await clerk.check("customers")
    await clerk.page.evaluate(_KEEP_SAVED)
    await clerk.press("Dados de visitantes")
    await clerk.fill("input.email", "visita@example.com")
    await clerk.check("guest")
    await clerk.press("Exportar os dados")
    saved = json.loads(await clerk.page.wait_for("window.saved"))
    assert len(saved["orders"]) == 1
    await clerk.fill("input.again", "visita@example.com")
    await clerk.page.evaluate(_SUBMIT)
    await clerk.see("Dados pessoais apagados")
    assert await value(clerk.store, f"select email from orders where id = {order}") != "visita@example.com"


@on_desktop
async def test_a_form_that_is_sent_twice_before_it_is_drawn_again_makes_one_record(clerk: Clerk) -> None:
    customer = await open_customer(clerk)
    await clerk.press("Adicionar endereço")
    await clerk.page.fill("[role=dialog] [name='input.name']", "Depósito")
    await clerk.fill("input.zipcode", "28990-000")
    await clerk.fill("input.city", "Saquarema")
    await clerk.page.evaluate(
        "(button => { button.click(); button.click(); })(document.querySelector('[role=dialog] [type=submit]'))"
    )
    await clerk.page.wait_for("document.querySelector('[role=dialog]') === null")
    await clerk.page.wait_for("document.querySelectorAll('article[aria-label=Depósito]').length > 0")
    await clerk.go(f"/user/{customer['id']}", "Usuário")
    await clerk.page.wait_for("document.querySelectorAll('article[aria-label=Depósito]').length === 1")
    assert await value(clerk.store, "select count(*) from user_addresses where name = 'Depósito'") == 1


@on_desktop
async def test_who_may_only_read_users_is_offered_neither_points_nor_erasure(clerk: Clerk) -> None:
    await open_customer(clerk, "view_users")
    await clerk.see("Endereços")
    shown = await clerk.page.evaluate("document.querySelector('main').innerText")
    assert {text for text in ("Ajustar pontos", "LGPD", "Pedido ") if text in shown} == set()


@each_width
async def test_no_button_covers_the_rows_of_a_list(clerk: Clerk) -> None:
    staff = await add_user(clerk.store, *STAFF)
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go("/user", "Clientes e usuários")
    create = "document.querySelector('a[href$=\"/user/create\"]')"
    await clerk.page.wait_for(f"{create} !== null")
    assert await clerk.page.evaluate(f"getComputedStyle({create}).position") != "fixed"
