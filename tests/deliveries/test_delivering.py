"""Events reach those who subscribed, signed, and nobody else."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time

from tests.apps.conftest import NewApp
from tests.current import kit
from tests.current.kit import Caller
from tests.current.oauth import INSTALLED, UNINSTALL, UPDATE, done
from tests.deliveries.conftest import Delivering
from tests.deliveries.kit import WEBHOOKS, deliveries, endpoint, happen, sha256, states, subscribed
from tests.deliveries.receiver import Receiver, answers, until


async def test_a_change_in_the_shop_is_told_and_signed(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    await subscribed(app, receiver.url(), "product.created", "product.updated")
    async with delivering():
        began = time.monotonic()
        made = await app.post(
            "/api/admin/products", {"name": "Caneca «ágata» <1>", "price_cents": 4_990}, headers={"X-Request-Id": "made-by-a-test"}
        )  # fmt: skip
        (received,) = await receiver.until(1)
        # Woken by the commit, not found by looking.
        assert time.monotonic() - began < 3
    envelope = received.envelope
    assert list(envelope) == [
        "id",
        "event",
        "timestamp",
        "tenant_id",
        "app_id",
        "sequence",
        "data",
        "signature",
    ]
    assert (envelope["event"], envelope["sequence"]) == ("product.created", 1)
    assert (envelope["tenant_id"], envelope["app_id"]) == (str(app.store.public_id), app.user.client_id)
    assert envelope["timestamp"] == made.body["created_at"]
    assert envelope["data"] == made.body
    assert list(envelope["data"]) == list(made.body)
    assert envelope["id"].startswith("evt_")

    secret = app.user.client_secret
    unsigned = {name: value for name, value in envelope.items() if name != "signature"}
    compact = json.dumps(unsigned, separators=(",", ":"), ensure_ascii=False).encode()
    assert envelope["signature"] == sha256(secret, compact)
    headers = received.headers
    assert headers["X-Service-Signature"] == sha256(secret, received.raw)
    assert headers["X-Service-Event"] == "product.created"
    assert headers["X-Request-Id"] == "made-by-a-test"
    assert headers["Content-Type"] == "application/json"
    assert headers["webhook-id"] == envelope["id"]
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + received.raw
    digest = base64.b64encode(hmac.new(secret.encode(), content, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"

    # Who stops writes down what was delivered.
    (delivery,) = await deliveries(app.store)
    assert (delivery["state"], delivery["tries"], delivery["last_status"]) == ("delivered", 1, 200)
    (attempt,) = json.loads(delivery["attempts"])
    assert {key: attempt[key] for key in ("number", "status", "error")} == {
        "number": 1,
        "status": 200,
        "error": "",
    }


async def delivered(app: Caller) -> bool:
    return await states(app.store) == ["delivered"]


async def test_each_endpoint_gets_what_it_asked_for_and_may_have(
    new_app: NewApp, other_admin: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    orders, everything = await new_app("read_orders"), await new_app()
    elsewhere = await new_app(at=other_admin)
    await subscribed(orders, receiver.url("orders"), "order.created", "order.updated")
    await subscribed(everything, receiver.url("users"), "user.registered")
    await subscribed(elsewhere, receiver.url("elsewhere"), "order.updated")
    store = orders.store
    await happen(store, "order.updated")
    await happen(store, "user.registered")
    await happen(store, "product.deleted")
    async with delivering():
        await receiver.until(2)
        await asyncio.sleep(0.2)
    assert receiver.names("/orders") == ["order.updated"]
    assert receiver.names("/users") == ["user.registered"]
    assert receiver.names("/elsewhere") == []
    left = await kit.value(
        store, "select count(*) from outbox_events where tenant_id = $1 and dispatched_at is null", store.id
    )
    assert left == 0


async def test_nobody_is_told_of_what_happened_before_they_asked(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    await happen(app.store)
    await asyncio.sleep(0.01)
    await subscribed(app, receiver.url(), "order.updated")
    await asyncio.sleep(0.01)
    told = await happen(app.store)
    async with delivering():
        await receiver.until(1)
        await asyncio.sleep(0.2)
    assert [each.envelope["id"] for each in receiver.got] == [f"evt_{told[0].hex}"]


async def test_events_of_one_subject_are_numbered(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    await subscribed(app, receiver.url(), "order.updated")
    (first,) = await happen(app.store)
    subject = await kit.value(app.store, "select subject_id from outbox_events where public_id = $1", first)
    await happen(app.store, subject=subject)
    async with delivering():
        await receiver.until(2)
    assert sorted(each.envelope["sequence"] for each in receiver.got) == [1, 2]


async def test_a_failed_delivery_is_tried_again_with_the_same_id(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    receiver.answer = answers(500, 200)
    await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store)
    async with delivering():
        began = time.monotonic()
        first, second = await receiver.until(2)
        assert 3.9 < time.monotonic() - began < 7
        await until(lambda: delivered(app))
    assert first.envelope["id"] == second.envelope["id"]
    assert first.envelope == second.envelope
    (delivery,) = await deliveries(app.store)
    assert (delivery["state"], delivery["tries"]) == ("delivered", 2)
    assert [each["status"] for each in json.loads(delivery["attempts"])] == [500, 200]


async def test_removing_the_app_cancels_what_waits(
    app: Caller, admin: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    receiver.answer = answers(500)
    await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store)
    async with delivering():
        await receiver.until(1)
        await until(lambda: failed(app))
        (installed,) = await done(admin, INSTALLED)
        await done(admin, UNINSTALL, id=installed["id"])
        assert await states(app.store) == ["cancelled"]
        await happen(app.store)
        await asyncio.sleep(0.3)
    assert (await states(app.store), len(receiver.got)) == (["cancelled"], 1)


async def failed(app: Caller) -> bool:
    return await states(app.store) == ["failed"]


async def test_narrowing_scopes_cancels_what_lies_beyond_them(
    new_app: NewApp, admin: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    app = await new_app("read_orders", "read_users")
    receiver.answer = answers(500)
    await subscribed(app, receiver.url(), "order.updated", "user.registered")
    await happen(app.store, "order.updated")
    await happen(app.store, "user.registered")
    async with delivering():
        await receiver.until(2)
        await until(lambda: both_failed(app))
        (installed,) = await done(admin, INSTALLED)
        await done(admin, UPDATE, id=installed["id"], input={"scopes": ["read_users"]})
        assert {each["name"]: each["state"] for each in await deliveries(app.store)} == {
            "order.updated": "cancelled",
            "user.registered": "failed",
        }
        await happen(app.store, "order.updated")
        await asyncio.sleep(0.3)
    assert sorted(each["name"] for each in await deliveries(app.store)) == [
        "order.updated",
        "user.registered",
    ]


async def both_failed(app: Caller) -> bool:
    return await states(app.store) == ["failed", "failed"]


async def test_scopes_are_asked_for_at_the_delivery_itself(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store)
    from domain.webhooks.fan_out import hand_out

    await hand_out()
    # Behind everybody's back: no code cancels what waits.
    await kit.execute(
        app.store, "update app_installations set scopes = '{read_users}' where tenant_id = $1", app.store.id
    )
    async with delivering():
        await until(lambda: cancelled(app))
    assert receiver.got == []


async def cancelled(app: Caller) -> bool:
    return await states(app.store) == ["cancelled"]


async def test_an_endpoint_that_is_gone_is_disabled_and_audited(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    receiver.answer = answers(410)
    ident = await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store)
    async with delivering():
        await until(lambda: disabled(app, ident))
    found = await endpoint(app.store, ident)
    assert (found["status"], found["disabled_reason"]) == ("D", "gone")
    assert await states(app.store) == ["dead"]
    lines = await kit.rows(
        app.store, "select action, details from audit_entries where tenant_id = $1 order by id", app.store.id
    )
    assert [(line["action"], line["details"]) for line in lines][-1] == (
        "event_endpoint.disabled",
        '{"reason": "gone"}',
    )
    shown = await app.get(f"{WEBHOOKS}/{ident}")
    assert (shown.body["status"], shown.body["disabled_reason"]) == ("D", "gone")


async def disabled(app: Caller, ident: str) -> bool:
    return (await endpoint(app.store, ident))["status"] == "D"
