"""Check the subscriber and call request routes."""

import asyncio
from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Shop


async def read(shop: Shop, path: str, number: Any) -> dict[str, Any]:
    answer = await shop.get(f"/api/{path}/{number}")
    assert answer.status == 200, answer.raw
    return answer.body


# --- Subscribers -------------------------------------------------------------------------------------------------------------


async def subscribe(shop: Shop, **body: Any) -> Any:
    return await shop.post("/api/subscribers", {"email": "novo@example.com"} | body)


async def test_a_subscriber_is_created_with_defaults(shop):
    answer = await subscribe(shop)
    assert answer.status == 201
    assert set(answer.body) == {"subscriber_id"}
    subscriber = await read(shop, "subscribers", answer.body["subscriber_id"])
    assert subscriber.pop("timestamp").isdigit()
    assert subscriber.pop("subscriber_id") == answer.body["subscriber_id"]
    assert subscriber == {"email": "novo@example.com", "lang_code": "pt", "status": "A"}


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("email", "Outro@Example.COM", "outro@example.com"),
        ("lang_code", "pt", "pt"),
        ("status", "D", "D"),
        ("status", "inactive", "D"),
    ],
)
async def test_a_field_of_a_subscriber_is_read_back(shop, name, value, expected):
    number = (await subscribe(shop, **{name: value})).body["subscriber_id"]
    assert (await read(shop, "subscribers", number))[name] == expected


async def test_subscribing_twice_returns_the_same_subscriber(shop):
    before = await read(shop, "subscribers", shop.subscriber)
    for email in ("leitora@example.com", " LEITORA@example.com"):
        answer = await subscribe(shop, email=email, status="D")
        assert (answer.status, answer.body) == (200, {"subscriber_id": str(shop.subscriber)})
    assert await read(shop, "subscribers", shop.subscriber) == before
    assert (await shop.get("/api/subscribers")).body["params"]["total_items"] == 1


async def test_concurrent_subscriptions_create_one_subscriber(shop):
    answers = await asyncio.gather(*(subscribe(shop) for _ in range(6)))
    assert sorted(answer.status for answer in answers) == [200] * 5 + [201]
    assert len({answer.body["subscriber_id"] for answer in answers}) == 1


async def test_a_deleted_subscriber_can_subscribe_again(shop):
    assert (await shop.delete(f"/api/subscribers/{shop.subscriber}")).status == 204
    for method in ("GET", "DELETE"):
        missing = await shop.call(method, f"/api/subscribers/{shop.subscriber}")
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Subscriber not found"})
    assert await shop.value("select count(*) from subscribers") == 0  # personal data is erased
    assert (await subscribe(shop, email="leitora@example.com")).status == 201


