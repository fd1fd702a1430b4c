"""Check what `zero_price_action` decides of products without a price: in stores of the dialect `cscart`, in every family."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.harness.storefront import open_storefront

CART = "mutation ($input: CartInput!) { cart_create(input: $input) { items { is_available } warnings { code } } }"


async def create_product(sample: SampleStore, **fields: Any) -> tuple[int, str]:
    """Return the number and the id of a new product."""
    body = {"product": "Brinde", "price": 0, "is_edp": "Y", "tracking": "D", **fields}
    number = int((await sample.post("/api/products", body)).body["product_id"])
    return number, str(await sample.value("select public_id from products where id = $1", number))


@pytest.mark.parametrize(
    "dialect, action, is_sold",
    [("cscart", "R", False), ("cscart", "A", False), ("cscart", "P", True), ("contract", "R", True)],
)
async def test_a_product_without_a_price_is_sold_where_its_action_allows_it(
    new_sample: NewSampleStore, dialect: str, action: str, is_sold: bool
) -> None:
    sample = await new_sample(legacy_lists=dialect)
    number, product = await create_product(sample, zero_price_action=action)
    refusal = "Produto indisponível: Brinde."
    items = [{"product_id": product, "quantity": 1}]
    shop = await open_storefront(sample)
    by_rest = await shop.post("carts", {"items": items})
    assert by_rest.status == (201 if is_sold else 422), by_rest.body
    headers = {"X-API-Key": str(shop.key)}
    by_graphql = await sample.post(
        "/graphql", {"query": CART, "variables": {"input": {"items": items}}}, headers=headers, auth=None
    )
    messages = [error["message"] for error in by_graphql.body.get("errors", [])]
    assert messages == ([] if is_sold else [refusal])
    body = {"user_id": sample.caio.number, "products": {str(number): {"amount": 1}}}
    order = await sample.post("/api/orders", body)
    assert (order.status, order.body.get("message")) == (
        (201, None) if is_sold else (422, "not sold without a price: Brinde")
    )
    body["products"][str(number)]["price"] = "5"
    assert (await sample.post("/api/orders", body)).status == 201, "an explicit price is the store's own"


async def test_a_cart_warns_of_a_product_that_lost_its_price_and_its_checkout_is_refused(
    new_sample: NewSampleStore,
) -> None:
    sample = await new_sample(legacy_lists="cscart")
    number, product = await create_product(sample, price="2.00")
    shop = await open_storefront(sample)
    cart = (await shop.post("carts", {"items": [{"product_id": product, "quantity": 1}]})).body["id"]
    assert (await sample.put(f"/api/products/{number}", {"price": 0})).status == 200
    query = f'{{ cart(id: "{cart}") {{ items {{ is_available }} warnings {{ code }} }} }}'
    shown = await sample.post("/graphql", {"query": query}, headers={"X-API-Key": str(shop.key)}, auth=None)
    assert shown.body["data"]["cart"] == {
        "items": [{"is_available": False}],
        "warnings": [{"code": "PRODUCT_UNAVAILABLE"}],
    }
    refused = await shop.check_out(cart)
    assert (refused.status, refused.body["error"]["code"]) == (422, "product_unavailable"), refused.body


async def test_options_may_be_its_price(new_sample: NewSampleStore) -> None:
    sample = await new_sample(legacy_lists="cscart")
    number, _ = await create_product(sample)
    variants = {"1": {"variant_name": "Grátis", "modifier": "0"}, "2": {"variant_name": "Pago", "modifier": "3"}}
    body = {"product_id": number, "option_name": "Plano", "option_type": "S", "variants": variants}
    option = (await sample.post("/api/options", body)).body["option_id"]
    stored = (await sample.get(f"/api/options/{option}")).body["variants"]
    for variant in stored.values() if isinstance(stored, dict) else stored:
        line = {"amount": 1, "product_options": {str(option): str(variant["variant_id"])}}
        order = await sample.post("/api/orders", {"user_id": sample.caio.number, "products": {str(number): line}})
        assert order.status == (201 if variant["variant_name"] == "Pago" else 422), (variant, order.body)
