"""Benchmark event streams against the bars of issue 17: `python -m bench.event_streams [--seconds N] [--keep]`.

It exits with 1 unless all are met.

One process serves on the servers' core; the database, the writer and the clients share the other one. The writer and the clients are this
process, with one clock: a latency is from the commit to the arrival at the client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import secrets
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import asyncpg

import auth
from auth.app_tokens import issue_app_tokens
from auth.secrets import encrypt
from bench import machine
from bench.bars import Bar, table
from bench.database import running_postgres
from bench.servers import Server, free_port, run_server
from bench.webhook_deliveries import _DATA, KEY, _scope
from domain import event_types, events
from domain.events import Event
from kernel.ids import uuid7
from kernel.scope import Store, active_scope
from kernel.signatures import token_hash
from models.connection import database
from models.migrate import migrate
from server.embedded_postgres.data_folder import OWNER

STREAMS, FAST_STREAMS, RATE = 2_000, 20, 200
MAX_KIB_PER_STREAM = 64.0
MAX_SLOW_MIB = 16.0
_SUBSCRIPTION = "subscription { events { id event data cursor } }"
_EVENT_ID = re.compile(rb'"id":"(evt_[0-9a-f]{32})"')


@dataclass
class Stream:
    """An open stream; `arrivals` are the ids of its events with their times."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    arrivals: list[tuple[str, float]] = field(default_factory=list)

    async def read(self) -> None:
        """Record events until the connection ends."""
        rest = b""
        while chunk := await self.reader.read(65_536):
            at = perf_counter()
            rest += chunk
            end = rest.rfind(b"\n\n")
            if end >= 0:
                self.arrivals += [(match.decode(), at) for match in _EVENT_ID.findall(rest, 0, end)]
                rest = rest[end:]


