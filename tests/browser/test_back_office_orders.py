"""The page of an order in the back office, as it is used at the packing table."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import uuid4

from tests.browser.office import OFFICE_MARKS, Clerk, each_width, on_desktop
from tests.harness.records import PASSWORD, add_product, add_user, insert
from tests.harness.scopes import execute, value

pytestmark = OFFICE_MARKS
CLERK = (
    "view_orders",
    "manage_orders",
    "view_payments",
    "manage_payments",
    "view_statuses",
    "view_products",
    "view_users",
)
_SUBMIT = "document.querySelector('[role=dialog] [type=submit]').click()"
_DIALOG_IS_CLOSED = "document.querySelector('[role=dialog]') === null"


async def open_order(clerk: Clerk, status: str, *privileges: str, lines: int = 1) -> str:
    """Sign a clerk in and open the page of an order of this status that nothing was shipped of; return its ID."""
    order = await value(
        clerk.store,
        "select public_id from orders o where status = $1 and not exists (select 1 from shipments s where s.order_id = o.id)"
        " and (select count(*) from order_lines l where l.order_id = o.id) >= $2 order by id desc limit 1",
        status,
        lines,
    )
    user = await add_user(clerk.store, *(privileges or CLERK))
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(f"/order/{order}", "Pedido")
    return str(order)


async def of_order(clerk: Clerk, order: str, sql: str) -> Any:
    return await value(clerk.store, f"select {sql} from orders where public_id = $1", order)


async def pick(clerk: Clerk, label: str, option: str) -> None:
    """Choose an option of the last list with this label."""
    field = f"""[...document.querySelectorAll('.MuiFormControl-root')]
        .findLast(each => each.innerText.trim().startsWith({json.dumps(label)}))"""
    await clerk.choose(f"{field}?.querySelector('[role=combobox]')", option)


async def new_shirt(clerk: Clerk, option_name: str = "Tamanho") -> tuple[str, dict[str, str]]:
    """Return the name of a product of two sizes, and the options of its larger one."""
    name = f"Camiseta {clerk.width.name} {uuid4().hex[:6]}"
    product = await add_product(clerk.store, name=name, is_edp=True)
    option = await insert(clerk.store, "options", product_id=product.number, name=option_name, type="S", required=True)
    await insert(clerk.store, "product_options", product_id=product.number, option_id=option.number)
    sizes = [
        await insert(clerk.store, "option_variants", option_id=option.number, name=size, position=position)
        for position, size in enumerate(("Pequena", "Grande"))
    ]
    return name, {"option_id": option.id, "variant_id": sizes[1].id}


@each_width
async def test_an_order_is_made_of_a_product_with_its_choices(clerk: Clerk) -> None:
    name, chosen = await new_shirt(clerk)
    user = await add_user(clerk.store, *CLERK)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go("/order/create", "Criar")
    email = f"{uuid4().hex}@example.com"
    await clerk.fill("input.email", email)
    await clerk.page.click("main .button-add")
    await pick(clerk, "Produto", name)
    await pick(clerk, "Tamanho", "Grande")
    await clerk.fill("input.items.0.quantity", "2")
    await clerk.check("order-create")
    await clerk.press("Salvar")
    await clerk.page.wait_for("document.querySelector('main h1')?.innerText.startsWith('Pedido ')")
    await clerk.see("Tamanho: Grande")
    line = """select array[l.options -> 0 ->> 'option_id', l.options -> 0 ->> 'variant_id', l.quantity::text]
        from order_lines l join orders o on o.id = l.order_id where o.email = $1"""
    assert await value(clerk.store, line, email) == [chosen["option_id"], chosen["variant_id"], "2"]


@on_desktop
async def test_a_new_line_of_an_order_has_the_choices_of_its_product(clerk: Clerk) -> None:
    name, _ = await new_shirt(clerk)
    other, chosen = await new_shirt(clerk, "Medida")
    order = await open_order(clerk, "O")
    await clerk.press("Alterar itens")
    await clerk.press("Adicionar item")
    await pick(clerk, "Produto", name)
    await pick(clerk, "Tamanho", "Pequena")
    await pick(clerk, "Produto", other)
    await pick(clerk, "Medida", "Grande")
    await submit(clerk)
    await clerk.see("Medida: Grande")
    variants = f"""(select array_agg(l.options -> 0 ->> 'variant_id') from order_lines l
        where l.order_id = orders.id and l.product_name = '{other}')"""
    assert await of_order(clerk, order, variants) == [chosen["variant_id"]]


async def submit(clerk: Clerk) -> None:
    await clerk.page.evaluate(_SUBMIT)
    await clerk.page.wait_for(_DIALOG_IS_CLOSED)


@each_width
async def test_an_order_changes_to_the_statuses_that_are_allowed_only(clerk: Clerk) -> None:
    order = await open_order(clerk, "O")
    await clerk.check("order")
    await clerk.press("Mudar o status")
    await clerk.page.wait_for("document.querySelector('[role=dialog] [role=combobox]') !== null")
    await clerk.page.click("[role=dialog] [role=combobox]")
    await clerk.page.wait_for("document.querySelector('[role=option]') !== null")
    offered = await clerk.page.evaluate(
        "[...document.querySelectorAll('[role=option]')].map(each => each.dataset.value)"
    )
    assert {"P", "D", "F", "I", "B", "C"} <= set(offered)
    assert "O" not in offered
    await clerk.press("Cancelado")
    await clerk.page.fill("[role=dialog] [name='input.reason']", "o cliente desistiu")
    await clerk.check("order-status")
    await submit(clerk)
    await clerk.see("o cliente desistiu")
    assert await of_order(clerk, order, "status") == "I"


@each_width
async def test_some_units_are_shipped_with_a_tracking_code_and_then_the_rest(clerk: Clerk) -> None:
    order = await open_order(clerk, "P")
    lines = await of_order(
        clerk, order, "(select array_agg(quantity order by position) from order_lines l where l.order_id = orders.id)"
    )
    await clerk.press("Enviar")
    await clerk.fill("input.lines.0.quantity", "1")
    for index in range(1, len(lines)):
        await clerk.fill(f"input.lines.{index}.quantity", "0")
    await clerk.fill("input.carrier", "Correios")
    await clerk.fill("input.tracking_number", "BR123456789BR")
    await clerk.check("order-ship")
    await submit(clerk)
    await clerk.see("BR123456789BR")
    shipped = """(select array_agg(l.quantity) from shipments s join shipment_lines l on l.shipment_id = s.id
        where s.order_id = orders.id)"""
    assert await of_order(clerk, order, shipped) == [1]
    if sum(lines) > 1:
        await clerk.press("Enviar")
        await clerk.page.wait_for(f"!({_DIALOG_IS_CLOSED})")
        await submit(clerk)
        await clerk.page.wait_for(
            "![...document.querySelectorAll('main button')].some(each => each.innerText === 'Enviar')"
        )
        assert sum(await of_order(clerk, order, shipped)) == sum(lines)


@each_width
async def test_lines_change_and_what_is_refused_keeps_what_was_typed(clerk: Clerk) -> None:
    order = await open_order(clerk, "O")
    await clerk.press("Alterar itens")
    await clerk.fill("input.items.0.quantity", "1000000")
    await clerk.check("order-lines")
    await clerk.page.evaluate(_SUBMIT)
    await clerk.page.wait_for("document.querySelector('[role=dialog] [role=alert]') !== null")
    typed = await clerk.page.evaluate("document.querySelector(\"[name='input.items.0.quantity']\").value")
    assert typed == "1000000"
    await clerk.fill("input.items.0.quantity", "1")
    await clerk.fill("input.items.0.price", "12,34")
    await submit(clerk)
    line = "(select array[quantity, price_cents] from order_lines l where l.order_id = orders.id order by position limit 1)"
    assert await of_order(clerk, order, line) == [1, 1234]
    await clerk.see("R$ 12,34")


@on_desktop
async def test_lines_change_where_another_has_no_product(clerk: Clerk) -> None:
    order = await open_order(clerk, "O", lines=2)
    without = "update order_lines set product_id = null where position = 1 and order_id = (select id from orders where public_id = $1)"
    await execute(clerk.store, without, order)
    await clerk.go(f"/order/{order}", "Pedido")
    await clerk.press("Alterar itens")
    await clerk.fill("input.items.1.quantity", "1")
    await clerk.fill("input.items.1.price", "12,34")
    await submit(clerk)
    line = "(select array[quantity, price_cents] from order_lines l where l.order_id = orders.id and position = 2)"
    assert await of_order(clerk, order, line) == [1, 1234]


@on_desktop
async def test_addresses_notes_and_the_fiscal_note_are_written_and_their_errors_shown_at_their_fields(
    clerk: Clerk,
) -> None:
    order = await open_order(clerk, "O")
    await clerk.press("Alterar: Nota fiscal")
    await clerk.fill("input.nota_fiscal", "4711")
    await clerk.fill("input.chave_nota", "12")
    await clerk.page.evaluate(_SUBMIT)
    await clerk.page.wait_for(
        "document.querySelector(\"[name='input.chave_nota']\").getAttribute('aria-invalid') === 'true'"
    )
    assert await clerk.page.evaluate("document.querySelector(\"[name='input.nota_fiscal']\").value") == "4711"
    await clerk.fill("input.chave_nota", "1" * 44)
    await submit(clerk)
    await clerk.see("Dígito da chave errado")
    await clerk.see("4711")
    await clerk.press("Alterar: Anotações internas")
    await clerk.page.wait_for("document.querySelector(\"[name='input.details']\") !== null")
    await clerk.fill("input.details", "embrulhar para presente")
    await submit(clerk)
    await clerk.see("embrulhar para presente")
    assert await of_order(clerk, order, "details") == "embrulhar para presente"
    await execute(clerk.store, "update orders set firstname = 'Ana Maria', lastname = 'Sá' where public_id = $1", order)
    await clerk.page.call("Page.reload")
    await clerk.press("Alterar: Contato")
    await clerk.fill("input.lastname", "Maria Souza")
    await submit(clerk)
    await clerk.see("Ana Maria Souza")
    await clerk.press("Alterar: Endereço de entrega")
    await clerk.fill("input.street", "Rua do Ouvidor")
    await submit(clerk)
    await clerk.see("Rua do Ouvidor")


@on_desktop
async def test_a_payment_is_recorded_of_what_is_open_and_not_refunded_by_a_gateway(clerk: Clerk) -> None:
    order = await open_order(clerk, "O")
    due = await of_order(clerk, order, "total_cents - paid_cents + refunded_cents")
    for amount in (due, due - 1000):
        await clerk.press("Registrar pagamento")
        await clerk.page.wait_for("document.querySelector(\"[name='input.amount_cents']\") !== null")
        proposed = await clerk.page.evaluate("document.querySelector(\"[name='input.amount_cents']\").value")
        assert re.sub(r"\D", "", proposed) == str(amount)
        await clerk.fill("input.amount_cents", "10,00")
        await submit(clerk)
        await clerk.see("R$ 10,00")
    assert await of_order(clerk, order, "total_cents - paid_cents + refunded_cents") == due - 2000
    offered = await clerk.page.evaluate("[...document.querySelectorAll('main button')].map(each => each.innerText)")
    assert "Reembolsar" not in offered


@on_desktop
async def test_who_may_only_read_orders_is_shown_nothing_to_change(clerk: Clerk) -> None:
    await open_order(clerk, "O", "view_orders")
    await clerk.see("Histórico")
    shown = await clerk.page.evaluate("[...document.querySelectorAll('main button')].map(each => each.innerText)")
    assert shown == ["Imprimir"]


@on_desktop
async def test_a_printed_order_has_no_menu_and_no_buttons(clerk: Clerk) -> None:
    await open_order(clerk, "O")
    await clerk.see("Histórico")
    await clerk.page.call("Emulation.setEmulatedMedia", media="print")
    visible = (
        "[...document.querySelectorAll('button, nav, header')].filter(each => each.getClientRects().length).length"
    )
    assert await clerk.page.evaluate(visible) == 0
    assert await clerk.page.evaluate("document.querySelector('main').innerText.includes('Itens')")


@each_width
async def test_a_vendor_ships_its_own_order_and_is_offered_no_price_and_no_refund(clerk: Clerk) -> None:
    order, vendor = await value(
        clerk.store,
        "select array[min(o.public_id::text), min(l.vendor_id)::text] from orders o join order_lines l on l.order_id = o.id"
        " where o.status = 'P' and not exists (select 1 from shipments s where s.order_id = o.id)"
        " group by o.id having count(*) = count(l.vendor_id) and min(l.vendor_id) = max(l.vendor_id) order by o.id limit 1",
    )
    user = await add_user(clerk.store, user_type="V", vendor_id=int(vendor))
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Vendas")
    await clerk.check("vendor-home")
    await clerk.go(f"/order/{order}", "Pedido")
    await clerk.see("Histórico")
    await clerk.check("vendor-order")
    assert not await clerk.page.evaluate("document.querySelector('main').innerText.includes('Anotações internas')")
    offered = await clerk.page.evaluate("[...document.querySelectorAll('main button')].map(each => each.innerText)")
    assert {"Reembolsar", "Registrar pagamento"}.isdisjoint(offered)
    await clerk.press("Enviar")
    await clerk.fill("input.tracking_number", "VD123")
    await submit(clerk)
    await clerk.see("VD123")
    await clerk.press("Mudar o status")
    await clerk.page.click("[role=dialog] [role=combobox]")
    await clerk.page.wait_for("document.querySelector('[role=option]') !== null")
    offered = await clerk.page.evaluate(
        "[...document.querySelectorAll('[role=option]')].map(each => each.dataset.value)"
    )
    assert "C" in offered
    assert "I" not in offered
