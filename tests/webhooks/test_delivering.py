"""Events reach their subscribers, signed, and no one else."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time

from aiohttp import web

from tests.harness import scopes
from tests.harness.clients import NewApp
from tests.harness.http import Client
from tests.harness.oauth import INSTALLED, UNINSTALL, UPDATE, graphql_result
from tests.webhooks.conftest import RunWorker
from tests.webhooks.kit import WEBHOOKS, deliveries, emit_events, endpoint, sha256, states, subscribe
from tests.webhooks.receiver import Received, Receiver, answers, wait_until


async def test_a_change_in_the_store_is_delivered_and_signed(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    await subscribe(app, receiver.url(), "product.created", "product.updated")
    async with run_worker():
        started = time.monotonic()
        created = await app.post(
            "/api/admin/products", {"name": "Caneca «ágata» <1>", "price_cents": 4_990}, headers={"X-Request-Id": "made-by-a-test"}
        )  # fmt: skip
        (received,) = await receiver.wait_for(1)
        # Triggered by NOTIFY, not by polling.
        assert time.monotonic() - started < 3
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
    assert envelope["timestamp"] == created.body["created_at"]
    assert envelope["data"] == created.body
    assert list(envelope["data"]) == list(created.body)
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

    # Results are stored when the worker stops.
    (delivery,) = await deliveries(app.store)
    assert (delivery["state"], delivery["tries"], delivery["last_status"]) == ("delivered", 1, 200)
    (attempt,) = json.loads(delivery["attempts"])
    assert {key: attempt[key] for key in ("number", "status", "error")} == {
        "number": 1,
        "status": 200,
        "error": "",
    }


async def delivered(app: Client) -> bool:
    return await states(app.store) == ["delivered"]


async def test_each_endpoint_gets_its_subscribed_events_within_its_scopes(
    new_app: NewApp, other_admin: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    orders, everything = await new_app("read_orders"), await new_app()
    elsewhere = await new_app(at=other_admin)
    await subscribe(orders, receiver.url("orders"), "order.created", "order.updated")
    await subscribe(everything, receiver.url("users"), "user.registered")
    await subscribe(elsewhere, receiver.url("elsewhere"), "order.updated")
    store = orders.store
    await emit_events(store, "order.updated")
    await emit_events(store, "user.registered")
    await emit_events(store, "product.deleted")
    async with run_worker():
        await receiver.wait_for(2)
        await asyncio.sleep(0.2)
    assert receiver.names("/orders") == ["order.updated"]
    assert receiver.names("/users") == ["user.registered"]
    assert receiver.names("/elsewhere") == []
    pending = await scopes.value(
        store, "select count(*) from outbox_events where tenant_id = $1 and dispatched_at is null", store.id
    )
    assert pending == 0


async def test_endpoints_get_no_events_from_before_their_creation(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    await emit_events(app.store)
    await asyncio.sleep(0.01)
    await subscribe(app, receiver.url(), "order.updated")
    await asyncio.sleep(0.01)
    event_ids = await emit_events(app.store)
    async with run_worker():
        await receiver.wait_for(1)
        await asyncio.sleep(0.2)
    assert [delivery.envelope["id"] for delivery in receiver.received] == [f"evt_{event_ids[0].hex}"]


async def test_events_of_one_subject_are_numbered_consecutively(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    await subscribe(app, receiver.url(), "order.updated")
    (first,) = await emit_events(app.store)
    subject = await scopes.value(app.store, "select subject_id from outbox_events where public_id = $1", first)
    await emit_events(app.store, subject=subject)
    async with run_worker():
        await receiver.wait_for(2)
    assert sorted(delivery.envelope["sequence"] for delivery in receiver.received) == [1, 2]


async def test_failed_delivery_is_retried_with_the_same_id(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    receiver.answer = answers(500, 200)
    await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store)
    async with run_worker():
        started = time.monotonic()
        first, second = await receiver.wait_for(2)
        assert 3.9 < time.monotonic() - started < 7
        await wait_until(lambda: delivered(app))
    assert first.envelope["id"] == second.envelope["id"]
    assert first.envelope == second.envelope
    (delivery,) = await deliveries(app.store)
    assert (delivery["state"], delivery["tries"]) == ("delivered", 2)
    assert [attempt["status"] for attempt in json.loads(delivery["attempts"])] == [500, 200]


async def test_removing_the_app_cancels_pending_deliveries(
    app: Client, admin: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    receiver.answer = answers(500)
    await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store)
    async with run_worker():
        await receiver.wait_for(1)
        await wait_until(lambda: failed(app))
        (installed,) = await graphql_result(admin, INSTALLED)
        await graphql_result(admin, UNINSTALL, id=installed["id"])
        assert await states(app.store) == ["cancelled"]
        await emit_events(app.store)
        await asyncio.sleep(0.3)
    assert (await states(app.store), len(receiver.received)) == (["cancelled"], 1)


async def failed(app: Client) -> bool:
    return await states(app.store) == ["failed"]


async def test_reducing_scopes_cancels_uncovered_deliveries(
    new_app: NewApp, admin: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    app = await new_app("read_orders", "read_users")
    receiver.answer = answers(500)
    await subscribe(app, receiver.url(), "order.updated", "user.registered")
    await emit_events(app.store, "order.updated")
    await emit_events(app.store, "user.registered")
    async with run_worker():
        await receiver.wait_for(2)
        await wait_until(lambda: both_failed(app))
        (installed,) = await graphql_result(admin, INSTALLED)
        await graphql_result(admin, UPDATE, id=installed["id"], input={"scopes": ["read_users"]})
        assert {delivery["name"]: delivery["state"] for delivery in await deliveries(app.store)} == {
            "order.updated": "cancelled",
            "user.registered": "failed",
        }
        await emit_events(app.store, "order.updated")
        await asyncio.sleep(0.3)
    assert sorted(delivery["name"] for delivery in await deliveries(app.store)) == [
        "order.updated",
        "user.registered",
    ]


async def both_failed(app: Client) -> bool:
    return await states(app.store) == ["failed", "failed"]


async def test_scopes_are_checked_at_delivery(app: Client, receiver: Receiver, run_worker: RunWorker) -> None:
    await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store)
    from domain.webhooks.fan_out import fan_out_events

    while (await fan_out_events()).has_more:  # events of other stores are fanned out first
        pass
    # Directly in the database, so that nothing cancels the pending delivery.
    await scopes.execute(
        app.store, "update app_installations set scopes = '{read_users}' where tenant_id = $1", app.store.id
    )
    async with run_worker():
        await wait_until(lambda: cancelled(app))
    assert receiver.received == []


async def cancelled(app: Client) -> bool:
    return await states(app.store) == ["cancelled"]


async def test_endpoint_answering_410_is_disabled_and_audited(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    receiver.answer = answers(410)
    endpoint_id = await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store)
    async with run_worker():
        await wait_until(lambda: disabled(app, endpoint_id))
    endpoint_row = await endpoint(app.store, endpoint_id)
    assert (endpoint_row["status"], endpoint_row["disabled_reason"]) == ("D", "gone")
    assert await states(app.store) == ["dead"]
    entries = await scopes.rows(
        app.store, "select action, details from audit_entries where tenant_id = $1 order by id", app.store.id
    )
    assert [(entry["action"], entry["details"]) for entry in entries][-1] == (
        "event_endpoint.disabled",
        '{"reason": "gone"}',
    )
    shown = await app.get(f"{WEBHOOKS}/{endpoint_id}")
    assert (shown.body["status"], shown.body["disabled_reason"]) == ("D", "gone")


async def test_failure_at_an_address_no_longer_set_is_not_one_of_the_new_address(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    """The app moves its endpoint while the old address, about to end, is being asked."""
    endpoint_id = await subscribe(app, receiver.url("old"), "order.updated")

    async def answer(_: Received) -> web.Response:
        moved = await app.put(f"{WEBHOOKS}/{endpoint_id}", {"url": receiver.url("new")})
        assert moved.status == 200, moved
        return web.Response(status=410)

    receiver.answer = answer
    await emit_events(app.store)
    async with run_worker():
        await receiver.wait_for(1)
        await wait_until(lambda: is_dead(app))
    endpoint_row = await endpoint(app.store, endpoint_id)
    assert [endpoint_row[name] for name in ("status", "disabled_reason", "failures", "last_failure_at")] == [
        "A",
        "",
        0,
        None,
    ]


async def is_dead(app: Client) -> bool:
    return await states(app.store) == ["dead"]


async def disabled(app: Client, endpoint_id: str) -> bool:
    return (await endpoint(app.store, endpoint_id))["status"] == "D"
