"""A product with combinations is ordered in one of them only, and what is shown and counted of its stock is theirs."""

from __future__ import annotations

from typing import Any

import pytest

from domain.catalog.stock import emit_changes
from kernel.scope import active_scope
from tests.graphql.test_carts import CREATE, execute_query
from tests.graphql.test_storefront_fields import add_combination, read
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import open_storefront

ORDER = "mutation($input: OrderInput!) { order_create(input: $input) { id } }"
SHOWN = """query($id: ID!) { product(id: $id) { stock on_hand reserved is_available available_quantity }
    enough: products(filter: {stock_from: 7, stock_to: 7}) { id } few: products(filter: {stock_from: 90, stock_to: 90}) { id }
    sorted: products(limit: 100, sort: STOCK_DESC) { stock } }"""


@pytest.fixture
async def shirt(sample: SampleStore) -> Record:
    """Return a product of 90 own units, whose two combinations have 0 and 7; no option is required."""
    product = await sample.add_product(name="Camisa", on_hand=90, is_edp=True)
    await add_combination(sample, product, stock=0)
    await add_combination(sample, product, stock=7)
    await sample.execute("update options set required = false")
    return product


async def own_stock(sample: SampleStore, product: Record) -> tuple[int, int]:
    [row] = await sample.rows("select on_hand, reserved from products where id = $1", product.number)
    return row["on_hand"], row["reserved"]


async def combinations(sample: SampleStore, product: Record) -> list[tuple[int, int]]:
    rows = await sample.rows(
        "select on_hand, reserved from combinations where product_id = $1 order by id", product.number
    )
    return [(row["on_hand"], row["reserved"]) for row in rows]


@pytest.mark.parametrize("stock", [7, 0])
async def test_the_current_families_refuse_an_order_without_a_choice_at_the_field(
    sample: SampleStore, shirt: Record, stock: int
) -> None:
    await sample.execute("update combinations set on_hand = $2 where product_id = $1", shirt.number, stock)
    item = {"product_id": shirt.id, "quantity": 1}
    cart = await execute_query(sample, CREATE, sample.caio, input={"items": [item]})
    assert "'items.options'" in str(cart["extensions"]), cart
    assert "option_required" in str(cart["extensions"]), cart
    answer = await execute_query(sample, ORDER, sample.owner, input={"items": [item], "customer_id": sample.caio.id})
    assert "option_required" in str(answer), answer
    shop = await open_storefront(sample)
    answer = await shop.post("carts", {"items": [item]})
    assert (answer.status, answer.body["fields"]) == (400, {"items.options": "option_required"})
    assert await own_stock(sample, shirt) == (90, 0)


def legacy_order(sample: SampleStore, product: Record, amount: int, **line: Any) -> dict[str, Any]:
    products = {"1": {"product_id": str(product.number), "amount": str(amount), **line}}
    return {"user_id": str(sample.caio.number), "payment_id": str(sample.pix.number), "products": products}


async def test_the_legacy_layer_takes_the_first_combination_that_can_be_bought(
    sample: SampleStore, shirt: Record
) -> None:
    placed = await sample.post("/api/orders", legacy_order(sample, shirt, 2))
    assert placed.status == 201, placed.body
    assert (await combinations(sample, shirt), await own_stock(sample, shirt)) == ([(0, 0), (7, 2)], (90, 0))
    # Sent back without its options the line keeps them, though the combination has less left than it takes.
    await sample.execute("update combinations set on_hand = 4 where on_hand = 7")
    order = placed.body["order_id"]
    changed = await sample.put(
        f"/api/orders/{order}", {"products": {"1": {"product_id": str(shirt.number), "amount": "4"}}}
    )
    assert changed.status == 200, changed.body
    assert (await combinations(sample, shirt), await own_stock(sample, shirt)) == ([(0, 0), (4, 4)], (90, 0))


async def test_the_legacy_layer_refuses_when_no_combination_can_be_bought(sample: SampleStore, shirt: Record) -> None:
    refused = await sample.post("/api/orders", legacy_order(sample, shirt, 8))
    assert refused.status == 422, refused.body
    assert "out of stock" in refused.body["message"]
    unknown = await sample.post("/api/orders", legacy_order(sample, shirt, 1, product_options={"999999": "1"}))
    assert unknown.status == 400, unknown.body
    assert await combinations(sample, shirt) == [(0, 0), (7, 0)]


async def test_every_family_shows_the_stock_of_the_combinations(sample: SampleStore, shirt: Record) -> None:
    data = await read(sample, SHOWN, by=sample.owner, id=shirt.id)
    assert data["product"] == {"stock": 7, "on_hand": 7, "reserved": 0, "is_available": True, "available_quantity": 7}
    assert ([product["id"] for product in data["enough"]], data["few"]) == ([shirt.id], [])
    stocks = [product["stock"] for product in data["sorted"]]
    assert stocks == sorted(stocks, reverse=True)
    legacy = await sample.get(f"/api/products/{shirt.number}")
    admin = await sample.get(f"/api/v1/admin/products/{shirt.id}", auth="bearer")
    shop = await open_storefront(sample)
    assert (legacy.body["amount"], admin.body["stock"]) == ("7", 7)
    assert (await shop.get(f"products/{shirt.id}")).body["stock"] == 7


async def test_a_written_stock_of_its_own_changes_nothing(sample: SampleStore, shirt: Record) -> None:
    count = "select count(*) from outbox_events"
    before = await sample.value(count)
    written = await sample.put(f"/api/products/{shirt.number}", {"amount": "55"})
    assert written.status == 200, written.body
    assert (await own_stock(sample, shirt), await sample.value(count)) == ((90, 0), before)
    assert (await sample.put(f"/api/products/{shirt.number}", {"product": "Camiseta", "amount": "55"})).status == 200
    [event] = await sample.rows("select data from outbox_events where name = 'product.updated'")
    assert '"stock": 7' in str(event["data"]).replace("'", '"').replace('":7', '": 7')


async def test_the_event_of_its_stock_is_that_of_the_combinations(sample: SampleStore, shirt: Record) -> None:
    await sample.execute("update combinations set on_hand = 5 where on_hand = 7")
    scope = sample.scope
    with active_scope(scope):
        await emit_changes(scope)
    rows = await sample.rows(
        "select data from outbox_events where name = 'stock.changed' and subject_id = $1", shirt.id
    )
    assert rows
    assert '"stock": 5' in str(rows[-1]["data"]).replace("'", '"').replace('":5', '": 5')
