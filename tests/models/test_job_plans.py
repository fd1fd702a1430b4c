"""What periodic jobs read to find the stores that need them, among 10,000 stores of which none does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import orjson
import pytest

from domain.jobs import JOBS, Job
from kernel.clock import now
from models.connection import database as db
from server.embedded_postgres import EmbeddedServer
from tests.harness.database import connected_to_new_database

STORES = 10_000
# Blocks of 8 kB that a job may read, by how often it runs: those above the rows of a few indexes, or of each store an entry or a day.
MOST = {timedelta(): 60, timedelta(minutes=1): 4 * STORES, timedelta(hours=1): 12 * STORES}
OF_NO_STORE = {"forget_addresses", "delete_lost_files"}
_FIRST_STORE = 3_000_000
_FILL = (
    "insert into tenants (public_id, name) select gen_random_uuid(), 'Loja ' || n from generate_series(1, {stores}) n",
    """insert into warehouses (tenant_id, id, public_id, name, status)
        select t.id, n, gen_random_uuid(), 'CD', case n when 3 then 'D' else 'A' end from tenants t, generate_series(1, 3) n""",
    """insert into warehouse_stock (tenant_id, public_id, warehouse_id, product_id, quantity, is_active)
        select t.id, gen_random_uuid(), n % 3 + 1, n, 10, n % 3 + 1 < 3 from tenants t, generate_series(1, 12) n""",
    """insert into orders (tenant_id, id, public_id, status, subtotal_cents, total_cents)
        select t.id, n, gen_random_uuid(), 'C', 100, 100 from tenants t, generate_series(1, 12) n""",
    """insert into carts (tenant_id, public_id, expires_at, updated_at, abandoned_at)
        select t.id, gen_random_uuid(), now() + interval '9 days', now() - interval '9 days', now() - interval '8 days'
        from tenants t, generate_series(1, 4) n""",
    """insert into store_usage (tenant_id, hour, requests, stored_rows)
        select t.id, date_trunc('hour', now()) - n * interval '3 hours', 10, 100 from tenants t, generate_series(1, 16) n""",
)


@pytest.fixture(scope="module")
async def own_database_url(postgres: EmbeddedServer, database: db.DatabaseSettings) -> AsyncIterator[str]:
    """Connect this process with a database of many stores."""
    async with connected_to_new_database(postgres, database, first_store=_FIRST_STORE) as url:
        connection = await asyncpg.connect(postgres.superuser_url(urlsplit(url).path.removeprefix("/")))
        await connection.execute("set session_replication_role = replica")  # without triggers
        for statement in _FILL:
            await connection.execute(statement.format(stores=STORES))
        await connection.execute("set synchronous_commit = on")  # else pages aren't marked as visible to all
        await connection.execute("vacuum (analyze)")
        await connection.close()
        yield url


async def blocks_of(sql: str, *arguments: Any) -> int:
    """Return how many blocks the statement reads, as the worker's role."""
    async with db.cross_store_connection() as connection:
        explained = await connection.fetchval(f"explain (analyze, buffers, format json) {sql}", *arguments)
    plan = orjson.loads(explained)[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("job", [job for job in JOBS if job.name not in OF_NO_STORE], ids=lambda job: job.name)
async def test_a_job_that_runs_often_reads_nothing_of_a_store_that_does_not_need_it(
    own_database_url: str, job: Job
) -> None:
    with db.count_statements() as counted:
        await job.work(lambda: False)
    assert counted.statements
    most = max(blocks for every, blocks in MOST.items() if every <= job.every)
    assert await blocks_of(counted.statements[0], now()) <= most
