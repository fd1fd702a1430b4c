"""Benchmark webhook deliveries: throughput to 100 endpoints, and latency from commit to arrival.

    python -m bench.webhook_deliveries                          100 events to 100 endpoints, then 100 single ones
    python -m bench.webhook_deliveries --events 20 --keep       and save the result in bench/results

One `vitrine worker` runs on the servers' core; the database and the receiver share the other one. The receiver responds at once; each
delivery opens a connection, as in production except for TLS. This process commits the events and records the arrivals, with one clock.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import asyncpg
import orjson

import auth
from auth.secrets import encrypt
from bench import machine
from bench.database import running_postgres
from bench.servers import ROOT
from domain import event_types, events
from domain.events import Event
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, Store
from kernel.signatures import token_hash
from models.connection import database
from models.migrate import migrate
from server.embedded_postgres.data_folder import OWNER

KEY = secrets.token_urlsafe(32)
ENDPOINTS, PER_APP = 100, 20
_TIMEOUT_SECONDS = 300.0
_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
# The data of an order with three lines.
_DATA = events.order_data(
    events.OrderEventData(
        uuid7(), "P", 14_970, "BRL", events.EventCustomer(uuid7(), "Ana Souza", "ana@example.com"),
        [events.EventItem(uuid7(), f"Caneca de ágata {number}", 1, 4_990) for number in range(3)], datetime.now(UTC),
    )
)  # fmt: skip


class Receiver(asyncio.Protocol):
    """Receives a webhook request, records its arrival and responds."""

    arrivals: list[tuple[str, float]] = []  # noqa: RUF012  # one for all connections

    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        if not blank:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(body) >= length:
            self.arrivals.append((orjson.loads(body)["id"], perf_counter()))
            self._transport.write(_RESPONSE)
            self._transport.close()


async def _create_store(url: str, port: int) -> Store:
    """Create a store with five apps of twenty webhook endpoints each."""
    public_id = uuid7()
    async with database.cross_store_connection() as platform:
        number = await platform.fetchval(
            "insert into tenants (public_id, name, currency, status) values ($1, 'Bench', 'BRL', 'A') returning id",
            public_id,
        )
        store = Store(number, public_id, "Bench")
        apps = [
            await platform.fetchval(
                """
                insert into apps (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed)
                values ($1, $2, 'Bench', 'live', '{https://app.example/}', '{read_orders}', $3, $4) returning id
                """,
                uuid7(),
                f"vci_{secrets.token_hex(8)}",
                token_hash("vcs_bench"),
                encrypt("app-secret", b"vcs_bench"),
            )
            for _ in range(ENDPOINTS // PER_APP)
        ]
    async with database.transaction(_scope(store)):
        for app in apps:
            installation = await database.fetchval(
                "insert into app_installations (tenant_id, public_id, app_id, scopes) values ($1, $2, $3, '{read_orders}') returning id",
                store.id,
                uuid7(),
                app,
            )
            for number in range(PER_APP):
                await database.execute(
                    """
                    insert into event_endpoints (tenant_id, public_id, installation_id, url, events)
                    values ($1, $2, $3, $4, '{order.updated}')
                    """,
                    store.id,
                    uuid7(),
                    installation,
                    f"http://127.0.0.1:{port}/{app}/{number}",
                )
    return store


def _scope(store: Store) -> Scope:
    return Scope(store, SYSTEM, request_id=f"bench-{uuid7()}", now=datetime.now(UTC))


async def _emit(store: Store, count: int) -> float:
    """Emit `count` events in one transaction; return the time after its commit."""
    async with database.transaction(_scope(store)):
        changes = [Event(event_types.ORDER_UPDATED, event_types.ORDER, uuid7(), _DATA) for _ in range(count)]
        await events.emit_all(_scope(store), changes)
    return perf_counter()


async def _wait_for_arrivals(count: int) -> None:
    async with asyncio.timeout(_TIMEOUT_SECONDS):
        while len(Receiver.arrivals) < count:
            await asyncio.sleep(0.002)


@asynccontextmanager
async def _running_worker(url: str) -> AsyncIterator[None]:
    """Run `vitrine worker` on the servers' core."""
    with tempfile.TemporaryDirectory(prefix="vitrine-bench-") as folder:
        environment = {
            **os.environ, "DATABASE_URL": url, "VITRINE_SECRET_KEY": KEY, "VITRINE_DATA_DIR": folder, "VITRINE_ENV": "development",
        }  # fmt: skip
        log = Path(folder) / "log"
        with log.open("wb") as lines:
            worker = subprocess.Popen(
                ["taskset", "-c", str(machine.SERVER_CORE), sys.executable, "-m", "server.cli", "worker"],
                env=environment, cwd=ROOT, stdout=lines, stderr=lines,
            )  # fmt: skip
        try:
            async with asyncio.timeout(60):
                while b"worker started" not in log.read_bytes():
                    if worker.poll() is not None:
                        raise SystemExit(log.read_text(encoding="utf-8"))
                    await asyncio.sleep(0.1)
            yield
        finally:
            worker.terminate()
            worker.wait(30)


