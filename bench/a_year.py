"""Simulate a year of a busy shop among others, and report its size and speed.

    .venv/bin/python -m bench.a_year --orders 200000 --stores 1000 --keep

1. A sample of orders is placed, paid and completed by the domain functions, at the pace of the shop: what an order leaves behind in each
   table, how many updates needed no index entries (HOT), and how fast reads and orders are in a young shop.
2. SQL repeats the sample until the year is full (`bench.multiply`): tables that retention limits contain the last of their period only.
3. The same reads and orders again, every list of GraphQL (`bench.every_list`), the size of each table, and what retention takes for the
   next week.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from auth.configuration import configure
from auth.store_resolution import build_store
from bench import every_list, launchers, load, machine
from bench.database import BenchDatabase, Size, add_stores, create_database, running_postgres
from bench.multiply import Copies, SampleOfWork
from bench.requests import RequestData, http, public_id
from domain import event_feed, retention
from domain.gateway import notifications
from domain.orders import lifecycle
from domain.purchase import placement
from domain.store_settings import STORE_SETTINGS
from kernel.retention import DEFAULT_DAYS
from kernel.scope import SYSTEM, Scope, Store, active_scope
from models.connection import database

YEAR = timedelta(days=365)
WEEK = timedelta(days=7)
_PRODUCTS, _USERS = 2_000, 5_000
_OTHER_STORE = {"products": 100, "users": 20, "orders": 20}
_START = datetime(2025, 1, 6, tzinfo=UTC)
_REPEATS = 40
_TASKS = 4
_ORDERS = 300
_EVENT_AGE = timedelta(days=STORE_SETTINGS["event_days"].default)
_RESULTS = Path(__file__).parent / "results"
_PAID = '{{"id": "evt_{0}", "type": "order.paid", "data": {{"id": "or_{0}", "code": "{0}", "paid_amount": {1}}}}}'
_SIZES = """
    select c.relname::text as name, pg_total_relation_size(c.oid) as bytes, pg_indexes_size(c.oid) as index_bytes,
        s.n_live_tup as rows, s.n_tup_upd as updates, s.n_tup_hot_upd as hot
    from pg_stat_user_tables s join pg_class c on c.oid = s.relid order by 2 desc
"""

Sizes = dict[str, asyncpg.Record]


@dataclass(frozen=True)
class Speed:
    """Milliseconds, median and longest, by read; and of an order with its payment and shipment, one after the other."""

    reads: dict[str, tuple[float, float]]
    order: tuple[float, float]


def main() -> None:
    """Run all parts and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--orders", type=int, default=200_000, help="the orders of the year (200000); a busy shop has 3650000"
    )
    parser.add_argument("--stores", type=int, default=1_000, help="the number of stores in the database (1000)")
    parser.add_argument("--sample", type=int, default=1_000, help="the number of orders placed by the domain (1000)")
    parser.add_argument("--keep", action="store_true", help="write the report to bench/results")
    arguments = parser.parse_args()
    configure(launchers.SECRET.encode())
    with running_postgres() as (server, log):
        created = asyncio.run(create_database(server, log, "bench_year", Size(1, _PRODUCTS, _USERS, 1)))
        shop = Shop(created, max(1, round(arguments.orders / arguments.sample)), arguments.sample)
        text = shop.simulate(other_stores=arguments.stores - 1)
    if arguments.keep:
        about = machine.description()
        path = _RESULTS / f"{datetime.now(UTC):%Y-%m-%dT%H%M}-{about['commit'].removesuffix('+changes')}-a-year.md"
        heading = [
            f"# A year of a shop with {arguments.orders:,} orders among {arguments.stores:,} stores",
            "",
            *(f"* {name}: {value}" for name, value in about.items()),
        ]
        path.write_text("\n".join([*heading, "", text, ""]), encoding="utf-8")


