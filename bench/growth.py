"""Measure the same reads over growing numbers: of products in a store, and of stores in a database.

Each number has a database of its own; all are served at once and measured in alternating rounds, so what the machine does meanwhile
meets all alike. With many stores each request is for another store (`rotating`), or all are for the first one (`one store`).
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench import load, starting
from bench.database import Filled, Size, make_database
from bench.measuring import CONNECTIONS, Pace, signed_in, signed_in_at_limit
from bench.reporting import growth_table
from bench.servers import Server
from bench.work import ITEMS, Facts, Item
from server.embedded_postgres import EmbeddedServer

PRODUCTS = (1_000, 10_000, 100_000)
STORES = (1, 100, 1_000)
QUICK_PRODUCTS = (1_000, 5_000)
QUICK_STORES = (1, 50)
# A store of the stores' growth is small: it is the number of stores that grows.
_IN_A_STORE = 100
_USERS, _ORDERS = 20, 20
_ITEMS = tuple(item for item in ITEMS if item.name in ("Q1", "Q3"))
_PER_STORE = 20
_MOST_CHANGE = 0.15


@dataclass
class Run:
    """One series of samples."""

    label: str
    size: int
    item: str
    server: Server
    requests: Sequence[bytes]
    rates: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    done: int = 0

    def measure(self, seconds: float) -> None:
        before = self.server.cpu_seconds
        sample = load.run(
            self.server.address, self.requests, connections=CONNECTIONS, seconds=seconds, first=self.done
        )
        requests = sample.rate * seconds
        self.done += int(requests)
        self.rates.append(sample.rate)
        self.cpu_us.append((self.server.cpu_seconds - before) / requests * 1e6)

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def cpu(self) -> float:
        return statistics.median(self.cpu_us)


def measured(server: EmbeddedServer, log: Path, pace: Pace, *, quick: bool) -> str:
    """Measure both; gives the tables."""
    products = QUICK_PRODUCTS if quick else PRODUCTS
    stores = QUICK_STORES if quick else STORES
    by_products = [Size(1, count, _USERS, _ORDERS) for count in products]
    by_stores = [Size(count, _IN_A_STORE, _USERS, _ORDERS) for count in stores]
    shown = _series(server, log, pace, by_products, "products")
    return shown + _series(server, log, pace, by_stores, "stores")


def _series(server: EmbeddedServer, log: Path, pace: Pace, sizes: list[Size], what: str) -> str:
    runs: list[Run] = []
    with ExitStack() as stack:
        for size in sizes:
            name = f"bench_{what}_{getattr(size, what)}"
            filled = asyncio.run(make_database(server, log, name, size))
            runs += _started(stack, filled, what)
        for run in runs:
            # Every store's token is verified once before anything counts.
            while run.done < min(run.size, len(run.requests)) or not run.rates:
                run.measure(max(0.5, pace.seconds / 2))
            run.rates.clear()
            run.cpu_us.clear()
        for number in range(pace.rounds):
            for run in runs[:: 1 if number % 2 else -1]:
                run.measure(pace.seconds)
    return _table(runs, [getattr(size, what) for size in sizes], what)


def _started(stack: ExitStack, filled: Filled, what: str) -> list[Run]:
    size: int = getattr(filled.size, what)
    ours = stack.enter_context(starting.vitrine(filled))
    stores = _signed_in_stores(ours, filled.size)
    runs = []
    for item in _ITEMS:
        if what == "stores":
            rotating = [request for facts in _turned(stores, item) for request in facts]
            runs.append(Run("vitrine, rotating", size, item.name, ours, rotating))
        label = "vitrine" if what == "products" else "vitrine, one store"
        runs.append(Run(label, size, item.name, ours, item.asks["vitrine"](stores[0])))
    theirs = stack.enter_context(starting.limit(filled))
    stores[0].limit_token = signed_in_at_limit(theirs)
    runs += [
        Run(
            "limit, one store" if what == "stores" else "limit",
            size,
            item.name,
            theirs,
            item.asks["limit"](stores[0]),
        )
        for item in _ITEMS
    ]
    return runs


def _signed_in_stores(server: Server, size: Size) -> list[Facts]:
    stores = [Facts(size, store) for store in range(1, size.stores + 1)]
    with ThreadPoolExecutor(4) as pool:
        for facts, token in zip(stores, pool.map(signed_in, [server] * len(stores), stores), strict=True):
            facts.token = token
    return stores


def _turned(stores: list[Facts], item: Item) -> list[tuple[bytes, ...]]:
    """Give the requests in such an order that each is for the next store."""
    return list(zip(*(item.asks["vitrine"](facts)[:_PER_STORE] for facts in stores), strict=True))


def _table(runs: list[Run], sizes: list[int], what: str) -> str:
    rows = []
    for item in dict.fromkeys(run.item for run in runs):
        for label in dict.fromkeys(run.label for run in runs):
            found = {run.size: run for run in runs if (run.item, run.label) == (item, label)}
            lowest = min(found[size].rate for size in sizes) / found[sizes[0]].rate - 1
            shown = [f"{found[size].rate:,.0f} ({found[size].cpu:,.0f} µs)" for size in sizes]
            rows.append([f"{item}, {label}", *shown, f"{lowest:+.0%}"])
    heads = [
        "requests a second (server's CPU a request)",
        *(f"{size:,} {what}" for size in sizes),
        f"lowest against {sizes[0]:,} (at most -{_MOST_CHANGE:.0%})",
    ]
    extra = "" if what == "products" else f" of {_IN_A_STORE} products each"
    return growth_table(f"Growth: {what}{extra}", rows, heads)
