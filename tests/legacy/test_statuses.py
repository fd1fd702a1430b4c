"""Check statuses over every route, and that a letter a store adds is a letter of orders everywhere."""

import asyncio
from typing import Any

import pytest

from models.shipping import Shipment
from tests.shop import Answer, Made, Shop

NEW = {"description": "Separado", "status": "X"}


async def create(shop: Shop, **body: Any) -> str:
    answer = await shop.post("/api/statuses", NEW | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"status_id"}
    return answer.body["status_id"]


async def shown(shop: Shop, status_id: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/statuses/{status_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def status_of(shop: Shop, order: Any) -> str:
    return (await shop.get(f"/api/orders/{order}")).body["status"]


async def move(shop: Shop, order: Any, status: str) -> Answer:
    """Move an order through GraphQL, where nobody forces."""
    document = "mutation ($id: ID!, $to: OrderStatus!) { order_set_status(id: $id, status: $to) { status } }"
    sent = {"query": document, "variables": {"id": str(order.id), "to": status}}
    return await shop.post("/graphql", sent, auth="bearer")


async def stock(shop: Shop, product: Made) -> tuple[int, int]:
    (found,) = await shop.rows("select on_hand, reserved from products where id = $1", product.number)
    return found["on_hand"], found["reserved"]


# --- The records -------------------------------------------------------------------------------------------------------------


async def test_every_store_has_the_letters_of_the_contract(shop):
    rows = (await shop.get("/api/statuses?items_per_page=250")).body["statuses"]
    assert {(row["type"], row["status"], row["is_default"]) for row in rows} == {
        *(("O", letter, "Y") for letter in "OPCDFIB"),
        *(("S", letter, "Y") for letter in "PAS"),
    }
    holds = {row["status"]: row["params"]["inventory"] for row in rows if row["type"] == "O"}
    assert holds == {"O": "D", "P": "D", "C": "D", "B": "D", "D": "I", "F": "I", "I": "I"}


async def test_a_status_is_created_with_defaults(shop):
    number = await create(shop)
    assert await shown(shop, number) == {
        "status_id": number,
        "status": "X",
        "type": "O",
        "description": "Separado",
        "is_default": "N",
        "color": "",
        "params": {"inventory": "D", "notify": "Y"},
        "position": "0",
    }
    of_parcels = await create(shop, type="S")
    assert (await shown(shop, of_parcels))["params"] == {"notify": "Y"}


async def test_without_a_letter_the_first_free_one_is_taken(shop):
    found = []
    for _ in range(3):
        answer = await shop.post("/api/statuses", {"description": "x"})
        found.append((await shown(shop, answer.body["status_id"]))["status"])
    assert found == ["A", "E", "G"]  # B, C, D and F are every store's


async def test_when_no_letter_is_free_that_is_told(shop):
    for _ in range(26 - 7):
        assert (await shop.post("/api/statuses", {"description": "x"})).status == 201
    answer = await shop.post("/api/statuses", {"description": "x"})
    assert (answer.status, answer.body["message"]) == (422, "no letter is free")


@pytest.mark.parametrize(
    "name, given, read_back",
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
async def test_a_field_is_read_back_after_creation_and_after_a_change(shop, name, given, read_back):
    assert (await shown(shop, await create(shop, **{name: given})))[name] == read_back
    number = await create(shop, status="K")
    before = await shown(shop, number)
    if name == "status":
        given = read_back = "Z"
    answer = await shop.put(f"/api/statuses/{number}", {name: given})
    assert (answer.status, answer.body) == (200, {"status_id": number})
    assert await shown(shop, number) == before | {name: read_back}


async def test_a_php_form_adds_a_status_too(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    form = b"status=X&description=Separado&params[inventory]=I&params[notify]=N&color=%23fff"
    answer = await shop.post("/api/statuses", data=form, headers=headers)
    status = await shown(shop, answer.body["status_id"])
    assert (status["status"], status["color"]) == ("X", "#fff")
    assert status["params"] == {"inventory": "I", "notify": "N"}


async def test_what_is_built_in_may_be_renamed_and_no_more(shop):
    before = await shown(shop, shop.status_OP)
    assert (await shop.put(f"/api/statuses/{shop.status_OP}", before)).status == 200
    assert await shown(shop, shop.status_OP) == before
    answer = await shop.put(
        f"/api/statuses/{shop.status_OP}", {"description": "Pago", "params": {"notify": "N"}}
    )
    assert answer.status == 200
    assert (await shown(shop, shop.status_OP))["description"] == "Pago"
    for change in ({"status": "X"}, {"params": {"inventory": "I"}}):
        answer = await shop.put(f"/api/statuses/{shop.status_OP}", change)
        message = "a built-in status keeps its letter and its stock rule"
        assert (answer.status, answer.body) == (422, {"status": 422, "message": message})
    answer = await shop.delete(f"/api/statuses/{shop.status_OP}")
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
async def test_what_is_wrong_is_told_with_the_legacy_name(shop, body, message):
    answer = await shop.post("/api/statuses", NEW | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_the_type_can_not_change(shop):
    number = await create(shop)
    answer = await shop.put(f"/api/statuses/{number}", {"type": "S"})
    assert (answer.status, answer.body["message"]) == (400, "type can't change")


async def test_a_letter_can_be_given_once(shop):
    answers = await asyncio.gather(*(shop.post("/api/statuses", NEW) for _ in range(5)))
    assert sorted(answer.status for answer in answers) == [201, 400, 400, 400, 400]
    assert (await shop.post("/api/statuses", NEW | {"type": "S"})).status == 201  # parcels have their own


async def test_a_deleted_letter_is_free_again(shop):
    number = await create(shop)
    answer = await shop.delete(f"/api/statuses/{number}")
    assert (answer.status, answer.raw) == (204, b"")
    for method in ("GET", "PUT", "DELETE"):
        gone = await shop.call(method, f"/api/statuses/{number}", {} if method == "PUT" else None)
        assert (gone.status, gone.body) == (404, {"status": 404, "message": "Status not found"})
    answer = await shop.put(f"/api/orders/{shop.order}", {"status": "X"})
    assert (answer.status, answer.body["message"]) == (
        400,
        "status is 'X'; expected one of O, P, C, D, F, I, B",
    )
    await create(shop)


# --- A letter of orders ------------------------------------------------------------------------------------------------------


async def test_an_unknown_letter_is_refused_until_it_is_added(shop):
    for way in ("order", "orders"):
        answer = (
            await shop.put(f"/api/orders/{shop.order}", {"status": "X"})
            if way == "order"
            else await shop.post(
                "/api/orders",
                {"user_id": shop.caio.number, "status": "X", "products": {str(shop.ebook): {"amount": 1}}},
            )
        )
        assert answer.status == 400, answer.raw
        assert answer.body["message"] == "status is 'X'; expected one of O, P, C, D, F, I, B"
    await create(shop)
    assert (await shop.put(f"/api/orders/{shop.order}", {"status": "x"})).status == 200
    assert await status_of(shop, shop.order) == "X"
    answer = await shop.put(f"/api/orders/{shop.order}", {"status": "Z"})
    assert answer.body["message"] == "status is 'Z'; expected one of O, P, C, D, F, I, B, X"


async def test_every_family_shows_and_accepts_the_letter(shop):
    await create(shop)
    # GraphQL.
    assert (await move(shop, shop.order, "X")).body["data"]["order_set_status"] == {"status": "X"}
    query = {"query": "{ orders(status: X) { id } }".replace("X", '"x"')}
    found = (await shop.post("/graphql", query, auth="bearer")).body
    assert found["data"]["orders"] == [{"id": shop.order.id}]
    # The current API.
    listed = await shop.get("/api/v1/admin/orders?status=X", auth="bearer")
    assert [row["status"] for row in listed.body["orders"]] == ["X"]
    assert (await shop.get("/api/v1/admin/orders?status=Y", auth="bearer")).status == 400
    path = f"/api/v1/admin/orders/{shop.shared_order.id}/status"
    changed = await shop.put(path, {"status": "x"}, auth="bearer")
    assert (changed.status, changed.body["status"]) == (200, "X")
    # The legacy layer.
    found = (await shop.get("/api/orders?status=x")).body
    assert set(found["orders"]) == {str(shop.order), str(shop.shared_order)}
    assert found["search"] == {"status": "X"}
    made = await shop.post(
        "/api/orders",
        {"user_id": shop.caio.number, "status": "X", "products": {str(shop.ebook): {"amount": 1}}},
    )
    assert await status_of(shop, made.body["order_id"]) == "X"
    history = (await shop.get(f"/api/orders/{shop.order}")).body["status_history"]
    assert [(step["status_from"], step["status"], step["forced"]) for step in history][-1] == ("O", "X", "N")


@pytest.mark.parametrize("neighbour", ["O", "P", "B", "C", "I"])
async def test_the_letter_leads_to_its_neighbours_and_back(shop, neighbour):
    await create(shop)
    if neighbour != "O":
        await shop.put(f"/api/orders/{shop.order}", {"status": neighbour})
    assert "errors" not in (await move(shop, shop.order, "X")).body
    assert "errors" not in (await move(shop, shop.order, neighbour)).body
    assert await status_of(shop, shop.order) == neighbour


@pytest.mark.parametrize("stranger", ["D", "F"])
async def test_the_letter_has_no_way_to_the_others(shop, stranger):
    await create(shop)
    await create(shop, status="Y")
    await move(shop, shop.order, "X")
    for to in (stranger, "Y"):
        (error,) = (await move(shop, shop.order, to)).body["errors"]
        assert error["extensions"]["details"]["allowed"] == ["O", "P", "B", "C", "I"]
    await shop.put(f"/api/orders/{shop.order}", {"status": stranger})  # the legacy layer forces
    (error,) = (await move(shop, shop.order, "X")).body["errors"]
    assert error["extensions"]["details"]["allowed"] == ["O", "P", "I"]


async def test_the_letter_holds_stock_as_its_inventory_says(shop):
    await create(shop, params={"inventory": "D"})
    await create(shop, status="Y", params={"inventory": "I"})
    on_hand, reserved = await stock(shop, shop.mug)
    await move(shop, shop.order, "X")  # two mugs that were reserved leave
    assert await stock(shop, shop.mug) == (on_hand - 2, reserved - 2)
    await move(shop, shop.order, "O")
    assert await stock(shop, shop.mug) == (on_hand, reserved)
    await move(shop, shop.order, "Y")
    assert await stock(shop, shop.mug) == (on_hand, reserved - 2)
    await shop.execute("update products set on_hand = reserved where id = $1", shop.mug.number)
    (error,) = (await move(shop, shop.order, "P")).body["errors"]  # meanwhile somebody else bought them
    assert error["message"] == "out of stock: Caneca de Ágata"
    assert await status_of(shop, shop.order) == "Y"


async def test_an_order_that_gave_its_stock_back_is_not_shipped(shop):
    await create(shop, params={"inventory": "I"})
    await move(shop, shop.order, "X")
    document = "mutation ($id: ID!) { shipment_create(input: {order_id: $id}) { id } }"
    sent = {"query": document, "variables": {"id": shop.order.id}}
    (error,) = (await shop.post("/graphql", sent, auth="bearer")).body["errors"]
    assert error["message"] == "an order in status X can't be shipped"


async def test_a_letter_in_use_stays(shop):
    number = await create(shop)
    await move(shop, shop.order, "X")
    for change in (
        shop.delete(f"/api/statuses/{number}"),
        shop.put(f"/api/statuses/{number}", {"status": "Z"}),
    ):
        answer = await change
        assert (answer.status, answer.body) == (422, {"status": 422, "message": "the status X is in use"})
    await move(shop, shop.order, "O")
    assert (await shop.delete(f"/api/statuses/{number}")).status == 204


async def test_an_order_never_keeps_a_letter_that_is_deleted_meanwhile(shop):
    for _ in range(8):
        number = await create(shop)
        moved, deleted = await asyncio.gather(
            move(shop, shop.order, "X"), shop.delete(f"/api/statuses/{number}")
        )
        assert ("errors" in moved.body) == (deleted.status == 204), (moved.raw, deleted.raw)
        await move(shop, shop.order, "O")
        if deleted.status != 204:
            assert (await shop.delete(f"/api/statuses/{number}")).status == 204


async def test_a_vendor_with_orders_of_a_letter_that_holds_stock_stays(shop):
    number = await create(shop)
    for order in (shop.order, shop.shared_order):
        await move(shop, order, "X")
    assert (await shop.delete(f"/api/vendors/{shop.rival}")).status == 422
    for order in (shop.order, shop.shared_order):
        await move(shop, order, "C")
    assert (await shop.delete(f"/api/vendors/{shop.rival}")).status == 204
    assert (await shop.delete(f"/api/statuses/{number}")).status == 204


async def test_a_known_letter_costs_no_statement(shop):
    before = (await shop.get("/api/orders?status=O")).statements
    await create(shop)
    await move(shop, shop.order, "X")
    assert (await shop.get("/api/orders?status=X")).statements == before


async def test_another_stores_letter_is_none_here(shop, other_shop):
    await create(other_shop)
    assert (await shop.put(f"/api/orders/{shop.order}", {"status": "X"})).status == 400
    assert (await other_shop.put(f"/api/orders/{other_shop.order}", {"status": "X"})).status == 200


# --- A letter of parcels -----------------------------------------------------------------------------------------------------


async def test_parcels_take_a_letter_that_the_store_added(shop):
    parcel = await shop.add(Shipment, order_id=shop.order.number)
    document = "mutation ($id: ID!, $to: ShipmentStatus!) { shipment_update(id: $id, input: {status: $to}) { status } }"
    sent = {"query": document, "variables": {"id": parcel.id, "to": "T"}}
    (error,) = (await shop.post("/graphql", sent, auth="bearer")).body["errors"]
    assert error["message"] == "status is 'T'; expected one of P, A, S"
    number = await create(shop, type="S", status="T", description="Em trânsito")
    answer = await shop.post("/graphql", sent, auth="bearer")
    assert answer.body["data"]["shipment_update"] == {"status": "T"}
    assert (await shop.delete(f"/api/statuses/{number}")).status == 422
