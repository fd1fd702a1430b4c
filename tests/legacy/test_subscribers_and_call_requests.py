"""Check the subscriber and call request routes."""

import asyncio
from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore


async def read(sample: SampleStore, path: str, number: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/{path}/{number}")
    assert answer.status == 200, answer.raw
    return answer.body


# --- Subscribers -------------------------------------------------------------------------------------------------------------


async def subscribe(sample: SampleStore, **body: Any) -> Any:
    return await sample.post("/api/subscribers", {"email": "novo@example.com"} | body)


async def test_a_subscriber_is_created_with_defaults(sample):
    answer = await subscribe(sample)
    assert answer.status == 201
    assert set(answer.body) == {"subscriber_id"}
    subscriber = await read(sample, "subscribers", answer.body["subscriber_id"])
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
async def test_a_field_of_a_subscriber_is_read_back(sample, name, value, expected):
    number = (await subscribe(sample, **{name: value})).body["subscriber_id"]
    assert (await read(sample, "subscribers", number))[name] == expected


async def test_subscribing_twice_returns_the_same_subscriber(sample):
    before = await read(sample, "subscribers", sample.subscriber)
    for email in ("leitora@example.com", " LEITORA@example.com"):
        answer = await subscribe(sample, email=email, status="D")
        assert (answer.status, answer.body) == (200, {"subscriber_id": str(sample.subscriber)}), email
    assert await read(sample, "subscribers", sample.subscriber) == before
    assert (await sample.get("/api/subscribers")).body["params"]["total_items"] == 1


async def test_concurrent_subscriptions_create_one_subscriber(sample):
    answers = await asyncio.gather(*(subscribe(sample) for _ in range(6)))
    assert sorted(answer.status for answer in answers) == [200] * 5 + [201]
    assert len({answer.body["subscriber_id"] for answer in answers}) == 1


async def test_a_deleted_subscriber_can_subscribe_again(sample):
    assert (await sample.delete(f"/api/subscribers/{sample.subscriber}")).status == 204
    for method in ("GET", "DELETE"):
        missing = await sample.request(method, f"/api/subscribers/{sample.subscriber}")
        assert (missing.status, missing.body) == (404, {"status": 404, "message": "Subscriber not found"}), method
    assert await sample.value("select count(*) from subscribers") == 0  # personal data is erased
    assert (await subscribe(sample, email="leitora@example.com")).status == 201


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
async def test_invalid_subscriber_input_is_rejected(sample, body, message):
    answer = await subscribe(sample, **body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_form_encoded_body_subscribes(sample):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await sample.post("/api/subscribers", data=b"email=novo%40example.com", headers=headers)
    assert answer.status == 201, answer.raw


async def test_graphql_updates_a_subscriber(sample):
    document = "mutation ($id: ID!, $email: String!) { subscriber_update(id: $id, input: {email: $email}) { email } }"
    sent = {"query": document, "variables": {"id": sample.subscriber.id, "email": "Nova@example.com"}}
    answer = (await sample.post("/graphql", sent, auth="bearer")).body
    assert answer["data"]["subscriber_update"] == {"email": "nova@example.com"}
    await subscribe(sample)
    sent["variables"] = {"id": sample.subscriber.id, "email": "novo@example.com"}
    (error,) = (await sample.post("/graphql", sent, auth="bearer")).body["errors"]
    assert error["message"] == "email is taken"


# --- Call requests -----------------------------------------------------------------------------------------------------------


async def request_call(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post("/api/call_requests", {"phone": "81 99999-0000"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"request_id"}
    return answer.body["request_id"]


async def test_a_call_request_is_created_with_defaults(sample):
    number = await request_call(sample)
    request = await read(sample, "call_requests", number)
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
async def test_a_field_of_a_call_request_is_read_back(sample, name, value, expected):
    assert (await read(sample, "call_requests", await request_call(sample, **{name: value})))[name] == expected


async def test_a_call_request_refers_to_a_product_or_an_order(sample):
    for form in ("number", "text", "uuid"):
        reference = {"number": lambda record: record.number, "text": str, "uuid": lambda record: record.id}[form]
        number = await request_call(sample, product_id=reference(sample.mug), order_id=reference(sample.order))
        request = await read(sample, "call_requests", number)
        assert (request["product_id"], request["order_id"]) == (str(sample.mug), str(sample.order)), form
    request = await read(sample, "call_requests", await request_call(sample, product_id=0, order_id=None))
    assert (request["product_id"], request["order_id"]) == ("0", "0")


@pytest.mark.parametrize(
    "body, message",
    [
        ({"phone": None}, "phone is required"),
        ({"phone": " "}, "phone is required"),
        ({"phone": "9" * 41}, "phone has 41 characters; expected at most 40"),
        ({"status": "A"}, "status is 'A'; expected one of N, I, C, F"),
        ({"product_id": UNKNOWN_NUMBER}, f"product_id '{UNKNOWN_NUMBER}' not found"),
        ({"order_id": UNKNOWN_ID}, f"order_id '{UNKNOWN_ID}' not found"),
        ({"order_id": "abc"}, "order_id is 'abc'; expected an id"),
        ({"name": {}}, "name is {}; expected a text"),
    ],
)
async def test_invalid_call_request_input_is_rejected(sample, body, message):
    answer = await sample.post("/api/call_requests", {"phone": "81"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_call_request_can_be_deleted_but_not_updated(sample):
    assert (await sample.put(f"/api/call_requests/{sample.call_request}", {"status": "C"})).status == 405
    assert (await sample.delete(f"/api/call_requests/{sample.call_request}")).status == 204
    missing = await sample.get(f"/api/call_requests/{sample.call_request}")
    assert (missing.status, missing.body) == (404, {"status": 404, "message": "Call request not found"})


async def test_graphql_updates_the_status_of_a_call_request(sample):
    document = """mutation ($id: ID!) { call_request_update(id: $id, input: {status: "in_progress"}) { status product { name } } }"""
    sent = {"query": document, "variables": {"id": sample.call_request.id}}
    answer = (await sample.post("/graphql", sent, auth="bearer")).body
    assert answer["data"]["call_request_update"] == {"status": "I", "product": {"name": "Caneca de Ágata"}}
