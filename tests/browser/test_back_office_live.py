"""Orders in the back office as a list and a board, the sales on the first page, and what arrives by itself."""

from __future__ import annotations

import json

from domain.orders.lifecycle import change_status
from domain.orders.payments import record_payment
from kernel.scope import active_scope
from tests.browser.office import OFFICE_MARKS, Clerk, each_width, on_desktop
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import system_scope, value

pytestmark = OFFICE_MARKS
_NEWEST = (
    "select id from orders where status = $1 and deleted_at is null order by created_at desc, id desc offset $2 limit 1"
)
_DRAG = """
    (async (number, letter) => {
        const card = document.querySelector(`[data-order="${number}"]`), column = document.querySelector(`[data-status="${letter}"]`);
        const dataTransfer = new DataTransfer();
        for (const [target, type] of [[card, 'dragstart'], [column, 'dragover'], [column, 'drop'], [card, 'dragend']]) {
            target.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer}));
            await new Promise(resolve => setTimeout(resolve, 50));
        }
    })(%d, %s)
"""
_ENTER_DATE = """
    (input => {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, 'DATE');
        input.dispatchEvent(new Event('input', {bubbles: true}));
    })(document.querySelector('[name=since]'))
"""
_DIALOG = "document.querySelector('[role=dialog]')"


async def sign_in(clerk: Clerk) -> None:
    user = await add_user(
        clerk.store,
        "view_orders",
        "manage_orders",
        "view_payments",
        "view_statuses",
        "view_products",
        "view_marketplace",
    )
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")


async def newest(clerk: Clerk, status: str, offset: int = 0) -> int:
    number: int = await value(clerk.store, _NEWEST, status, offset)
    return number


async def status_of(clerk: Clerk, number: int) -> str:
    return str(await value(clerk.store, "select status from orders where id = $1", number))


async def name_of(clerk: Clerk, status: str) -> str:
    return str(await value(clerk.store, "select description from statuses where type = 'O' and letter = $1", status))


async def open_board(clerk: Clerk) -> None:
    await clerk.go("/order?view=board", "Pedidos")
    await clerk.page.wait_for("document.querySelectorAll('[data-status]').length >= 7")


async def confirm(clerk: Clerk) -> None:
    await clerk.page.wait_for(f"{_DIALOG} !== null")
    await clerk.page.evaluate(f"{_DIALOG}.querySelector('[type=submit]').click()")
    await clerk.page.wait_for(f"{_DIALOG} === null")


@each_width
async def test_the_first_page_shows_sales_with_a_plot_and_a_table_of_it(clerk: Clerk) -> None:
    await sign_in(clerk)
    await clerk.see("Pagamentos em dúvida")
    await clerk.press("30 dias")
    await clerk.page.wait_for("document.querySelectorAll('main table tbody tr').length === 30")
    assert await clerk.page.evaluate("document.querySelectorAll('main svg rect').length") == 30
    count = await value(
        clerk.store,
        "select count(*) from orders where deleted_at is null and status not in ('D', 'F', 'I')"
        " and created_at >= (date_trunc('day', now() at time zone $1) - interval '29 days') at time zone $1",
        "America/Sao_Paulo",
    )
    await clerk.see(f"{count} pedidos")
    await clerk.check("home-month")


@each_width
async def test_an_order_moves_on_the_board_by_its_menu_without_a_mouse(clerk: Clerk) -> None:
    await sign_in(clerk)
    number = await newest(clerk, "O")
    await open_board(clerk)
    await clerk.page.wait_for(f"document.querySelector('[data-order=\"{number}\"]') !== null")
    await clerk.check("board")
    await clerk.page.evaluate(f"document.querySelector('[data-order=\"{number}\"] button').focus()")
    await clerk.page.press("Enter")
    await clerk.page.wait_for("document.querySelector('[role=menuitem]') !== null")
    await clerk.press(await name_of(clerk, "B"))
    await confirm(clerk)
    await clerk.page.wait_for(f"document.querySelector('[data-status=B] [data-order=\"{number}\"]') !== null")
    assert await status_of(clerk, number) == "B"
    await clerk.page.wait_for(f"document.activeElement.closest('[data-order]')?.dataset.order === '{number}'")


@on_desktop
async def test_an_order_is_dragged_to_a_column_that_its_status_allows_only(clerk: Clerk) -> None:
    await sign_in(clerk)
    number = await newest(clerk, "O")
    done = await newest(clerk, "C")
    await open_board(clerk)
    for card in (number, done):
        await clerk.page.wait_for(f"document.querySelector('[data-order=\"{card}\"]') !== null")
    await clerk.page.evaluate(_DRAG % (done, json.dumps("O")))
    await clerk.see(f"O pedido {done} não pode ir para este status.")
    await clerk.page.evaluate(_DRAG % (number, json.dumps("I")))
    await confirm(clerk)
    await clerk.page.wait_for(f"document.querySelector('[data-status=I] [data-order=\"{number}\"]') !== null")
    assert (await status_of(clerk, number), await status_of(clerk, done)) == ("I", "C")


