"""The items of a menu in the back office: rows that lead to records or links, with those below them, in an order."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.browser.office import OFFICE_MARKS, Clerk, each_width, on_desktop
from tests.browser.test_back_office_promotions import choose, enter, sign_in
from tests.harness.scopes import execute, rows, value

pytestmark = OFFICE_MARKS
PRIVILEGES = ("view_content", "manage_content", "view_catalog", "view_products")
ITEMS = """select json_agg(json_build_array(i.name, i.parent_place, c.name, i.link) order by i.place)::text
    from menu_items i join menus m on m.id = i.menu_id left join collections c on c.id = i.collection_id where m.handle = $1"""

TOP = """select i.name from menu_items i join menus m on m.id = i.menu_id
    where m.handle = $1 and i.parent_place is null order by i.place limit 2"""


async def items(clerk: Clerk, handle: str) -> str:
    return str(await value(clerk.store, ITEMS, handle))


async def name_of(clerk: Clerk, table: str) -> Any:
    return await value(clerk.store, f"select name from {table} where status = 'A' order by id limit 1")


@each_width
async def test_a_menu_is_made_of_rows_that_lead_to_collections_and_links(clerk: Clerk) -> None:
    await sign_in(clerk, *PRIVILEGES)
    collection = await name_of(clerk, "collections")
    await clerk.go("/menu/create", "Criar")
    await clerk.fill("input.handle", f"vitrine-{clerk.width.name}")
    await clerk.fill("input.name", "Vitrine")
    await clerk.press("Adicionar item")
    await enter(clerk, "Item novo", "Texto", "Presentes")
    await choose(clerk, "Presentes", "Leva a", "Coleção")
    await enter(clerk, "Presentes", "Coleção", collection[:6])
    await clerk.press(collection)
    await clerk.press("Item abaixo: Presentes")
    await enter(clerk, "Item novo", "Texto", "Blog")
    await choose(clerk, "Blog", "Leva a", "Endereço")
    await enter(clerk, "Blog", "Endereço", "https://blog.example/")
    await clerk.check("menu-new")
    await clerk.press("Salvar")
    await clerk.page.wait_for("document.querySelector('main h1')?.innerText.includes('Vitrine')")
    await clerk.page.wait_for("document.querySelector('[role=group][aria-label=Blog]') !== null")
    expected = f'[["Presentes", null, "{collection}", null], ["Blog", 1, null, "https://blog.example/"]]'
    assert (await items(clerk, f"vitrine-{clerk.width.name}")).replace(" :", ":") == expected
    await clerk.check("menu")


@on_desktop
async def test_items_that_another_changed_are_shown_by_names(clerk: Clerk) -> None:
    await sign_in(clerk, *PRIVILEGES)
    record = await value(clerk.store, "select public_id from menus where handle = 'main'")
    await clerk.go(f"/menu/{record}", "Menu")
    await clerk.page.wait_for("document.querySelector('form section [role=group]') !== null")
    collection = await name_of(clerk, "collections")
    await execute(
        clerk.store,
        "update menu_items set name = 'Dela', link = null, category_id = null, page_id = null, product_id = null, vendor_id = null,"
        " collection_id = (select id from collections where status = 'A' order by id limit 1)"
        " where menu_id = (select id from menus where handle = 'main') and place = 1",
    )
    await clerk.fill("input.name", "Meu")
    await clerk.press("Salvar")
    shown = "document.querySelector('[data-conflict]')?.innerText"
    await clerk.page.wait_for(f"{shown}?.includes({json.dumps(f'Dela → Coleção: {collection}')})")
    assert not re.search(r"[0-9a-f]{8}-|[{}\[\]_]", await clerk.page.evaluate(shown))
    await clerk.check("conflict-menu")


@on_desktop
async def test_items_of_a_menu_are_moved_and_removed_and_a_refusal_is_shown_at_them(clerk: Clerk) -> None:
    await sign_in(clerk, *PRIVILEGES)
    record = await value(clerk.store, "select public_id from menus where handle = 'footer'")
    before = await items(clerk, "footer")
    first, second = [row["name"] for row in await rows(clerk.store, TOP, "footer")]
    await clerk.go(f"/menu/{record}", "Menu")
    await clerk.press(f"Descer: {first}")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    after = await items(clerk, "footer")
    assert after != before
    assert after.index(f'"{second}"') < after.index(f'"{first}"')
    await clerk.press("Adicionar item")
    await clerk.press("Salvar")
    await clerk.page.wait_for("document.querySelector('form section .Mui-error') !== null")
    clerk.excuse("422")
    assert await items(clerk, "footer") == after
