"""A vendor's `shippings` restrict the shipping methods of its products (docs/reference/legacy.md#stores)."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from domain.purchase.references import offers_method
from tests.harness.storefront import open_storefront

METHOD = UUID("01a20340-c766-77ee-8094-0da4cefa23d0")


@pytest.mark.parametrize(
    "shippings, is_offered",
    [
        ({}, True),
        ({"note": "até 10 kg", "free": {"from": 3}}, True),
        ({"0": "8"}, True),
        ({"0": 8, "1": 9}, True),
        ({"0": str(METHOD)}, True),
        ({"0": "9"}, False),
        ({"0": str(uuid4())}, False),
        ({"8": "Y", "9": "N"}, True),
        ({"8": True}, True),
        ({"8": "N"}, False),
        ({"9": "Y"}, False),
        ({"9": "Y", "note": "x"}, False),
    ],
)
def test_a_vendor_that_names_methods_offers_only_these(shippings, is_offered):
    assert offers_method(shippings, 8, METHOD) is is_offered


async def set_shippings(sample, **shippings):
    answer = await sample.put(f"/api/vendors/{sample.vendor}", {"shippings": shippings})
    assert answer.status == 200, answer.raw


async def test_carts_quotes_and_orders_have_only_the_offered_methods(sample):
    other = (await sample.post("/api/shippings", {"shipping": "Motoboy"})).body["shipping_id"]
    storefront = await open_storefront(sample)

    async def methods(product):
        cart = await storefront.cart((product, 1), ready=False)
        options = await storefront.get(f"carts/{cart}/shipping-options")
        quotes = await sample.get(f"/api/delivery_methods?product_id={product}&zipcode=50010000")
        assert quotes.status == 200, quotes.raw
        return "Motoboy" in str(options.raw, "utf-8"), "Motoboy" in str(quotes.raw, "utf-8")

    async def order(product):
        line = {"product_id": product.number, "amount": 1}
        body = {"user_id": sample.caio.number, "shipping_id": other, "products": [line]}
        return (await sample.post("/api/orders", body)).status

    assert (await methods(sample.mug), await order(sample.mug)) == ((True, True), 201)
    await set_shippings(sample, **{str(sample.sedex): "Y"})
    assert (await methods(sample.mug), await order(sample.mug)) == ((False, False), 422)
    assert (await methods(sample.plate), await order(sample.plate)) == ((True, True), 201)


@pytest.mark.parametrize("sent", [["8", 9], {"0": "8", "1": "9"}])
async def test_methods_may_be_sent_as_an_array(sample, sent):
    answer = await sample.put(f"/api/vendors/{sample.vendor}", {"shippings": sent})
    assert answer.status == 200, answer.raw
    assert (await sample.get(f"/api/vendors/{sample.vendor}")).body["shippings"] == {"0": "8", "1": "9"}


@pytest.mark.parametrize("sent", [["x"], "8,9", 5])
async def test_shippings_that_name_nothing_are_refused(sample, sent):
    assert (await sample.put(f"/api/vendors/{sample.vendor}", {"shippings": sent})).status == 400