class Shop:
    """The shop: its year consists of this many copies of a sample of orders."""

    def __init__(self, filled: BenchDatabase, copies: int, sample: int) -> None:
        self._filled = filled
        self._sample = sample
        self._copies = Copies(copies - 1, YEAR / copies)
        self._lines: list[str] = []

    def simulate(self, *, other_stores: int) -> str:
        """Run everything; return the report in Markdown."""
        empty = asyncio.run(self._sizes())
        first = self._time_orders(_START - self._copies.apart)
        asyncio.run(self._begin())
        young = Speed(_reads(self._filled, self._sample), first)
        asyncio.run(self._multiply())
        sizes = asyncio.run(self._sizes())
        orders = self._sample * (self._copies.count + 1)
        self._add(_size_table(sizes, empty, orders))
        if other_stores:
            asyncio.run(add_stores(self._filled, 2, Size(other_stores + 1, **_OTHER_STORE)))
        later = Speed(_reads(self._filled, orders), self._time_orders(_START + YEAR))
        self._add(_speed_table(young, later, self._sample, orders))
        self._add(self._read_lists())
        asyncio.run(self._retain())
        return "\n".join(self._lines)

    def _add(self, *texts: str) -> None:
        for text in texts:
            print(text, flush=True)
            self._lines.append(text)

    async def _begin(self) -> None:
        """Let the domain process the sample."""
        connection = await asyncpg.connect(self._filled.superuser_url)
        before = await self._sizes()
        self._work = await SampleOfWork.begin(connection)
        await connection.close()
        started_at = time.monotonic()
        await self._process(self._sample, _START, self._copies.apart / self._sample, tasks=_TASKS)
        rate = self._sample / (time.monotonic() - started_at)
        async with _connected(self._filled) as store:
            with active_scope(Scope(store=store, actor=SYSTEM, request_id="feed", now=_START)):
                while not await event_feed.number_events():
                    pass
        self._add(f"{self._sample:,} orders placed, paid and shipped by the domain, {rate:.0f} a second\n")
        self._add(_left_table(await self._sizes(), before, self._sample))

    async def _multiply(self) -> None:
        connection = await asyncpg.connect(self._filled.superuser_url)
        started_at = time.monotonic()
        kept = {
            rule.table: timedelta(days=DEFAULT_DAYS[rule.period])
            for rule in retention.RULES
            if rule.period and not rule.change
        }
        await _set_durability(connection, "off")
        inserted = await self._work.multiply(connection, self._copies, kept | {"outbox_events": _EVENT_AGE})
        await _set_durability(connection, "on")
        await connection.close()
        self._add(
            f"{sum(inserted.values()):,} rows of {inserted.get('orders', 0) + self._sample:,} orders written by SQL in"
            f" {time.monotonic() - started_at:.0f} s\n"
        )

    def _read_lists(self) -> str:
        before = asyncio.run(every_list.whole_reads(self._filled.superuser_url))
        with launchers.vitrine(self._filled) as server:
            timings = every_list.read_lists(server, RequestData(self._filled.size))
        # The server's connections have ended, and so counted what they read.
        return every_list.report(timings, before, asyncio.run(every_list.whole_reads(self._filled.superuser_url)))

    async def _process(self, orders: int, since: datetime, apart: timedelta, *, tasks: int) -> list[float]:
        """Place, pay and ship orders; return the seconds of each."""
        async with _connected(self._filled) as store:
            done = [_process(store, range(task, orders, tasks), since, apart) for task in range(tasks)]
            return [seconds for part in await asyncio.gather(*done) for seconds in part]

    def _time_orders(self, now: datetime) -> tuple[float, float]:
        """Process orders one after the other; return the milliseconds of one, median and longest."""
        return _milliseconds(asyncio.run(self._process(_ORDERS, now, timedelta(seconds=9), tasks=1)))

    async def _retain(self) -> None:
        """Delete what is too old a week after the year, and say how long it takes."""
        before = await self._sizes()
        async with _connected(self._filled) as store:
            scope = Scope(store=store, actor=SYSTEM, request_id="retention", now=_START + YEAR + WEEK)
            started_at = time.monotonic()
            await retention.delete_expired(scope)
            with active_scope(scope):
                await event_feed.delete_old_events(scope)
            seconds = time.monotonic() - started_at
        after = await self._sizes()
        # Numbers of rows are estimates: of a table that nothing was deleted from they differ too.
        limited = {rule.table for rule in retention.RULES} | {"outbox_events"}
        gone = {name: before[name]["rows"] - after[name]["rows"] for name in before if name in limited}
        bodies = after["gateway_notifications"]["updates"] - before["gateway_notifications"]["updates"]
        deleted = ", ".join(f"{name} {count:,}" for name, count in gone.items() if count > 0)
        self._add(
            f"Retention of a week: {sum(map(abs, gone.values())):,} rows deleted ({deleted}) and {bodies:,} bodies of gateway"
            f" notifications removed in {seconds:.0f} s\n"
        )

    async def _sizes(self) -> Sizes:
        """Return the sizes and the numbers of updates of all tables, the largest first."""
        connection = await asyncpg.connect(self._filled.superuser_url)
        try:
            await connection.execute("vacuum analyze", timeout=3_600)
            await asyncio.sleep(1)  # the statistics of other sessions
            return {table["name"]: table for table in await connection.fetch(_SIZES)}
        finally:
            await connection.close()


async def _set_durability(connection: asyncpg.Connection, value: str) -> None:
    """Switch what the copies need not wait for, and autovacuum, which `_sizes` does for all of them."""
    for statement in (
        f"alter system set autovacuum = {value}",
        f"alter system set fsync = {value}",
        f"alter system set full_page_writes = {value}",
        "select pg_reload_conf()",
    ):
        await connection.execute(statement)
    await connection.execute("checkpoint", timeout=3_600)


@asynccontextmanager
async def _connected(filled: BenchDatabase) -> AsyncIterator[Store]:
    await database.connect(database.DatabaseSettings(filled.owner_url))
    try:
        async with database.cross_store_connection() as platform:
            row = await platform.fetchrow("select * from tenants where id = 1")
        assert row is not None
        yield build_store(row)
    finally:
        await database.close()


