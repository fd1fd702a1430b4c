"""Check the shipment routes."""

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore


async def line_of(sample: SampleStore, order: Any, index: int = 0) -> str:
    lines = (await sample.get(f"/api/orders/{order}")).body["products"]
    return [line["item_id"] for line in lines.values()][index]


def shipment_body(sample: SampleStore, **body: Any) -> dict[str, Any]:
    return {
        "order_id": sample.order.number,
        "user_id": sample.caio.number,
        "products": {str(sample.order_line): 1},
    } | body


async def create(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post("/api/shipments", shipment_body(sample, **body))
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"shipment_id"}
    return answer.body["shipment_id"]


async def read(sample: SampleStore, shipment: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/shipments/{shipment}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_shipment_is_created_with_defaults(sample):
    number = await create(sample)
    shipment = await read(sample, number)
    assert shipment.pop("timestamp").isdigit()
    order = (await sample.get(f"/api/orders/{sample.order}")).body
    assert shipment == {
        "shipment_id": number,
        "order_id": str(sample.order),
        "products": {str(sample.order_line): "1"},
        "shipping_id": str(sample.sedex),  # the default, method 1, is not this store's, so its first one
        "shipping": "Custom shipping method",
        "carrier": "",
        "user_id": str(sample.caio),
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
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    assert (await read(sample, await create(sample, **{name: value})))[name] == expected
    before = await read(sample, sample.shipment)
    answer = await sample.put(f"/api/shipments/{sample.shipment}", {name: value})
    assert (answer.status, answer.body) == (200, {"shipment_id": str(sample.shipment)})
    assert await read(sample, sample.shipment) == before | {name: expected}


async def test_references_are_read_back_whatever_their_form(sample):
    other = (await sample.post("/graphql", {"query": METHOD}, auth="bearer")).body["data"]["made"]["id"]
    for user in (sample.bia.number, str(sample.bia), sample.bia.id):
        await sample.put(f"/api/shipments/{sample.shipment}", {"user_id": user, "shipping_id": other})
        record = await read(sample, sample.shipment)
        assert record["user_id"] == str(sample.bia), user
        assert record["shipping_id"] not in ("0", str(sample.sedex)), user
        await sample.put(f"/api/shipments/{sample.shipment}", {"user_id": 0, "shipping_id": str(sample.sedex)})
        assert (await read(sample, sample.shipment))["user_id"] == "0", user


METHOD = 'mutation { made: shipping_method_create(input: {name: "PAC"}) { id } }'


@pytest.mark.parametrize("form", ["map", "array", "array of texts", "map of objects", "uuid", "php"])
async def test_products_are_accepted_in_every_form(sample, form):
    line = sample.order_line
    products = {
        "map": {str(line): 2},
        "array": [{"item_id": line.number, "amount": 2}],
        "array of texts": [{"item_id": str(line), "amount": "1"}, {"item_id": str(line), "amount": "1"}],
        "map of objects": {"0": {"item_id": str(line), "amount": 2}},
        "uuid": {line.id: "2"},
        "php": None,
    }[form]
    if form == "php":
        form_body = f"order_id={sample.order}&user_id={sample.caio}&products[{line}]=2&shipping_id={sample.sedex}&shipping=Custom"
        answer = await sample.post(
            "/api/shipments",
            data=form_body.encode(),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
        number = answer.body["shipment_id"]
    else:
        number = await create(sample, products=products)
    assert (await read(sample, number))["products"] == {str(line): "2"}


async def test_an_amount_of_zero_omits_the_line(sample):
    first, second = await line_of(sample, sample.shared_order), await line_of(sample, sample.shared_order, 1)
    number = await create(
        sample, order_id=sample.shared_order.number, user_id=sample.bia.number, products={first: 0, second: 2}
    )
    shipment = await read(sample, number)
    assert shipment["products"] == {second: "2"}
    assert shipment["group_key"] == "1"  # the second vendor's part of the order


async def test_order_status_updates_the_order(sample):
    await create(sample, order_status="shipped", tracking_number="BR9")
    order = (await sample.get(f"/api/orders/{sample.order}")).body
    assert order["status"] == "C"
    assert order["status_history"][-1]["status"] == "C"
    events = await sample.rows(
        "select name, data->>'tracking_code' as code from outbox_events where tenant_id = $1 and subject_id = $2 order by id",
        sample.store.id,
        sample.order.id,
    )
    assert tuple(events[-1]) == ("order.updated", "BR9")


@pytest.mark.parametrize("empty", ["", None])
async def test_empty_values_of_fields_with_a_default_count_as_absent(sample, empty):
    names = ("shipping_id", "shipping", "user_id", "group_key", "order_timestamp", "status", "order_status")
    defaults = await read(sample, await create(sample))
    await sample.delete(f"/api/shipments/{defaults['shipment_id']}")
    number = await create(sample, **dict.fromkeys(names, empty))
    unnumbered = {"shipment_id": number, "timestamp": defaults["timestamp"]}
    assert await read(sample, number) | unnumbered == defaults | unnumbered
    changed = {"shipping": "Motoboy", "group_key": "7", "order_timestamp": "5", "status": "P"}
    await sample.put(f"/api/shipments/{number}", changed)
    before = await read(sample, number)
    assert before | changed == before
    answer = await sample.put(f"/api/shipments/{number}", dict.fromkeys(names, empty))
    assert answer.status == 200, answer.raw
    assert await read(sample, number) == before


async def test_an_update_replaces_the_shipment_lines(sample):
    number = await create(sample)
    line = str(sample.order_line)
    answer = await sample.put(f"/api/shipments/{number}", {"products": [{"item_id": line, "amount": 2}]})
    assert answer.status == 200
    assert (await read(sample, number))["products"] == {line: "2"}
    refused = await sample.put(f"/api/shipments/{number}", {"products": {line: 3}})
    assert refused.status == 400
    assert (await read(sample, number))["products"] == {line: "2"}


async def test_updating_a_record_with_itself_changes_nothing(sample):
    number = await create(sample, tracking_number="BR1", carrier="Loggi")
    before = await read(sample, number)
    assert (await sample.put(f"/api/shipments/{number}", before)).status == 200
    assert await read(sample, number) == before


async def test_deleting_a_shipment_releases_its_units(sample):
    number = await create(sample, products={str(sample.order_line): 2})
    assert (await sample.post("/api/shipments", shipment_body(sample))).status == 400
    answer = await sample.delete(f"/api/shipments/{number}")
    assert (answer.status, answer.raw) == (204, b"")
    for method in ("GET", "PUT", "DELETE"):
        missing = await sample.request(method, f"/api/shipments/{number}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Shipment not found"}), method
    await create(sample)


@pytest.mark.parametrize("name", ["order_id", "products"])
@pytest.mark.parametrize("empty", ["absent", None, ""])
async def test_fields_without_a_default_are_required(sample, name, empty):
    body = shipment_body(sample)
    if empty == "absent":
        del body[name]
    else:
        body[name] = empty
    answer = await sample.post("/api/shipments", body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": f"{name} is required"})


@pytest.mark.parametrize("name", ["shipping_id", "shipping", "carrier", "tracking_number", "comments"])
@pytest.mark.parametrize("empty", [None, ""])
async def test_fields_with_a_default_may_be_empty(sample, name, empty):
    shipment = await read(sample, await create(sample, **{name: empty}))
    default = {"shipping_id": str(sample.sedex), "shipping": "Custom shipping method"}
    assert shipment[name] == default.get(name, "")


@pytest.mark.parametrize(
    "body, message",
    [
        ({"order_id": UNKNOWN_NUMBER}, f"order_id '{UNKNOWN_NUMBER}' not found"),
        ({"order_id": UNKNOWN_ID}, f"order_id '{UNKNOWN_ID}' not found"),
        ({"order_id": "abc"}, "order_id is 'abc'; expected an id"),
        ({"user_id": UNKNOWN_NUMBER}, f"user_id '{UNKNOWN_NUMBER}' not found"),
        ({"user_id": 0}, "user_id is required"),
        ({"user_id": "abc"}, "user_id is 'abc'; expected an id"),
        ({"shipping_id": UNKNOWN_NUMBER}, f"shipping_id '{UNKNOWN_NUMBER}' not found"),
        ({"products": {}}, "products is required"),
        ({"products": []}, "products is required"),
        ({"products": "x"}, "products is 'x'; expected an object or an array"),
        ({"products": {str(UNKNOWN_NUMBER): 1}}, f"item {UNKNOWN_NUMBER} does not belong to the order"),
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
async def test_invalid_input_is_rejected_with_the_legacy_field_name(sample, body, message):
    answer = await sample.post("/api/shipments", shipment_body(sample, **body))
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    assert (await sample.get(f"/api/shipments?order_id={sample.order}")).body["shipments"] == {}


@pytest.mark.parametrize("amount", [3, -1, 1.5, "x", 10**15])
async def test_an_invalid_or_excessive_amount_is_rejected(sample, amount):
    answer = await sample.post("/api/shipments", shipment_body(sample, products={str(sample.order_line): amount}))
    assert (answer.status, answer.body["status"]) == (400, 400)


async def test_a_line_of_another_order_is_rejected(sample):
    foreign = await line_of(sample, sample.shared_order)
    answer = await sample.post("/api/shipments", shipment_body(sample, products={foreign: 1}))
    assert (answer.status, answer.body["message"]) == (400, f"item {foreign} does not belong to the order")


async def test_a_cancelled_order_cannot_be_shipped(sample):
    await sample.put(f"/api/orders/{sample.order}", {"status": "I"})
    answer = await sample.post("/api/shipments", shipment_body(sample))
    assert (answer.status, answer.body["message"]) == (422, "an order in status I can't be shipped")


async def test_references_to_another_stores_records_are_rejected(sample, other_sample):
    for body in (
        {"order_id": other_sample.order.id},
        {"user_id": other_sample.caio.id},
        {"shipping_id": other_sample.sedex.id},
        {"products": {other_sample.order_line.id: 1}},
    ):
        assert (await sample.post("/api/shipments", shipment_body(sample, **body))).status == 400, body


async def test_every_change_is_audited(sample):
    number = await create(sample)
    public_id = await sample.value("select public_id::text from shipments where id = $1", int(number))
    await sample.put(f"/api/shipments/{number}", {"carrier": "x"})
    await sample.delete(f"/api/shipments/{number}")
    actions = await sample.rows(
        "select action from audit_entries where tenant_id = $1 and subject_id = $2 order by id",
        sample.store.id,
        public_id,
    )
    assert [row["action"] for row in actions] == ["shipment.created", "shipment.updated", "shipment.deleted"]


# --- Vendors with API keys ---------------------------------------------------------------------------------------------------


async def test_a_vendor_ships_and_reads_its_own_lines_only(new_sample):
    sample = await new_sample(legacy_vendor_keys="Y")
    mine, theirs = await line_of(sample, sample.shared_order), await line_of(sample, sample.shared_order, 1)
    body = {"order_id": sample.shared_order.number, "user_id": sample.bia.number}
    refused = await sample.post("/api/shipments", body | {"products": {theirs: 1}}, by=sample.vendor_user)
    assert refused.status == 400
    number = (await sample.post("/api/shipments", body | {"products": {mine: 1}}, by=sample.vendor_user)).body[
        "shipment_id"
    ]
    assert (await sample.get(f"/api/shipments/{number}", by=sample.vendor_user)).body["products"] == {mine: "1"}
    rows = (await sample.get("/api/shipments", by=sample.rival_vendor_user)).body["shipments"]
    assert rows == []
    for method in ("GET", "PUT", "DELETE"):
        answer = await sample.request(
            method,
            f"/api/shipments/{number}",
            {"carrier": "x"} if method == "PUT" else None,
            by=sample.rival_vendor_user,
        )
        assert (answer.status, answer.body["message"]) == (404, "Shipment not found"), method
    moved = await sample.put(f"/api/shipments/{number}", {"order_status": "C"}, by=sample.vendor_user)
    assert moved.status == 403  # the order has another vendor's lines


async def test_a_shared_order_shows_a_vendor_only_shipments_with_its_own_lines(sample):
    order = await sample.place_order((sample.mug, 1), (sample.plate, 1), user=sample.caio.id)
    mine, theirs = [
        await create(sample, order_id=order.number, products={await line_of(sample, order, index): 1})
        for index in range(2)
    ]
    for person, path, shown in (
        (sample.owner, "orders", [mine, theirs]),
        (sample.vendor_user, "vendor_order", [mine]),
        (sample.rival_vendor_user, "vendor_order", [theirs]),
    ):
        assert (await sample.get(f"/api/{path}/{order}", by=person)).body["shipment_ids"] == shown
        for shipment in (mine, theirs):
            listed = await sample.get(f"/api/{path.removesuffix('s')}s?shipment_ids={shipment}", by=person)
            assert list(listed.body["orders"]) == ([str(order)] if shipment in shown else [])
