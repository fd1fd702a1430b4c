"""The feed as Server-Sent Events: every event at once and once, resumable, for as long as the credential is valid."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from auth.credential_cache import process_cache
from auth.store_resolution import invalidate_store
from kernel.ids import uuid7
from kernel.settings import Settings
from models.connection import database
from server.http import event_streams, event_tails
from tests.events.kit import FEED, follow, read_all
from tests.harness import scopes
from tests.harness.oauth import graphql_result
from tests.webhooks.kit import emit_events

UNINSTALL = "mutation ($id: ID!) { app_uninstall(id: $id) { id } }"
NARROW = "mutation ($id: ID!, $scopes: [String!]!) { installed_app_update(id: $id, input: {scopes: $scopes}) { id } }"
INSTALLED = "{ installed_apps { id } }"


@pytest.fixture
def fast_heartbeat(monkeypatch):
    monkeypatch.setattr(event_streams, "HEARTBEAT_SECONDS", 0.1)


async def test_an_open_stream_gets_events_as_they_are_committed(app, store):
    async with follow(app) as stream:
        for _ in range(3):
            await emit_events(store, times=2)
            await stream.take(2)
    async with follow(app, after="oldest") as stream:
        assert await stream.take(6) == await read_all(app)


async def test_a_message_has_cursor_name_and_event(app, store):
    async with follow(app) as stream:
        await emit_events(store, "product.updated")
        message = await stream.next()
    assert message == {"id": message["data"]["cursor"], "event": "product.updated", "data": message["data"]}
    assert [message["data"]] == await read_all(app)


async def test_a_stream_continues_after_its_last_event_id(app, store):
    async with follow(app) as stream:
        await emit_events(store, times=4)
        first = await stream.take(2)
        last_id = first[-1]["cursor"]
    await emit_events(store, times=3)
    async with follow(app, last_id=last_id) as stream:
        rest = await stream.take(5)
        await emit_events(store)
        rest += await stream.take(1)
    assert first + rest == await read_all(app)


async def test_a_new_stream_that_saw_no_event_yet_can_be_continued(app, store):
    async with follow(app) as stream:
        await stream.next_block()
        last_id = stream.last_id
    [event] = await emit_events(store)
    async with follow(app, last_id=last_id) as stream:
        assert [received["id"] for received in await stream.take(1)] == [f"evt_{event.hex}"]


async def test_the_last_event_id_takes_precedence_over_the_address(app, store):
    await emit_events(store, times=3)
    events = await read_all(app)
    async with follow(app, after="oldest", last_id=events[1]["cursor"]) as stream:
        assert await stream.take(1) == events[2:]


async def test_a_stream_has_the_requested_types_only(app, store):
    async with follow(app, types="product.updated,order.created") as stream:
        for name in ("order.updated", "product.updated", "order.created"):
            await emit_events(store, name)
        assert [event["event"] for event in await stream.take(2)] == ["product.updated", "order.created"]


async def test_a_heartbeat_moves_the_client_past_what_it_does_not_see(app, store, fast_heartbeat):
    async with follow(app, types="order.created") as stream:
        await stream.next_block()
        await emit_events(store, "user.registered", times=3)
        await asyncio.sleep(0.2)
        for repetition in range(4):
            assert "data" not in await stream.next_block(), repetition
        last_id = stream.last_id
    assert await read_all(app, last_id) == []


async def test_a_stream_that_falls_behind_reads_from_the_database(app, store, monkeypatch):
    monkeypatch.setattr(event_tails, "MAX_EVENTS", 5)
    async with follow(app) as stream:
        for _ in range(8):
            await emit_events(store, times=30)
        assert await stream.take(240) == await read_all(app)


async def test_a_tail_keeps_at_most_its_bytes(app, store, monkeypatch):
    monkeypatch.setattr(event_tails, "MAX_BYTES", 3_000)
    async with follow(app) as stream:
        tail = app.http.app[event_tails.EVENT_TAILS]._tails[store.id][0]
        await emit_events(store, data={"text": "x" * 2_000}, times=10)
        assert len(await stream.take(10)) == 10
        assert tail._bytes <= 3_000
        assert len(tail._events) <= 1


async def test_closed_streams_leave_nothing_behind(app, store):
    tails = app.http.app[event_tails.EVENT_TAILS]
    async with follow(app) as one, follow(app) as other:
        await emit_events(store)
        assert await one.take(1) == await other.take(1)
        assert store.id in tails._tails
    for _ in range(100):
        await emit_events(store)  # the server notices a closed connection when it writes
        if store.id not in tails._tails:
            break
        await asyncio.sleep(0.1)
    assert store.id not in tails._tails


@pytest.mark.parametrize("accept", ["text/event-stream;q=0, application/json", "text/event-stream; q=0.0"])
async def test_a_client_that_refuses_streams_gets_a_page(app, store, accept):
    await emit_events(store)
    page = await app.get(FEED, headers={"Accept": accept})
    assert (page.status, len(page.body["events"])) == (200, 1)


async def test_head_of_a_stream_is_its_head(app, store):
    await emit_events(store)
    address = {"X-Tenant-ID": str(store.public_id), "Accept": "Text/Event-Stream", **app.credentials}
    async with app.http.head(FEED, headers=address) as response:
        assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
    async with app.http.head(FEED, headers={**address, "Last-Event-ID": "nonsense"}) as response:
        assert response.status == 400
    tails = app.http.app[event_tails.EVENT_TAILS]
    assert store.id not in tails._tails


# --- Refusals ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cursor", ["nonsense", "é", "a" * 4_000])
async def test_a_stream_after_an_unknown_cursor_is_refused(app, cursor):
    refused = await app.get(FEED, headers={"Accept": "text/event-stream", "Last-Event-ID": cursor})
    assert (refused.status, refused.body["error"], refused.body["message"]) == (
        400,
        "invalid_parameter",
        "invalid after",
    )


async def test_a_stream_after_an_expired_cursor_is_refused_with_the_oldest(app, store):
    await emit_events(store, times=3)
    first = (await read_all(app))[0]["cursor"]
    await scopes.execute(store, "update event_feeds set expired = 2 where tenant_id = $1", store.id)
    refused = await app.get(FEED, headers={"Accept": "text/event-stream", "Last-Event-ID": first})
    assert (refused.status, refused.body["error"]) == (410, "cursor_expired")
    async with follow(app, last_id=refused.body["oldest_cursor"]) as stream:
        assert len(await stream.take(1)) == 1


async def test_a_caller_has_a_limited_number_of_streams(serve_application, new_app, store):
    http = await serve_application(Settings(ip_rate=0, failed_auth_rate=0, caller_streams=2))
    app = replace(await new_app("read_orders"), http=http)
    async with follow(app), follow(app):
        refused = await app.get(FEED, headers={"Accept": "text/event-stream"})
        assert (refused.status, refused.body["error"], refused.headers["Retry-After"]) == (
            429,
            "rate_limit_exceeded",
            "5",
        )


async def test_streams_take_no_slot_of_the_requests_of_an_address_and_have_no_time_out(
    serve_application, new_app, store
):
    http = await serve_application(Settings(ip_rate=0, failed_auth_rate=0, address_requests=2, request_timeout=0.5))
    app = replace(await new_app("read_orders"), http=http)
    async with follow(app) as one, follow(app) as two, follow(app) as three:
        assert await read_all(app) == []
        await asyncio.sleep(0.8)
        await emit_events(store)
        assert await one.take(1) == await two.take(1) == await three.take(1)


# --- Rights ------------------------------------------------------------------------------------------------------------------


async def _ended(stream) -> dict:
    message = await stream.next()
    assert message is not None
    assert message["event"] == "end", message
    assert await stream.next() is None
    return message["data"]


async def test_a_stream_ends_when_its_app_is_removed(new_app, admin, store, fast_heartbeat):
    app = await new_app("read_orders")
    [installed] = await graphql_result(admin, INSTALLED)
    async with follow(app) as stream:
        await emit_events(store)
        await stream.take(1)
        await graphql_result(admin, UNINSTALL, id=installed["id"])
        await emit_events(store)  # not seen any more
        assert (await _ended(stream))["error"] == "invalid_token"


async def test_rights_are_checked_for_each_event(new_app, admin, store):
    app = await new_app("read_orders", "read_products")
    [installed] = await graphql_result(admin, INSTALLED)
    async with follow(app) as stream:
        await emit_events(store, "order.created")
        await stream.take(1)
        await graphql_result(admin, NARROW, id=installed["id"], scopes=["read_products"])
        await emit_events(store, "order.updated")
        await emit_events(store, "product.updated")
        assert [event["event"] for event in await stream.take(1)] == ["product.updated"]


async def test_a_stream_ends_when_its_token_expires(app, store, fast_heartbeat):
    async with follow(app) as stream:
        await stream.next_block()
        await scopes.execute(
            store, "update app_tokens set expires_at = now() - interval '1 second' where tenant_id = $1", store.id
        )
        process_cache().clear()  # what a later `expires_at` would do by itself
        assert (await _ended(stream))["error"] == "invalid_token"


async def test_a_stream_ends_when_its_store_is_suspended(app, store, fast_heartbeat):
    async with follow(app) as stream:
        await stream.next_block()
        async with database.cross_store_connection() as connection:
            await connection.execute("update tenants set status = 'S' where id = $1", store.id)
        await invalidate_store(store.id)
        assert (await _ended(stream))["error"] == "tenant_suspended"


async def test_streams_end_with_a_resumable_end_when_the_server_stops(serve_application, new_app, store):
    http = await serve_application(Settings(ip_rate=0, failed_auth_rate=0))
    app = replace(await new_app("read_orders"), http=http)
    async with follow(app) as stream:
        await emit_events(store, subject=uuid7())
        await stream.take(1)
        http.app[event_tails.EVENT_TAILS].stop()
        while await stream.next_block():
            pass
        last_id = stream.last_id
    assert await read_all(app, last_id) == []
