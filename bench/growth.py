"""Measure the same reads with a growing number of products in a store, of stores in a database, and of pages before the one read.

Each size has its own database; all are served concurrently and measured in alternating rounds, so that other load on the machine affects
all alike. With many stores each request is for another store (`rotating`), or all are for the first one (`one store`).
"""

from __future__ import annotations

import asyncio
import base64
import json
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from bench import launchers, load
from bench.bars import Bar, growth_bar
from bench.database import BenchDatabase, Size, create_database
from bench.load import send_request
from bench.measurement import CONNECTIONS, Schedule, fastest_style, sign_in, sign_in_at_limit
from bench.report import growth_table
from bench.requests import RequestData, Workload, http
from bench.servers import Server
from bench.workloads import WORKLOADS
from server.embedded_postgres import EmbeddedServer

PRODUCTS = (1_000, 1_000_000)
STORES = (1, 100, 1_000)
QUICK_PRODUCTS = (1_000, 5_000)
QUICK_STORES = (1, 50)
# The stores are small where the number of stores grows.
_PRODUCTS_PER_STORE = 100
_USERS, _ORDERS = 20, 20
_WORKLOADS = tuple(item for item in WORKLOADS if item.name in ("Q1", "Q3"))
_REQUESTS_PER_STORE = 20
PAGES = (1, 10_000)
_PAGE_SIZE = 50
_PAGE = (
    "query Page($after: String) { product_connection(first: 50, after: $after)"
    " { page_info { end_cursor } edges { node { id name price_cents } } } }"
)


@dataclass
class Run:
    """A series of samples; `kind` is that of its bar, "" for none."""

    label: str
    size: int
    item: str
    server: Server
    requests: Sequence[bytes]
    kind: str = ""
    rates: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    requests_sent: int = 0

    def measure(self, seconds: float) -> None:
        before = self.server.cpu_seconds
        sample = load.run(
            self.server.address,
            self.requests,
            connections=CONNECTIONS,
            seconds=seconds,
            first=self.requests_sent,
        )
        self.requests_sent += sample.sent
        self.rates.append(sample.rate)
        self.cpu_us.append((self.server.cpu_seconds - before) / sample.sent * 1e6)

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def cpu(self) -> float:
        return statistics.median(self.cpu_us)


def measure(server: EmbeddedServer, log: Path, schedule: Schedule, *, quick: bool) -> tuple[str, list[Bar]]:
    """Measure all three; return the tables and the bars."""
    products = QUICK_PRODUCTS if quick else PRODUCTS
    stores = QUICK_STORES if quick else STORES
    by_products = [Size(1, count, _USERS, _ORDERS) for count in products]
    by_stores = [Size(count, _PRODUCTS_PER_STORE, _USERS, _ORDERS) for count in stores]
    tables, bars = _series(server, log, schedule, by_products, "products")
    store_tables, store_bars = _series(server, log, schedule, by_stores, "stores")
    return tables + store_tables, bars + store_bars


def _series(
    server: EmbeddedServer, log: Path, schedule: Schedule, sizes: list[Size], what: str
) -> tuple[str, list[Bar]]:
    runs: list[Run] = []
    with ExitStack() as stack:
        for size in sizes:
            name = f"bench_{what}_{getattr(size, what)}"
            database = asyncio.run(create_database(server, log, name, size))
            runs += _start_runs(stack, database, what, is_largest=size is sizes[-1])
        for run in runs:
            # Warm-up: every store's token is verified once.
            while run.requests_sent < min(run.size, len(run.requests)) or not run.rates:
                run.measure(max(0.5, schedule.seconds / 2))
            run.rates.clear()
            run.cpu_us.clear()
        for number in range(schedule.rounds):
            for run in runs[:: 1 if number % 2 else -1]:
                run.measure(schedule.seconds)
    pages = [run for run in runs if run.kind == "pages"]
    others = [run for run in runs if run.kind != "pages"]
    tables = _table(others, [getattr(size, what) for size in sizes], what)
    if pages:
        tables += _table(pages, [run.size for run in pages], "pages before and including the one read")
    return tables, _bars(runs)


