"""Carts and orders whose price of shipping a carrier names, over REST and GraphQL; tracking of what was sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from domain.carriers import limits
from tests.harness.carriers import CarrierServer, carrier_server, melhor_envio_service
from tests.harness.storefront import ADDRESS, StorefrontClient

METHOD = "mutation($input: ShippingMethodInput!) { method: shipping_method_create(input: $input) { id rate_source rate_params } }"
TRACK = """mutation($id: ID!, $events: [TrackingEventInput!]!) {
    shipment: shipment_add_tracking_events(id: $id, events: $events) { tracking_events { occurred_at description code location } }
}"""
SHIP = """mutation($order: ID!) {
    shipment: shipment_create(input: {order_id: $order, tracking_number: "BR1", label_url: "https://label.example/1.pdf"}) {
        id label_url tracking_events { description }
    }
}"""


@pytest.fixture
async def carriers() -> AsyncIterator[CarrierServer]:
    async with carrier_server() as server:
        yield server


async def graphql(storefront: StorefrontClient, query: str, *, auth: str = "bearer", **variables: Any) -> Any:
    answer = await storefront.sample.post("/graphql", {"query": query, "variables": variables}, auth=auth)
    assert "errors" not in answer.body, answer.raw
    return answer.body["data"]


async def add_method(storefront: StorefrontClient, carriers: CarrierServer, **values: Any) -> str:
    given = {"name": "PAC", "rate_source": "melhor_envio", "rate_params": carriers.melhor_envio_params(), **values}
    method = (await graphql(storefront, METHOD, input=given))["method"]
    assert (method["rate_source"], method["rate_params"]["token"]) == (given["rate_source"], "****")
    assert method["rate_params"]["origin_zipcode"] == "01310100"
    identifier: str = method["id"]
    return identifier


async def test_a_cart_is_shipped_at_the_price_of_a_carrier_from_its_options_to_the_order(
    storefront: StorefrontClient, carriers: CarrierServer
) -> None:
    sample = storefront.sample
    method = await add_method(storefront, carriers)
    cart = await storefront.cart((sample.mug, 2), ready=False)
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    options = (await storefront.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
    assert {"shipping_id": method, "name": "PAC", "price_cents": 2_550, "delivery_time": "4 a 5 dias"} in options
    chosen = await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": method})
    assert (chosen.status, chosen.body["shipping_cents"]) == (200, 2_550)
    carriers.melhor_envio = [melhor_envio_service(price="31.00")]
    added = await storefront.post(f"carts/{cart}/items", {"product_id": sample.mug.id, "quantity": 1})
    assert (added.status, added.body["shipping_cents"]) == (201, 3_100), added.raw
    carriers.melhor_envio = [melhor_envio_service(price="99.00")]
    key = str(uuid4())
    placed = await storefront.check_out(cart, key=key)
    assert (placed.status, placed.body["shipping_cents"], placed.body["delivery_time"]) == (201, 3_100, "4 a 5 dias")
    assert (await storefront.check_out(cart, key=key)).body == placed.body
    assert len(carriers.requests) == 2
    query = (
        "query($id: ID!) { order(id: $id) { shipping_quote { source service name price_cents days_min days_max } } }"
    )
    order = (await graphql(storefront, query, id=placed.body["id"]))["order"]
    assert order["shipping_quote"] == {
        "source": "melhor_envio", "service": "1", "name": "Correios PAC", "price_cents": 3_100, "days_min": 4, "days_max": 5
    }  # fmt: skip


async def test_a_checkout_with_a_key_asks_the_carrier_again_when_the_quote_has_expired(
    storefront: StorefrontClient, carriers: CarrierServer
) -> None:
    sample = storefront.sample
    method = await add_method(storefront, carriers)
    cart = await storefront.cart((sample.mug, 2), ready=False)
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": method})
    await sample.execute("update carrier_quotes set expires_at = now() - interval '1 minute'")
    carriers.melhor_envio = [melhor_envio_service(price="40.00")]
    placed = await storefront.check_out(cart, key=str(uuid4()))
    assert (placed.status, placed.body["shipping_cents"]) == (201, 4_000), placed.raw
    assert len(carriers.requests) == 2


async def test_a_cart_whose_carrier_is_down_has_no_option_for_nothing(
    storefront: StorefrontClient, carriers: CarrierServer
) -> None:
    carriers.status = 500
    method = await add_method(storefront, carriers)
    cart = await storefront.cart((storefront.sample.mug, 1), ready=False)
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    options = (await storefront.get(f"carts/{cart}/shipping-options")).body["shipping_options"]
    assert method not in [option["shipping_id"] for option in options]
    refused = await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": method})
    assert refused.status == 422, refused.raw


async def test_shoppers_read_no_source_and_no_parameters(storefront: StorefrontClient, carriers: CarrierServer) -> None:
    await add_method(storefront, carriers)
    for field in ("rate_source", "rate_params"):
        client = await storefront.sample.client(storefront.sample.caio)
        answer = await client.post("/graphql", {"query": f"{{ shipping_methods {{ {field} }} }}"})
        assert answer.body["errors"][0]["extensions"]["code"] == "FORBIDDEN", field


async def test_tracking_events_are_added_once_and_shown_in_their_order(storefront: StorefrontClient) -> None:
    sample = storefront.sample
    placed = await storefront.check_out(await storefront.cart((sample.mug, 1)))
    shipment = (await graphql(storefront, SHIP, order=placed.body["id"]))["shipment"]
    assert (shipment["label_url"], shipment["tracking_events"]) == ("https://label.example/1.pdf", [])
    posted = {
        "occurred_at": "2026-11-20T12:00:00Z",
        "description": "Objeto postado",
        "code": "PO",
        "location": "Recife",
    }
    sent = {"occurred_at": "2026-11-21T12:00:00Z", "description": "Objeto em trânsito"}
    for time in ("first", "second"):
        reported = (await graphql(storefront, TRACK, id=shipment["id"], events=[sent, posted]))["shipment"]
        assert reported["tracking_events"] == [posted, {**sent, "code": None, "location": None}], time
    shown = "query($id: ID!) { order(id: $id) { shipments { tracking_events { description } } } }"
    [seen] = (await graphql(storefront, shown, id=placed.body["id"]))["order"]["shipments"]
    assert [event["description"] for event in seen["tracking_events"]] == ["Objeto postado", "Objeto em trânsito"]


@pytest.mark.parametrize(
    "event",
    [
        {"occurred_at": "2026-11-20T12:00:00Z", "description": " "},
        {"occurred_at": "2026-11-20T12:00:00Z", "description": "x" * 256},
        {"occurred_at": "2026-11-20T12:00:00Z", "description": "x", "code": "x" * 65},
    ],
    ids=["blank", "long", "code"],
)
async def test_wrong_tracking_events_are_refused(storefront: StorefrontClient, event: dict[str, Any]) -> None:
    placed = await storefront.check_out(await storefront.cart((storefront.sample.mug, 1)))
    shipment = (await graphql(storefront, SHIP, order=placed.body["id"]))["shipment"]
    for events in ([event], [event] * 101):
        body = {"query": TRACK, "variables": {"id": shipment["id"], "events": events}}
        answer = await storefront.sample.post("/graphql", body, auth="bearer")
        assert answer.body["errors"][0]["extensions"]["code"] == "VALIDATION_FAILED", events


async def test_vendors_and_customers_add_no_tracking_events(storefront: StorefrontClient) -> None:
    sample = storefront.sample
    placed = await storefront.check_out(await storefront.cart((sample.mug, 1)))
    shipment = (await graphql(storefront, SHIP, order=placed.body["id"]))["shipment"]
    event = {"occurred_at": "2026-11-20T12:00:00Z", "description": "Entregue"}
    for person in (sample.caio, sample.vendor_user):
        client = await sample.client(person)
        answer = await client.post("/graphql", {"query": TRACK, "variables": {"id": shipment["id"], "events": [event]}})
        assert answer.body["errors"][0]["extensions"]["code"] == "FORBIDDEN", person.email


@pytest.mark.parametrize("limit", ["PER_CART", "PER_KEY"])
async def test_other_zip_codes_do_not_have_carriers_asked_without_limit(
    storefront: StorefrontClient, carriers: CarrierServer, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(limits, limit, 3)
    sample = storefront.sample
    await add_method(storefront, carriers)
    cart = await storefront.cart((sample.mug, 2), ready=False)
    other = await storefront.cart((sample.mug, 1), ready=False)
    answers = []
    for number in range(5):
        await storefront.put(f"carts/{cart}/address", {**ADDRESS, "zipcode": f"5001000{number}"})
        answers.append(await storefront.get(f"carts/{cart}/shipping-options"))
    assert [answer.status for answer in answers] == [200, 200, 200, 429, 429]
    assert answers[-1].body["error"] == "rate limit exceeded"
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert len(carriers.requests) == 3
    await storefront.put(f"carts/{cart}/address", {**ADDRESS, "zipcode": "50010000"})
    assert (await storefront.get(f"carts/{cart}/shipping-options")).status == 200, "what is kept is shown"
    await storefront.put(f"carts/{other}/address", {**ADDRESS, "zipcode": "50010009"})
    status = (await storefront.get(f"carts/{other}/shipping-options")).status
    assert status == (200 if limit == "PER_CART" else 429)
