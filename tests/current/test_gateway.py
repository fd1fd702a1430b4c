"""The gateway's notifications over HTTP: proven on the bytes that were sent, stored once, answered 200; what is wrong leaves nothing."""

import asyncio
import json

import pytest

from domain import stores
from models import database
from tests.current import kit
from tests.gateway import SECRET, charge, event, raw, signature

PATH = "/api/v1/webhooks/gateway"


@pytest.fixture(autouse=True)
async def gateway_secret(store):
    await stores.set_gateway_secret(kit.system(store), SECRET)


async def send(caller, body, *, signed=None, header="X-Hub-Signature-256", headers=None):
    sent = {header: signature(body) if signed is None else signed, **(headers or {})}
    return await caller.ask("POST", PATH, data=raw(body), headers=sent)


async def stored(store):
    return await kit.rows(store, "select * from gateway_notifications order by id")


async def status(store, order):
    return await kit.value(store, "select status from orders where id = $1", order.number)


async def set_status(store, letter):
    async with database.across_stores() as everywhere, everywhere.transaction():
        await everywhere.execute("update tenants set status = $2 where id = $1", store.id, letter)
        await everywhere.execute("select pg_notify('vitrine_stores', $1)", str(store.id))


# --- Receiving ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["X-Hub-Signature-256", "X-Hub-Signature", "x-hub-signature"])
async def test_a_notification_is_received_with_either_header(visitor, store, header):
    order = await kit.add_order(store)
    answer = await send(visitor, event("charge.paid", charge(order.number, 3_980)), header=header)
    assert (answer.status, answer.body) == (200, {"message": "received"})
    assert await status(store, order) == "P"


async def test_the_same_again_is_a_duplicate(visitor, store):
    body = event("charge.paid", charge(1))
    assert (await send(visitor, body)).body == {"message": "received"}
    again = await send(visitor, body)
    assert (again.status, again.body) == (200, {"message": "duplicate ignored"})
    assert len(await stored(store)) == 1


async def test_twenty_equal_notifications_at_once_end_as_one(visitor, store):
    order = await kit.add_order(store)
    body = event("charge.paid", charge(order.number, 3_980))
    answers = await asyncio.gather(*(send(visitor, body) for _ in range(20)))
    assert {answer.status for answer in answers} == {200}
    messages = sorted(answer.body["message"] for answer in answers)
    assert messages == ["duplicate ignored"] * 19 + ["received"]
    assert await status(store, order) == "P"
    paid = await kit.value(store, "select paid_cents from orders where id = $1", order.number)
    assert paid == 3_980


async def test_whatever_becomes_of_the_order_the_answer_is_200(visitor, store):
    for data in (charge("nobody's"), charge(2**40), {}, None, [], "text", 5, {"id": []}):
        answer = await send(visitor, event("charge.paid", data))
        assert (answer.status, answer.body) == (200, {"message": "received"})
    assert all(found["processed"] and found["error_message"] for found in await stored(store))


@pytest.mark.parametrize(
    "content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded", None]
)
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
async def test_a_wrong_signature_is_refused_and_nothing_stored(visitor, store, wrong):
    answer = await send(visitor, event("charge.paid", charge(1)), signed=wrong)
    assert (answer.status, answer.body) == (401, {"error": "invalid signature"})
    assert await stored(store) == []


async def test_a_missing_signature_is_refused(visitor, store):
    answer = await visitor.post(PATH, event("charge.paid", charge(1)))
    assert (answer.status, answer.body) == (401, {"error": "invalid signature"})
    assert await stored(store) == []


async def test_the_signature_is_over_the_bytes_that_were_sent(visitor, store):
    body = event("charge.paid", charge(1))
    spaced = json.dumps(body, indent=2).encode()
    assert (await send(visitor, spaced, signed=signature(body))).status == 401
    assert (await send(visitor, raw(body) + b"\n", signed=signature(body))).status == 401
    assert (await send(visitor, spaced)).status == 200
    assert (await stored(store))[0]["body"] == spaced


async def test_the_hash_is_taken_in_either_case_and_the_scheme_is_needed(visitor):
    body = event("charge.paid", charge(1))
    right = signature(body)
    assert (await send(visitor, body, signed=right.removeprefix("sha256="))).status == 401
    assert (await send(visitor, body, signed="sha256=" + right.removeprefix("sha256=").upper())).status == 200


async def test_one_right_signature_of_two_is_enough(visitor):
    body = event("charge.paid", charge(1))
    answer = await send(visitor, body, headers={"X-Hub-Signature": "sha1=" + "0" * 40})
    assert answer.status == 200


async def test_another_stores_secret_proves_nothing(visitor, store, other_store):
    await stores.set_gateway_secret(kit.system(other_store), "theirs")
    body = event("charge.paid", charge(1))
    assert (await send(visitor, body, signed=signature(body, "theirs"))).status == 401
    assert (await send(visitor.at(other_store), body)).status == 401
    assert await stored(store) == []
    assert await stored(other_store) == []


