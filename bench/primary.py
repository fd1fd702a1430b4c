"""Load one primary as a platform of many stores does: `python -m bench.primary` (docs/scaling.md#what-one-primary-would-have-to-do).

Each order comes with the requests that lead to it and follow it (`PER_ORDER`), each of the next store. The web process runs as `deploy/`
ships it, with the catalogue cache, which the orders of a store empty. What is printed holds for one core of each kind: CPU times of orders
under all of this load, with the waits for locks, notifications and caches that single workloads don't have; and the memory of a connection.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import asyncpg

from auth.app_scopes import STOREFRONT_SCOPES
from bench import launchers, load, machine, storefront
from bench.database import BenchDatabase, Size, create_database, running_postgres
from bench.growth import signed_in_stores
from bench.load import Sample, UnexpectedResponse
from bench.requests import RequestData
from bench.servers import NotStarted, Server
from bench.workloads import WORKLOADS
from kernel.ids import checksummed_token, uuid7
from kernel.signatures import token_hash

PER_ORDER = {"S1": 40, "S2": 50, "Q3": 10, "S5": 4, "W2": 1, "W3": 3}
"""Requests of each kind with an order: lists and pages of products, records by id, carts, the checkout, changes of status."""
_REQUESTS = sum(PER_ORDER.values())
_ITEMS = {item.name: item for item in (*WORKLOADS, *storefront.workloads()) if item.name in PER_ORDER}
# With the two lists, ten pages of the catalogue are read again after each order of a store; 80 are answered from the cache.
_PAGES = 8
_PRODUCTS, _USERS, _ORDERS = 100, 20, 60
_ADD_KEY = """
INSERT INTO storefront_keys (tenant_id, public_id, key_hash, scopes, rate_limit, per_address) VALUES ($1, $2, $3, $4, 100000, 0)
"""


@dataclass(frozen=True)
class Round:
    """A round, with the CPU time of an order in milliseconds."""

    sample: Sample
    web_ms: float
    postgres_ms: float


def main() -> int:
    """Fill a database, load it with growing numbers of clients and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stores", type=int, default=300, help="the number of stores, which all sell (300)")
    parser.add_argument(
        "--clients",
        type=int,
        nargs="+",
        default=[8, 32, 96],
        help="requests at a time, below the 100 of an address (8 32 96)",
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each (3)")
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds of a round (10)")
    arguments = parser.parse_args()
    machine.pin_to_load_core()
    try:
        with running_postgres() as (server, log):
            size = Size(arguments.stores, _PRODUCTS, _USERS, _ORDERS)
            database = asyncio.run(create_database(server, log, "bench_primary", size))
            print("\n".join(f"* {name}: {value}" for name, value in machine.description().items()))
            with launchers.vitrine(database) as web:
                _measure(database, web, arguments)
    except (UnexpectedResponse, NotStarted) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


def _measure(database: BenchDatabase, web: Server, arguments: argparse.Namespace) -> None:
    stores = signed_in_stores(web, database.size)
    asyncio.run(_add_keys(database, stores))
    requests = list(traffic(stores))
    sent = load.run(web.address, requests, connections=8, seconds=2 * arguments.seconds).sent  # the warm-up
    print(
        "\n| clients | orders a second | web, ms an order | PostgreSQL, ms an order | p50, ms | p99, ms | connections | MB each |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for clients in arguments.clients:
        rounds: list[Round] = []
        for _ in range(arguments.rounds):
            before = web.cpu_seconds, database.cpu_seconds
            sample = load.run(web.address, requests, connections=clients, seconds=arguments.seconds, first=sent)
            orders, sent = sample.sent / _REQUESTS, sent + sample.sent
            web_ms = (web.cpu_seconds - before[0]) / orders * 1e3
            rounds.append(Round(sample, web_ms, (database.cpu_seconds - before[1]) / orders * 1e3))
        if sent > len(requests):
            raise UnexpectedResponse(
                f"{sent:,} requests were sent, of {len(requests):,}: use more stores, or fewer seconds"
            )
        print(_row(clients, rounds, _memory_of_connections(database)), flush=True)


def _row(clients: int, rounds: Sequence[Round], memory: Sequence[float]) -> str:
    rate, p50, p99 = (
        statistics.median(getattr(each.sample, name) for each in rounds) for name in ("rate", "p50", "p99")
    )
    web, postgres = (statistics.median(getattr(each, name) for each in rounds) for name in ("web_ms", "postgres_ms"))
    cells = (f"{clients}", f"{rate / _REQUESTS:.1f}", f"{web:.0f}", f"{postgres:.0f}", f"{p50:.1f}", f"{p99:.0f}")
    return "| " + " | ".join((*cells, f"{len(memory)}", f"{statistics.median(memory):.1f}")) + " |"


def traffic(stores: Sequence[RequestData]) -> Iterator[bytes]:
    """Yield the requests of all orders, as many as there are carts; those of an order are of one store, in any order."""
    shuffled = random.Random(1)
    sources = [
        {name: cycle(requests) if name != "W2" else iter(requests) for name, requests in _requests_of(data).items()}
        for data in stores
    ]
    for source in cycle(sources):
        batch: list[bytes] = []
        for name, count in PER_ORDER.items():
            for _ in range(count):
                request = next(source[name], None)
                if request is None:
                    return  # the first store's carts are ordered
                batch.append(request)
        shuffled.shuffle(batch)
        yield from batch


def _requests_of(data: RequestData) -> dict[str, Sequence[bytes]]:
    requests = {name: item.requests_by_contestant["vitrine"](data) for name, item in _ITEMS.items()}
    return requests | {"S2": requests["S2"][:_PAGES]}


async def _add_keys(database: BenchDatabase, stores: Sequence[RequestData]) -> None:
    connection = await asyncpg.connect(database.superuser_url)
    try:
        for data in stores:
            data.storefront_key = checksummed_token("sfk_")
            scopes = list(STOREFRONT_SCOPES)
            await connection.execute(_ADD_KEY, data.store, uuid7(), token_hash(data.storefront_key), scopes)
    finally:
        await connection.close()


def _memory_of_connections(database: BenchDatabase) -> list[float]:
    """Return the memory of each connection's process that no other one shares, in MB."""
    postmaster = (database.log.parent / "data" / "postmaster.pid").read_text(encoding="ascii").split()[0]
    sizes = []
    for child in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text(encoding="ascii").split():
        with suppress(OSError):  # it has ended
            if b"bench_primary" in Path(f"/proc/{child}/cmdline").read_bytes():
                lines = Path(f"/proc/{child}/smaps_rollup").read_text(encoding="ascii").splitlines()
                sizes.append(sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024)
    return sizes


if __name__ == "__main__":
    sys.exit(main())
