"""Check the shipment routes."""

from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Shop


async def line_of(shop: Shop, order: Any, index: int = 0) -> str:
    lines = (await shop.get(f"/api/orders/{order}")).body["products"]
    return [line["item_id"] for line in lines.values()][index]


def shipment_body(shop: Shop, **body: Any) -> dict[str, Any]:
    return {
        "order_id": shop.order.number,
        "user_id": shop.caio.number,
        "products": {str(shop.order_line): 1},
    } | body


async def create(shop: Shop, **body: Any) -> str:
    answer = await shop.post("/api/shipments", shipment_body(shop, **body))
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"shipment_id"}
    return answer.body["shipment_id"]


async def read(shop: Shop, shipment: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/shipments/{shipment}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_shipment_is_created_with_defaults(shop):
    number = await create(shop)
    shipment = await read(shop, number)
    assert shipment.pop("timestamp").isdigit()
    order = (await shop.get(f"/api/orders/{shop.order}")).body
    assert shipment == {
        "shipment_id": number,
        "order_id": str(shop.order),
        "products": {str(shop.order_line): "1"},
        "shipping_id": str(shop.sedex),  # the default, method 1, is not this store's, so its first one
        "shipping": "Custom shipping method",
        "carrier": "",
        "user_id": str(shop.caio),
        "tracking_number": "",
        "comments": "",
        "group_key": "0",
        "order_timestamp": order["timestamp"],
        "status": "S",
    }
    assert order["shipment_ids"] == [number]


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("carrier", "Correios", "Correios"),
        ("carrier", None, ""),
        ("shipping", "Entrega própria", "Entrega própria"),
        ("tracking_number", "BR123456789BR", "BR123456789BR"),
        ("tracking_number", 123, "123"),
        ("comments", "frágil", "frágil"),
        ("group_key", "3", "3"),
        ("group_key", 3, "3"),
        ("order_timestamp", 1_700_000_000, "1700000000"),
        ("order_timestamp", "1700000000", "1700000000"),
        ("status", "P", "P"),
        ("status", "a", "A"),
        ("status", "shipped", "S"),
        ("status", "packed", "A"),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(shop, name, value, expected):
    assert (await read(shop, await create(shop, **{name: value})))[name] == expected
    before = await read(shop, shop.shipment)
    answer = await shop.put(f"/api/shipments/{shop.shipment}", {name: value})
    assert (answer.status, answer.body) == (200, {"shipment_id": str(shop.shipment)})
    assert await read(shop, shop.shipment) == before | {name: expected}


async def test_references_are_read_back_whatever_their_form(shop):
    other = (await shop.post("/graphql", {"query": METHOD}, auth="bearer")).body["data"]["made"]["id"]
    for user in (shop.bia.number, str(shop.bia), shop.bia.id):
        await shop.put(f"/api/shipments/{shop.shipment}", {"user_id": user, "shipping_id": other})
        record = await read(shop, shop.shipment)
        assert record["user_id"] == str(shop.bia)
        assert record["shipping_id"] not in ("0", str(shop.sedex))
        await shop.put(f"/api/shipments/{shop.shipment}", {"user_id": 0, "shipping_id": str(shop.sedex)})
        assert (await read(shop, shop.shipment))["user_id"] == "0"


METHOD = 'mutation { made: shipping_method_create(input: {name: "PAC"}) { id } }'


@pytest.mark.parametrize("form", ["map", "array", "array of texts", "map of objects", "uuid", "php"])
async def test_products_are_accepted_in_every_form(shop, form):
    line = shop.order_line
    products = {
        "map": {str(line): 2},
        "array": [{"item_id": line.number, "amount": 2}],
        "array of texts": [{"item_id": str(line), "amount": "1"}, {"item_id": str(line), "amount": "1"}],
        "map of objects": {"0": {"item_id": str(line), "amount": 2}},
        "uuid": {line.id: "2"},
        "php": None,
    }[form]
    if form == "php":
        form_body = f"order_id={shop.order}&user_id={shop.caio}&products[{line}]=2&shipping_id={shop.sedex}&shipping=Custom"
        answer = await shop.post(
            "/api/shipments",
            data=form_body.encode(),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
        number = answer.body["shipment_id"]
    else:
        number = await create(shop, products=products)
    assert (await read(shop, number))["products"] == {str(line): "2"}


async def test_an_amount_of_zero_omits_the_line(shop):
    first, second = await line_of(shop, shop.shared_order), await line_of(shop, shop.shared_order, 1)
    number = await create(
        shop, order_id=shop.shared_order.number, user_id=shop.bia.number, products={first: 0, second: 2}
    )
    shipment = await read(shop, number)
    assert shipment["products"] == {second: "2"}
    assert shipment["group_key"] == "1"  # the second vendor's part of the order


async def test_order_status_updates_the_order(shop):
    await create(shop, order_status="shipped", tracking_number="BR9")
    order = (await shop.get(f"/api/orders/{shop.order}")).body
    assert order["status"] == "C"
    assert order["status_history"][-1]["status"] == "C"
    events = await shop.rows(
        "select name, data->>'tracking_code' as code from outbox_events where tenant_id = $1 and subject_id = $2 order by id",
        shop.store.id,
        shop.order.id,
    )
    assert tuple(events[-1]) == ("order.updated", "BR9")


async def test_an_update_replaces_the_shipment_lines(shop):
    number = await create(shop)
    line = str(shop.order_line)
    answer = await shop.put(f"/api/shipments/{number}", {"products": [{"item_id": line, "amount": 2}]})
    assert answer.status == 200
    assert (await read(shop, number))["products"] == {line: "2"}
    refused = await shop.put(f"/api/shipments/{number}", {"products": {line: 3}})
    assert refused.status == 400
    assert (await read(shop, number))["products"] == {line: "2"}


async def test_updating_a_record_with_itself_changes_nothing(shop):
    number = await create(shop, tracking_number="BR1", carrier="Loggi")
    before = await read(shop, number)
    assert (await shop.put(f"/api/shipments/{number}", before)).status == 200
    assert await read(shop, number) == before


async def test_deleting_a_shipment_releases_its_units(shop):
    number = await create(shop, products={str(shop.order_line): 2})
    assert (await shop.post("/api/shipments", shipment_body(shop))).status == 400
    answer = await shop.delete(f"/api/shipments/{number}")
    assert (answer.status, answer.raw) == (204, b"")
    for method in ("GET", "PUT", "DELETE"):
        missing = await shop.call(method, f"/api/shipments/{number}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Shipment not found"})
    await create(shop)


@pytest.mark.parametrize("name", ["order_id", "products", "user_id"])
@pytest.mark.parametrize("empty", ["absent", None, ""])
async def test_fields_without_a_default_are_required(shop, name, empty):
    body = shipment_body(shop)
    if empty == "absent":
        del body[name]
    else:
        body[name] = empty
    answer = await shop.post("/api/shipments", body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": f"{name} is required"})


@pytest.mark.parametrize("name", ["shipping_id", "shipping", "carrier", "tracking_number", "comments"])
@pytest.mark.parametrize("empty", [None, ""])
async def test_fields_with_a_default_may_be_empty(shop, name, empty):
    shipment = await read(shop, await create(shop, **{name: empty}))
    default = {"shipping_id": str(shop.sedex), "shipping": "Custom shipping method"}
    assert shipment[name] == default.get(name, "")


@pytest.mark.parametrize(
    "body, message",
    [
        ({"order_id": NO_NUMBER}, f"order_id '{NO_NUMBER}' not found"),
        ({"order_id": NOBODY}, f"order_id '{NOBODY}' not found"),
        ({"order_id": "abc"}, "order_id is 'abc'; expected an id"),
        ({"user_id": NO_NUMBER}, f"user_id '{NO_NUMBER}' not found"),
        ({"user_id": 0}, "user_id is required"),
        ({"user_id": "abc"}, "user_id is 'abc'; expected an id"),
        ({"shipping_id": NO_NUMBER}, f"shipping_id '{NO_NUMBER}' not found"),
        ({"products": {}}, "products is required"),
        ({"products": []}, "products is required"),
        ({"products": "x"}, "products is 'x'; expected an object or an array"),
        ({"products": {"1": 1}}, "item 1 does not belong to the order"),
        ({"products": {"abc": 1}}, "products: item_id is 'abc'; expected an id"),
        ({"products": [{"item_id": 1}]}, "products: amount is required"),
        ({"products": [{"amount": 1}]}, "products: item_id is required"),
        ({"products": [1]}, "products holds 1; expected objects such as {item_id, amount}"),
        ({"status": "Z"}, "status is 'Z'; expected one of P, A, S"),
        ({"order_status": "nowhere"}, "order_status is 'nowhere'; expected one of O, P, C, D, F, I, B"),
        ({"order_timestamp": "soon"}, "order_timestamp is 'soon'; expected Unix seconds"),
        ({"carrier": []}, "carrier is []; expected a text"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(shop, body, message):
    answer = await shop.post("/api/shipments", shipment_body(shop, **body))
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    assert (await shop.get(f"/api/shipments?order_id={shop.order}")).body["shipments"] == {}


@pytest.mark.parametrize("amount", [3, -1, 1.5, "x", 10**15])
async def test_an_invalid_or_excessive_amount_is_rejected(shop, amount):
    answer = await shop.post("/api/shipments", shipment_body(shop, products={str(shop.order_line): amount}))
    assert (answer.status, answer.body["status"]) == (400, 400)


async def test_a_line_of_another_order_is_rejected(shop):
    foreign = await line_of(shop, shop.shared_order)
    answer = await shop.post("/api/shipments", shipment_body(shop, products={foreign: 1}))
    assert (answer.status, answer.body["message"]) == (400, f"item {foreign} does not belong to the order")


async def test_a_cancelled_order_cannot_be_shipped(shop):
    await shop.put(f"/api/orders/{shop.order}", {"status": "I"})
    answer = await shop.post("/api/shipments", shipment_body(shop))
    assert (answer.status, answer.body["message"]) == (422, "an order in status I can't be shipped")


async def test_references_to_another_stores_records_are_rejected(shop, other_shop):
    for body in (
        {"order_id": other_shop.order.id},
        {"user_id": other_shop.caio.id},
        {"shipping_id": other_shop.sedex.id},
        {"products": {other_shop.order_line.id: 1}},
    ):
        assert (await shop.post("/api/shipments", shipment_body(shop, **body))).status == 400, body


async def test_every_change_is_audited(shop):
    number = await create(shop)
    public_id = await shop.value("select public_id::text from shipments where id = $1", int(number))
    await shop.put(f"/api/shipments/{number}", {"carrier": "x"})
    await shop.delete(f"/api/shipments/{number}")
    actions = await shop.rows(
        "select action from audit_entries where tenant_id = $1 and subject_id = $2 order by id",
        shop.store.id,
        public_id,
    )
    assert [row["action"] for row in actions] == ["shipment.created", "shipment.updated", "shipment.deleted"]


# --- Vendors with API keys ---------------------------------------------------------------------------------------------------


async def test_a_vendor_ships_and_reads_its_own_lines_only(new_shop):
    shop = await new_shop(legacy_vendor_keys="Y")
    mine, theirs = await line_of(shop, shop.shared_order), await line_of(shop, shop.shared_order, 1)
    body = {"order_id": shop.shared_order.number, "user_id": shop.bia.number}
    refused = await shop.post("/api/shipments", body | {"products": {theirs: 1}}, by=shop.seller)
    assert refused.status == 400
    number = (await shop.post("/api/shipments", body | {"products": {mine: 1}}, by=shop.seller)).body[
        "shipment_id"
    ]
    assert (await shop.get(f"/api/shipments/{number}", by=shop.seller)).body["products"] == {mine: "1"}
    rows = (await shop.get("/api/shipments", by=shop.rival_seller)).body["shipments"]
    assert rows == []
    for method in ("GET", "PUT", "DELETE"):
        answer = await shop.call(
            method,
            f"/api/shipments/{number}",
            {"carrier": "x"} if method == "PUT" else None,
            by=shop.rival_seller,
        )
        assert (answer.status, answer.body["message"]) == (404, "Shipment not found")
    moved = await shop.put(f"/api/shipments/{number}", {"order_status": "C"}, by=shop.seller)
    assert moved.status == 403  # the order has another vendor's lines
