"""Warehouses decide whether what a cart holds gets to its address, and how long that takes."""

from __future__ import annotations

from typing import Any

from tests.current.fronts import ADDRESS, Front


async def options(front: Front, cart: str) -> list[dict[str, Any]]:
    answer = await front.get(f"carts/{cart}/shipping-options")
    assert answer.status == 200
    found: list[dict[str, Any]] = answer.body["shipping_options"]
    return found


async def test_the_warehouses_time_is_added_and_where_none_sends_nothing_is_offered(front: Front) -> None:
    shop = front.shop
    cart = await front.cart((shop.mug, 1), ready=False)
    await front.put(f"carts/{cart}/address", ADDRESS | {"state": "PE", "zipcode": "50010000"})
    assert [way["delivery_time"] for way in await options(front, cart)] == ["3 dias"]
    await shop.put(f"/api/warehouses/{shop.warehouse}", {"status": "A"})
    assert [way["delivery_time"] for way in await options(front, cart)] == ["6 dias"]
    await front.put(f"carts/{cart}/address", ADDRESS | {"state": "SP", "zipcode": "01001000"})
    assert await options(front, cart) == []
    refused = await front.put(f"carts/{cart}/shipping-option", {"shipping_id": shop.sedex.id})
    assert (refused.status, refused.body["error"]) == (422, "shipping_unavailable")


async def test_a_cart_of_several_sellers_waits_for_the_slowest_warehouse(front: Front) -> None:
    shop = front.shop
    await shop.put(f"/api/warehouses/{shop.depot}", {"shipping_delay": 10})
    cart = await front.cart((shop.mug, 1), (shop.plate, 1), ready=False)
    await front.put(f"carts/{cart}/address", ADDRESS)
    assert [way["delivery_time"] for way in await options(front, cart)] == ["13 dias"]
