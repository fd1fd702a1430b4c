"""One fragment reads an order for its customer and, by the order's token, for a guest; of an account's order the token shows no address."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.records import UserRecord
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient, open_storefront

RECORD = """fragment Page on OrderRecord {
    __typename id number total_cents notes customer { id name email }
    items { name quantity total_cents options { name } product { id } }
    billing_address { city } shipping_address { firstname street zipcode } addresses { kind city }
    history { from_status to_status }
    shipments { tracking_number carrier tracking_events { description } lines { quantity line { name } } }
    payments { status amount_cents } payment_method { instructions } shipping_method { name }
}"""
PLACED = f"query($id: ID!, $token: String) {{ placed_order(id: $id, token: $token) {{ ...Page }} }} {RECORD}"
ORDER = f"query($id: ID!) {{ order(id: $id) {{ ...Page ... on OrderRecord {{ currency }} }} }} {RECORD}"
SHIP = """mutation($order: ID!) { shipment_create(input: {order_id: $order, carrier: "Correios", tracking_number: "BR1"}) { id } }"""
TRACK = """mutation($id: ID!) { shipment_add_tracking_events(id: $id, events: [
    {occurred_at: "2026-11-20T10:00:00Z", description: "Saiu para entrega"}]) { id } }"""
PAID = 'mutation($id: ID!) { order_set_status(id: $id, status: "P") { id } }'


async def execute(sample: SampleStore, query: str, by: UserRecord | StorefrontClient, **variables: Any) -> Any:
    headers = {}
    user: UserRecord | None = None
    if isinstance(by, StorefrontClient):
        headers["X-API-Key"], user = by.key or "", by.customer
    else:
        user = by
    auth = "bearer" if user is not None else None
    answer = await sample.post(
        "/graphql", {"query": query, "variables": variables}, auth=auth, by=user, headers=headers
    )
    assert "errors" not in answer.body, answer.body
    return next(iter(answer.body["data"].values()))


@pytest.fixture
async def shop(sample: SampleStore) -> StorefrontClient:
    return await open_storefront(sample)


async def place(shop: StorefrontClient, **fields: Any) -> dict[str, Any]:
    """Place, pay and send an order, and return its id and token."""
    sample = shop.sample
    placed: dict[str, Any] = (
        await shop.order((sample.mug, 2), customer_name="Ana Souza", notes="Sem pressa", **fields)
    ).body
    await execute(sample, PAID, sample.owner, id=placed["id"])
    shipment = await execute(sample, SHIP, sample.owner, order=placed["id"])
    await execute(sample, TRACK, sample.owner, id=shipment["id"])
    return {"id": placed["id"], "token": placed["token"]}


async def test_a_guest_reads_the_whole_order_by_its_token(shop: StorefrontClient) -> None:
    sample, order = shop.sample, await place(shop)
    shown = await execute(sample, PLACED, shop, **order)
    assert shown["__typename"] == "PlacedOrder"
    assert (shown["customer"]["name"], shown["notes"]) == ("Ana Souza", "Sem pressa")
    assert shown["shipping_address"] == {"firstname": "Ana", "street": "Rua das Flores", "zipcode": "01001000"}
    assert {address["city"] for address in shown["addresses"]} == {"São Paulo"}
    assert [change["to_status"] for change in shown["history"]] == ["O", "P"]
    [shipment] = shown["shipments"]
    assert (shipment["carrier"], shipment["tracking_number"]) == ("Correios", "BR1")
    assert shipment["tracking_events"] == [{"description": "Saiu para entrega"}]
    assert shipment["lines"] == [{"quantity": 2, "line": {"name": shown["items"][0]["name"]}}]
    assert shown["items"][0]["product"]["id"] == sample.mug.id
    assert shown["payment_method"] is not None
    assert await execute(sample, PLACED, shop, id=order["id"], token="x") is None


async def test_order_and_placed_order_answer_the_same_fragment(shop: StorefrontClient) -> None:
    sample = shop.sample
    mine = shop.as_customer(sample.caio)
    order = await place(mine, customer_email=None)
    whole = await execute(sample, ORDER, sample.caio, id=order["id"])
    assert whole.pop("currency") == "BRL"
    assert whole.pop("__typename") == "Order"
    for by in (mine, sample.caio):
        placed = await execute(sample, PLACED, by, **order)
        assert placed.pop("__typename") == "PlacedOrder", by
        assert placed == whole, by
    assert whole["shipping_address"]["street"] == "Rua das Flores"
    assert len(whole["shipments"]) == 1


async def test_the_reason_of_a_status_is_for_the_staff(shop: StorefrontClient) -> None:
    sample = shop.sample
    order = (await shop.as_customer(sample.caio).order((sample.mug, 1))).body
    declined = 'mutation($id: ID!) { order_set_status(id: $id, status: "D", reason: "suspeita de fraude") { id } }'
    await execute(sample, declined, sample.owner, id=order["id"])
    query = "query($id: ID!, $token: String) { placed_order(id: $id, token: $token) { history { to_status reason } } }"
    variables = {"query": query, "variables": {"id": order["id"], "token": order["token"]}}
    key = {"X-API-Key": shop.key or ""}
    for by, user, headers in (
        ("key", None, key),
        ("customer", sample.caio, {}),
        ("customer with key", sample.caio, key),
    ):
        answer = await sample.post("/graphql", variables, auth="bearer" if user else None, by=user, headers=headers)
        shown = answer.body["data"]["placed_order"]["history"]
        assert shown == [{"to_status": "O", "reason": None}, {"to_status": "D", "reason": None}], by
        errors = {(error["path"][-1], error["extensions"]["code"]) for error in answer.body["errors"]}
        assert errors == {("reason", "FORBIDDEN")}, by
    whole = await execute(
        sample, "query($id: ID!) { order(id: $id) { history { reason } } }", sample.owner, id=order["id"]
    )
    assert [change["reason"] for change in whole["history"]] == [None, "suspeita de fraude"]


async def test_the_token_of_an_account_s_order_shows_nobody_else_where_its_customer_lives(
    shop: StorefrontClient,
) -> None:
    sample = shop.sample
    order = await place(shop.as_customer(sample.caio), customer_email=None)
    for by in (shop, shop.as_customer(sample.bia), sample.bia):
        shown = await execute(sample, PLACED, by, **order)
        assert (shown["shipping_address"], shown["billing_address"], shown["addresses"]) == (None, None, []), by
        assert (shown["notes"], shown["customer"]["name"], shown["customer"]["email"]) == ("", "", ""), by
        assert shown["shipments"][0]["tracking_number"] == "BR1", by
    assert (await execute(sample, PLACED, sample.owner, **order))["shipping_address"] is not None


async def test_a_key_reads_lines_and_shipments_through_an_order_only(shop: StorefrontClient) -> None:
    sample = shop.sample
    for query in ("{ shipments { id } }", "{ orders { items { id } } }"):
        answer = await sample.post("/graphql", {"query": query}, auth=None, headers={"X-API-Key": shop.key or ""})
        assert answer.body["errors"][0]["extensions"]["code"] == "FORBIDDEN", query
