"""Check the status routes and that a store's custom status codes work in every API."""

import asyncio
from typing import Any

import pytest

from models.tables.shipping import Shipment
from tests.harness.http import Response
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore

NEW = {"description": "Separado", "status": "X"}


async def create(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post("/api/statuses", NEW | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"status_id"}
    return answer.body["status_id"]


async def read(sample: SampleStore, status_id: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/statuses/{status_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def read_status(sample: SampleStore, order: Any) -> str:
    return (await sample.get(f"/api/orders/{order}")).body["status"]


async def set_status(sample: SampleStore, order: Any, status: str) -> Response:
    """Set the status of an order through GraphQL, which never forces a transition."""
    document = "mutation ($id: ID!, $to: OrderStatus!) { order_set_status(id: $id, status: $to) { status } }"
    sent = {"query": document, "variables": {"id": str(order.id), "to": status}}
    return await sample.post("/graphql", sent, auth="bearer")


async def read_stock(sample: SampleStore, product: Record) -> tuple[int, int]:
    (row,) = await sample.rows("select on_hand, reserved from products where id = $1", product.number)
    return row["on_hand"], row["reserved"]


# --- Records -----------------------------------------------------------------------------------------------------------------


async def test_every_store_has_the_built_in_statuses(sample):
    rows = (await sample.get("/api/statuses?items_per_page=250")).body["statuses"]
    assert {(row["type"], row["status"], row["is_default"]) for row in rows} == {
        *(("O", code, "Y") for code in "OPCDFIB"),
        *(("S", code, "Y") for code in "PAS"),
    }
    inventory = {row["status"]: row["params"]["inventory"] for row in rows if row["type"] == "O"}
    assert inventory == {"O": "D", "P": "D", "C": "D", "B": "D", "D": "I", "F": "I", "I": "I"}


async def test_a_status_is_created_with_defaults(sample):
    number = await create(sample)
    assert await read(sample, number) == {
        "status_id": number,
        "status": "X",
        "type": "O",
        "description": "Separado",
        "is_default": "N",
        "color": "",
        "params": {"inventory": "D", "notify": "Y"},
        "position": "0",
    }
    shipment_status = await create(sample, type="S")
    assert (await read(sample, shipment_status))["params"] == {"notify": "Y"}


async def test_a_missing_code_defaults_to_the_first_free_one(sample):
    codes = []
    for _ in range(3):
        answer = await sample.post("/api/statuses", {"description": "x"})
        codes.append((await read(sample, answer.body["status_id"]))["status"])
    assert codes == ["A", "E", "G"]  # B, C, D and F are built in


async def test_creation_without_a_free_code_is_422(sample):
    for repetition in range(26 - 7):
        assert (await sample.post("/api/statuses", {"description": "x"})).status == 201, repetition
    answer = await sample.post("/api/statuses", {"description": "x"})
    assert (answer.status, answer.body["message"]) == (422, "no letter is free")


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("description", "Em separação", "Em separação"),
        ("status", "y", "Y"),
        ("color", "#ABCDEF", "#abcdef"),
        ("color", "", ""),
        ("position", 7, "7"),
        ("position", "7", "7"),
        ("params", {"inventory": "I"}, {"inventory": "I", "notify": "Y"}),
        ("params", {"inventory": "give_back", "notify": "N"}, {"inventory": "I", "notify": "N"}),
        ("params", {"inventory": "D", "notify": False, "unknown": [1]}, {"inventory": "D", "notify": "N"}),
        ("params", {}, {"inventory": "D", "notify": "Y"}),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    assert (await read(sample, await create(sample, **{name: value})))[name] == expected
    number = await create(sample, status="K")
    before = await read(sample, number)
    if name == "status":
        value = expected = "Z"
    answer = await sample.put(f"/api/statuses/{number}", {name: value})
    assert (answer.status, answer.body) == (200, {"status_id": number})
    assert await read(sample, number) == before | {name: expected}


async def test_a_form_encoded_body_creates_a_status(sample):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = b"status=X&description=Separado&params[inventory]=I&params[notify]=N&color=%23fff"
    answer = await sample.post("/api/statuses", data=form, headers=headers)
    status = await read(sample, answer.body["status_id"])
    assert (status["status"], status["color"]) == ("X", "#fff")
    assert status["params"] == {"inventory": "I", "notify": "N"}


async def test_a_built_in_status_can_only_be_renamed(sample):
    before = await read(sample, sample.status_OP)
    assert (await sample.put(f"/api/statuses/{sample.status_OP}", before)).status == 200
    assert await read(sample, sample.status_OP) == before
    answer = await sample.put(f"/api/statuses/{sample.status_OP}", {"description": "Pago", "params": {"notify": "N"}})
    assert answer.status == 200
    assert (await read(sample, sample.status_OP))["description"] == "Pago"
    for change in ({"status": "X"}, {"params": {"inventory": "I"}}):
        answer = await sample.put(f"/api/statuses/{sample.status_OP}", change)
        message = "a built-in status keeps its letter and its stock rule"
        assert (answer.status, answer.body) == (422, {"status": 422, "message": message}), change
    answer = await sample.delete(f"/api/statuses/{sample.status_OP}")
    assert (answer.status, answer.body["message"]) == (422, "a built-in status can't be deleted")


@pytest.mark.parametrize(
    "body, message",
    [
        ({"description": ""}, "description is required"),
        ({"description": None}, "description is required"),
        ({"status": "P"}, "status is 'P', which is taken"),
        ({"status": "o"}, "status is 'O', which is taken"),
        ({"status": "XX"}, "status is 'XX'; expected one letter from A to Z"),
        ({"status": "1"}, "status is '1'; expected one letter from A to Z"),
        ({"status": "É"}, "status is 'É'; expected one letter from A to Z"),
        ({"status": []}, "status is []; expected a text"),
        ({"type": "Z"}, "type is 'Z'; expected one of O, S"),
        ({"color": "red"}, "color is 'red'; expected a colour such as #1f7ae0"),
        ({"position": "first"}, "position is 'first'; expected a whole number"),
        ({"params": "x"}, "params is 'x'; expected an object"),
        ({"params": {"inventory": "Z"}}, "params: inventory is 'Z'; expected one of D, I"),
        ({"params": {"notify": "maybe"}}, "params: notify is 'maybe'; expected Y or N"),
        ({"type": "S", "params": {"inventory": "D"}}, "params: inventory is for statuses of orders"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(sample, body, message):
    answer = await sample.post("/api/statuses", NEW | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_the_type_cannot_change(sample):
    number = await create(sample)
    answer = await sample.put(f"/api/statuses/{number}", {"type": "S"})
    assert (answer.status, answer.body["message"]) == (400, "type can't change")


async def test_codes_are_unique_within_a_type(sample):
    answers = await asyncio.gather(*(sample.post("/api/statuses", NEW) for _ in range(5)))
    assert sorted(answer.status for answer in answers) == [201, 400, 400, 400, 400]
    # Shipments have their own codes.
    assert (await sample.post("/api/statuses", NEW | {"type": "S"})).status == 201


async def test_a_deleted_code_can_be_reused(sample):
    number = await create(sample)
    answer = await sample.delete(f"/api/statuses/{number}")
    assert (answer.status, answer.raw) == (204, b"")
    for method in ("GET", "PUT", "DELETE"):
        missing = await sample.request(method, f"/api/statuses/{number}", {} if method == "PUT" else None)
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Status not found"}), method
    answer = await sample.put(f"/api/orders/{sample.order}", {"status": "X"})
    assert (answer.status, answer.body["message"]) == (
        400,
        "status is 'X'; expected one of O, P, C, D, F, I, B",
    )
    await create(sample)


# --- Order statuses ----------------------------------------------------------------------------------------------------------


async def test_an_unknown_code_is_rejected_until_it_is_created(sample):
    for route in ("order", "orders"):
        answer = (
            await sample.put(f"/api/orders/{sample.order}", {"status": "X"})
            if route == "order"
            else await sample.post(
                "/api/orders",
                {
                    "user_id": sample.caio.number,
                    "status": "X",
                    "products": {str(sample.ebook): {"amount": 1}},
                },
            )
        )
        assert answer.status == 400, (route, answer.raw)
        assert answer.body["message"] == "status is 'X'; expected one of O, P, C, D, F, I, B", route
    await create(sample)
    assert (await sample.put(f"/api/orders/{sample.order}", {"status": "x"})).status == 200
    assert await read_status(sample, sample.order) == "X"
    answer = await sample.put(f"/api/orders/{sample.order}", {"status": "Z"})
    assert answer.body["message"] == "status is 'Z'; expected one of O, P, C, D, F, I, B, X"


async def test_every_api_family_returns_and_accepts_a_custom_code(sample):
    await create(sample)
    # GraphQL.
    assert (await set_status(sample, sample.order, "X")).body["data"]["order_set_status"] == {"status": "X"}
    query = {"query": "{ orders(status: X) { id } }".replace("X", '"x"')}
    result = (await sample.post("/graphql", query, auth="bearer")).body
    assert result["data"]["orders"] == [{"id": sample.order.id}]
    # The current API.
    listed = await sample.get("/api/v1/admin/orders?status=X", auth="bearer")
    assert [row["status"] for row in listed.body["orders"]] == ["X"]
    assert (await sample.get("/api/v1/admin/orders?status=Y", auth="bearer")).status == 400
    path = f"/api/v1/admin/orders/{sample.shared_order.id}/status"
    changed = await sample.put(path, {"status": "x"}, auth="bearer")
    assert (changed.status, changed.body["status"]) == (200, "X")
    # The legacy API.
    filtered = (await sample.get("/api/orders?status=x")).body
    assert set(filtered["orders"]) == {str(sample.order), str(sample.shared_order)}
    assert filtered["search"] == {"status": "X"}
    created = await sample.post(
        "/api/orders",
        {"user_id": sample.caio.number, "status": "X", "products": {str(sample.ebook): {"amount": 1}}},
    )
    assert await read_status(sample, created.body["order_id"]) == "X"
    history = (await sample.get(f"/api/orders/{sample.order}")).body["status_history"]
    assert [(step["status_from"], step["status"], step["forced"]) for step in history][-1] == ("O", "X", "N")


@pytest.mark.parametrize("other", ["O", "P", "B", "C"])
async def test_a_custom_status_has_transitions_in_both_directions(sample, other):
    await create(sample)
    if other != "O":
        await sample.put(f"/api/orders/{sample.order}", {"status": other})
    assert "errors" not in (await set_status(sample, sample.order, "X")).body
    assert "errors" not in (await set_status(sample, sample.order, other)).body
    assert await read_status(sample, sample.order) == other


async def test_a_cancelled_order_does_not_enter_a_custom_status(sample):
    await create(sample)
    await set_status(sample, sample.order, "X")
    assert "errors" not in (await set_status(sample, sample.order, "I")).body
    (error,) = (await set_status(sample, sample.order, "X")).body["errors"]
    assert error["extensions"]["details"]["allowed"] == []
    assert await read_status(sample, sample.order) == "I"
    # The legacy API forces transitions.
    await sample.put(f"/api/orders/{sample.order}", {"status": "X"})
    assert await read_status(sample, sample.order) == "X"


@pytest.mark.parametrize("other", ["D", "F"])
async def test_a_custom_status_has_no_transition_to_the_other_statuses(sample, other):
    await create(sample)
    await create(sample, status="Y")
    await set_status(sample, sample.order, "X")
    for to in (other, "Y"):
        (error,) = (await set_status(sample, sample.order, to)).body["errors"]
        assert error["extensions"]["details"]["allowed"] == ["O", "P", "B", "C", "I"], to
    await sample.put(f"/api/orders/{sample.order}", {"status": other})  # the legacy API forces transitions
    (error,) = (await set_status(sample, sample.order, "X")).body["errors"]
    assert error["extensions"]["details"]["allowed"] == ["O", "P", "I"]


async def test_a_custom_status_applies_its_inventory_rule(sample):
    await create(sample, params={"inventory": "D"})
    await create(sample, status="Y", params={"inventory": "I"})
    on_hand, reserved = await read_stock(sample, sample.mug)
    await set_status(sample, sample.order, "X")  # deducts the two reserved mugs
    assert await read_stock(sample, sample.mug) == (on_hand - 2, reserved - 2)
    await set_status(sample, sample.order, "O")
    assert await read_stock(sample, sample.mug) == (on_hand, reserved)
    await set_status(sample, sample.order, "Y")
    assert await read_stock(sample, sample.mug) == (on_hand, reserved - 2)
    await sample.execute("update products set on_hand = reserved where id = $1", sample.mug.number)
    (error,) = (await set_status(sample, sample.order, "P")).body["errors"]  # sold out meanwhile
    assert error["message"] == "out of stock: Caneca de Ágata"
    assert await read_status(sample, sample.order) == "Y"


async def test_an_order_whose_stock_was_returned_cannot_be_shipped(sample):
    await create(sample, params={"inventory": "I"})
    await set_status(sample, sample.order, "X")
    document = "mutation ($id: ID!) { shipment_create(input: {order_id: $id}) { id } }"
    sent = {"query": document, "variables": {"id": sample.order.id}}
    (error,) = (await sample.post("/graphql", sent, auth="bearer")).body["errors"]
    assert error["message"] == "an order in status X can't be shipped"


async def test_a_code_in_use_cannot_change_or_be_deleted(sample):
    number = await create(sample)
    await set_status(sample, sample.order, "X")
    for change in (
        sample.delete(f"/api/statuses/{number}"),
        sample.put(f"/api/statuses/{number}", {"status": "Z"}),
    ):
        answer = await change
        assert (answer.status, answer.body) == (422, {"status": 422, "message": "the status X is in use"}), change
    await set_status(sample, sample.order, "O")
    assert (await sample.delete(f"/api/statuses/{number}")).status == 204


async def test_a_concurrent_delete_never_leaves_an_order_with_a_deleted_code(sample):
    for repetition in range(8):
        number = await create(sample)
        moved, deleted = await asyncio.gather(
            set_status(sample, sample.order, "X"), sample.delete(f"/api/statuses/{number}")
        )
        assert ("errors" in moved.body) == (deleted.status == 204), (repetition, (moved.raw, deleted.raw))
        await set_status(sample, sample.order, "O")
        if deleted.status != 204:
            assert (await sample.delete(f"/api/statuses/{number}")).status == 204, repetition


async def test_a_vendor_with_open_orders_in_a_custom_status_cannot_be_deleted(sample):
    number = await create(sample)
    for order in (sample.order, sample.shared_order):
        await set_status(sample, order, "X")
    assert (await sample.delete(f"/api/vendors/{sample.rival}")).status == 422
    for order in (sample.order, sample.shared_order):
        await set_status(sample, order, "C")
    assert (await sample.delete(f"/api/vendors/{sample.rival}")).status == 204
    assert (await sample.delete(f"/api/statuses/{number}")).status == 204


async def test_a_custom_code_costs_no_extra_statement(sample):
    before = (await sample.get("/api/orders?status=O")).statements
    await create(sample)
    await set_status(sample, sample.order, "X")
    assert (await sample.get("/api/orders?status=X")).statements == before


async def test_another_stores_code_is_rejected(sample, other_sample):
    await create(other_sample)
    assert (await sample.put(f"/api/orders/{sample.order}", {"status": "X"})).status == 400
    assert (await other_sample.put(f"/api/orders/{other_sample.order}", {"status": "X"})).status == 200


# --- Shipment statuses -------------------------------------------------------------------------------------------------------


async def test_shipments_accept_a_custom_code(sample):
    shipment = await sample.add(Shipment, order_id=sample.order.number)
    document = "mutation ($id: ID!, $to: ShipmentStatus!) { shipment_update(id: $id, input: {status: $to}) { status } }"
    sent = {"query": document, "variables": {"id": shipment.id, "to": "T"}}
    (error,) = (await sample.post("/graphql", sent, auth="bearer")).body["errors"]
    assert error["message"] == "status is 'T'; expected one of P, A, S"
    number = await create(sample, type="S", status="T", description="Em trânsito")
    answer = await sample.post("/graphql", sent, auth="bearer")
    assert answer.body["data"]["shipment_update"] == {"status": "T"}
    assert (await sample.delete(f"/api/statuses/{number}")).status == 422
