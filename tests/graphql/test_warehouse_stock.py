"""The stock of products and combinations by warehouse, read and set by GraphQL."""

from __future__ import annotations

from typing import Any

import pytest

from kernel.scope import active_scope
from models.connection import database
from models.tables.options import Combination
from models.tables.warehouses import Warehouse
from resolvers import root
from resolvers.engine.executor import ExecutionContext, execute_document
from resolvers.engine.prepare import prepare_document
from tests.harness.sample_store import SampleStore

SET = """mutation($id: ID!, $stock: [WarehouseStockInput!]!) { product_warehouse_stock_set(id: $id, stock: $stock) {
    stock on_hand warehouse_stock { warehouse_id warehouse_name warehouse { name } quantity }
    combinations { stock warehouse_stock { warehouse_id quantity } } } }"""
READ = """{ products(limit: 100) { id stock warehouse_stock { warehouse_id quantity }
    combinations { warehouse_stock { warehouse_name quantity } } } }"""


@pytest.fixture
async def centro(sample: SampleStore) -> Any:
    return await sample.add(Warehouse, name="Centro", priority=2)


@pytest.fixture
async def norte(sample: SampleStore) -> Any:
    return await sample.add(Warehouse, name="Norte", priority=1)


async def set_stock(sample: SampleStore, product: Any, *entries: dict[str, Any], **caller: Any) -> Any:
    body = {"query": SET, "variables": {"id": product.id, "stock": list(entries)}}
    return (await sample.post("/graphql", body, auth="bearer", **caller)).body


async def test_the_stock_of_a_product_is_set_and_read_by_warehouse(
    sample: SampleStore, centro: Any, norte: Any
) -> None:
    product = await sample.add_product(name="Bule", on_hand=5)
    entries = [{"warehouse_id": centro.id, "quantity": 4}, {"warehouse_id": norte.id, "quantity": 3}]
    answer = await set_stock(sample, product, *entries)
    shown = [
        {"warehouse_id": place.id, "warehouse_name": name, "warehouse": {"name": name}, "quantity": quantity}
        for place, name, quantity in ((centro, "Centro", 4), (norte, "Norte", 3))
    ]
    changed = {"stock": 7, "on_hand": 7, "warehouse_stock": shown, "combinations": []}
    assert answer["data"] == {"product_warehouse_stock_set": changed}
    answer = await set_stock(sample, product, {"warehouse_id": norte.id, "quantity": None})
    changed = answer["data"]["product_warehouse_stock_set"]
    assert (changed["stock"], changed["warehouse_stock"]) == (4, shown[:1])


async def test_errors_name_the_fields_of_the_input(sample: SampleStore, centro: Any) -> None:
    product = await sample.add_product(name="Bule")
    for entry, field in (
        ({"warehouse_id": product.id, "quantity": 1}, "warehouse_id"),
        ({"warehouse_id": centro.id, "quantity": 1, "combination_id": centro.id}, "combination_id"),
        ({"warehouse_id": centro.id}, "quantity"),
    ):
        [error] = (await set_stock(sample, product, entry))["errors"]
        assert error["extensions"]["field"] == field, entry


async def test_a_list_takes_as_many_statements_for_many_products(sample: SampleStore, centro: Any, norte: Any) -> None:
    schema = root.public_schema()
    prepared = prepare_document(schema, READ, limited=True)
    assert prepared.errors == ()
    counts = []
    for number in range(1, 20):
        product = await sample.add_product(name=f"Bule {number}")
        combination = await sample.add(Combination, product_id=product.number, hash=f"1_{number}")
        stored = [
            {"warehouse_id": place.id, "combination_id": combination.id, "quantity": number}
            for place in (centro, norte)
        ]
        await set_stock(sample, product, *stored)
        if number in (1, 19):
            with active_scope(sample.scope), database.count_statements() as counted:
                result = await execute_document(schema, prepared, ExecutionContext(sample.scope), {})
            assert result.data is not None, (number, result.errors)
            counts.append(counted.count)
            [read] = [row for row in result.data["products"] if row["id"] == product.id]
            divided = [each["quantity"] for each in read["combinations"][0]["warehouse_stock"]]
            assert (divided, read["stock"]) == ([number, number], 2 * number), number
    assert counts[0] == counts[1]


