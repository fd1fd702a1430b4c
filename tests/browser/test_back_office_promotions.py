"""The page of a promotion in the back office: conditions and bonuses as rows, and what an order would cost."""

from __future__ import annotations

import json
import re
from typing import Any

from domain.promotions.promotions import PROMOTION_RECORDS
from kernel.scope import active_scope
from tests.browser.office import OFFICE_MARKS, Clerk, each_width, on_desktop
from tests.harness.records import PASSWORD, add_user
from tests.harness.scopes import system_scope, value

pytestmark = OFFICE_MARKS
STAFF = ("view_content", "manage_content", "view_orders", "view_products")


async def sign_in(clerk: Clerk, *privileges: str) -> None:
    staff = await add_user(clerk.store, *(privileges or STAFF))
    await clerk.sign_in(staff.email, PASSWORD)
    await clerk.see("Início")


async def choose(clerk: Clerk, group: str, label: str, option: str, *, last: bool = False) -> None:
    """Choose an option of a list by its label, in the first or last group of this name."""
    lists = f"""[...document.querySelectorAll('[role=group][aria-label={json.dumps(group)}]')].at({-1 if last else 0})
        ?.querySelectorAll('[role=combobox]')"""
    place = f"[...({lists} ?? [])].find(each => each.closest('.MuiFormControl-root').innerText.startsWith({json.dumps(label)}))"
    await clerk.choose(place, option)


async def enter(clerk: Clerk, group: str, label: str, text: str) -> None:
    """Replace the text of an input by its label, in the last group of this name."""
    inputs = f"[...document.querySelectorAll('[role=group][aria-label={json.dumps(group)}]')].at(-1)?.querySelectorAll('input')"
    await clerk.page.fill_in(
        f"[...({inputs} ?? [])].find(each => each.labels?.[0]?.innerText === {json.dumps(label)})", text
    )


async def stored(clerk: Clerk, column: str) -> Any:
    return json.loads(
        await value(
            clerk.store, f"select {column}::text from promotions where deleted_at is null order by id desc limit 1"
        )
    )


@each_width
async def test_a_promotion_is_made_of_rows_and_tried_on_a_cart(clerk: Clerk) -> None:
    await sign_in(clerk)
    await clerk.go("/promotion/create", "Criar")
    await clerk.fill("input.name", "Semana do barro")
    await clerk.press("Adicionar condição")
    await enter(clerk, "Subtotal", "Valor", "50,00")
    await clerk.press("Adicionar grupo")
    await clerk.page.evaluate(
        "[...document.querySelectorAll('button')].filter(each => each.innerText === 'Adicionar condição')[0].click()"
    )
    await choose(clerk, "Subtotal", "Condição", "Unidades no carrinho", last=True)
    await enter(clerk, "Unidades no carrinho", "Número", "2")
    await clerk.press("Adicionar bônus")
    await enter(clerk, "Desconto no pedido", "Porcentagem", "12,5")
    await clerk.check("promotion-new")
    await clerk.press("Salvar")
    await clerk.page.wait_for("document.querySelector('main h1')?.innerText.includes('Semana do barro')")
    conditions = await stored(clerk, "conditions")
    assert conditions["conditions"]["1"] == {"condition": "subtotal", "operator": "gte", "value": "50.00"}
    inner = conditions["conditions"]["2"]
    assert inner["set"] == "any"
    assert inner["conditions"]["1"] == {"condition": "products_number", "operator": "gte", "value": 2}
    assert await stored(clerk, "bonuses") == {
        "1": {"bonus": "order_discount", "discount_bonus": "by_percentage", "discount_value": "12.5"}
    }
    await clerk.see("Quanto custaria?")
    name = await value(
        clerk.store,
        "select name from products p where status = 'A' and price_cents > 5000 and stock > 5"
        " and not exists (select 1 from combinations c where c.product_id = p.id) order by id limit 1",
    )
    labelled = "[...document.querySelectorAll('label')].find(each => each.innerText === '%s')?.control"
    await clerk.page.fill_in(labelled % "Produto", name[:12])
    await clerk.press(name)
    await clerk.press("Calcular")
    await clerk.see("Esta promoção não vale para este pedido.")
    await clerk.page.fill_in(labelled % "Unidades", "2")
    await clerk.press("Calcular")
    await clerk.see("Esta promoção vale para este pedido.")
    await clerk.check("promotion")