@dataclass(frozen=True)
class Clients:
    """What opens streams of a store."""

    server: Server
    store: Store
    token: str

    async def open(self, *, graphql: bool = False) -> Stream:
        """Open a stream and wait for the head of the response."""
        reader, writer = await asyncio.open_connection(*self.server.address)
        body = json.dumps({"query": _SUBSCRIPTION}).encode() if graphql else b""
        path = b"POST /graphql" if graphql else b"GET /api/admin/events"
        head = (
            f"Host: localhost\r\nX-Tenant-ID: {self.store.public_id}\r\nAuthorization: Bearer {self.token}\r\n"
            f"Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(path + b" HTTP/1.1\r\n" + head.encode() + body)
        status = await reader.readline()
        if b" 200 " not in status:
            raise SystemExit(f"a stream was refused: {status!r} {await reader.read(1_000)!r}")
        await reader.readuntil(b"\r\n\r\n")
        return Stream(reader, writer)

    @asynccontextmanager
    async def streams(self, count: int, *, graphql: bool = False) -> AsyncIterator[list[Stream]]:
        """Keep streams open and read them meanwhile."""
        opened: list[Stream] = []
        for start in range(0, count, 50):
            opened += await asyncio.gather(*(self.open(graphql=graphql) for _ in range(min(50, count - start))))
        tasks = [asyncio.create_task(stream.read()) for stream in opened]
        try:
            yield opened
        finally:
            for task, stream in zip(tasks, opened, strict=True):
                task.cancel()
                stream.writer.transport.abort()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _create_store() -> tuple[Store, str]:
    """Create a store with an app; return it with the app's token."""
    public_id = uuid7()
    async with database.cross_store_connection() as platform:
        number = await platform.fetchval(
            "insert into tenants (public_id, name, currency, status) values ($1, 'Bench', 'BRL', 'A') returning id",
            public_id,
        )
        app = await platform.fetchval(
            """
            insert into apps (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed)
            values ($1, $2, 'Bench', 'live', '{https://app.example/}', '{read_orders}', $3, $4) returning id
            """,
            uuid7(),
            f"vci_{secrets.token_hex(8)}",
            token_hash("vcs_bench"),
            encrypt("app-secret", b"vcs_bench"),
        )
    store = Store(number, public_id, "Bench")
    scope = _scope(store)
    async with database.transaction(scope):
        installation = await database.fetchval(
            "insert into app_installations (tenant_id, public_id, app_id, scopes, rate_limit)"
            " values ($1, $2, $3, '{read_orders}', 100000) returning id",
            store.id,
            uuid7(),
            app,
        )
        grant = await database.fetchval(
            "insert into app_grants (tenant_id, public_id, installation_id, code_hash, redirect_uri, scopes, code_expires_at)"
            " values ($1, $2, $3, sha256('x'), 'https://app.example/', '{read_orders}', now()) returning id",
            store.id,
            uuid7(),
            installation,
        )
        tokens = await issue_app_tokens(scope, grant, "live", ["read_orders"], ["read_orders"])
    return store, tokens.access_token


async def _emit(store: Store, count: int = 1) -> dict[str, float]:
    """Emit events, each about a new subject, in one transaction; return the time after the commit by event id."""
    scope = _scope(store)
    subjects = [uuid7() for _ in range(count)]
    async with database.transaction(scope):
        await events.emit_all(
            scope, [Event(event_types.ORDER_UPDATED, event_types.ORDER, subject, _DATA) for subject in subjects]
        )
    at = perf_counter()
    with active_scope(scope):
        rows = await database.fetch(
            "select public_id from outbox_events where tenant_id = $1 and subject_id = any($2)", store.id, subjects
        )
    return {f"evt_{row['public_id'].hex}": at for row in rows}


async def _emit_steadily(store: Store, seconds: float) -> dict[str, float]:
    """Emit RATE events a second, each in a transaction of its own, from several connections."""
    committed: dict[str, float] = {}
    began = perf_counter()
    total = round(RATE * seconds)
    number = 0

    async def write() -> None:
        nonlocal number
        while number < total:
            number += 1
            await asyncio.sleep(max(0.0, began + number / RATE - perf_counter()))
            committed.update(await _emit(store))

    await asyncio.gather(*(write() for _ in range(8)))
    return committed


async def _many(clients: Clients) -> list[Bar]:
    before = clients.server.memory_mb
    async with clients.streams(STREAMS) as streams:
        kib = (clients.server.memory_mb - before) * 1024 / STREAMS
        cpu, idle_from = clients.server.cpu_seconds, perf_counter()
        await asyncio.sleep(20)
        idle = (clients.server.cpu_seconds - cpu) / (perf_counter() - idle_from)
        committed = await _emit(clients.store)
        await _wait_until(lambda: all(stream.arrivals for stream in streams))
        [at] = committed.values()
        last = max(stream.arrivals[0][1] for stream in streams) - at
        got = sum(len(stream.arrivals) for stream in streams)
    return [
        Bar(f"{STREAMS:,} streams of one process get an event", f"{got:,}", f"{STREAMS:,}", got == STREAMS),
        Bar("memory of a stream", f"{kib:.1f} KiB", f"at most {MAX_KIB_PER_STREAM:.0f} KiB", kib <= MAX_KIB_PER_STREAM),
        Bar("the event's last arrival", f"{last * 1_000:.0f} ms", "", True),
        Bar(f"{STREAMS:,} idle streams", f"{idle:.1%} of a core", "", True),
    ]


async def _fast(clients: Clients, seconds: float, *, graphql: bool) -> list[Bar]:
    kind = "GraphQL subscriptions" if graphql else "Server-Sent Events"
    async with clients.streams(FAST_STREAMS, graphql=graphql) as streams:
        await asyncio.sleep(0.5)
        cpu, began = clients.server.cpu_seconds, perf_counter()
        committed = await _emit_steadily(clients.store, seconds)
        took = perf_counter() - began
        await _wait_until(lambda: all(len(stream.arrivals) >= len(committed) for stream in streams))
        used = (clients.server.cpu_seconds - cpu) / took
    rate = len(committed) / took
    first = [event for event, _ in streams[0].arrivals]
    is_complete = set(first) == set(committed) and len(first) == len(committed)
    is_equal = is_complete and all([event for event, _ in stream.arrivals] == first for stream in streams)
    waits = sorted(at - committed[event] for stream in streams for event, at in stream.arrivals)
    p50, p99 = statistics.median(waits) * 1_000, waits[int(len(waits) * 0.99)] * 1_000
    name = f"{FAST_STREAMS} streams at {RATE} events/s, {kind}"
    return [
        Bar(name, f"{rate:.0f} events/s", f"{RATE} events/s", rate >= RATE * 0.98),
        Bar(f"{name}: all, once, in one order", "yes" if is_equal else "no", "yes", is_equal),
        Bar(f"{name}: commit to arrival", f"median {p50:.0f} ms, 99 % {p99:.0f} ms", "", True),
        Bar(f"{name}: server", f"{used:.0%} of a core", "", True),
    ]


async def _slow(clients: Clients) -> list[Bar]:
    """Let streams read nothing while many events are emitted."""
    before = clients.server.memory_mb
    stopped = [await clients.open() for _ in range(20)]
    for _ in range(40):
        await _emit(clients.store, 500)
    await asyncio.sleep(2)
    extra = clients.server.memory_mb - before
    for stream in stopped:
        stream.writer.transport.abort()
    name = "memory for 20 streams that read nothing of 20,000 events"
    return [Bar(name, f"{extra:.1f} MiB", f"at most {MAX_SLOW_MIB:.0f} MiB", extra <= MAX_SLOW_MIB)]


async def _write_cost(store: Store, connection: asyncpg.Connection) -> list[Bar]:
    """Measure what the feed adds to writes, in the database alone."""
    scope = _scope(store)
    with active_scope(scope):
        while await database.fetchval("select vitrine_number_events(2000)"):
            pass
        began = perf_counter()
        for _ in range(10):
            await _emit(store, 1_000)
        emitting = (perf_counter() - began) / 10_000
        began = perf_counter()
        while await database.fetchval("select vitrine_number_events(2000)"):
            pass
        numbering = (perf_counter() - began) / 10_000
    stock = await _stock_cost(store, connection)
    return [
        Bar("emitting an event, in batches of 1,000", f"{emitting * 1e6:.0f} µs", "", True),
        Bar("assigning its position, by the reader", f"{numbering * 1e6:.0f} µs", "", True),
        Bar("noting a change of stock, in its transaction", f"{stock * 1e6:.1f} µs", "", True),
    ]


async def _stock_cost(store: Store, connection: asyncpg.Connection) -> float:
    """Return the seconds that the trigger of `stock_changes` adds to the change of a product's stock."""
    await connection.execute("select set_config('vitrine.tenant', $1, false)", str(store.id))
    await connection.execute(
        "insert into products (tenant_id, public_id, name, slug, price_cents, on_hand)"
        " select $1, vitrine_uuid7(), 'Caneca ' || n, 'caneca-' || n, 100, 1000 from generate_series(1, 2000) n",
        store.id,
    )
    seconds = {}
    for _ in range(2):
        for state in ("enable", "disable"):
            await connection.execute(f"alter table products {state} trigger stock_changed")
            began = perf_counter()
            for _ in range(5):
                await connection.execute("update products set on_hand = on_hand - 1 where tenant_id = $1", store.id)
            seconds[state] = (perf_counter() - began) / 10_000
    await connection.execute("alter table products enable trigger stock_changed")
    return seconds["enable"] - seconds["disable"]


async def _wait_until(condition) -> None:  # type: ignore[no-untyped-def]
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def measure(url: str, owner_url: str, seconds: float) -> list[Bar]:
    """Return the bars."""
    auth.configure(KEY.encode())
    await migrate(url)
    await database.connect(database.DatabaseSettings(url))
    port = free_port()
    try:
        store, token = await _create_store()
        with tempfile.TemporaryDirectory(prefix="vitrine-bench-") as folder:
            environment = {
                "DATABASE_URL": url, "VITRINE_SECRET_KEY": KEY, "VITRINE_DATA_DIR": folder, "VITRINE_ENV": "production", "PORT": str(port),
                "VITRINE_BIND": "127.0.0.1", "VITRINE_IP_RATE": "0", "VITRINE_STREAMS": "0", "VITRINE_CALLER_STREAMS": "0",
                "VITRINE_ADDRESS_CONNECTIONS": "0", "VITRINE_ADDRESS_REQUESTS": "0",
            }  # fmt: skip
            command = [sys.executable, "-m", "server.cli", "serve"]
            with run_server("event-streams", command, environment, port=port) as server:
                clients = Clients(server, store, token)
                bars = await _many(clients)
                for graphql in (False, True):
                    bars += await _fast(clients, seconds, graphql=graphql)
                bars += await _slow(clients)
        connection = await asyncpg.connect(owner_url)
        try:
            bars += await _write_cost(store, connection)
        finally:
            await connection.close()
        return bars
    finally:
        await database.close()


def main() -> None:
    """Measure, print, and save the result with `--keep`."""
    parser = argparse.ArgumentParser(prog="bench.event_streams", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="duration of each measurement at the full rate (20)"
    )
    parser.add_argument("--keep", action="store_true", help="save the result in bench/results")
    arguments = parser.parse_args()
    machine.pin_to_load_core()
    about = machine.description()
    with running_postgres() as (server, _):

        async def run() -> list[Bar]:
            connection = await asyncpg.connect(server.superuser_url())
            await connection.execute(f"create database bench_streams owner {OWNER}")
            await connection.close()
            url = server.url("bench_streams")
            return await measure(url, server.superuser_url("bench_streams"), arguments.seconds)

        bars = asyncio.run(run())
    text = "\n".join(["# Event streams", "", *(f"* {name}: {value}" for name, value in about.items()), "", table(bars)])
    print(text)
    if arguments.keep:
        name = f"{datetime.now(UTC):%Y-%m-%dT%H%M}-{about['commit']}-event-streams.md"
        (Path(__file__).parent / "results" / name).write_text(text + "\n", encoding="utf-8")
    sys.exit(not all(bar.is_met for bar in bars))


if __name__ == "__main__":
    main()
