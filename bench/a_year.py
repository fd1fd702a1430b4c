"""Simulate a year of a busy shop, 10,000 orders a day, and report its size and speed; `--scale 0.1` for a tenth of its orders.

    .venv/bin/python -m bench.a_year --scale 0.1 --orders 2000

1. A database is filled with the orders of the year by SQL, and read through the server: how long pages and records take among so many.
2. Some orders of each week are placed, paid and completed by the domain functions, with the clock of that week, and retention runs after
   each: what a year leaves behind in each table, per order, and how many updates needed no index entries (HOT).
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from auth.configuration import configure
from auth.store_resolution import build_store
from bench import launchers, load
from bench.database import BenchDatabase, Size, create_database, running_postgres
from bench.requests import RequestData, http, public_id
from domain import retention
from domain.gateway import notifications
from domain.orders import lifecycle, placement
from kernel.scope import SYSTEM, Scope, active_scope
from models import database

ORDERS_PER_YEAR = 3_650_000
_PRODUCTS, _USERS = 2_000, 5_000
_WEEKS = 52
_START = datetime(2025, 1, 6, tzinfo=UTC)
_REPEATS = 20
_TASKS = 4
_PAID = '{{"id": "evt_{0}", "type": "order.paid", "data": {{"id": "or_{0}", "code": "{0}", "paid_amount": 1}}}}'
_SIZES = """
    select c.relname::text as name, pg_total_relation_size(c.oid) as bytes, pg_indexes_size(c.oid) as index_bytes,
        s.n_live_tup as rows, s.n_tup_upd as updates, s.n_tup_hot_upd as hot
    from pg_stat_user_tables s join pg_class c on c.oid = s.relid order by 2 desc
"""


def main() -> None:
    """Run both parts and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--scale", type=float, default=0.1, help="the part of a year's 3,650,000 orders that is read (0.1)"
    )
    parser.add_argument("--orders", type=int, default=2_000, help="the number of orders placed by the domain (2000)")
    arguments = parser.parse_args()
    configure(launchers.SECRET.encode())
    with running_postgres() as (server, log):
        size = Size(1, _PRODUCTS, _USERS, max(1, int(ORDERS_PER_YEAR * arguments.scale)))
        started_at = time.monotonic()
        filled = asyncio.run(create_database(server, log, "bench_year", size))
        print(f"{size.orders:,} orders written by SQL in {time.monotonic() - started_at:.0f} s\n")
        print(_reads(filled))
        print(_size_table(asyncio.run(_sizes(filled)), {}, size.orders))
        worked = asyncio.run(create_database(server, log, "bench_work", replace(size, orders=1)))
        before = asyncio.run(_sizes(worked))
        started_at = time.monotonic()
        asyncio.run(_work(worked, arguments.orders))
        rate = arguments.orders / (time.monotonic() - started_at)
        print(
            f"{arguments.orders:,} orders placed, paid and completed by the domain in {_WEEKS} weeks: {rate:.0f} a second\n"
        )
        print(_size_table(asyncio.run(_sizes(worked)), before, arguments.orders))


def _reads(filled: BenchDatabase) -> str:
    """Return the median and longest time of reads among all orders, in milliseconds, through the server."""
    data = RequestData(filled.size)
    last = filled.size.orders
    paths: dict[str, Callable[[int], str]] = {
        "newest page": lambda n: "/api/orders?items_per_page=50",
        "page by status": lambda n: f"/api/orders?status={'OPC'[n % 3]}&items_per_page=50",
        "page by total": lambda n: "/api/orders?sort_by=total&sort_order=desc&items_per_page=50",
        "page of a customer": lambda n: f"/api/orders?email=user{n + 2}@example.com&items_per_page=50",
        "one order": lambda n: f"/api/orders/{n * last // _REPEATS + 1}",
        "product": lambda n: f"/api/products/{n + 1}",
    }
    rows = []
    with launchers.vitrine(filled) as server:
        for name, path in paths.items():
            times = []
            for number in range(_REPEATS + 2):
                started_at = time.perf_counter()
                answer = load.send_request(server.address, http("GET", path(number % _REPEATS), data.basic))
                times.append((time.perf_counter() - started_at) * 1_000)
                assert answer.status == 200, (name, answer)
            # The first two compile the operation and fill caches.
            rows.append(f"| {name} | {statistics.median(times[2:]):.1f} | {max(times[2:]):.1f} |")
    return "\n".join(("| Read | median, ms | longest, ms |", "|---|---:|---:|", *rows, ""))


async def _work(worked: BenchDatabase, orders: int) -> None:
    """Place, pay and complete orders in each week of a year; run retention at its end."""
    settings = database.DatabaseSettings(worked.owner_url)
    await database.connect(settings)
    try:
        async with database.cross_store_connection() as platform:
            row = await platform.fetchrow("select * from tenants")
        assert row is not None
        store = build_store(row)
        for week in range(_WEEKS):
            numbers = range(week * orders // _WEEKS, (week + 1) * orders // _WEEKS)
            scope = Scope(store=store, actor=SYSTEM, request_id=f"week-{week}", now=_START + timedelta(weeks=week))
            await asyncio.gather(*(_process(scope, numbers[task::_TASKS]) for task in range(_TASKS)))
            await retention.delete_expired(scope)
    finally:
        await database.close()


async def _process(scope: Scope, numbers: range) -> None:
    for number in numbers:
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
            await notifications.receive(scope, _PAID.format(placed.public_id).encode(), ())
            await lifecycle.change_status(scope, placed.public_id, "P", force=True)
            await lifecycle.change_status(scope, placed.public_id, "C", tracking_code=f"BR{number:09}")


async def _sizes(filled: BenchDatabase) -> dict[str, asyncpg.Record]:
    """Return the sizes and the numbers of updates of all tables, the largest first."""
    connection = await asyncpg.connect(filled.superuser_url)
    try:
        await connection.execute("vacuum analyze")
        await asyncio.sleep(1)  # the statistics of other sessions
        return {table["name"]: table for table in await connection.fetch(_SIZES)}
    finally:
        await connection.close()


def _size_table(tables: dict[str, asyncpg.Record], before: dict[str, asyncpg.Record], orders: int) -> str:
    """Return what the orders added to the largest tables, for each order and for a year, and the share of HOT updates."""

    def added(name: str, column: str) -> int:
        return int(tables[name][column]) - (int(before[name][column]) if before else 0)

    growing = sorted((name for name in tables if added(name, "bytes") > 0), key=lambda name: -added(name, "bytes"))
    lines = [
        "| Table | rows | MB | of it indexes | bytes per order | GB a year | updates | HOT |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in growing[:25]:
        updates = added(name, "updates")
        hot = f"{added(name, 'hot') / updates:.0%}" if updates else ""
        size, per_order = added(name, "bytes"), added(name, "bytes") / orders
        lines.append(
            f"| {name} | {added(name, 'rows'):,} | {size / 1e6:.1f} | {added(name, 'index_bytes') / 1e6:.1f} | {per_order:,.0f}"
            f" | {per_order * ORDERS_PER_YEAR / 1e9:.1f} | {updates or ''} | {hot} |"
        )
    total = sum(added(name, "bytes") for name in growing)
    lines.append(
        f"| all | | {total / 1e6:,.0f} | | {total / orders:,.0f} | {total / orders * ORDERS_PER_YEAR / 1e9:,.0f} | | |"
    )
    return "\n".join((*lines, ""))


if __name__ == "__main__":
    main()
