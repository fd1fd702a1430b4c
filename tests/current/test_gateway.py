"""Gateway notifications over HTTP (docs/reference/current.md#gateway-notifications)."""

import asyncio
import json

import pytest

from domain import stores
from models.connection import database
from tests.harness import records, scopes
from tests.harness.gateway import SECRET, charge, event, raw, signature

PATH = "/api/v1/webhooks/gateway"


@pytest.fixture(autouse=True)
async def gateway_secret(store):
    await stores.set_gateway_secret(scopes.system_scope(store), SECRET)


async def send(caller, body, *, signed=None, header="X-Hub-Signature-256", headers=None):
    all_headers = {header: signature(body) if signed is None else signed, **(headers or {})}
    return await caller.request("POST", PATH, data=raw(body), headers=all_headers)


async def notifications(store):
    return await scopes.rows(store, "select * from gateway_notifications order by id")


async def status(store, order):
    return await scopes.value(store, "select status from orders where id = $1", order.number)


async def set_status(store, status):
    async with database.cross_store_connection() as everywhere, everywhere.transaction():
        await everywhere.execute("update tenants set status = $2 where id = $1", store.id, status)
        await everywhere.execute("select pg_notify('vitrine_stores', $1)", str(store.id))


# --- Receiving ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["X-Hub-Signature-256", "X-Hub-Signature", "x-hub-signature"])
async def test_a_notification_is_received_with_either_header(visitor, store, header):
    order = await records.add_order(store)
    answer = await send(visitor, event("charge.paid", charge(order.number, 3_980)), header=header)
    assert (answer.status, answer.body) == (200, {"message": "received"})
    assert await status(store, order) == "P"


async def test_a_repeated_notification_is_a_duplicate(visitor, store):
    body = event("charge.paid", charge(1))
    assert (await send(visitor, body)).body == {"message": "received"}
    again = await send(visitor, body)
    assert (again.status, again.body) == (200, {"message": "duplicate ignored"})
    assert len(await notifications(store)) == 1


async def test_concurrent_equal_notifications_are_stored_once(visitor, store):
    order = await records.add_order(store)
    body = event("charge.paid", charge(order.number, 3_980))
    answers = await asyncio.gather(*(send(visitor, body) for _ in range(20)))
    assert {answer.status for answer in answers} == {200}
    messages = sorted(answer.body["message"] for answer in answers)
    assert messages == ["duplicate ignored"] * 19 + ["received"]
    assert await status(store, order) == "P"
    paid = await scopes.value(store, "select paid_cents from orders where id = $1", order.number)
    assert paid == 3_980


async def test_the_response_is_200_even_when_no_order_is_updated(visitor, store):
    for data in (charge("unknown"), charge(2**40), {}, None, [], "text", 5, {"id": []}):
        answer = await send(visitor, event("charge.paid", data))
        assert (answer.status, answer.body) == (200, {"message": "received"}), data
    assert all(
        notification["processed"] and notification["error_message"] for notification in await notifications(store)
    )


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded", None])
async def test_the_content_type_does_not_matter(visitor, content_type):
    answer = await send(visitor, event("charge.paid", charge(1)), headers={"Content-Type": content_type})
    assert answer.status == 200


# --- Signatures --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "sha256=",
        "sha256=" + "0" * 64,
        "sha1=" + "0" * 40,
        "0" * 64,
        "sha256=é",
        "sha256=" + "0" * 5_000,
        "Bearer x",
    ],
)
async def test_a_wrong_signature_is_rejected_and_nothing_is_stored(visitor, store, wrong):
    answer = await send(visitor, event("charge.paid", charge(1)), signed=wrong)
    assert (answer.status, answer.body) == (401, {"error": "invalid signature"})
    assert await notifications(store) == []


async def test_a_missing_signature_is_rejected(visitor, store):
    answer = await visitor.post(PATH, event("charge.paid", charge(1)))
    assert (answer.status, answer.body) == (401, {"error": "invalid signature"})
    assert await notifications(store) == []


async def test_the_signature_covers_the_raw_body(visitor, store):
    body = event("charge.paid", charge(1))
    indented = json.dumps(body, indent=2).encode()
    assert (await send(visitor, indented, signed=signature(body))).status == 401
    assert (await send(visitor, raw(body) + b"\n", signed=signature(body))).status == 401
    assert (await send(visitor, indented)).status == 200
    assert (await notifications(store))[0]["body"] == indented


async def test_the_hex_digest_is_case_insensitive_and_the_prefix_required(visitor):
    body = event("charge.paid", charge(1))
    right = signature(body)
    assert (await send(visitor, body, signed=right.removeprefix("sha256="))).status == 401
    assert (await send(visitor, body, signed="sha256=" + right.removeprefix("sha256=").upper())).status == 200


async def test_one_valid_signature_of_two_is_enough(visitor):
    body = event("charge.paid", charge(1))
    answer = await send(visitor, body, headers={"X-Hub-Signature": "sha1=" + "0" * 40})
    assert answer.status == 200


async def test_a_signature_with_another_stores_secret_is_rejected(visitor, store, other_store):
    await stores.set_gateway_secret(scopes.system_scope(other_store), "other secret")
    body = event("charge.paid", charge(1))
    assert (await send(visitor, body, signed=signature(body, "other secret"))).status == 401
    assert (await send(visitor.at(other_store), body)).status == 401
    assert await notifications(store) == []
    assert await notifications(other_store) == []


async def test_the_signature_is_checked_before_the_body(visitor):
    assert (await send(visitor, b"not json", signed="sha256=00")).status == 401


