"""Apps and administrators read every event of a store that they may see, in one order, from any place on."""

from __future__ import annotations

import asyncio
import random
from contextvars import Context
from dataclasses import replace

import pytest

from domain import event_feed, events
from domain.jobs import delete_expired_data
from kernel.ids import uuid7
from models.connection import database
from tests.events.kit import FEED, page, read_all
from tests.harness import scopes
from tests.harness.oauth import graphql_error, graphql_result
from tests.webhooks.kit import emit_events

QUERY = """query ($after: String, $types: [String!], $first: Int) {
  events(after: $after, types: $types, first: $first) {
    edges { cursor node { id event created_at tenant_id subject_type subject_id sequence data cursor } }
    page_info { has_next_page has_previous_page start_cursor end_cursor }
  }
}"""


async def test_the_feed_has_every_event_once_in_the_order_of_emission(app, store):
    ids = await emit_events(store, times=7)
    body = await page(app)
    assert [event["id"] for event in body["events"]] == [f"evt_{id_.hex}" for id_ in ids]
    assert body["has_more"] is False
    assert await page(app, after=body["cursor"]) == {"events": [], "cursor": body["cursor"], "has_more": False}


async def test_events_need_no_webhook_endpoint_and_no_worker(app, store):
    [event] = await emit_events(store)
    assert [received["id"] for received in await read_all(app)] == [f"evt_{event.hex}"]


async def test_pages_join_without_loss_or_repetition(app, store):
    ids = await emit_events(store, times=23)
    received = await read_all(app, limit=5)
    assert [event["id"] for event in received] == [f"evt_{id_.hex}" for id_ in ids]


async def test_every_cursor_continues_after_its_event(app, store):
    await emit_events(store, times=4)
    received = await read_all(app)
    for number, event in enumerate(received):
        assert await read_all(app, event["cursor"]) == received[number + 1 :]


async def test_an_event_is_the_envelope_of_a_webhook_without_its_receiver(app, store):
    subject = uuid7()
    await emit_events(store, "order.created", {"id": str(subject), "status": "O"}, subject=subject)
    [event] = await read_all(app)
    assert list(event) == [
        "id", "event", "timestamp", "tenant_id", "subject_type", "subject_id", "sequence", "data", "cursor",
    ]  # fmt: skip
    assert (event["event"], event["tenant_id"], event["sequence"]) == ("order.created", str(store.public_id), 1)
    assert (event["subject_type"], event["subject_id"]) == ("order", str(subject))
    assert event["data"] == {"id": str(subject), "status": "O"}


async def test_graphql_returns_the_same_feed(app, admin, store):
    await emit_events(store, times=3)
    rest = await read_all(app)
    for caller in (app, admin):
        feed = await graphql_result(caller, QUERY, first=2)
        nodes = [edge["node"] for edge in feed["edges"]]
        assert [{**node, "timestamp": node["created_at"]} for node in nodes] == [
            {**event, "created_at": event["timestamp"]} for event in rest[:2]
        ], caller
        assert feed["page_info"] == {
            "has_next_page": True,
            "has_previous_page": False,
            "start_cursor": rest[0]["cursor"],
            "end_cursor": rest[1]["cursor"],
        }, caller


async def test_latest_is_the_place_after_the_newest_event(app, store):
    await emit_events(store, times=2)
    start = await page(app, after="latest")
    assert (start["events"], start["has_more"]) == ([], False)
    [event] = await emit_events(store)
    assert [received["id"] for received in await read_all(app, start["cursor"])] == [f"evt_{event.hex}"]
    assert len(await read_all(app, "oldest")) == 3


async def test_an_empty_feed_has_a_cursor(app, store):
    start = await page(app)
    assert start["events"] == []
    await emit_events(store)
    assert len(await read_all(app, start["cursor"])) == 1


# --- Rights ------------------------------------------------------------------------------------------------------------------


async def test_an_app_sees_the_events_of_its_scopes(new_app, store):
    for name in ("order.updated", "product.updated", "user.registered"):
        await emit_events(store, name)
    orders, products = await new_app("read_orders"), await new_app("write_products")
    assert [event["event"] for event in await read_all(orders)] == ["order.updated"]
    assert [event["event"] for event in await read_all(products)] == ["product.updated"]
    assert await read_all(orders, types="order.created") == []


