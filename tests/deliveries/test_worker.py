"""Whatever happens to workers, receivers and the database, events arrive, and one endpoint costs the others nothing."""

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
from models import database as models_database
from server.embedded_postgres import EmbeddedServer
from tests.apps.conftest import NewApp
from tests.current import kit
from tests.current.kit import Caller
from tests.deliveries.conftest import Delivering
from tests.deliveries.killed_worker import LEASE
from tests.deliveries.kit import deliveries, endpoint, happen, states, subscribed
from tests.deliveries.receiver import Received, Receiver, answers, until
from tests.shop import SECRET

ROOT = Path(__file__).resolve().parents[2]
_KILLED = 4


async def open_ones(app: Caller) -> int:
    found: int = await kit.value(
        app.store,
        "select count(*) from event_deliveries where tenant_id = $1 and due_at is not null",
        app.store.id,
    )
    return found


async def all_over(app: Caller) -> bool:
    waiting = await kit.value(
        app.store,
        "select count(*) from outbox_events where tenant_id = $1 and dispatched_at is null",
        app.store.id,
    )
    return waiting == 0 and await open_ones(app) == 0


# --- Death -----------------------------------------------------------------------------------------------------------


async def _ready(url: str) -> Process:
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.deliveries.killed_worker",
        url,
        SECRET.decode(),
        stdin=PIPE,
        stdout=PIPE,
        cwd=ROOT,
    )
    assert worker.stdout is not None
    assert await worker.stdout.readline() == b"ready\n"
    return worker


def _begin(worker: Process) -> None:
    assert worker.stdin is not None
    worker.stdin.write(b"begin\n")


async def _kill(worker: Process) -> None:
    if worker.returncode is None:
        worker.send_signal(signal.SIGKILL)
    await worker.wait()


@pytest.mark.slow
async def test_workers_that_are_killed_at_any_moment_lose_nothing_and_invent_nothing(
    app: Caller, receiver: Receiver, database_url: str
) -> None:
    chance = random.Random(20261120)

    async def slowly(_: Received) -> web.Response:
        await asyncio.sleep(chance.uniform(0.0, 0.02))
        return web.Response()

    receiver.answer = slowly
    await subscribed(app, receiver.url("orders"), "order.updated")
    await subscribed(app, receiver.url("users"), "user.registered")
    wanted = {
        "/orders": {f"evt_{each.hex}" for each in await happen(app.store, "order.updated", times=500)},
        "/users": {f"evt_{each.hex}" for each in await happen(app.store, "user.registered", times=500)},
    }
    # Loaded beforehand, so that the moments of their deaths are ours to choose; two at a time share the work.
    workers = await asyncio.gather(*(_ready(database_url) for _ in range(_KILLED + 2)))
    before: list[int] = []
    try:
        for worker in workers[:2]:
            _begin(worker)
        for number in range(_KILLED):
            await receiver.until(number * 900 // _KILLED, 30)
            await asyncio.sleep(chance.uniform(0.0, 0.1))
            before.append(len(receiver.got))
            await _kill(workers[number])
            _begin(workers[number + 2])
        await until(lambda: all_over(app), 60)
    finally:
        await asyncio.gather(*(_kill(worker) for worker in workers))
    assert before[-1] < 1_000
    for path, ids in wanted.items():
        times = Counter(each.envelope["id"] for each in receiver.got if each.path == path)
        assert set(times) == ids
        # What was in flight when a worker died, and nothing else, came again.
        assert sum(times.values()) - len(ids) <= _KILLED * 4
    assert set(await states(app.store)) == {"delivered"}


async def test_what_a_dead_worker_had_claimed_is_done_by_another_when_its_lease_ends(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store)
    from domain.webhooks.fan_out import hand_out

    await hand_out()
    claimed = await claims.claim(uuid7(), 100_000, 100_000, lease=timedelta(seconds=0.7))
    assert app.store.id in {each.store_number for each in claimed}
    assert await states(app.store) == ["delivering"]
    began = time.monotonic()
    async with delivering(lease=LEASE):
        await receiver.until(1)
        await until(lambda: all_over(app))
    assert time.monotonic() - began > 0.5


async def test_a_worker_that_stops_finishes_what_it_does(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    async def slowly(_: Received) -> web.Response:
        await asyncio.sleep(0.5)
        return web.Response()

    receiver.answer = slowly
    await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store)
    async with delivering():
        await receiver.until(1)
    assert await states(app.store) == ["delivered"]


async def test_a_worker_that_must_stop_gives_back_what_it_can_not_finish(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    async def never(_: Received) -> web.Response:
        await asyncio.sleep(20)
        return web.Response()

    receiver.answer = never
    await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store)
    async with delivering(stop_seconds=0.2):
        await receiver.until(1)
    (delivery,) = await deliveries(app.store)
    assert (delivery["state"], delivery["tries"], delivery["claim"]) == ("pending", 0, None)
    receiver.answer = None
    async with delivering():
        await until(lambda: all_over(app))


# --- The database ----------------------------------------------------------------------------------------------------


async def test_a_database_that_drops_its_connections_is_survived(
    app: Caller, receiver: Receiver, delivering: Delivering, postgres: EmbeddedServer, database_url: str
) -> None:
    async def slowly(_: Received) -> web.Response:
        await asyncio.sleep(0.01)
        return web.Response()

    receiver.answer = slowly
    await subscribed(app, receiver.url(), "order.updated")
    told = await happen(app.store, times=150)
    name = database_url.rpartition("/")[2].partition("?")[0]
    admin = await asyncpg.connect(postgres.superuser_url())
    try:
        async with delivering(count=2, lease=LEASE):
            for _ in range(5):
                await asyncio.sleep(0.15)
                await admin.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()",
                    name,
                )
            await until(lambda: _quietly(app), 30)
            # The listening connection stands again: what happens now is heard of.
            await asyncio.sleep(1.5)
            later = await _happening(app)
            await until(lambda: later in {each.envelope["id"] for each in receiver.got})
    finally:
        await admin.close()
    assert {f"evt_{each.hex}" for each in told} <= {each.envelope["id"] for each in receiver.got}


