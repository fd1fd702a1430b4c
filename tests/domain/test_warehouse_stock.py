"""Stock by warehouse: `stock` is the sum of the active warehouses, whatever writes it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from domain.catalog.combinations import create_combination, update_combination
from domain.catalog.options import create_option
from domain.catalog.products import bulk_upsert_products, update_product
from domain.catalog.warehouse_stock import set_warehouse_stock
from domain.warehouses.write import WAREHOUSE_RECORDS
from kernel.errors import NotFound, ValidationFailed
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
    active = await kit.value(
        "SELECT array_agg(id) FROM warehouses WHERE tenant_id = $1 AND status = 'A' AND deleted_at IS NULL"
    )
    for product in products:
        divided = await quantities(kit, product)
        assert await stock_of(kit, product) == sum(divided[number] for number in divided if number in active), product