async def test_requested_types_are_checked(new_app, store):
    app = await new_app("read_orders")
    refused = await app.get(FEED, params={"types": "order.created,user.registered"})
    assert (refused.status, refused.body["error"], refused.body["scope"]) == (403, "token_scope", "read_users")
    unknown = await app.get(FEED, params={"types": "order.created,order.sung"})
    assert (unknown.status, unknown.body["error"], unknown.body["message"]) == (
        400,
        "invalid_parameter",
        "invalid types",
    )
    assert "order.sung" in unknown.body["detail"]


async def test_an_app_without_a_scope_of_any_event_is_refused(new_app):
    app = await new_app("read_content")
    response = await app.get(FEED)
    assert (response.status, response.body["error"]) == (403, "token_scope")


async def test_administrators_see_the_events_of_their_privileges(new_client, store):
    await emit_events(store, "order.updated")
    await emit_events(store, "product.updated")
    clerk = await new_client("view_products")
    feed = await graphql_result(clerk, QUERY)
    assert [edge["node"]["event"] for edge in feed["edges"]] == ["product.updated"]
    refused = await graphql_error(clerk, QUERY, types=["order.updated"])
    assert refused["extensions"]["details"] == {"required": "view_orders"}


@pytest.mark.parametrize("user_type", ["C", "V"])
async def test_customers_and_vendors_read_no_feed(new_client, user_type):
    client = await new_client(user_type=user_type)
    refused = await graphql_error(client, QUERY)
    assert refused["extensions"]["code"] == "FORBIDDEN"


async def test_a_store_sees_its_own_events_only(app, store, other_store):
    await emit_events(other_store, times=3)
    [event] = await emit_events(store)
    assert [received["id"] for received in await read_all(app)] == [f"evt_{event.hex}"]


# --- Cursors -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cursor",
    ["x", "0", "AAAA", "é", "%00", "a" * 5_000, "Zm9vYmFy", "-1", "newest", "[]", "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA"],
)
async def test_an_unknown_cursor_is_refused(app, store, cursor):
    await emit_events(store)
    response = await app.get(FEED, params={"after": cursor})
    assert (response.status, response.body["error"]) == (400, "invalid_parameter")
    refused = await graphql_error(app, QUERY, after=cursor)
    assert refused["extensions"] | {"path": None} == {
        "code": "VALIDATION_FAILED",
        "field": "after",
        "details": {"fields": {"after": "invalid"}},
        "path": None,
    }


async def test_another_stores_cursor_is_refused(app, other_admin, store, other_store):
    await emit_events(store, times=3)
    await emit_events(other_store, times=3)
    foreign = (await graphql_result(other_admin, QUERY))["page_info"]["end_cursor"]
    response = await app.get(FEED, params={"after": foreign})
    assert (response.status, response.body["message"]) == (400, "invalid after")


async def test_a_cursor_after_the_newest_event_is_refused(app, store):
    await emit_events(store)
    await read_all(app)
    beyond = event_feed.encode_cursor(store, 10)
    assert (await app.get(FEED, params={"after": beyond})).status == 400


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1.5", "", "1e3"])
async def test_a_wrong_limit_is_refused(app, limit):
    response = await app.get(FEED, params={"limit": limit})
    assert (response.status, response.body["message"]) == (400, "invalid limit")


async def test_a_limit_is_at_most_1000(app, store):
    await emit_events(store, times=1_003)
    assert len((await page(app, limit=5_000))["events"]) == 1_000
    refused = await graphql_error(app, QUERY, first=1_001)
    assert refused["extensions"]["field"] == "first"


# --- Deletion ----------------------------------------------------------------------------------------------------------------


async def _make_older(store, count: int, days: float) -> None:
    await scopes.execute(
        store,
        "update outbox_events set created_at = created_at - $2 * interval '1 day', dispatched_at = created_at - $2 * interval '1 day'"
        " where tenant_id = $1 and id in (select id from outbox_events where tenant_id = $1 order by id limit $3)",
        store.id,
        days,
        count,
    )