@on_desktop
async def test_a_column_reads_a_page_of_its_orders_at_a_time(clerk: Clerk) -> None:
    await sign_in(clerk)
    total = await value(clerk.store, "select count(*) from orders where status = 'C' and deleted_at is null")
    await open_board(clerk)
    cards = "document.querySelectorAll('[data-status=C] [data-order]').length"
    await clerk.page.wait_for(f"{cards} > 0")
    assert await clerk.page.evaluate(cards) == min(total, 20)
    if total > 20:
        await clerk.page.click("[data-status=C] > button")
        await clerk.page.wait_for(f"{cards} === {min(total, 40)}")


@each_width
async def test_several_orders_of_the_list_change_their_status_at_once(clerk: Clerk) -> None:
    await sign_in(clerk)
    numbers = [await newest(clerk, "P", offset) for offset in (0, 1)]
    await clerk.go(f"/order?filter={json.dumps({'status': 'P'})}", "Pedidos")
    await clerk.page.wait_for("document.querySelectorAll('main [type=checkbox]').length > 1")
    for row in (1, 2):
        await clerk.page.click(
            f"main li:nth-child({row}) [type=checkbox], main tbody tr:nth-child({row}) [type=checkbox]"
        )
        await clerk.see(f"{row} selecionado")  # by then the actions have moved the rows
    await clerk.see("2 selecionados")
    await clerk.check("orders-selected")
    await clerk.press("Mudar o status")
    await clerk.page.wait_for(f"{_DIALOG} !== null")
    await clerk.page.click("[role=dialog] [role=combobox]")
    await clerk.press(await name_of(clerk, "C"))
    await confirm(clerk)
    assert [await status_of(clerk, number) for number in numbers] == ["C", "C"]


@each_width
async def test_what_happens_elsewhere_arrives_by_itself_and_is_announced(clerk: Clerk) -> None:
    await sign_in(clerk)
    number = await newest(clerk, "O")
    await clerk.go(f"/order?filter={json.dumps({'search': str(number)})}", "Pedidos")
    await clerk.see("Aberto")
    await clerk.page.wait_for("document.querySelector('[data-live]') !== null")
    await clerk.page.evaluate("document.querySelector('[name=search]').focus(); window.reloaded = false")
    scope = system_scope(clerk.store)
    with active_scope(scope):
        await change_status(scope, number, "I")
    await clerk.page.wait_for(f"document.querySelector('[data-live]').innerText === 'Pedido {number} cancelado'")
    await clerk.page.wait_for("document.querySelector('main').innerText.includes('Cancelado')")
    assert await clerk.page.evaluate("window.reloaded") is False
    assert await clerk.page.evaluate("document.activeElement.name") == "search"
    region = "[document.querySelector('[data-live]').role, document.querySelector('[data-live]').ariaLive]"
    assert await clerk.page.evaluate(region) == ["status", "polite"]


@on_desktop
async def test_a_payment_arrives_on_the_page_of_its_order_while_a_form_is_open(clerk: Clerk) -> None:
    await sign_in(clerk)
    number = await newest(clerk, "O")
    order = await value(clerk.store, "select public_id from orders where id = $1", number)
    await clerk.go(f"/order/{order}", "Pedido")
    await clerk.press("Alterar: Anotações internas")
    await clerk.fill("input.details", "meio escrito")
    scope = system_scope(clerk.store)
    with active_scope(scope):
        await record_payment(scope, number, 1_234)
    await clerk.page.wait_for("document.querySelector('main').textContent.includes('12,34')")
    assert await clerk.page.evaluate("document.querySelector(\"[name='input.details']\").value") == "meio escrito"


@each_width
async def test_the_board_is_narrowed_to_what_was_ordered_since_a_day(clerk: Clerk) -> None:
    await sign_in(clerk)
    await open_board(clerk)
    cards = "document.querySelectorAll('[data-order]').length"
    await clerk.page.wait_for(f"{cards} > 3")
    before = await clerk.page.evaluate(cards)
    newest_day, count = await value(
        clerk.store,
        "select array[max(day)::text, (count(*) filter (where day = newest))::text] from"
        " (select (created_at at time zone 'America/Sao_Paulo')::date as day,"
        " max((created_at at time zone 'America/Sao_Paulo')::date) over () as newest from orders where deleted_at is null) o",
    )
    await clerk.page.evaluate(_ENTER_DATE.replace("DATE", newest_day))
    await clerk.page.wait_for(f"{cards} === {count}")
    assert int(count) < before
    await clerk.check("board-narrowed")