async def measure(url: str, count: int) -> list[str]:
    """Return the rows of the result table."""
    auth.configure(KEY.encode())
    await migrate(url)
    await database.connect(database.DatabaseSettings(url))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Receiver, "127.0.0.1", 0, backlog=1_024)
    try:
        store = await _create_store(url, server.sockets[0].getsockname()[1])
        async with _running_worker(url):
            await _emit(store, 1)  # warm-up
            await _wait_for_arrivals(ENDPOINTS)
            return [*await _throughput(store, count), *await _latency(store)]
    finally:
        server.close()
        await database.close()


async def _throughput(store: Store, count: int) -> list[str]:
    Receiver.arrivals.clear()
    began = await _emit(store, count)
    await _wait_for_arrivals(count * ENDPOINTS)
    seconds = max(at for _, at in Receiver.arrivals) - began
    return [
        f"| {count} events at once, each to {ENDPOINTS} endpoints | {count / seconds:,.1f} events/s, "
        f"{count * ENDPOINTS / seconds:,.0f} deliveries/s |"
    ]


async def _latency(store: Store) -> list[str]:
    """Measure single events to 100 endpoints: the first and the last arrival."""
    firsts, lasts = [], []
    for _ in range(50):
        Receiver.arrivals.clear()
        began = await _emit(store, 1)
        await _wait_for_arrivals(ENDPOINTS)
        latencies = [at - began for _, at in Receiver.arrivals]
        firsts.append(min(latencies) * 1_000)
        lasts.append(max(latencies) * 1_000)
        await asyncio.sleep(0.05)
    return [
        f"| one event, commit to its {name} arrival | median {statistics.median(values):.1f} ms, "
        f"95 % within {sorted(values)[int(len(values) * 0.95)]:.1f} ms |"
        for name, values in (("first", firsts), ("100th", lasts))
    ]


def main() -> None:
    """Measure, print, and save the result with `--keep`."""
    parser = argparse.ArgumentParser(prog="bench.webhook_deliveries", description=__doc__)
    parser.add_argument("--events", type=int, default=100, help="number of events at once (100)")
    parser.add_argument("--keep", action="store_true", help="save the result in bench/results")
    arguments = parser.parse_args()
    machine.pin_to_load_core()
    about = machine.description()
    with running_postgres() as (server, _):

        async def run() -> list[str]:
            connection = await asyncpg.connect(server.superuser_url())
            await connection.execute(f"create database bench_events owner {OWNER}")
            await connection.close()
            return await measure(server.url("bench_events"), arguments.events)

        rows = asyncio.run(run())
    text = "\n".join(
        [
            "# Webhook deliveries",
            "",
            *(f"* {name}: {value}" for name, value in about.items()),
            "",
            "| | |",
            "|---|---|",
            *rows,
        ]
    )
    print(text)
    if arguments.keep:
        name = f"{datetime.now(UTC):%Y-%m-%dT%H%M}-{about['commit']}-deliveries.md"
        (Path(__file__).parent / "results" / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
