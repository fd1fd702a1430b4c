"""Stock by warehouse: `stock` is the sum of the active warehouses, whatever writes it."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from domain.catalog.combinations import create_combination, update_combination
from domain.catalog.options import create_option
from domain.catalog.products import bulk_upsert_products, update_product
from domain.catalog.warehouse_stock import set_warehouse_stock
from domain.jobs import switch_warehouse_stock
from domain.orders.lifecycle import change_status
from domain.purchase.edit import update_order
from domain.warehouses.write import WAREHOUSE_RECORDS
from kernel.errors import NotFound, ValidationFailed
from kernel.geography import STATES, state_code, state_of_cep
from kernel.scope import active_scope
from models.connection.database import count_statements
from tests.harness.domain_store import codes, unknown


async def warehouse(kit: Any, name: str, **values: Any) -> int:
    return await WAREHOUSE_RECORDS.create(kit.scope, {"name": name, **values})


async def two_warehouses(kit: Any, **values: Any) -> tuple[int, int]:
    return await warehouse(kit, "Centro", priority=2, **values), await warehouse(kit, "Norte", priority=1, **values)


async def put(kit: Any, product: int, quantities: dict[int, int | None], *, scope: Any = None, **more: Any) -> None:
    entries = [{"warehouse": number, "quantity": quantity, **more} for number, quantity in quantities.items()]
    await set_warehouse_stock(scope or kit.scope, product, entries)


async def quantities(kit: Any, product: int, combination: int | None = None) -> dict[int, int]:
    rows = await kit.rows(
        "SELECT warehouse_id, quantity FROM warehouse_stock WHERE tenant_id = $1 AND product_id = $2"
        " AND combination_id IS NOT DISTINCT FROM $3 ORDER BY warehouse_id",
        product,
        combination,
    )
    return {row["warehouse_id"]: row["quantity"] for row in rows}


async def stock_of(kit: Any, product: int, table: str = "products") -> int:
    return int((await kit.record(table, product))["stock"])


async def combined(kit: Any) -> tuple[int, int]:
    """Return a product with one combination."""
    product = await kit.product()
    option = await create_option(
        kit.scope, {"product": product, "name": "Cor", "inventory": True, "variants": [{"name": "azul"}]}
    )
    variant = await kit.value("SELECT id FROM option_variants WHERE tenant_id = $1 AND option_id = $2", option)
    values = {"product": product, "choices": {option: variant}, "stock": 3}
    return product, await create_combination(kit.scope, values)


async def test_the_stock_of_a_product_is_the_sum_of_its_warehouses(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product = await kit.product(stock=9)
    await put(kit, product, {first: 4, second: 3})
    assert (await stock_of(kit, product), await quantities(kit, product)) == (7, {first: 4, second: 3})
    await put(kit, product, {second: 5})
    assert (await stock_of(kit, product), await quantities(kit, product)) == (9, {first: 4, second: 5})


async def test_units_of_open_orders_stay_reserved(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product = await kit.product(stock=9)
    await kit.order((product, 2))
    await put(kit, product, {first: 4, second: 3})
    assert await kit.figures(product) == (9, 2)


async def test_setting_what_is_so_already_writes_nothing(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product = await kit.product()
    await put(kit, product, {first: 4, second: 3})
    before = await kit.record("products", product), await kit.event_names()
    await put(kit, product, {first: 4, second: 3})
    assert (await kit.record("products", product), await kit.event_names()) == before
    await put(kit, product, {first: 5, second: 3})
    assert (await kit.event_names())[-1] == "product.updated"


async def test_a_combination_has_its_own_warehouses(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product, combination = await combined(kit)
    await put(kit, product, {first: 4, second: 3}, combination=combination)
    assert await stock_of(kit, combination, "combinations") == 7
    assert await quantities(kit, product, combination) == {first: 4, second: 3}
    await update_combination(kit.scope, combination, {"stock": 2})
    assert await quantities(kit, product, combination) == {first: 0, second: 2}


async def test_a_stock_that_is_written_is_divided_among_the_warehouses(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product = await kit.product()
    await put(kit, product, {first: 4, second: 3})
    for stock, divided in ((10, (7, 3)), (5, (2, 3)), (2, (0, 2)), (0, (0, 0)), (6, (6, 0))):
        await update_product(kit.scope, product, {"stock": stock})
        assert await quantities(kit, product) == {first: divided[0], second: divided[1]}, stock
    await bulk_upsert_products(kit.scope, [{"id": product, "stock": 9}])
    assert await quantities(kit, product) == {first: 9, second: 0}


async def test_the_vendors_own_warehouse_comes_first(kit: Any) -> None:
    vendor = await kit.vendor()
    store = await warehouse(kit, "Loja", priority=9)
    own = await warehouse(kit, "Ateliê", vendor=vendor)
    product = await kit.product(vendor=vendor)
    await put(kit, product, {store: 4, own: 3})
    await update_product(kit.scope, product, {"stock": 10})
    assert await quantities(kit, product) == {store: 4, own: 6}


async def test_a_product_without_warehouses_is_as_before(kit: Any) -> None:
    await two_warehouses(kit)
    product = await kit.product(stock=9)
    await update_product(kit.scope, product, {"stock": 4})
    assert (await stock_of(kit, product), await quantities(kit, product)) == (4, {})


async def test_an_empty_warehouse_that_is_active_again_gets_the_stock_that_was_written_meanwhile(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product, combination = await combined(kit)
    plain = await kit.product(stock=3)
    await put(kit, plain, {first: 0, second: 0})
    await put(kit, product, {first: 0}, combination=combination)
    for number in (first, second):
        await WAREHOUSE_RECORDS.update(kit.scope, number, {"status": "D"})
    await update_product(kit.scope, plain, {"stock": 9})
    await update_combination(kit.scope, combination, {"stock": 4})
    for number in (first, second):
        await WAREHOUSE_RECORDS.update(kit.scope, number, {"status": "A"})
        assert await quantities(kit, plain) == {first: 9, second: 0}, number
        assert await quantities(kit, product, combination) == {first: 4}, number
    assert (await stock_of(kit, plain), await stock_of(kit, combination, "combinations")) == (9, 4)


async def test_a_disabled_warehouse_sells_nothing_until_it_is_active_again(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product, combination = await combined(kit)
    plain = await kit.product()
    await put(kit, product, {first: 4, second: 3}, combination=combination)
    await put(kit, plain, {first: 1, second: 2})
    await WAREHOUSE_RECORDS.update(kit.scope, first, {"status": "D"})
    assert (await stock_of(kit, combination, "combinations"), await stock_of(kit, plain)) == (3, 2)
    await update_product(kit.scope, plain, {"stock": 5})
    assert await quantities(kit, plain) == {first: 1, second: 5}
    await WAREHOUSE_RECORDS.update(kit.scope, first, {"status": "A"})
    assert (await stock_of(kit, combination, "combinations"), await stock_of(kit, plain)) == (7, 6)


async def test_the_units_of_a_deleted_warehouse_are_gone(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product = await kit.product()
    await put(kit, product, {first: 4, second: 3})
    await WAREHOUSE_RECORDS.delete(kit.scope, first)
    assert (await stock_of(kit, product), await quantities(kit, product)) == (3, {second: 3})


async def test_a_stock_without_an_active_warehouse_is_found_again_in_the_next_one(kit: Any) -> None:
    first = await warehouse(kit, "Centro")
    product = await kit.product()
    await put(kit, product, {first: 4})
    await WAREHOUSE_RECORDS.update(kit.scope, first, {"status": "D"})
    await update_product(kit.scope, product, {"stock": 6})
    assert (await stock_of(kit, product), await quantities(kit, product)) == (6, {first: 4})
    await WAREHOUSE_RECORDS.update(kit.scope, first, {"status": "A"})
    assert (await stock_of(kit, product), await quantities(kit, product)) == (10, {first: 10})


async def test_a_product_that_leaves_its_last_warehouse_keeps_its_stock(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product = await kit.product()
    await put(kit, product, {first: 4, second: 3})
    await put(kit, product, {first: None, second: None})
    assert (await stock_of(kit, product), await quantities(kit, product)) == (7, {})
    await update_product(kit.scope, product, {"stock": 1})
    assert await stock_of(kit, product) == 1


async def test_a_vendor_sets_the_stock_of_its_products_in_its_warehouses(kit: Any) -> None:
    vendor, rival = await kit.vendor(), await kit.vendor()
    own, store = await warehouse(kit, "Ateliê", vendor=vendor), await warehouse(kit, "Loja")
    other = await warehouse(kit, "Rival", vendor=rival)
    product = await kit.product(vendor=vendor)
    scope = kit.as_vendor(vendor)
    await put(kit, product, {own: 4}, scope=scope)
    for number in (store, other):
        with pytest.raises(ValidationFailed) as error:
            await put(kit, product, {number: 1}, scope=scope)
        assert codes(error) == {"warehouse": "not_found"}, number
    with pytest.raises(ValidationFailed):
        await put(kit, product, {other: 1})
    with pytest.raises(NotFound):
        await put(kit, product, {other: 1}, scope=kit.as_vendor(rival))
    assert await quantities(kit, product) == {own: 4}


async def test_wrong_entries_are_refused(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product, combination = await combined(kit)
    plain = await kit.product()
    cases: list[tuple[int, list[dict[str, Any]], dict[str, str]]] = [
        (plain, [{"warehouse": first, "quantity": -1}], {"quantity": "quantity_invalid"}),
        (plain, [{"warehouse": first}], {"quantity": "required"}),
        (plain, [{"warehouse": unknown(), "quantity": 1}], {"warehouse": "not_found"}),
        (plain, [{"warehouse": "x", "quantity": 1}], {"warehouse": "not_found"}),
        (plain, [{"warehouse": first, "quantity": 1}, {"warehouse": first, "quantity": 2}], {"stock": "repeated"}),
        (plain, [{"warehouse": first, "quantity": 1, "combination": combination}], {"combination": "not_found"}),
        (product, [{"warehouse": second, "quantity": 1}], {"combination": "required"}),
    ]
    for owner, entries, expected in cases:
        with pytest.raises(ValidationFailed) as error:
            await set_warehouse_stock(kit.scope, owner, entries)
        assert codes(error) == expected, entries
    with pytest.raises(NotFound):
        await set_warehouse_stock(kit.scope, unknown(), [])
    assert await kit.value("SELECT count(*) FROM warehouse_stock WHERE tenant_id = $1") == 0


async def test_writers_at_the_same_time_keep_the_sum(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    products = [await kit.product(stock=40) for _ in range(3)]
    for product in products:
        await put(kit, product, {first: 20, second: 20})
    await kit.delivery()
    switches = [WAREHOUSE_RECORDS.update(kit.scope, first, {"status": status}) for status in "DADA"]
    orders = [kit.order(*((product, 1) for product in products)) for _ in range(12)]
    writes = [update_product(kit.scope, product, {"stock": 30}) for product in products for _ in range(3)]
    sets = [put(kit, product, {second: 15}) for product in products for _ in range(3)]
    results = await asyncio.gather(*switches, *orders, *writes, *sets, return_exceptions=True)
    assert [result for result in results if isinstance(result, BaseException)] == []
    active = await kit.value("SELECT array_agg(id) FROM warehouses WHERE tenant_id = $1 AND status = 'A'")
    for product in products:
        divided = await quantities(kit, product)
        assert await stock_of(kit, product) == sum(divided[number] for number in divided if number in active), product


async def allocations(kit: Any, order: int) -> dict[tuple[int, int | None, int], int]:
    rows = await kit.rows(
        "SELECT product_id, combination_id, warehouse_id, quantity FROM order_allocations WHERE tenant_id = $1 AND order_id = $2",
        order,
    )
    return {(row["product_id"], row["combination_id"], row["warehouse_id"]): row["quantity"] for row in rows}


def to(state: str, zipcode: str = "") -> dict[str, Any]:
    return {"addresses": {"S": {"state": state, "zipcode": zipcode, "country": "BR"}}}


async def test_an_order_takes_its_units_from_the_warehouse_that_dispatches_it_then_from_the_others(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    south = await warehouse(kit, "Sul", priority=3, areas=[{"area_name": "Sul", "states": ["RS"]}])
    product = await kit.product()
    await put(kit, product, {first: 4, second: 3, south: 3})
    for address in (to("RS"), to("Rio Grande do Sul"), to("", "90010-000")):
        order = await kit.order((product, 1), **address)
        assert await allocations(kit, order.id) == {(product, None, south): 1}, address
    await put(kit, product, {south: 1})
    order = await kit.order((product, 6), **to("SP"))
    assert await allocations(kit, order.id) == {(product, None, first): 4, (product, None, second): 2}
    order = await kit.order((product, 2))
    assert await allocations(kit, order.id) == {(product, None, second): 1, (product, None, south): 1}
    assert (await stock_of(kit, product), await quantities(kit, product)) == (0, {first: 0, second: 0, south: 0})


async def test_a_cancelled_order_gives_its_units_back_to_the_same_warehouses(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product = await kit.product()
    await put(kit, product, {first: 2, second: 3})
    order = await kit.order((product, 4))
    assert await quantities(kit, product) == {first: 0, second: 1}
    await put(kit, product, {first: 7})
    await change_status(kit.scope, order.id, "P")
    assert await quantities(kit, product) == {first: 7, second: 1}, "paying moves nothing"
    await change_status(kit.scope, order.id, "I")
    assert (await quantities(kit, product), await allocations(kit, order.id)) == ({first: 9, second: 3}, {})
    assert await stock_of(kit, product) == 12


async def test_an_order_that_is_edited_or_opened_again_takes_and_returns_the_difference(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product, combination = await combined(kit)
    await put(kit, product, {first: 2, second: 3}, combination=combination)
    options = await kit.value(
        "SELECT jsonb_object_agg(option_id::text, variant_id::text) FROM combination_choices WHERE tenant_id = $1 AND combination_id = $2",
        combination,
    )
    line = {"product": product, "options": orjson.loads(options)}
    order = await kit.order({**line, "quantity": 1})
    assert await quantities(kit, product, combination) == {first: 1, second: 3}
    await update_order(kit.scope, order.id, {"lines": [{**line, "quantity": 4}]})
    assert await quantities(kit, product, combination) == {first: 0, second: 1}
    await update_order(kit.scope, order.id, {"lines": [{**line, "quantity": 3}]})
    assert await quantities(kit, product, combination) == {first: 0, second: 2}, "the last one taken from is the first"
    assert await allocations(kit, order.id) == {(product, combination, first): 2, (product, combination, second): 1}
    for status, expected in (("I", {first: 2, second: 3}), ("O", {first: 0, second: 2})):
        await change_status(kit.as_admin(family="legacy"), order.id, status, force=True)
        assert await quantities(kit, product, combination) == expected, status
    assert await stock_of(kit, combination, "combinations") == 2


async def test_units_of_a_warehouse_that_is_gone_return_to_the_first_one(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    third = await warehouse(kit, "Sul")
    product = await kit.product()
    await put(kit, product, {first: 2, second: 3, third: 1})
    order = await kit.order((product, 4))
    await WAREHOUSE_RECORDS.delete(kit.scope, first)
    await change_status(kit.scope, order.id, "I")
    assert await quantities(kit, product) == {second: 5, third: 1}
    assert (await stock_of(kit, product), await allocations(kit, order.id)) == (6, {})


async def test_the_store_may_empty_the_warehouses_of_a_former_vendor(kit: Any) -> None:
    former, vendor = await kit.vendor(), await kit.vendor()
    own, other = await warehouse(kit, "Ateliê", vendor=former), await warehouse(kit, "Sul", vendor=former)
    product = await kit.product(vendor=former)
    await put(kit, product, {own: 3})
    await update_product(kit.scope, product, {"vendor": vendor})
    for number, scope in ((other, kit.scope), (own, kit.as_vendor(vendor))):
        with pytest.raises(ValidationFailed):
            await put(kit, product, {number: None}, scope=scope)
    await put(kit, product, {own: 0})
    assert (await stock_of(kit, product), await quantities(kit, product)) == (0, {own: 0})
    await put(kit, product, {own: None})
    assert await quantities(kit, product) == {}


async def test_units_that_do_not_come_back_are_of_no_warehouse_when_the_order_is_opened_again(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product = await kit.product()
    await put(kit, product, {first: 9, second: 9})
    order = await kit.order((product, 3))
    for status, of_first, taken in (("P", 6, 3), ("C", 6, 3), ("I", 6, 0), ("O", 6, 0), ("I", 9, 0)):
        await change_status(kit.as_admin(family="legacy"), order.id, status, force=True)
        assert await quantities(kit, product) == {first: of_first, second: 9}, status
        assert sum((await allocations(kit, order.id)).values()) == taken, status


async def test_a_customer_of_a_vendor_is_served_by_its_warehouse_first(kit: Any) -> None:
    vendor = await kit.vendor()
    store, own = await warehouse(kit, "Loja", priority=9), await warehouse(kit, "Ateliê", vendor=vendor)
    product, other = await kit.product(vendor=vendor), await kit.product()
    await put(kit, product, {store: 4, own: 3})
    await put(kit, other, {store: 4})
    order = await kit.order((product, 2), (other, 1))
    assert await allocations(kit, order.id) == {(product, None, own): 2, (other, None, store): 1}


async def test_as_many_statements_place_an_order_with_warehouses_as_without(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    counts = []
    await kit.order((await kit.product(), 1))
    for quantity in (None, 1):
        product = await kit.product(stock=9)
        if quantity is not None:
            await put(kit, product, {first: quantity, second: 20})
        with active_scope(kit.scope), count_statements() as counted:
            await kit.order((product, 3))
        counts.append(counted.count)
    assert counts[0] == counts[1]


async def test_concurrent_orders_do_not_oversell_two_warehouses(kit: Any) -> None:
    first, second = await two_warehouses(kit)
    product, other = await kit.product(), await kit.product()
    for each in (product, other):
        await put(kit, each, {first: 3, second: 4})
    await kit.delivery()
    lines = ((product, 1), (other, 1))
    results = await asyncio.gather(
        *(kit.order(*lines[:: -1 if turn % 2 else 1]) for turn in range(20)), return_exceptions=True
    )
    refusals = [result for result in results if isinstance(result, BaseException)]
    assert len(refusals) == 13
    assert {getattr(error, "reason", repr(error)) for error in refusals} == {"out_of_stock"}
    placed = [result for result in results if not isinstance(result, BaseException)]
    cancelled = await asyncio.gather(*(change_status(kit.scope, order.id, "I") for order in placed[:4]))
    assert len(cancelled) == 4
    for each in (product, other):
        left = [await allocations(kit, order.id) for order in placed]
        taken = {number: sum(one.get((each, None, number), 0) for one in left) for number in (first, second)}
        assert sum(taken.values()) == 3, each
        assert await quantities(kit, each) == {first: 3 - taken[first], second: 4 - taken[second]}, each
        assert await stock_of(kit, each) == 4, each


async def test_the_database_reads_states_as_the_program_does(kit: Any) -> None:
    cases = [(text, cep) for text in (*STATES, "São  Paulo", "rio de janeiro ", "x", "") for cep in ("01310100",)]
    cases += [("", f"{number:05d}000") for number in range(0, 100_000, 100)]
    rows = await kit.rows(
        "SELECT vitrine_state_code(s, c) AS code FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS u (s, c, n)"
        " WHERE $1 > 0 ORDER BY n",
        [text for text, _ in cases],
        [cep for _, cep in cases],
    )
    for (text, cep), row in zip(cases, rows, strict=True):
        assert row["code"] == (state_code(text) or state_of_cep(cep)), (text, cep)


@pytest.mark.parametrize("columns, left", [({"status": "D"}, 1), (None, 0)], ids=["disabled", "deleted"])
async def test_the_stock_of_a_large_warehouse_is_switched_in_parts(kit: Any, columns: Any, left: int) -> None:
    first, second = await two_warehouses(kit)
    rows = [{"name": f"Copo {number}", "price_cents": 100} for number in range(500)]
    products = [result.id for result in await bulk_upsert_products(kit.scope, rows)] + [await kit.product()]
    for product in products:
        await put(kit, product, {first: 2, second: 3})
    stocks = "SELECT array_agg(DISTINCT stock ORDER BY stock) FROM products WHERE tenant_id = $1"
    if columns is None:
        await WAREHOUSE_RECORDS.delete(kit.scope, first)
    else:
        await WAREHOUSE_RECORDS.update(kit.scope, first, columns)
    assert await kit.value(stocks) == [3, 5]
    with active_scope(kit.scope):
        assert await switch_warehouse_stock(kit.scope) == 1
    assert await kit.value(stocks) == [3]
    assert len(await quantities(kit, products[0])) == 1 + left
    with active_scope(kit.scope):
        assert await switch_warehouse_stock(kit.scope) == 0
    if columns is not None:
        await WAREHOUSE_RECORDS.update(kit.scope, first, {"status": "A"})
        with active_scope(kit.scope):
            assert await switch_warehouse_stock(kit.scope) == 1
        assert await kit.value(stocks) == [5]
