"""What an order would cost, with the promotions that apply."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from domain.promotions.conditions import CATALOG
from domain.purchase.placement import place_order
from domain.purchase.preview import preview_order
from kernel.errors import DomainError
from models.connection import database
from tests.graphql.conftest import ExecuteQuery
from tests.graphql.test_typed_promotions import UNKNOWN, create, group, send
from tests.harness.records import add_vendor
from tests.harness.sample_store import SampleStore

PREVIEW = """query($input: OrderInput!) { order_preview(input: $input) {
    lines { product_id product { id } name quantity base_price_cents price_cents total_cents is_gift }
    discounts { promotion_id promotion { id } name amount_cents }
    subtotal_cents discount_cents shipping_cents surcharge_cents tax_cents total_cents points_earned points_spent } }"""
ORDER = "mutation($input: OrderInput!) { order_create(input: $input) { id } }"


async def test_a_trial_states_lines_discounts_and_totals_and_writes_nothing(sample: SampleStore) -> None:
    product, gift = await sample.add_product(price_cents=10_000), await sample.add_product(price_cents=500)
    of_product = {"product_ids": [str(product.id)]}
    catalogue = await create(
        sample,
        name="Vitrine",
        zone=CATALOG,
        bonus_list=[{"product_discount": {"discount": {"mode": "by_percent", "value": 10_000}, **of_product}}],
    )
    cart = await create(
        sample,
        name="Carrinho",
        condition_tree=group({"kind": "subtotal", "value": {"cents": 15_000}}),
        bonus_list=[
            {"order_discount": {"mode": "by_cents", "value": 1_000}},
            {"free_products": [{"product_id": str(gift.id)}]},
        ],
    )
    before = await sample.value("select count(*) from orders")
    answer = await send(sample, PREVIEW, input={"items": [{"product_id": str(product.id), "quantity": 2}]})
    assert "errors" not in answer, answer
    preview = answer["data"]["order_preview"]
    assert [(line["product_id"], line["price_cents"], line["is_gift"]) for line in preview["lines"]] == [
        (str(product.id), 9_000, False),
        (str(gift.id), 0, True),
    ]
    assert preview["lines"][0]["product"] == {"id": str(product.id)}
    assert [(each["promotion_id"], each["name"], each["amount_cents"]) for each in preview["discounts"]] == [
        (catalogue["id"], "Vitrine", 2_000),
        (cart["id"], "Carrinho", 1_000),
    ]
    assert preview["discounts"][1]["promotion"] == {"id": cart["id"]}
    amounts = [preview[name] for name in ("subtotal_cents", "discount_cents", "shipping_cents", "total_cents")]
    assert amounts == [18_000, 1_000, 0, 17_000]
    assert await sample.value("select count(*) from orders") == before


@pytest.mark.parametrize(
    "order, message",
    [
        ({}, "items is required"),
        ({"items": [{"product_id": UNKNOWN, "quantity": 1}]}, "not found"),
        ({"items": [{"product_id": "PRODUCT", "quantity": 1}], "coupon_code": "NADA"}, "coupon NADA"),
        ({"items": [{"product_id": "PRODUCT", "quantity": 1}], "status": "?"}, "status"),
    ],
)
async def test_a_trial_is_refused_as_the_order_would_be(
    sample: SampleStore, order: dict[str, Any], message: str
) -> None:
    product = str((await sample.add_product(is_edp=True)).id)
    items = [{**item, "product_id": item["product_id"].replace("PRODUCT", product)} for item in order.get("items", ())]
    given = {**order, **({"items": items} if items else {})}
    answer = await send(sample, PREVIEW, input=given)
    assert message in answer["errors"][0]["message"], answer
    created = await send(sample, ORDER, input={**given, "customer_id": str(sample.bia.id)})
    assert created["errors"][0]["message"] == answer["errors"][0]["message"], created


async def test_a_trial_of_a_vendors_order_is_refused_as_the_order_would_be(sample: SampleStore) -> None:
    product = await sample.add_product(is_edp=True)
    order = {"user": sample.bia.id, "lines": [{"product": product.id, "quantity": 1}]}
    other = (await add_vendor(sample.store)).id
    for vendor in (other, UUID(UNKNOWN)):
        refusals = []
        for refuse in (preview_order, place_order):
            with pytest.raises(DomainError) as error:
                await refuse(sample.scope, {**order, "vendor": vendor})
            refusals.append((type(error.value), str(error.value)))
        assert refusals[0] == refusals[1], vendor
    assert (await preview_order(sample.scope, {**order, "vendor": sample.vendor.id}))["lines"]


async def test_a_trial_costs_ten_for_each_of_its_statements(sample: SampleStore, execute_query: ExecuteQuery) -> None:
    query = "query($input: OrderInput!) { order_preview(input: $input) { total_cents } }"
    await create(sample, coupon_code="NATAL", bonus_list=[{"give_points": 1}])
    order = {
        "items": [{"product_id": str((await sample.add_product()).id), "quantity": 1}],
        "customer_id": str(sample.bia.id),
        "shipping_method_id": str(sample.sedex.id),
        "coupon_code": "NATAL",
    }
    answer = await send(sample, query, input=order)
    assert "errors" not in answer, answer
    assert answer["extensions"]["cost"] == 50, answer
    with database.count_statements() as counted:
        result = await execute_query(sample.scope, query, input=order)
    assert not result.errors, result
    assert 30 <= 10 * counted.count <= 50, counted.count