async def _quietly(app: Caller) -> bool:
    try:
        return await all_over(app)
    except Exception:
        return False  # our own connections are dropped too


async def _happening(app: Caller) -> str:
    (made,) = await happen(app.store)
    return f"evt_{made.hex}"


# --- Sharing ---------------------------------------------------------------------------------------------------------


async def test_several_workers_share_the_work_and_do_nothing_twice(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    for path in ("one", "two"):
        await subscribed(app, receiver.url(path), "order.updated")
    told = await happen(app.store, times=100)
    async with delivering(count=4):
        await until(lambda: all_over(app), 30)
    times = Counter((each.path, each.envelope["id"]) for each in receiver.got)
    assert times == {(path, f"evt_{each.hex}"): 1 for each in told for path in ("/one", "/two")}


async def test_an_endpoint_has_at_most_four_deliveries_under_way(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    async def slowly(_: Received) -> web.Response:
        await asyncio.sleep(0.05)
        return web.Response()

    receiver.answer = slowly
    await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store, times=40)
    async with delivering(count=3):
        await until(lambda: all_over(app), 30)
    assert receiver.most_under_way == 4


async def test_endpoints_that_hang_keep_nobody_waiting(
    new_app: NewApp, receiver: Receiver, delivering: Delivering
) -> None:
    """Twelve dead endpoints, each with a hundred events, and one that is well, in a worker with 16 places."""

    async def hang(received: Received) -> web.Response:
        if received.path.startswith("/dead"):
            await asyncio.sleep(30)
        return web.Response()

    receiver.answer = hang
    app = await new_app()
    for number in range(12):
        await subscribed(app, receiver.url(f"dead{number}"), "order.updated")
    await subscribed(app, receiver.url("well"), "user.registered")
    await happen(app.store, "order.updated", times=100)
    async with delivering(most=16, timeout=0.5):
        await until(lambda: len(receiver.got) > 8)
        for _ in range(5):
            began = time.monotonic()
            before = len(receiver.names("/well"))
            await happen(app.store, "user.registered")
            await until(partial(_more_than, before, receiver))
            assert time.monotonic() - began < 3


def _more_than(before: int, receiver: Receiver) -> bool:
    return len(receiver.names("/well")) > before


async def test_an_endpoint_that_only_fails_gets_a_rest(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    receiver.answer = answers(500)
    ident = await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store, times=60)
    async with delivering():
        await until(lambda: _paused(app, ident))
        await asyncio.sleep(0.3)
        tried = len(receiver.got)
        # The rest of the sixty is spared; the four that were under way may have come to an end.
        assert 10 <= tried <= 14
        # The rest is over: one is tried alone, and when it is taken all go out.
        receiver.answer = None
        await kit.execute(
            app.store, "update event_endpoints set paused_until = now() where tenant_id = $1", app.store.id
        )
        await until(lambda: len(receiver.got) >= 60)
    found = await endpoint(app.store, ident)
    assert (found["failures"], found["paused_until"], found["failing_since"]) == (0, None, None)


async def _paused(app: Caller, ident: str) -> bool:
    return (await endpoint(app.store, ident))["paused_until"] is not None


# --- Receivers -------------------------------------------------------------------------------------------------------


async def _one_try(
    app: Caller, receiver: Receiver, delivering: Delivering, url: str | None = None, **how: Any
) -> Any:
    await subscribed(app, url or receiver.url(), "order.updated")
    await happen(app.store)
    async with delivering(**how):
        await until(lambda: _tried(app))
    (delivery,) = await deliveries(app.store)
    return delivery


async def _tried(app: Caller) -> bool:
    found = await deliveries(app.store)
    return bool(found) and found[0]["tries"] > 0


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_is_a_success(
    app: Caller, receiver: Receiver, delivering: Delivering, status: int
) -> None:
    receiver.answer = answers(status)
    delivery = await _one_try(app, receiver, delivering)
    assert (delivery["state"], delivery["last_status"], delivery["due_at"]) == ("delivered", status, None)


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 404, 500, 503])
async def test_anything_else_fails_redirects_too(
    app: Caller, receiver: Receiver, delivering: Delivering, status: int
) -> None:
    receiver.answer = answers(status, headers={"Location": receiver.url("elsewhere")})
    delivery = await _one_try(app, receiver, delivering)
    assert (delivery["state"], delivery["last_status"]) == ("failed", status)
    assert delivery["last_error"] == f"answered {status}"
    assert {each.path for each in receiver.got} == {"/hook"}
    left = (delivery["due_at"] - delivery["updated_at"]).total_seconds()
    assert 3.5 < left < 6.5


