"""Workers killed in the middle of a bulk operation: nothing is repeated, nothing is lost."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from tests.bulk.conftest import Bulk
from tests.bulk.test_bulk_mutations import CREATE, names, product
from tests.harness.database import SECRET
from tests.harness.http import Client
from tests.harness.records import add_product
from tests.harness.scopes import execute, value

ROOT = Path(__file__).resolve().parents[2]


async def kill_after(database_url: str, folder: Path, batches: int) -> None:
    """Run a worker and kill it when it has done this many batches, the last of which it has not committed."""
    command = ["-m", "tests.bulk.killed_worker", database_url, SECRET.decode(), str(folder)]
    worker = await asyncio.create_subprocess_exec(sys.executable, *command, stdin=PIPE, stdout=PIPE, cwd=ROOT)
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        for number in range(1, batches + 1):
            assert await worker.stdout.readline() == b"batch\n", number
            if number < batches:
                worker.stdin.write(b"commit\n")
    finally:
        worker.kill()
        await worker.wait()


async def expire_leases(client: Client) -> None:
    """Wait for PostgreSQL to notice that the worker is gone, then let its claim end."""
    async with asyncio.timeout(20):
        while await value(
            client.store,
            "select exists (select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%')",
        ):
            await asyncio.sleep(0.05)
    await execute(client.store, "update bulk_operations set due_at = now() - interval '1 second'")


@pytest.mark.slow(seconds=5)
async def test_a_killed_worker_repeats_no_line_of_a_mutation(bulk: Bulk, admin: Client, database_url: str):
    created = await bulk.create_mutation(admin, CREATE, [product(n) for n in range(1, 121)])
    done = 0
    for batches in (2, 3):
        await kill_after(database_url, bulk.folder, batches)
        await expire_leases(admin)
        committed = await names(admin)
        assert committed == [f"Caneca {n}" for n in range(1, len(committed) + 1)], batches
        assert done < len(committed) < 120, batches
        done = len(committed)
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["object_count"], operation["error_count"]) == ("completed", 120, 0)
    assert await names(admin) == [f"Caneca {n}" for n in range(1, 121)]
    results: list[Any] = await bulk.results(admin, operation)
    assert [result["line"] for result in results] == list(range(1, 121))
    assert not any("errors" in result for result in results)


@pytest.mark.slow(seconds=5)
async def test_a_killed_worker_leaves_no_part_of_a_result(bulk: Bulk, admin: Client, database_url: str):
    for _ in range(200):
        await add_product(admin.store)
    created = await bulk.create(admin, "{ products { id } }")
    await kill_after(database_url, bulk.folder, 2)
    assert (await bulk.show(admin, created["id"]))["result"] is None
    await expire_leases(admin)
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["object_count"]) == ("completed", 200)
    assert len(await bulk.results(admin, operation)) == 200