async def test_shoppers_do_not_see_the_warehouses(sample: SampleStore, centro: Any) -> None:
    product = await sample.add_product(name="Bule")
    await set_stock(sample, product, {"warehouse_id": centro.id, "quantity": 4})
    shopper = await sample.shopper()
    query = "query($id: ID!) { product(id: $id) { stock warehouse_stock { quantity } } }"
    answer = (await shopper.post("/graphql", {"query": query, "variables": {"id": product.id}})).body
    assert answer["data"]["product"] == {"stock": 4, "warehouse_stock": None}
    assert answer["errors"][0]["extensions"]["code"] == "FORBIDDEN"


async def test_a_vendor_sees_its_own_warehouses(sample: SampleStore, centro: Any) -> None:
    own = await sample.add(Warehouse, name="Ateliê", vendor_id=sample.vendor.number)
    entries = [{"warehouse_id": place.id, "quantity": 2} for place in (centro, own)]
    await set_stock(sample, sample.mug, *entries)
    answer = await set_stock(sample, sample.mug, {"warehouse_id": own.id, "quantity": 3}, by=sample.vendor_user)
    changed = answer["data"]["product_warehouse_stock_set"]
    assert (changed["stock"], [each["warehouse_id"] for each in changed["warehouse_stock"]]) == (5, [own.id])
    [error] = (await set_stock(sample, sample.mug, entries[0], by=sample.vendor_user))["errors"]
    assert error["extensions"]["field"] == "warehouse_id"


async def test_every_family_writes_and_shows_the_sum(sample: SampleStore, centro: Any, norte: Any) -> None:
    product = await sample.add_product(name="Bule")
    entries = [{"warehouse_id": place.id, "quantity": 4} for place in (centro, norte)]
    await set_stock(sample, product, *entries)
    path = f"/api/products/{product.number}"
    assert (await sample.get(path)).body["amount"] == "8"
    assert (await sample.put(path, {"amount": 3})).status == 200
    assert (await sample.get(path)).body["amount"] == "3"
    rows = await sample.rows("select quantity from warehouse_stock where product_id = $1 order by id", product.number)
    assert [row["quantity"] for row in rows] == [0, 3]


ALLOCATIONS = """query($id: ID!) { order(id: $id) { allocations {
    warehouse_id warehouse_name product_id combination_id name quantity } } }"""


async def test_an_order_says_which_warehouses_gave_its_units(sample: SampleStore, centro: Any, norte: Any) -> None:
    entries = [{"warehouse_id": place.id, "quantity": quantity} for place, quantity in ((centro, 1), (norte, 9))]
    await set_stock(sample, sample.mug, *entries)
    order = await sample.place_order((sample.mug, 3), user=sample.bia.number)
    body = {"query": ALLOCATIONS, "variables": {"id": order.id}}
    [name] = [row["name"] for row in await sample.rows("select name from products where id = $1", sample.mug.number)]
    expected = [
        {"warehouse_id": place.id, "warehouse_name": label, "quantity": quantity}
        | {"product_id": sample.mug.id, "combination_id": None, "name": name}
        for place, label, quantity in ((centro, "Centro", 1), (norte, "Norte", 2))
    ]
    for caller in (sample.owner, sample.vendor_user):
        answer = (await sample.post("/graphql", body, auth="bearer", by=caller)).body
        assert answer["data"]["order"] == {"allocations": expected}, caller


async def test_warehouses_of_the_store_itself_are_listed_by_0(sample: SampleStore, centro: Any) -> None:
    await sample.add(Warehouse, name="Ateliê", vendor_id=sample.vendor.number)
    query = "query($owners: [ID!]) { warehouses(filter: {vendor_id: $owners}, sort: NAME_ASC) { name } }"
    for owners, names in (
        (["0"], {"Centro", "Galpão Recife"}),
        ([sample.vendor.id], {"Ateliê"}),
        (["0", sample.vendor.id], {"Ateliê", "Centro", "Galpão Recife"}),
    ):
        answer = (await sample.post("/graphql", {"query": query, "variables": {"owners": owners}}, auth="bearer")).body
        assert {each["name"] for each in answer["data"]["warehouses"]} == names, owners