async def test_a_receiver_that_does_not_answer_is_not_waited_for(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    async def hang(_: Received) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    receiver.answer = hang
    delivery = await _one_try(app, receiver, delivering, timeout=0.4)
    assert (delivery["state"], delivery["last_status"], delivery["last_error"]) == (
        "failed",
        None,
        "timed out",
    )
    (attempt,) = json.loads(delivery["attempts"])
    assert 350 < attempt["duration_ms"] < 3_000


async def test_the_times_are_the_decided_ones(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    """Ten seconds for the answer: measured once, for real."""

    async def hang(_: Received) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    receiver.answer = hang
    delivery = await _one_try(app, receiver, delivering)
    (attempt,) = json.loads(delivery["attempts"])
    assert 9_500 < attempt["duration_ms"] < 12_000


async def test_a_receiver_that_is_away_is_tried_again(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    delivery = await _one_try(app, receiver, delivering, f"http://127.0.0.1:{port}/")
    assert (delivery["state"], delivery["last_error"]) == ("failed", "the connection was refused")


async def test_a_pause_that_is_asked_for_is_given(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    receiver.answer = answers(429, headers={"Retry-After": "120"})
    delivery = await _one_try(app, receiver, delivering)
    left = (delivery["due_at"] - delivery["updated_at"]).total_seconds()
    assert 115 < left < 125
    found = (await kit.rows(app.store, "select * from event_endpoints where tenant_id = $1", app.store.id))[0]
    assert 110 < (found["paused_until"] - delivery["updated_at"]).total_seconds() < 125


async def test_after_the_last_try_a_delivery_is_dead(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    receiver.answer = answers(500)
    await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store)
    async with delivering():
        for tries in range(1, 11):
            await until(partial(_has_tried, app, tries))
            # Time flies: what is due in hours is due now.
            await kit.execute(
                app.store,
                "update event_deliveries set due_at = now() where tenant_id = $1 and state = 'failed'",
                app.store.id,
            )
            await kit.execute(
                app.store, "update event_endpoints set paused_until = null where tenant_id = $1", app.store.id
            )
        await asyncio.sleep(0.3)
    (delivery,) = await deliveries(app.store)
    assert (delivery["state"], delivery["tries"], delivery["due_at"]) == ("dead", 10, None)
    assert [each["number"] for each in json.loads(delivery["attempts"])] == list(range(1, 11))
    assert len(receiver.got) == 10
    assert len({each.envelope["id"] for each in receiver.got}) == 1


async def _has_tried(app: Caller, tries: int) -> bool:
    found = await deliveries(app.store)
    return bool(found) and found[0]["tries"] >= tries


async def test_an_endpoint_that_has_only_failed_for_five_days_is_disabled_and_audited(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    receiver.answer = answers(500)
    ident = await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store, times=2)
    await kit.execute(
        app.store,
        "update event_endpoints set failing_since = now() - interval '5 days 1 minute' where tenant_id = $1",
        app.store.id,
    )
    async with delivering():
        await until(lambda: _is_disabled(app, ident))
    found = await endpoint(app.store, ident)
    assert found["disabled_reason"] == "failing"
    assert set(await states(app.store)) == {"cancelled"}
    line = await kit.value(
        app.store,
        "select details from audit_entries where action = 'event_endpoint.disabled' and tenant_id = $1",
        app.store.id,
    )
    assert json.loads(line) == {"reason": "failing"}


async def _is_disabled(app: Caller, ident: str) -> bool:
    return (await endpoint(app.store, ident))["status"] == "D"


async def test_an_address_that_leads_inside_is_refused_at_every_try(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    from server.outgoing import calling

    ident = await subscribed(app, "https://hooks.example.com/", "order.updated")
    asked: list[str] = []

    async def lookup(host: str, _: int) -> list[str]:
        asked.append(host)
        return ["169.254.169.254"]

    await happen(app.store)
    async with calling(allows_private=False, lookup=lookup), delivering():
        await until(lambda: _has_tried(app, 2))
    (delivery,) = await deliveries(app.store)
    assert "169.254.169.254" in delivery["last_error"]
    assert asked.count("hooks.example.com") == 2
    assert (await endpoint(app.store, ident))["failures"] == 2


# --- Forgetting ------------------------------------------------------------------------------------------------------


async def test_what_was_delivered_is_kept_for_thirty_days_and_what_waits_longer(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    from domain.jobs import forget_spent

    await subscribed(app, receiver.url(), "order.updated")
    await happen(app.store, times=3)
    async with delivering():
        await until(lambda: all_over(app))
    old = "now() - interval '30 days 1 hour'"
    ids = [each["event_id"] for each in await deliveries(app.store)]
    await kit.execute(
        app.store,
        f"update outbox_events set created_at = {old}, dispatched_at = {old} where id = any($1)",
        ids[:2],
    )
    await kit.execute(
        app.store,
        "update event_deliveries set state = 'failed', due_at = now() + interval '1 day' where event_id = $1",
        ids[1],
    )
    await forget_spent(kit.system(app.store))
    assert [each["event_id"] for each in await deliveries(app.store)] == ids[1:]


async def test_the_worker_sees_deliveries_of_all_stores_and_shops_see_their_own(
    app: Caller, other_admin: Caller, receiver: Receiver
) -> None:
    await subscribed(app, receiver.url(), "order.updated")
    assert await kit.value(other_admin.store, "select count(*) from event_endpoints") == 0
    async with models_database.across_stores() as everywhere:
        assert (
            await everywhere.value("select count(*) from event_endpoints where tenant_id = $1", app.store.id)
            == 1
        )
