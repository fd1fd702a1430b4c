"""Measure `vitrine import cscart`: `python -m bench.cscart_import [--products N] [--orders N]`.

A store served in CS-Cart's dialect by a real server on its own core is imported over HTTP into an empty store of the same database. Prints
the seconds of each entity, and the report.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import time
from uuid import UUID

import asyncpg

from auth.configuration import configure
from bench import launchers
from bench.database import API_KEY, BenchDatabase, Size, create_database, running_postgres
from kernel.ids import uuid7
from models.connection import database as models_database
from server.importers.cscart import run
from server.importers.cscart.http_source import HttpSource
from server.importers.cscart.progress import Progress


class Seconds(Progress):
    """Prints how long each entity takes."""

    def begin(self, entity: str) -> None:
        self.entity, self.started = entity, time.monotonic()

    def end(self) -> None:
        print(f"{self.entity:14s} {time.monotonic() - self.started:7.1f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--products", type=int, default=10_000)
    parser.add_argument("--orders", type=int, default=10_000)
    parser.add_argument("--users", type=int, default=5_000)
    args = parser.parse_args()
    size = Size(products=args.products, users=args.users, orders=args.orders)
    with running_postgres() as (postgres, log):
        database = asyncio.run(create_database(postgres, log, "cscart_import", size))
        source, target = asyncio.run(_prepare(database))
        with launchers.vitrine(database) as server:
            url = f"http://127.0.0.1:{server.address[1]}"
            started = time.monotonic()
            asyncio.run(_import(database, url, source, target))
            print(
                f"{'whole import':14s} {time.monotonic() - started:7.1f} s; CPU: server {server.cpu_seconds:.0f} s",
                end="",
            )
            usage = resource.getrusage(resource.RUSAGE_SELF)
            print(f", importer {usage.ru_utime + usage.ru_stime:.0f} s, at most {usage.ru_maxrss // 1024} MiB")
    return 0


async def _prepare(database: BenchDatabase) -> tuple[str, str]:
    """Let the filled store speak CS-Cart's dialect and add an empty one; return the public ids of both."""
    connection = await asyncpg.connect(database.superuser_url)
    try:
        source = await connection.fetchval(
            """UPDATE tenants SET settings = settings || '{"legacy_lists": "cscart"}' RETURNING public_id"""
        )
        target = uuid7()
        await connection.execute("INSERT INTO tenants (public_id, name) VALUES ($1, 'Moved')", target)
        return str(source), str(target)
    finally:
        await connection.close()


async def _import(database: BenchDatabase, url: str, source_id: str, target: str) -> None:
    configure(launchers.SECRET.encode())
    await models_database.connect(models_database.DatabaseSettings(database.owner_url))
    try:
        headers = {"X-Tenant-ID": source_id}
        async with HttpSource(url, "user1@example.com", API_KEY, headers=headers) as source:
            report = await run.run(source, UUID(target), progress=Seconds())
        for line in report.lines():
            print(line)
    finally:
        await models_database.close()


if __name__ == "__main__":
    sys.exit(main())