@on_desktop
async def test_a_condition_is_removed_and_a_refusal_is_shown_at_the_conditions(clerk: Clerk) -> None:
    await sign_in(clerk)
    scope = system_scope(clerk.store)
    with active_scope(scope):
        product = await value(clerk.store, "select min(id) from products where status = 'A'")
        number = await PROMOTION_RECORDS.create(
            scope, {"name": "Semana do barro", "conditions": {"min_subtotal": "10.00", "products": [product]}}
        )
    record = await value(clerk.store, "select public_id from promotions where id = $1", number)
    await clerk.go(f"/promotion/{record}", "Promoção")
    await clerk.see("Produtos no carrinho")
    await clerk.press("Tirar: Produtos no carrinho")
    await enter(clerk, "Subtotal", "Valor", "70")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    conditions = await stored(clerk, "conditions")
    assert conditions["conditions"] == {"1": {"condition": "subtotal", "operator": "gte", "value": "70.00"}}
    await clerk.press("Adicionar condição")
    await choose(clerk, "Subtotal", "Condição", "Cupons", last=True)
    await clerk.press("Salvar")
    await clerk.page.wait_for("document.querySelector('section[aria-label=Condições] .Mui-error') !== null")
    clerk.excuse("422")


async def open_promotion(clerk: Clerk, **terms: Any) -> str:
    """Open the page of a new promotion and return its UUID."""
    await sign_in(clerk)
    scope = system_scope(clerk.store)
    with active_scope(scope):
        number = await PROMOTION_RECORDS.create(scope, {"name": "Tocada", **terms})
    record = str(await value(clerk.store, "select public_id from promotions where id = $1", number))
    await clerk.go(f"/promotion/{record}", "Promoção")
    return record


@on_desktop
async def test_conditions_and_bonuses_that_another_changed_are_shown_by_names(clerk: Clerk) -> None:
    record = await open_promotion(clerk, conditions={"min_subtotal": "10.00"})
    await clerk.see("Subtotal")
    product = await value(clerk.store, "select min(id) from products where status = 'A'")
    name = await value(clerk.store, "select name from products where id = $1", product)
    number = await value(clerk.store, "select id from promotions where public_id = $1", record)
    scope = system_scope(clerk.store)
    with active_scope(scope):
        theirs = {
            "conditions": {"products": [product]},
            "bonuses": {"free_products": [{"product_id": product, "amount": "2"}]},
        }
        await PROMOTION_RECORDS.update(scope, number, theirs)
    await clerk.fill("input.name", "Minha")
    await clerk.press("Salvar")
    await clerk.page.wait_for(f"document.querySelector('[data-conflict]')?.innerText.includes({json.dumps(name)})")
    shown = await clerk.page.evaluate("document.querySelector('[data-conflict]').innerText")
    assert "Todas as condições se cumprem" in shown
    assert "Produtos no carrinho" in shown
    assert "R$\xa010,00" in shown
    assert "Produtos grátis" in shown
    assert f"2 × {name}" in shown
    assert not re.search(r"[0-9a-f]{8}-|[{}\[\]_]", shown)
    await clerk.check("conflict-promotion")


@on_desktop
async def test_texts_with_commas_stay_whole_and_a_discount_without_products_is_for_all(clerk: Clerk) -> None:
    product = await value(clerk.store, "select public_id from products where status = 'A' order by id limit 1")
    codes = {"condition": "coupon_code", "operator": "in", "value": ["A,B", "C"]}
    await open_promotion(
        clerk,
        conditions={"set": "all", "set_value": "1", "conditions": [codes]},
        bonuses={"product_discount": {"percent": 10, "products": [str(product)]}},
    )
    await clerk.see("A,B")
    await enter(clerk, "Cupons", "Cupons", "D, E")
    await clerk.page.wait_for(
        "document.querySelector('[role=group][aria-label=\"Desconto em produtos\"] .MuiChip-deleteIcon') !== null"
    )
    await clerk.page.click("[role=group][aria-label='Desconto em produtos'] .MuiChip-deleteIcon")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    conditions = await stored(clerk, "conditions")
    assert conditions["conditions"]["1"]["value"] == ["A,B", "C", "D, E"]
    assert await stored(clerk, "bonuses") == {
        "1": {"bonus": "product_discount", "discount_bonus": "by_percentage", "discount_value": "10"}
    }


@on_desktop
async def test_what_cannot_be_shown_is_not_overwritten(clerk: Clerk) -> None:
    record = await open_promotion(clerk)
    unknown = {"unknown": 1}
    await value(
        clerk.store,
        "update promotions set conditions = $2::jsonb, bonuses = $2::jsonb where public_id = $1::text::uuid returning id",
        record,
        json.dumps(unknown),
    )
    await clerk.go("/promotion", "Promoções")
    await clerk.go(f"/promotion/{record}", "Promoção")
    warnings = "document.querySelectorAll('form .MuiAlert-root').length"
    await clerk.page.wait_for(f"{warnings} === 2")
    await clerk.fill("input.name", "Tocada de novo")
    await clerk.press("Salvar")
    await clerk.see("Salvo")
    assert (
        await value(clerk.store, "select name from promotions where public_id = $1::text::uuid", record)
        == "Tocada de novo"
    )
    assert (await stored(clerk, "conditions"), await stored(clerk, "bonuses")) == (unknown, unknown)
