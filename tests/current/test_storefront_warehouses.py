"""Warehouses determine whether a cart ships to an address and the delivery time (docs/reference/legacy.md#warehouses)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.http import Response
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


@pytest.fixture
async def slow_order(storefront: StorefrontClient) -> Response:
    """Return the checkout of a cart that was quoted ten days more than its method's three."""
    sample = storefront.sample
    await sample.put(f"/api/warehouses/{sample.depot}", {"shipping_delay": 10})
    return await storefront.order((sample.mug, 1), (sample.plate, 1))


async def delivery_times(storefront: StorefrontClient, order: Response) -> dict[str, Any]:
    """Return the delivery time that each family shows of an order."""
    sample, number = storefront.sample, order.body["number"]
    staff = await sample.client(sample.owner)
    placed = await storefront.get(f"orders/{order.body['id']}", params={"token": order.body["token"]})
    text = "query($id: ID!) { order(id: $id) { delivery_time } }"
    graphql = await staff.post("/graphql", {"query": text, "variables": {"id": order.body["id"]}})
    [legacy] = (await sample.get(f"/api/orders/{number}")).body["shipping"]
    return {
        "storefront": placed.body["delivery_time"],
        "admin": (await staff.get(f"/api/v1/admin/orders/{order.body['id']}")).body["delivery_time"],
        "graphql": graphql.body["data"]["order"]["delivery_time"],
        "legacy": legacy["delivery_time"],
    }


async def test_the_quoted_delivery_time_is_shown_by_the_order_in_all_families(
    storefront: StorefrontClient, slow_order: Response
) -> None:
    assert slow_order.body["delivery_time"] == "13 dias"
    await storefront.sample.put(f"/api/shippings/{storefront.sample.sedex}", {"delivery_time": "99 dias"})
    shown = await delivery_times(storefront, slow_order)
    assert shown == dict.fromkeys(("storefront", "admin", "graphql", "legacy"), "13 dias")


async def test_another_shipping_method_brings_its_own_delivery_time(
    storefront: StorefrontClient, slow_order: Response
) -> None:
    sample, order = storefront.sample, f"/api/orders/{slow_order.body['number']}"
    assert (await sample.put(order, {"shipping_ids": str(sample.sedex), "notes": "same"})).status == 200
    assert (await delivery_times(storefront, slow_order))["legacy"] == "13 dias"
    made = await sample.post("/api/shippings", {"shipping": "Motoboy", "delivery_time": "2 horas"})
    assert (await sample.put(order, {"shipping_ids": made.body["shipping_id"]})).status == 200
    assert set((await delivery_times(storefront, slow_order)).values()) == {"2 horas"}


async def test_an_order_from_before_delivery_times_were_stored_shows_its_method_s(
    storefront: StorefrontClient, slow_order: Response
) -> None:
    await storefront.sample.rows("UPDATE orders SET delivery_time = NULL RETURNING 1")
    assert set((await delivery_times(storefront, slow_order)).values()) == {"3 dias"}