async def _process(store: Store, numbers: range, since: datetime, apart: timedelta) -> list[float]:
    """Place these orders, receive their payments two minutes later, and complete and ship them after half an hour."""
    times = []
    for number in numbers:
        started_at = time.perf_counter()
        placed_at = since + number * apart
        scope = Scope(store=store, actor=SYSTEM, request_id=f"order-{number}", now=placed_at)
        draft: dict[str, Any] = {
            "user": public_id("user", 1, number % (_USERS - 1) + 2),
            "payment_method": public_id("payment method", 1),
            "shipping_method": public_id("shipping method", 1),
            "lines": [
                {"product": public_id("product", 1, (number * step) % _PRODUCTS + 1), "quantity": 1} for step in (7, 11)
            ],
        }
        with active_scope(scope):
            placed = await placement.place_order(scope, draft)
        paid = replace(scope, now=placed_at + timedelta(minutes=2))
        with active_scope(paid):
            body = _PAID.format(placed.public_id, placed.total_cents).encode()
            await notifications.receive(paid, body, ())
        shipped = replace(scope, now=placed_at + timedelta(minutes=30))
        with active_scope(shipped):
            await lifecycle.change_status(shipped, placed.public_id, "C", tracking_code=f"BR{number:09}")
        times.append(time.perf_counter() - started_at)
    return times


def _reads(filled: BenchDatabase, orders: int) -> dict[str, tuple[float, float]]:
    """Return the median and longest time of reads among this many orders, in milliseconds, through the server."""
    data = RequestData(filled.size)
    paths: dict[str, Callable[[int], str]] = {
        "newest page": lambda n: "/api/orders?items_per_page=50",
        "page by status": lambda n: f"/api/orders?status={'OPC'[n % 3]}&items_per_page=50",
        "page by total": lambda n: "/api/orders?sort_by=total&sort_order=desc&items_per_page=50",
        "page of a customer": lambda n: f"/api/orders?email=user{n + 2}@example.com&items_per_page=50",
        "search for a name": lambda n: "/api/orders?q=ana&items_per_page=50",
        "page of the last updated": lambda n: "/api/orders?sort_by=updated_at&sort_order=desc&items_per_page=50",
        "one order": lambda n: f"/api/orders/{n * orders // _REPEATS + 1}",
        "product": lambda n: f"/api/products/{n + 1}",
    }
    times = {}
    with launchers.vitrine(filled) as server:
        for name, path in paths.items():
            seconds = []
            for number in range(_REPEATS + 2):
                started_at = time.perf_counter()
                answer = load.send_request(server.address, http("GET", path(number % _REPEATS), data.basic))
                seconds.append(time.perf_counter() - started_at)
                assert answer.status == 200, (name, answer)
            # The first two compile the operation and fill caches.
            times[name] = _milliseconds(seconds[2:])
    return times


def _milliseconds(seconds: list[float]) -> tuple[float, float]:
    return statistics.median(seconds) * 1_000, max(seconds) * 1_000


def _speed_table(young: Speed, later: Speed, sample: int, orders: int) -> str:
    """Return the times in the young shop and at the end of the year."""
    rows = young.reads | {"place, pay and ship an order": young.order}
    ends = later.reads | {"place, pay and ship an order": later.order}
    return "\n".join((
        f"| ms, median and longest | {sample:,} orders | {orders:,} orders |",
        "|---|---:|---:|",
        *(f"| {name} | {_pair(times)} | {_pair(ends[name])} |" for name, times in rows.items()),
        "",
    ))  # fmt: skip


def _pair(times: tuple[float, float]) -> str:
    return f"{times[0]:.1f}, {times[1]:.1f}"


def _left_table(after: Sizes, before: Sizes, orders: int) -> str:
    """Return what each order has left in the tables that grew, and their updates."""
    names = [
        name
        for name in after
        if after[name]["rows"] > before[name]["rows"] or after[name]["updates"] > before[name]["updates"]
    ]
    lines = ["| Table | rows per order | updates per order | HOT |", "|---|---:|---:|---:|"]
    for name in names:
        rows, updates, hot = (after[name][key] - before[name][key] for key in ("rows", "updates", "hot"))
        share = f"{hot / updates:.0%}" if updates else ""
        lines.append(f"| {name} | {rows / orders:.2f} | {updates / orders:.2f} | {share} |")
    return "\n".join((*lines, ""))


def _size_table(sizes: Sizes, empty: Sizes, orders: int) -> str:
    """Return the sizes of the tables that grew, the largest first."""
    lines = ["| Table | rows | GB | of it indexes | bytes per order |", "|---|---:|---:|---:|---:|"]
    added = {name: sizes[name]["bytes"] - empty[name]["bytes"] for name in sizes}
    for name in sorted((name for name in added if added[name] > 0), key=lambda name: -added[name])[:20]:
        table = sizes[name]
        lines.append(
            f"| {name} | {table['rows']:,} | {table['bytes'] / 1e9:.2f} | {table['index_bytes'] / 1e9:.2f}"
            f" | {added[name] / orders:,.0f} |"
        )
    total = sum(added.values())
    lines.append(f"| all | | {total / 1e9:.1f} | | {total / orders:,.0f} |")
    return "\n".join((*lines, ""))


if __name__ == "__main__":
    main()
