"""Several records of a list at once: another status, deletion, and those that the server refuses."""

from __future__ import annotations

import pytest

from tests.browser.office import OFFICE_MARKS, Clerk, each_width, on_desktop
from tests.browser.shop import PHONE
from tests.harness.records import PASSWORD, add_category, add_product, add_user
from tests.harness.scopes import execute, rows, value

pytestmark = OFFICE_MARKS
CLERK = ("view_products", "manage_products", "view_catalog", "manage_catalog")
_CHOOSE = """
    [...document.querySelectorAll('main input[type=checkbox]')]
        .filter(each => each.ariaLabel.includes(%r)).forEach(each => each.click())
"""


async def open_list(clerk: Clerk, path: str, title: str, search: str) -> None:
    user = await add_user(clerk.store, *CLERK)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go(path, title)
    await clerk.fill("search", search)


@each_width
async def test_the_status_of_chosen_products_changes_and_they_are_deleted(clerk: Clerk) -> None:
    word = f"Escolhido{clerk.width.name}"
    for number in (1, 2, 3):
        await add_product(clerk.store, name=f"{word} {number}")
    await open_list(clerk, "/product", "Produtos", word)
    await clerk.see("1–3 de 3")
    for number in (1, 3):
        await clerk.page.evaluate(_CHOOSE % f"{word} {number}")
    await clerk.see("2 selecionados")
    await clerk.check("selection")
    await clerk.press("Status…")
    await clerk.see("Oculto")
    await clerk.press("Inativo")
    await clerk.see("2 registros salvos")
    saved = await rows(clerk.store, "select name, status from products where name like $1 order by name", f"{word}%")
    assert [row["status"] for row in saved] == ["D", "A", "D"]
    if not clerk.width.is_phone:
        await clerk.page.evaluate(_CHOOSE % "Selecionar tudo")
        await clerk.see("3 selecionados")
        await clerk.press("Excluir")
        await clerk.see("Excluir 3 registros")
        await clerk.press("Confirmar")
        await clerk.see("3 registros excluídos")
        count = "select count(*) from products where name like $1 and deleted_at is null"
        assert await value(clerk.store, count, f"{word}%") == 0


@on_desktop
async def test_orders_of_several_pages_change_their_status_and_those_refused_stay_chosen(clerk: Clerk) -> None:
    user = await add_user(clerk.store, "view_orders", "manage_orders", "view_statuses")
    orders = await rows(
        clerk.store, "select id from orders where status = 'O' and deleted_at is null order by id limit 3"
    )
    first, second, third = (row["id"] for row in orders)
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see("Início")
    await clerk.go("/order", "Pedidos")
    for number in (first, second, third):
        await clerk.fill("search", str(number))
        await clerk.page.wait_for(
            f"[...document.querySelectorAll('main input[type=checkbox]')].some(each => each.ariaLabel.endsWith(': {number}'))"
        )
        await clerk.page.evaluate(_CHOOSE % f": {number}")
    await clerk.see("3 selecionados")
    await clerk.press("Mudar o status")
    await clerk.page.click("[role=dialog] [role=combobox]")
    await clerk.press("Processado")
    await execute(clerk.store, "update orders set status = 'C' where id = $1", first)
    await clerk.submit()
    await clerk.see("1 recusado: O pedido não pode ir para este status.")
    await clerk.see("1 selecionado")
    saved = await rows(clerk.store, "select status from orders where id = any($1) order by id", [first, second, third])
    assert [row["status"] for row in saved] == ["C", "P", "P"]


@on_desktop
async def test_what_is_refused_stays_chosen_and_says_why(clerk: Clerk) -> None:
    parent = await add_category(clerk.store, name="Escolhida mãe")
    await add_category(clerk.store, name="Escolhida filha", parent_id=parent.number)
    await open_list(clerk, "/category", "Categorias", "Escolhida")
    await clerk.see("1–2 de 2")
    await clerk.page.evaluate(_CHOOSE % "Escolhida mãe")
    await clerk.press("Excluir")
    await clerk.press("Confirmar")
    await clerk.see("1 recusado")
    await clerk.see("1 selecionado")
    assert (
        await value(clerk.store, "select count(*) from categories where name = 'Escolhida mãe' and deleted_at is null")
        == 1
    )


@pytest.mark.parametrize("width", [PHONE], ids=lambda width: width.name)
async def test_no_text_of_a_card_is_faded(clerk: Clerk) -> None:
    await open_list(clerk, "/product", "Produtos", "pilao")
    await clerk.see("1–1 de 1")
    faded = """[...document.querySelectorAll('main .MuiList-root *')]
        .filter(each => each.innerText && Number(getComputedStyle(each).opacity) < 1).map(each => each.innerText)"""
    assert await clerk.page.evaluate(faded) == []
