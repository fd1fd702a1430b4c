"""Deliveries survive crashes of workers, receivers and database connections, and one endpoint doesn't delay others."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import socket
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from aiohttp import web

from domain.webhooks import claims
from kernel.ids import uuid7
from models.connection import database as models_database
from server.embedded_postgres import EmbeddedServer
from tests.harness import scopes
from tests.harness.clients import NewApp
from tests.harness.database import SECRET
from tests.harness.http import Client, system_trust
from tests.webhooks.conftest import RunWorker
from tests.webhooks.killed_worker import LEASE
from tests.webhooks.kit import deliveries, emit_events, endpoint, states, subscribe
from tests.webhooks.receiver import Received, Receiver, answers, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
_KILLS = 4


async def count_pending(app: Client) -> int:
    rows: int = await scopes.value(
        app.store,
        "select count(*) from event_deliveries where tenant_id = $1 and due_at is not null",
        app.store.id,
    )
    return rows


async def all_processed(app: Client) -> bool:
    waiting = await scopes.value(
        app.store,
        "select count(*) from outbox_events where tenant_id = $1 and dispatched_at is null",
        app.store.id,
    )
    return waiting == 0 and await count_pending(app) == 0


# --- Crashes -----------------------------------------------------------------------------------------------------------


async def _ready(url: str) -> Process:
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.webhooks.killed_worker",
        url,
        SECRET.decode(),
        stdin=PIPE,
        stdout=PIPE,
        cwd=ROOT,
    )
    assert worker.stdout is not None
    assert await worker.stdout.readline() == b"ready\n"
    return worker


def _start(worker: Process) -> None:
    assert worker.stdin is not None
    worker.stdin.write(b"begin\n")


async def _kill(worker: Process) -> None:
    if worker.returncode is None:
        worker.send_signal(signal.SIGKILL)
    await worker.wait()


async def test_killed_workers_lose_no_events_and_duplicate_only_those_in_flight(
    app: Client, receiver: Receiver, database_url: str
) -> None:
    chance = random.Random(20261120)

    async def slowly(_: Received) -> web.Response:
        await asyncio.sleep(chance.uniform(0.0, 0.02))
        return web.Response()

    receiver.answer = slowly
    await subscribe(app, receiver.url("orders"), "order.updated")
    await subscribe(app, receiver.url("users"), "user.registered")
    wanted = {
        "/orders": {f"evt_{event_id.hex}" for event_id in await emit_events(app.store, "order.updated", times=500)},
        "/users": {f"evt_{event_id.hex}" for event_id in await emit_events(app.store, "user.registered", times=500)},
    }
    # Started beforehand, so that the test controls when they are killed; two at a time share the work.
    workers = await asyncio.gather(*(_ready(database_url) for _ in range(_KILLS + 2)))
    before: list[int] = []
    try:
        for worker in workers[:2]:
            _start(worker)
        for number in range(_KILLS):
            await receiver.wait_for(number * 900 // _KILLS, 30)
            await asyncio.sleep(chance.uniform(0.0, 0.1))
            before.append(len(receiver.received))
            await _kill(workers[number])
            _start(workers[number + 2])
        await wait_until(lambda: all_processed(app), 60)
    finally:
        await asyncio.gather(*(_kill(worker) for worker in workers))
    assert before[-1] < 1_000
    for path, ids in wanted.items():
        times = Counter(delivery.envelope["id"] for delivery in receiver.received if delivery.path == path)
        assert set(times) == ids
        # Only what was in flight when a worker was killed is delivered again.
        assert sum(times.values()) - len(ids) <= _KILLS * 4
    assert set(await states(app.store)) == {"delivered"}


@pytest.mark.parametrize("ahead", ["0 days", "1 day"], ids=["right", "ahead"])
async def test_an_endpoint_gets_what_happens_after_its_creation_also_when_the_clock_was_set_back(
    app: Client, receiver: Receiver, run_worker: RunWorker, ahead: str
) -> None:
    await emit_events(app.store)
    async with run_worker():
        await wait_until(lambda: all_processed(app))
    await subscribe(app, receiver.url(), "order.updated")
    sql = "update event_endpoints set created_at = created_at + $2::text::interval where tenant_id = $1"
    await scopes.execute(app.store, sql, app.store.id, ahead)
    [event] = await emit_events(app.store)
    async with run_worker():
        await receiver.wait_for(1)
        await wait_until(lambda: all_processed(app))
    assert [delivery.envelope["id"] for delivery in receiver.received] == [f"evt_{event.hex}"]


async def test_expired_claims_are_delivered_by_another_worker(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store)
    from domain.webhooks.fan_out import fan_out_events

    while (await fan_out_events()).has_more:  # events of other stores are fanned out first
        pass
    claimed = await claims.claim(uuid7(), 100_000, 100_000, lease=timedelta(seconds=0.7))
    assert app.store.id in {delivery.store_id for delivery in claimed}
    assert await states(app.store) == ["delivering"]
    started = time.monotonic()
    async with run_worker(lease=LEASE):
        await receiver.wait_for(1)
        await wait_until(lambda: all_processed(app))
    assert time.monotonic() - started > 0.5


async def test_stopping_worker_finishes_current_deliveries(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    async def slowly(_: Received) -> web.Response:
        await asyncio.sleep(0.5)
        return web.Response()

    receiver.answer = slowly
    await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store)
    async with run_worker():
        await receiver.wait_for(1)
    assert await states(app.store) == ["delivered"]


async def test_stopping_worker_releases_unfinished_deliveries(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    async def never(_: Received) -> web.Response:
        await asyncio.sleep(20)
        return web.Response()

    receiver.answer = never
    await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store)
    async with run_worker(stop_seconds=0.2):
        await receiver.wait_for(1)
    (delivery,) = await deliveries(app.store)
    assert (delivery["state"], delivery["tries"], delivery["claim"]) == ("pending", 0, None)
    receiver.answer = None
    async with run_worker():
        await wait_until(lambda: all_processed(app))


# --- The database ----------------------------------------------------------------------------------------------------


async def test_worker_survives_dropped_database_connections(
    app: Client, receiver: Receiver, run_worker: RunWorker, postgres: EmbeddedServer, database_url: str
) -> None:
    async def slowly(_: Received) -> web.Response:
        await asyncio.sleep(0.01)
        return web.Response()

    receiver.answer = slowly
    await subscribe(app, receiver.url(), "order.updated")
    event_ids = await emit_events(app.store, times=150)
    name = database_url.rpartition("/")[2].partition("?")[0]
    admin = await asyncpg.connect(postgres.superuser_url())
    try:
        async with run_worker(count=2, lease=LEASE):
            for _ in range(5):
                await asyncio.sleep(0.15)
                await admin.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()",
                    name,
                )
            await wait_until(lambda: _all_processed_or_error(app), 30)
            # The LISTEN connection is re-established: new events are notified.
            await asyncio.sleep(1.5)
            later = await _emit_one(app)
            await wait_until(lambda: later in {delivery.envelope["id"] for delivery in receiver.received})
    finally:
        await admin.close()
    assert {f"evt_{event_id.hex}" for event_id in event_ids} <= {
        delivery.envelope["id"] for delivery in receiver.received
    }


async def _all_processed_or_error(app: Client) -> bool:
    try:
        return await all_processed(app)
    except Exception:
        return False  # our own connections are dropped too


async def _emit_one(app: Client) -> str:
    (made,) = await emit_events(app.store)
    return f"evt_{made.hex}"


# --- Sharing ---------------------------------------------------------------------------------------------------------


async def test_concurrent_workers_deliver_each_event_once(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    for path in ("one", "two"):
        await subscribe(app, receiver.url(path), "order.updated")
    event_ids = await emit_events(app.store, times=100)
    async with run_worker(count=4):
        await wait_until(lambda: all_processed(app), 30)
    times = Counter((delivery.path, delivery.envelope["id"]) for delivery in receiver.received)
    assert times == {(path, f"evt_{event_id.hex}"): 1 for event_id in event_ids for path in ("/one", "/two")}


async def test_an_endpoint_has_at_most_four_deliveries_in_flight(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    async def slowly(_: Received) -> web.Response:
        await asyncio.sleep(0.05)
        return web.Response()

    receiver.answer = slowly
    await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store, times=40)
    async with run_worker(count=3):
        await wait_until(lambda: all_processed(app), 30)
    assert receiver.max_in_flight == 4


async def test_hanging_endpoints_do_not_delay_others(
    new_app: NewApp, receiver: Receiver, run_worker: RunWorker
) -> None:
    """Twelve hanging endpoints with a hundred events each, and a working one, in a worker with 16 slots."""

    async def hang(received: Received) -> web.Response:
        if received.path.startswith("/dead"):
            await asyncio.sleep(30)
        return web.Response()

    receiver.answer = hang
    app = await new_app()
    for number in range(12):
        await subscribe(app, receiver.url(f"dead{number}"), "order.updated")
    await subscribe(app, receiver.url("well"), "user.registered")
    await emit_events(app.store, "order.updated", times=100)
    async with run_worker(max_in_flight=16, timeout=0.5):
        await wait_until(lambda: len(receiver.received) > 8)
        for repetition in range(5):
            started = time.monotonic()
            before = len(receiver.names("/well"))
            await emit_events(app.store, "user.registered")
            await wait_until(partial(_received_more, before, receiver))
            assert time.monotonic() - started < 3, repetition


def _received_more(before: int, receiver: Receiver) -> bool:
    return len(receiver.names("/well")) > before


async def test_circuit_breaker_pauses_a_failing_endpoint(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    receiver.answer = answers(500)
    endpoint_id = await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store, times=60)
    async with run_worker():
        await wait_until(lambda: _paused(app, endpoint_id))
        await asyncio.sleep(0.3)
        tried = len(receiver.received)
        # The remaining events are not attempted; up to four more were in flight.
        assert 10 <= tried <= 14
        # After the pause one delivery is attempted alone; when it succeeds all others follow.
        receiver.answer = None
        await scopes.execute(
            app.store, "update event_endpoints set paused_until = now() where tenant_id = $1", app.store.id
        )
        await wait_until(lambda: len(receiver.received) >= 60)
    rows = await endpoint(app.store, endpoint_id)
    assert (rows["failures"], rows["paused_until"], rows["failing_since"]) == (0, None, None)


async def _paused(app: Client, endpoint_id: str) -> bool:
    return (await endpoint(app.store, endpoint_id))["paused_until"] is not None


# --- Receivers -------------------------------------------------------------------------------------------------------


async def _attempt_once(
    app: Client, receiver: Receiver, run_worker: RunWorker, url: str | None = None, **options: Any
) -> Any:
    await subscribe(app, url or receiver.url(), "order.updated")
    await emit_events(app.store)
    async with run_worker(**options):
        await wait_until(lambda: _was_attempted(app))
    (delivery,) = await deliveries(app.store)
    return delivery


async def _was_attempted(app: Client) -> bool:
    rows = await deliveries(app.store)
    return bool(rows) and rows[0]["tries"] > 0


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_status_is_a_success(app: Client, receiver: Receiver, run_worker: RunWorker, status: int) -> None:
    receiver.answer = answers(status)
    delivery = await _attempt_once(app, receiver, run_worker)
    assert (delivery["state"], delivery["last_status"], delivery["due_at"]) == ("delivered", status, None)


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 404, 500, 503])
async def test_any_other_status_fails_including_redirects(
    app: Client, receiver: Receiver, run_worker: RunWorker, status: int
) -> None:
    receiver.answer = answers(status, headers={"Location": receiver.url("elsewhere")})
    delivery = await _attempt_once(app, receiver, run_worker)
    assert (delivery["state"], delivery["last_status"]) == ("failed", status)
    assert delivery["last_error"] == f"answered {status}"
    assert {delivery.path for delivery in receiver.received} == {"/hook"}
    left = (delivery["due_at"] - delivery["updated_at"]).total_seconds()
    assert 3.5 < left < 6.5


async def test_unresponsive_receiver_times_out(app: Client, receiver: Receiver, run_worker: RunWorker) -> None:
    async def hang(_: Received) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    receiver.answer = hang
    delivery = await _attempt_once(app, receiver, run_worker, timeout=0.4)
    assert (delivery["state"], delivery["last_status"], delivery["last_error"]) == (
        "failed",
        None,
        "timed out",
    )
    (attempt,) = json.loads(delivery["attempts"])
    assert 350 < attempt["duration_ms"] < 3_000


async def test_default_timeout_is_ten_seconds(app: Client, receiver: Receiver, run_worker: RunWorker) -> None:
    async def hang(_: Received) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    receiver.answer = hang
    delivery = await _attempt_once(app, receiver, run_worker)
    (attempt,) = json.loads(delivery["attempts"])
    assert 9_500 < attempt["duration_ms"] < 12_000


async def test_unreachable_receiver_is_retried(app: Client, receiver: Receiver, run_worker: RunWorker) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    delivery = await _attempt_once(app, receiver, run_worker, f"http://127.0.0.1:{port}/")
    assert (delivery["state"], delivery["last_error"]) == ("failed", "the connection was refused")


async def test_retry_after_delays_the_retry_and_the_endpoint(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    receiver.answer = answers(429, headers={"Retry-After": "120"})
    delivery = await _attempt_once(app, receiver, run_worker)
    left = (delivery["due_at"] - delivery["updated_at"]).total_seconds()
    assert 115 < left < 125
    rows = (await scopes.rows(app.store, "select * from event_endpoints where tenant_id = $1", app.store.id))[0]
    assert 110 < (rows["paused_until"] - delivery["updated_at"]).total_seconds() < 125


async def test_delivery_is_dead_after_the_last_attempt(app: Client, receiver: Receiver, run_worker: RunWorker) -> None:
    receiver.answer = answers(500)
    await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store)
    async with run_worker():
        for tries in range(1, 11):
            await wait_until(partial(_has_attempts, app, tries))
            # Make retries due now instead of in hours.
            await scopes.execute(
                app.store,
                "update event_deliveries set due_at = now() where tenant_id = $1 and state = 'failed'",
                app.store.id,
            )
            await scopes.execute(
                app.store, "update event_endpoints set paused_until = null where tenant_id = $1", app.store.id
            )
        await asyncio.sleep(0.3)
    (delivery,) = await deliveries(app.store)
    assert (delivery["state"], delivery["tries"], delivery["due_at"]) == ("dead", 10, None)
    assert [attempt["number"] for attempt in json.loads(delivery["attempts"])] == list(range(1, 11))
    assert len(receiver.received) == 10
    assert len({delivery.envelope["id"] for delivery in receiver.received}) == 1


async def _has_attempts(app: Client, tries: int) -> bool:
    rows = await deliveries(app.store)
    return bool(rows) and rows[0]["tries"] >= tries


async def test_endpoint_failing_for_five_days_is_disabled_and_audited(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    receiver.answer = answers(500)
    endpoint_id = await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store, times=2)
    await scopes.execute(
        app.store,
        "update event_endpoints set failing_since = now() - interval '5 days 1 minute' where tenant_id = $1",
        app.store.id,
    )
    async with run_worker():
        await wait_until(lambda: _is_disabled(app, endpoint_id))
    rows = await endpoint(app.store, endpoint_id)
    assert rows["disabled_reason"] == "failing"
    assert set(await states(app.store)) == {"cancelled"}
    line = await scopes.value(
        app.store,
        "select details from audit_entries where action = 'event_endpoint.disabled' and tenant_id = $1",
        app.store.id,
    )
    assert json.loads(line) == {"reason": "failing"}


async def _is_disabled(app: Client, endpoint_id: str) -> bool:
    return (await endpoint(app.store, endpoint_id))["status"] == "D"


async def test_private_address_is_refused_on_every_attempt(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    from server.outgoing import outgoing_client

    endpoint_id = await subscribe(app, "https://hooks.example.com/", "order.updated")
    lookups: list[str] = []

    async def lookup(host: str, _: int) -> list[str]:
        lookups.append(host)
        return ["169.254.169.254"]

    await emit_events(app.store)
    async with outgoing_client(allows_private=False, lookup=lookup, trust=system_trust()), run_worker():
        await wait_until(lambda: _has_attempts(app, 2))
    (delivery,) = await deliveries(app.store)
    assert "hooks.example.com is not at an address of the public internet" in delivery["last_error"]
    assert lookups.count("hooks.example.com") == 2
    assert (await endpoint(app.store, endpoint_id))["failures"] == 2


# --- Retention ---------------------------------------------------------------------------------------------------------


async def test_delivered_events_are_deleted_after_thirty_days_pending_ones_later(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    from domain.jobs import delete_expired_data

    await subscribe(app, receiver.url(), "order.updated")
    await emit_events(app.store, times=3)
    async with run_worker():
        await wait_until(lambda: all_processed(app))
    old = "now() - interval '30 days 1 hour'"
    ids = [delivery["event_id"] for delivery in await deliveries(app.store)]
    await scopes.execute(
        app.store,
        f"update outbox_events set created_at = {old}, dispatched_at = {old} where id = any($1)",
        ids[:2],
    )
    await scopes.execute(
        app.store,
        "update event_deliveries set state = 'failed', due_at = now() + interval '1 day' where event_id = $1",
        ids[1],
    )
    await delete_expired_data(scopes.system_scope(app.store))
    assert [delivery["event_id"] for delivery in await deliveries(app.store)] == ids[1:]


async def test_worker_reads_deliveries_of_all_stores_and_stores_only_their_own(
    app: Client, other_admin: Client, receiver: Receiver
) -> None:
    await subscribe(app, receiver.url(), "order.updated")
    assert await scopes.value(other_admin.store, "select count(*) from event_endpoints") == 0
    async with models_database.cross_store_connection() as connection:
        assert await connection.fetchval("select count(*) from event_endpoints where tenant_id = $1", app.store.id) == 1