def _bars(runs: list[Run]) -> list[Bar]:
    """Return the bars of Vitrine's series: all stores in turn, products, pages."""
    bars = []
    for label, item in dict.fromkeys((run.label, run.item) for run in runs if run.kind):
        series = [run for run in runs if (run.label, run.item) == (label, item)]
        if len(series) == 1:
            continue  # the quick run has no page 10,000
        sizes = f"{series[0].size:,} to {series[-1].size:,} {series[0].kind}"
        bars.append(growth_bar(f"{item}, {sizes}", series[0].kind, [run.cpu for run in series]))
    return bars


def _start_runs(stack: ExitStack, database: BenchDatabase, what: str, *, is_largest: bool) -> list[Run]:
    size: int = getattr(database.size, what)
    vitrine = stack.enter_context(launchers.vitrine(database))
    stores = signed_in_stores(vitrine, database.size)
    runs = []
    for item in _WORKLOADS:
        if what == "stores":
            rotating = [request for data in rotating_requests(stores, item) for request in data]
            runs.append(Run("vitrine, rotating", size, item.name, vitrine, rotating, what))
        label = "vitrine" if what == "products" else "vitrine, one store"
        requests = item.requests_by_contestant["vitrine"](stores[0])
        runs.append(Run(label, size, item.name, vitrine, requests, what if what == "products" else ""))
    if what == "products" and is_largest:
        for page in PAGES:
            if (page - 1) * _PAGE_SIZE < size:
                requests = [_page_request(vitrine, stores[0], page)]
                runs.append(Run("vitrine", page, "page of 50 products", vitrine, requests, "pages"))
    limit = stack.enter_context(launchers.limit(database))
    stores[0].limit_token = sign_in_at_limit(limit)
    label = "limit, one store" if what == "stores" else "limit"
    for item in _WORKLOADS:
        stores[0].limit_style = fastest_style(limit, item, stores[0])
        runs.append(Run(label, size, item.name, limit, item.requests_by_contestant["limit"](stores[0])))
    return runs


def _page_request(server: Server, data: RequestData, page: int) -> bytes:
    """Return the request for a page, with the cursor of the record before it made from that of another."""

    def request(after: str | None) -> bytes:
        return http("POST", "/graphql", data.bearer, {"query": _PAGE, "variables": {"after": after}})

    if page == 1:
        return request(None)
    first = json.loads(send_request(server.address, request(None)).body)["data"]["product_connection"]
    cursor = first["page_info"]["end_cursor"]
    sort, time, number = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    # Products are created a minute apart, in the order of their ids.
    skipped = (page - 2) * _PAGE_SIZE
    earlier = datetime.fromisoformat(time) - timedelta(minutes=skipped)
    content = json.dumps([sort, earlier.isoformat(), number - skipped]).encode()
    return request(base64.urlsafe_b64encode(content).rstrip(b"=").decode())


def signed_in_stores(server: Server, size: Size) -> list[RequestData]:
    """Return the stores of a database, with an access token of each one's owner."""
    stores = [RequestData(size, store) for store in range(1, size.stores + 1)]
    with ThreadPoolExecutor(4) as pool:
        for data, token in zip(stores, pool.map(sign_in, [server] * len(stores), stores), strict=True):
            data.token = token
    return stores


def rotating_requests(stores: list[RequestData], item: Workload) -> list[tuple[bytes, ...]]:
    """Return requests in an order in which each is for the next store."""
    return list(
        zip(
            *(item.requests_by_contestant["vitrine"](data)[:_REQUESTS_PER_STORE] for data in stores),
            strict=True,
        )
    )


def _table(runs: list[Run], sizes: list[int], what: str) -> str:
    rows = []
    for item in dict.fromkeys(run.item for run in runs):
        for label in dict.fromkeys(run.label for run in runs):
            runs_by_size = {run.size: run for run in runs if (run.item, run.label) == (item, label)}
            most = max(runs_by_size[size].cpu for size in sizes) / runs_by_size[sizes[0]].cpu - 1
            cells = [f"{runs_by_size[size].rate:,.0f} ({runs_by_size[size].cpu:,.0f} µs)" for size in sizes]
            rows.append([f"{item}, {label}", *cells, f"{most:+.0%}"])
    heads = [
        "requests per second (server's CPU per request)",
        *(f"{size:,} {what}" for size in sizes),
        f"most CPU relative to {sizes[0]:,}",
    ]
    extra = "" if what != "stores" else f" of {_PRODUCTS_PER_STORE} products each"
    return growth_table(f"Growth: {what}{extra}", rows, heads)
