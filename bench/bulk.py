"""Measure bulk operations on a whole catalogue: `python -m bench.bulk [--products N]`; print each bar, exit with 1 unless all are met.

This process is the worker: it executes the query that the store's owner created, with images, categories and features of all products, and
a mutation that changes price and stock of each, 100 a line. Then it imports a CSV file of as many products with prices, stock, categories
and images. The database has one core besides, as in production on two. Memory is the growth of the process to its peak.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

import asyncpg
import orjson

import auth
from auth.credentials import load_user
from bench.bars import Bar, table
from bench.database import SQL, BenchDatabase, Size, create_database, running_postgres
from domain.bulk import operations, uploads
from domain.bulk.configuration import BulkConfiguration, configure
from domain.storage import configure as configure_storage
from domain.storage import open_storage
from domain.stores import find_store
from kernel.clock import now
from kernel.scope import SYSTEM, Scope, active_scope
from models.connection import database
from resolvers import bulk_mutations, bulk_queries
from server.importers import product_files, record_files
from server.workers.bulk import BulkWorker, Run

PRODUCTS = 100_000
MAX_SECONDS = 30.0
MAX_WRITE_SECONDS = 120.0
MAX_EXTRA_MIB = 64.0
QUERIES = {
    "products": (
        "{ products { id sku name slug price_cents stock status description created_at vendor { id name }"
        " images { url alt position } categories { id name } features { feature { id name } variant { id name } } } }"
    ),
    "categories with their products": "{ categories { id name products { edges { node { id sku price_cents } } } } }",
}
MUTATION = "mutation ($rows: [ProductUpsertInput!]!) { product_bulk_upsert(rows: $rows) { id } }"
ROWS_A_LINE = 100


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.bulk", description=__doc__)
    parser.add_argument("--products", type=int, default=PRODUCTS, help="products in the store")
    size = Size(products=parser.parse_args().products, users=100, orders=100)
    with running_postgres() as (postgres, log):
        filled = asyncio.run(create_database(postgres, log, "bulk", size))
        bars = asyncio.run(_measure_all(filled))
    print(table(bars))
    return 0 if all(bar.is_met for bar in bars) else 1


async def _measure_all(filled: BenchDatabase) -> list[Bar]:
    connection = await asyncpg.connect(filled.superuser_url)
    try:
        await connection.execute((SQL / "bulk.sql").read_text(encoding="utf-8"))
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()
    auth.configure(b"a key of the benchmark only, which signs nothing")
    await database.connect(database.DatabaseSettings(filled.owner_url))
    try:
        with tempfile.TemporaryDirectory(prefix="vitrine-bulk-") as folder:
            configure(BulkConfiguration(Path(folder) / "bulk"))
            configure_storage(open_storage(Path(folder).as_uri()))
            bars = [bar for name, query in QUERIES.items() for bar in await _measure(name, query)]
            bars += await _measure_mutation()
            return [*bars, *await _measure_import(Path(folder) / "products.csv", filled.size.products)]
    finally:
        await database.close()


async def _measure(name: str, query: str) -> list[Bar]:
    caller = await _owner()
    with active_scope(caller):
        number = await operations.create(caller, operations.QUERY, query)
    seconds, extra = await _execute(caller, name, number, operations.QUERY, bulk_queries.run)
    return _bars(name, seconds, extra, MAX_SECONDS)


async def _measure_mutation() -> list[Bar]:
    caller = await _owner()
    with active_scope(caller):
        rows = await database.fetch("SELECT public_id FROM products WHERE tenant_id = 1 ORDER BY id")
        upload, link = await uploads.new_upload(caller)
        file = uploads.uploaded_file(caller.store.public_id, _name_in(link.url))
        for first in range(0, len(rows), ROWS_A_LINE):
            changed = [
                {"id": str(row["public_id"]), "price_cents": 1_000 + n % 900, "stock": n % 50}
                for n, row in enumerate(rows[first : first + ROWS_A_LINE])
            ]
            await file.write(orjson.dumps({"rows": changed}) + b"\n")
        await file.complete()
        number = await operations.create(caller, operations.MUTATION, MUTATION, upload=upload)
    name = "mutation of each product"
    seconds, extra = await _execute(caller, name, number, operations.MUTATION, bulk_mutations.run)
    return _bars(name, seconds, extra, MAX_WRITE_SECONDS)


async def _owner() -> Scope:
    store = await find_store(1)
    scope = Scope(store, SYSTEM, "bench", now(), family="graphql")
    with active_scope(scope):
        owner = await load_user(scope, store.owner_id or 0)
    return Scope(store, owner, "bench", now(), family="graphql")


def _name_in(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2].removesuffix(".jsonl")


async def _execute(caller: Scope, name: str, number: int, kind: str, run: Run) -> tuple[float, float]:
    """Execute an operation and return its seconds and additional memory in MiB."""
    memory, started, cpu = _peak_mib(), time.monotonic(), time.process_time()
    await BulkWorker({kind: run}).run_next()
    seconds, extra = time.monotonic() - started, _peak_mib() - memory
    with active_scope(caller):
        row = await database.fetchrow("SELECT * FROM bulk_operations WHERE tenant_id = 1 AND id = $1", number)
    assert row is not None
    assert (row["state"], row["error_count"]) == ("completed", 0), row["error_message"]
    print(
        f"{name}: {row['object_count']} lines, {row['file_size'] / 2**20:.0f} MiB in {seconds:.1f} s,"
        f" {time.process_time() - cpu:.1f} s of CPU, {extra:.1f} MiB more memory",
        flush=True,
    )
    return seconds, extra


async def _measure_import(path: Path, count: int) -> list[Bar]:
    with path.open("w", encoding="utf-8") as file:
        file.write("sku,name,price,stock,description,categories,images\n")
        for n in range(count):
            images = f"https://img.example/{n}.jpg|https://img.example/{n}-2.jpg"
            file.write(
                f"NEW-{n},Produto importado {n},{n % 900 + 1}.90,{n % 50},{'Descrição. ' * 20},Novos > Linha {n % 40},{images}\n"
            )
    memory, started, cpu = _peak_mib(), time.monotonic(), time.process_time()
    report = await record_files.run(
        product_files.PRODUCTS, path, "csv", (await find_store(1)).public_id, progress=False
    )
    seconds, extra = time.monotonic() - started, _peak_mib() - memory
    assert (report.counts["created"], report.failed) == (count, 0), list(report.lines())[:5]
    print(
        f"import: {count} products in {seconds:.1f} s, {time.process_time() - cpu:.1f} s of CPU, {extra:.1f} MiB more memory"
    )
    return _bars("import of a CSV file", seconds, extra, MAX_WRITE_SECONDS)


def _bars(name: str, seconds: float, extra: float, most: float) -> list[Bar]:
    return [
        Bar(f"{name}: time", f"{seconds:.1f} s", f"at most {most:g} s", seconds <= most),
        Bar(f"{name}: memory", f"{extra:.1f} MiB", f"at most {MAX_EXTRA_MIB:g} MiB", extra <= MAX_EXTRA_MIB),
    ]


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
