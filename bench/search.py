"""Compare the first page of a product search with facets and without: `python -m bench.search [--products 1000,10000,100000]`.

Each size has its own database with one store. The requests are those of a storefront, total included, sent one after the other and in turn
with and without facets, so that other load on the machine affects both alike. Queries match a few products, a seventh, and all of
them; without a query the whole catalogue is browsed. CHOICES narrows the widest search down by three facets.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from bench import bars, launchers, machine
from bench.bars import Bar
from bench.database import SQL, BenchDatabase, Size, create_database, running_postgres
from bench.load import send_request
from bench.measurement import sign_in
from bench.requests import RequestData, http
from bench.servers import Server

PRODUCTS = (1_000, 10_000, 100_000)
ROUNDS = 15
MAX_RATIO = 3.0
_PAGE = """
query Search($query: String, $filter: ProductSearchFilter) {
  product_search(query: $query, filter: $filter, first: 24) {
    total corrected_query page_info { has_next_page end_cursor }
    edges { node { id name slug price_cents compare_at_cents is_available main_image { url alt } } }
    %s
  }
}
"""
_FACETS = """
facets {
  categories { category_id name count } vendors { vendor_id name count } prices { from_cents to_cents count }
  ratings { rating_from count } availability { is_available count } features { feature_id name values { variant_id name count } }
  tags { name count }
}
"""
CHOICES = {"price_from": 10_000, "rating_from": 2, "is_available": True}
SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "few: SKU-77": {"query": "sku-77"},
    "a seventh: jarras": {"query": "jarras"},
    "all: cerâmica": {"query": "cerâmica"},
    "all: three choices": {"query": "cerâmica", "filter": CHOICES},
    "a wrong letter: cerãmyca": {"query": "cerãmyca"},
    "no query": {},
}


@dataclass
class Run:
    """The times of one search at one size in seconds, without facets and with."""

    products: int
    search: str
    plain: list[float] = field(default_factory=list)
    faceted: list[float] = field(default_factory=list)
    total: int = 0

    @property
    def ratio(self) -> float:
        return statistics.median(self.faceted) / statistics.median(self.plain)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.search", description=__doc__)
    parser.add_argument("--products", default=",".join(map(str, PRODUCTS)), help="numbers of products")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="requests of each kind")
    arguments = parser.parse_args()
    machine.pin_to_load_core()
    runs: list[Run] = []
    with running_postgres() as (postgres, log):
        for products in map(int, arguments.products.split(",")):
            size = Size(products=products, users=100, orders=100)
            database = asyncio.run(create_database(postgres, log, f"search_{products}", size))
            asyncio.run(_fill(database))
            with launchers.vitrine(database) as server:
                runs += _measure(server, size, arguments.rounds)
    print(_table(runs))
    print(bars.table(_bars(runs)))
    return 0


async def _fill(database: BenchDatabase) -> None:
    connection = await asyncpg.connect(database.superuser_url)
    try:
        started_at = time.monotonic()
        await connection.execute((SQL / "search.sql").read_text(encoding="utf-8"))
        await connection.execute("vacuum analyze")
        await connection.execute("checkpoint")
        print(f"  facets: {time.monotonic() - started_at:.0f} s", flush=True)
    finally:
        await connection.close()


def _measure(server: Server, size: Size, rounds: int) -> list[Run]:
    data = RequestData(size)
    data.token = sign_in(server, data)
    runs = []
    for name, variables in SEARCHES.items():
        run = Run(size.products, name)
        plain, faceted = (
            http("POST", "/graphql", data.bearer, {"query": _PAGE % facets, "variables": variables})
            for facets in ("", _FACETS)
        )
        for number in range(rounds + 2):
            seconds, answer = _send(server, plain)
            with_facets, same = _send(server, faceted)
            if answer["total"] != same["total"] or answer["edges"] != same["edges"]:
                raise SystemExit(f"{name}: the page differs with facets")
            if number >= 2:  # the first ones prepare statements
                run.plain.append(seconds)
                run.faceted.append(with_facets)
            run.total = answer["total"]
        runs.append(run)
        print(f"  {size.products:,} {name}: {_row(run)}", flush=True)
    return runs


def _send(server: Server, request: bytes) -> tuple[float, Any]:
    started_at = time.perf_counter()
    response = send_request(server.address, request)
    seconds = time.perf_counter() - started_at
    body = json.loads(response.body)
    if "errors" in body:
        raise SystemExit(str(body["errors"]))
    return seconds, body["data"]["product_search"]


def _row(run: Run) -> str:
    plain, faceted = (statistics.median(times) * 1e3 for times in (run.plain, run.faceted))
    return f"{run.total:,} found, {plain:.1f} ms, with facets {faceted:.1f} ms, {run.ratio:.2f} ×"


def _table(runs: Sequence[Run]) -> str:
    lines = ["| Search | Products | Found | Page, ms | With facets, ms | Ratio |", "|---|---:|---:|---:|---:|---:|"]
    for run in runs:
        plain, faceted = (statistics.median(times) * 1e3 for times in (run.plain, run.faceted))
        lines.append(
            f"| {run.search} | {run.products:,} | {run.total:,} | {plain:.1f} | {faceted:.1f} | {run.ratio:.2f} |"
        )
    return "\n".join(lines) + "\n"


def _bars(runs: Sequence[Run]) -> list[Bar]:
    return [
        Bar(
            f"{run.search}, {run.products:,} products: with facets",
            f"{run.ratio:.2f} ×",
            f"at most {MAX_RATIO:g} ×",
            run.ratio <= MAX_RATIO,
        )
        for run in runs
        if run.products == max(run.products for run in runs)
    ]


if __name__ == "__main__":
    sys.exit(main())