@pytest.mark.parametrize(
    "body, message",
    [
        ({"email": None}, "email is required"),
        ({"email": ""}, "email is required"),
        ({"email": "nobody"}, "email is 'nobody'; expected an e-mail address"),
        ({"email": 5}, "email is '5'; expected an e-mail address"),
        ({"status": "P"}, "status is 'P'; expected one of A, D"),
        ({"lang_code": "xx"}, "lang_code is 'xx', which is no language of the store"),
    ],
)
async def test_invalid_subscriber_input_is_rejected(shop, body, message):
    answer = await subscribe(shop, **body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_form_encoded_body_subscribes(shop):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await shop.post("/api/subscribers", data=b"email=novo%40example.com", headers=headers)
    assert answer.status == 201, answer.raw


async def test_graphql_updates_a_subscriber(shop):
    document = "mutation ($id: ID!, $email: String!) { subscriber_update(id: $id, input: {email: $email}) { email } }"
    sent = {"query": document, "variables": {"id": shop.subscriber.id, "email": "Nova@example.com"}}
    answer = (await shop.post("/graphql", sent, auth="bearer")).body
    assert answer["data"]["subscriber_update"] == {"email": "nova@example.com"}
    await subscribe(shop)
    sent["variables"] = {"id": shop.subscriber.id, "email": "novo@example.com"}
    (error,) = (await shop.post("/graphql", sent, auth="bearer")).body["errors"]
    assert error["message"] == "email is taken"


# --- Call requests -----------------------------------------------------------------------------------------------------------


async def request_call(shop: Shop, **body: Any) -> str:
    answer = await shop.post("/api/call_requests", {"phone": "81 99999-0000"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"request_id"}
    return answer.body["request_id"]


async def test_a_call_request_is_created_with_defaults(shop):
    number = await request_call(shop)
    request = await read(shop, "call_requests", number)
    assert request.pop("timestamp").isdigit()
    assert request == {
        "request_id": number,
        "name": "",
        "phone": "81 99999-0000",
        "time_from": "",
        "time_to": "",
        "product_id": "0",
        "order_id": "0",
        "notes": "",
        "status": "N",
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("name", "Bia", "Bia"),
        ("phone", 81999990000, "81999990000"),
        ("time_from", "09:00", "09:00"),
        ("time_to", "18h", "18h"),
        ("notes", "Sobre a caneca", "Sobre a caneca"),
        ("status", "I", "I"),
        ("status", "in_progress", "I"),
        ("status", "completed", "C"),
        ("status", "no_answer", "F"),
    ],
)
async def test_a_field_of_a_call_request_is_read_back(shop, name, value, expected):
    assert (await read(shop, "call_requests", await request_call(shop, **{name: value})))[name] == expected


async def test_a_call_request_refers_to_a_product_or_an_order(shop):
    for form in ("number", "text", "uuid"):
        reference = {"number": lambda record: record.number, "text": str, "uuid": lambda record: record.id}[
            form
        ]
        number = await request_call(shop, product_id=reference(shop.mug), order_id=reference(shop.order))
        request = await read(shop, "call_requests", number)
        assert (request["product_id"], request["order_id"]) == (str(shop.mug), str(shop.order))
    request = await read(shop, "call_requests", await request_call(shop, product_id=0, order_id=None))
    assert (request["product_id"], request["order_id"]) == ("0", "0")


@pytest.mark.parametrize(
    "body, message",
    [
        ({"phone": None}, "phone is required"),
        ({"phone": " "}, "phone is required"),
        ({"phone": "9" * 41}, "phone has 41 characters; expected at most 40"),
        ({"status": "A"}, "status is 'A'; expected one of N, I, C, F"),
        ({"product_id": NO_NUMBER}, f"product_id '{NO_NUMBER}' not found"),
        ({"order_id": NOBODY}, f"order_id '{NOBODY}' not found"),
        ({"order_id": "abc"}, "order_id is 'abc'; expected an id"),
        ({"name": {}}, "name is {}; expected a text"),
    ],
)
async def test_invalid_call_request_input_is_rejected(shop, body, message):
    answer = await shop.post("/api/call_requests", {"phone": "81"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_call_request_can_be_deleted_but_not_updated(shop):
    assert (await shop.put(f"/api/call_requests/{shop.call_request}", {"status": "C"})).status == 405
    assert (await shop.delete(f"/api/call_requests/{shop.call_request}")).status == 204
    missing = await shop.get(f"/api/call_requests/{shop.call_request}")
    assert (missing.status, missing.body) == (404, {"status": 404, "message": "Call request not found"})


async def test_graphql_updates_the_status_of_a_call_request(shop):
    document = """mutation ($id: ID!) { call_request_update(id: $id, input: {status: "in_progress"}) { status product { name } } }"""
    sent = {"query": document, "variables": {"id": shop.call_request.id}}
    answer = (await shop.post("/graphql", sent, auth="bearer")).body
    assert answer["data"]["call_request_update"] == {"status": "I", "product": {"name": "Caneca de Ágata"}}