async def test_a_bearer_token_does_not_replace_the_signature(admin):
    answer = await admin.post(PATH, event("charge.paid", charge(1)))
    assert (answer.status, answer.body) == (401, {"error": "invalid signature"})


async def test_without_a_secret_unsigned_notifications_are_accepted(visitor, store):
    await stores.set_gateway_secret(scopes.system_scope(store), "")
    answer = await visitor.post(PATH, event("charge.paid", charge(1)))
    assert (answer.status, answer.body) == (200, {"message": "received"})
    assert [notification["unsigned"] for notification in await notifications(store)] == [True]
    lines = await scopes.rows(store, "select action, actor_kind from audit_entries order by id")
    assert tuple(lines[-1]) == ("gateway_notification.unsigned", "anonymous")


# --- Bad input ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"id": "a\\u0000b"}',
        b'{"id": "a\x00b"}',
        b'{"id": "\\ud800"}',
        b'{"data": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"data": {"amount": 99999999999999999999}}',
        b'{"data": NaN}',
        b'{"id": "x"',
        "{}".encode("utf-16"),
    ],
)
async def test_an_unreadable_body_is_400(visitor, store, body):
    answer = await send(visitor, body)
    assert answer.status == 400
    assert answer.body["error"] == "invalid request body"
    assert answer.body["detail"]
    assert await notifications(store) == []


async def test_a_large_body_is_413(visitor, store):
    body = b'{"id": "' + b"x" * (2 * 1024 * 1024) + b'"}'
    assert (await send(visitor, body)).status == 413
    assert await notifications(store) == []


WRONG_VALUES: list[object] = [
    None,
    True,
    0,
    -1,
    1.5,
    1e300,
    2**63 - 1,
    -(2**63),
    "",
    "x" * 70_000,
    "é" * 300,
    [],
    [[]],
    {},
    {"id": 1},
]


@pytest.mark.parametrize("member", ["id", "type", "created_at", "account", "data"])
async def test_event_members_of_a_wrong_type_are_accepted(visitor, store, member):
    for value in WRONG_VALUES:
        body = {**event("charge.paid", charge(1)), member: value}
        assert (await send(visitor, body)).status == 200, value
    assert all(notification["processed"] for notification in await notifications(store))


@pytest.mark.parametrize(
    "event_type", ["charge.paid", "charge.refunded", "charge.partial_canceled", "charge.payment_failed"]
)
async def test_charge_members_of_a_wrong_type_are_accepted(visitor, store, event_type):
    order = await records.add_order(store)
    for member in charge(1).keys() | {"paid_amount", "canceled_amount"}:
        for value in WRONG_VALUES:
            data = {**charge(order.number, 3_980), member: value}
            assert (await send(visitor, event(event_type, data))).status == 200, (member, value)
    assert [
        notification["error_message"] for notification in await notifications(store) if not notification["processed"]
    ] == []


@pytest.mark.parametrize("event_type", ["order.paid", "order.canceled", "order.payment_failed"])
async def test_charges_of_a_wrong_type_are_accepted(visitor, store, event_type):
    order = await records.add_order(store)
    repeated = charge(order.number)
    for charges in (
        *WRONG_VALUES,
        [None, 1, "x", {}],
        [{"id": None}],
        [repeated, repeated],
        [charge(1) for _ in range(300)],
    ):
        data = {"id": "or_1", "code": str(order.number), "charges": charges}
        assert (await send(visitor, event(event_type, data))).status == 200, charges
    assert [
        notification["error_message"] for notification in await notifications(store) if not notification["processed"]
    ] == []


async def test_long_ids_remain_distinct(visitor, store):
    bodies = [event("charge.paid", charge(1), id="h" * 5_000 + str(number)) for number in range(2)]
    assert [(await send(visitor, body)).body["message"] for body in bodies] == ["received"] * 2
    assert [len(notification["event_id"]) for notification in await notifications(store)] == [255, 255]


# --- Stores ------------------------------------------------------------------------------------------------------------------


async def test_a_store_in_maintenance_accepts_notifications_and_a_suspended_store_does_not(visitor, new_store):
    maintained, suspended = await new_store(status="M"), await new_store(status="S")
    for closed in (maintained, suspended):
        await stores.set_gateway_secret(scopes.system_scope(closed), SECRET)
    body = event("charge.paid", charge(1))
    assert (await send(visitor.at(maintained), body)).status == 200
    rejected = await send(visitor.at(suspended), body)
    assert (rejected.status, rejected.body["error"]) == (503, "tenant_suspended")
    assert await notifications(suspended) == []


async def test_an_unknown_store_is_404(visitor):
    body = event("charge.paid", charge(1))
    answer = await send(visitor, body, headers={"X-Tenant-ID": "018f0000-0000-7000-8000-000000000000"})
    assert (answer.status, answer.body) == (404, {"error": "tenant not found"})


async def test_only_post_is_allowed(visitor):
    answer = await visitor.get(PATH)
    assert (answer.status, answer.headers["Allow"], answer.raw) == (405, "POST", b"")


async def test_the_statement_count_of_a_notification_is_constant(visitor, store):
    counts = []
    for lines in (1, 20):
        order = await records.add_order(store)
        parts = [charge(order.number, 3_980 // lines) for _ in range(lines)]
        data = {"id": "or_1", "code": str(order.number), "amount": 3_980, "charges": parts}
        counts.append((await send(visitor, event("order.created", data))).statements)
    assert counts[0] == counts[1]
