"""Warehouses determine whether a cart ships to an address and the delivery time (docs/reference/legacy.md#warehouses)."""

from __future__ import annotations

from typing import Any

from tests.harness.storefront import ADDRESS, StorefrontClient


async def options(storefront: StorefrontClient, cart: str) -> list[dict[str, Any]]:
    answer = await storefront.get(f"carts/{cart}/shipping-options")
    assert answer.status == 200
    matches: list[dict[str, Any]] = answer.body["shipping_options"]
    return matches


async def test_delivery_time_includes_the_warehouse_delay_and_uncovered_areas_get_no_options(
    storefront: StorefrontClient,
) -> None:
    sample = storefront.sample
    cart = await storefront.cart((sample.mug, 1), ready=False)
    await storefront.put(f"carts/{cart}/address", ADDRESS | {"state": "PE", "zipcode": "50010000"})
    assert [option["delivery_time"] for option in await options(storefront, cart)] == ["3 dias"]
    await sample.put(f"/api/warehouses/{sample.warehouse}", {"status": "A"})
    assert [option["delivery_time"] for option in await options(storefront, cart)] == ["6 dias"]
    await storefront.put(f"carts/{cart}/address", ADDRESS | {"state": "SP", "zipcode": "01001000"})
    assert await options(storefront, cart) == []
    rejected = await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": sample.sedex.id})
    assert (rejected.status, rejected.body["error"]) == (422, "shipping_unavailable")


async def test_a_cart_of_several_vendors_uses_the_slowest_warehouse(storefront: StorefrontClient) -> None:
    sample = storefront.sample
    await sample.put(f"/api/warehouses/{sample.depot}", {"shipping_delay": 10})
    cart = await storefront.cart((sample.mug, 1), (sample.plate, 1), ready=False)
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    assert [option["delivery_time"] for option in await options(storefront, cart)] == ["13 dias"]