async def test_events_are_kept_for_thirty_days(app, store):
    ids = await emit_events(store, times=5)
    before = await read_all(app)
    await _make_older(store, 3, 30.1)
    await _make_older(store, 4, 0)
    await delete_expired_data(scopes.system_scope(store))
    assert [event["id"] for event in await read_all(app)] == [f"evt_{id_.hex}" for id_ in ids[3:]]
    # A cursor from before the oldest event is refused with the cursor that continues.
    expired = await app.get(FEED, params={"after": before[0]["cursor"]})
    assert (expired.status, expired.body["error"]) == (410, "cursor_expired")
    assert await read_all(app, expired.body["oldest_cursor"]) == before[3:]
    assert await read_all(app, before[2]["cursor"]) == before[3:]
    refused = await graphql_error(app, QUERY, after=before[0]["cursor"])
    assert refused["extensions"]["code"] == "EXPIRED"


async def test_an_expired_cursor_is_recognized_when_the_deleted_events_were_never_read(app, store):
    start = (await page(app, after="latest"))["cursor"]
    await emit_events(store, times=3)
    await _make_older(store, 3, 31)
    await delete_expired_data(scopes.system_scope(store))
    assert (await app.get(FEED, params={"after": start})).status == 410
    # Positions continue in an empty feed.
    end = (await page(app))["cursor"]
    await emit_events(store)
    assert len(await read_all(app, end)) == 1


async def test_a_store_sets_for_how_long_events_are_kept(app, store):
    await emit_events(store, times=2)
    await _make_older(store, 1, 3)
    scope = scopes.system_scope(store)
    kept = await graphql_result(app, QUERY)
    assert len(kept["edges"]) == 2
    await delete_expired_data(replace(scope, store=replace(store, settings={"event_days": 2})))
    assert len(await read_all(app)) == 1


# --- Order -------------------------------------------------------------------------------------------------------------------


async def test_an_event_that_is_committed_late_comes_after_those_that_were_read(app, store):
    scope = scopes.system_scope(store)
    late = uuid7()
    async with database.transaction(scope):
        await events.emit(scope, "order.updated", "order", late, {"id": str(late)})
        await asyncio.create_task(_emit_on_another_connection(store))
        seen = await read_all(app)
        assert [event["subject_id"] for event in seen] != [str(late)]
        assert len(seen) == 3
    [event] = await read_all(app, seen[-1]["cursor"])
    assert event["subject_id"] == str(late)


async def _emit_on_another_connection(store) -> None:
    await asyncio.get_running_loop().create_task(emit_events(store, times=3), context=Context())


async def test_racing_writers_leave_no_gap_and_no_event_before_one_that_was_read(new_app, store):
    app = await new_app(rate=100_000)
    scope = scopes.system_scope(store)
    subjects = [uuid7() for _ in range(5)]
    emitted = 0
    done = asyncio.Event()

    async def write(seed: int) -> None:
        nonlocal emitted
        chance = random.Random(seed)
        for _ in range(12):
            chosen = sorted(chance.sample(subjects, chance.randint(1, 3)))
            try:
                async with database.transaction(scope):
                    await events.emit_all(
                        scope, [events.Event("order.updated", "order", subject, {"n": seed}) for subject in chosen]
                    )
                    await asyncio.sleep(chance.random() * 0.02)
                    if chance.random() < 0.2:
                        raise ZeroDivisionError  # rolled back: its events never happened
            except ZeroDivisionError:
                continue
            emitted += len(chosen)

    async def read(limit: int) -> list[str]:
        received: list[str] = []
        after = "oldest"
        while True:
            is_last = done.is_set()
            body = await page(app, after=after, limit=limit)
            received += [event["id"] for event in body["events"]]
            after = body["cursor"]
            if is_last and not body["has_more"]:
                return received

    readers = [asyncio.create_task(read(limit)) for limit in (1, 3, 1_000)]
    await asyncio.gather(*(write(seed) for seed in range(16)))
    done.set()
    readings = await asyncio.gather(*readers)
    whole = await read_all(app)
    assert len(whole) == emitted > 100
    assert all(reading == [event["id"] for event in whole] for reading in readings)
    for subject in subjects:
        sequences = [event["sequence"] for event in whole if event["subject_id"] == str(subject)]
        assert sequences == list(range(1, len(sequences) + 1)), subject
    positions = await scopes.rows(
        store, "select position from outbox_events where tenant_id = $1 order by position", store.id
    )
    assert [row["position"] for row in positions] == list(range(1, emitted + 1))