async def test_a_wrong_signature_is_told_before_a_wrong_body(visitor):
    assert (await send(visitor, b"not json", signed="sha256=00")).status == 401


async def test_a_bearer_token_is_no_signature(admin):
    answer = await admin.post(PATH, event("charge.paid", charge(1)))
    assert (answer.status, answer.body) == (401, {"error": "invalid signature"})


async def test_without_a_secret_notifications_are_taken_unsigned(visitor, store):
    await stores.set_gateway_secret(kit.system(store), "")
    answer = await visitor.post(PATH, event("charge.paid", charge(1)))
    assert (answer.status, answer.body) == (200, {"message": "received"})
    assert [found["unsigned"] for found in await stored(store)] == [True]
    lines = await kit.rows(store, "select action, actor_kind from audit_entries order by id")
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
async def test_a_body_that_can_not_be_read_is_400(visitor, store, body):
    answer = await send(visitor, body)
    assert answer.status == 400
    assert answer.body["error"] == "invalid request body"
    assert answer.body["detail"]
    assert await stored(store) == []


async def test_a_body_that_is_too_large_is_413(visitor, store):
    body = b'{"id": "' + b"x" * (2 * 1024 * 1024) + b'"}'
    assert (await send(visitor, body)).status == 413
    assert await stored(store) == []


ODD: list[object] = [
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
async def test_members_of_a_wrong_type_never_hurt(visitor, store, member):
    for odd in ODD:
        body = {**event("charge.paid", charge(1)), member: odd}
        assert (await send(visitor, body)).status == 200, odd
    assert all(found["processed"] for found in await stored(store))


@pytest.mark.parametrize(
    "kind", ["charge.paid", "charge.refunded", "charge.partial_canceled", "charge.payment_failed"]
)
async def test_members_of_a_charge_of_a_wrong_type_never_hurt(visitor, store, kind):
    order = await kit.add_order(store)
    for member in charge(1).keys() | {"paid_amount", "canceled_amount"}:
        for odd in ODD:
            data = {**charge(order.number, 3_980), member: odd}
            assert (await send(visitor, event(kind, data))).status == 200, (member, odd)
    assert [found["error_message"] for found in await stored(store) if not found["processed"]] == []


@pytest.mark.parametrize("kind", ["order.paid", "order.canceled", "order.payment_failed"])
async def test_charges_of_a_wrong_type_never_hurt(visitor, store, kind):
    order = await kit.add_order(store)
    twice = charge(order.number)
    for charges in (
        *ODD,
        [None, 1, "x", {}],
        [{"id": None}],
        [twice, twice],
        [charge(1) for _ in range(300)],
    ):
        data = {"id": "or_1", "code": str(order.number), "charges": charges}
        assert (await send(visitor, event(kind, data))).status == 200, charges
    assert [found["error_message"] for found in await stored(store) if not found["processed"]] == []


async def test_long_ids_are_told_apart(visitor, store):
    bodies = [event("charge.paid", charge(1), id="h" * 5_000 + str(number)) for number in range(2)]
    assert [(await send(visitor, body)).body["message"] for body in bodies] == ["received"] * 2
    assert [len(found["event_id"]) for found in await stored(store)] == [255, 255]


# --- Stores ------------------------------------------------------------------------------------------------------------------


async def test_a_store_in_maintenance_takes_notifications_and_a_suspended_one_does_not(visitor, new_store):
    maintained, suspended = await new_store(status="M"), await new_store(status="S")
    for closed in (maintained, suspended):
        await stores.set_gateway_secret(kit.system(closed), SECRET)
    body = event("charge.paid", charge(1))
    assert (await send(visitor.at(maintained), body)).status == 200
    refused = await send(visitor.at(suspended), body)
    assert (refused.status, refused.body["error"]) == (503, "tenant_suspended")
    assert await stored(suspended) == []


async def test_an_unknown_store_is_404(visitor):
    body = event("charge.paid", charge(1))
    answer = await send(visitor, body, headers={"X-Tenant-ID": "018f0000-0000-7000-8000-000000000000"})
    assert (answer.status, answer.body) == (404, {"error": "tenant not found"})


async def test_only_post_is_answered(visitor):
    answer = await visitor.get(PATH)
    assert (answer.status, answer.headers["Allow"], answer.raw) == (405, "POST", b"")


async def test_the_statements_of_a_notification_do_not_grow(visitor, store):
    counts = []
    for lines in (1, 20):
        order = await kit.add_order(store)
        parts = [charge(order.number, 3_980 // lines) for _ in range(lines)]
        data = {"id": "or_1", "code": str(order.number), "amount": 3_980, "charges": parts}
        counts.append((await send(visitor, event("order.created", data))).statements)
    assert counts[0] == counts[1]
