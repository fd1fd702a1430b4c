"""The server through a pooler and with replicas, from request to answer (docs/scaling.md)."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator

import aiohttp
import pytest

from models.connection import database as db
from models.connection import notices, replicas
from models.connection.replicas import Replica
from tests.harness.database import needs_pgbouncer, running_pgbouncer
from tests.harness.sample_store import SampleStore
from tests.models.test_replicas import standby
from tests.server.command_line import Vitrine
from tests.system.standby import Standby

pytestmark = pytest.mark.slow

__all__ = ["standby"]


@needs_pgbouncer
@pytest.mark.usefixtures("pooled_role", "database")
class TestPooler:
    def test_a_database_url_through_a_pooler_is_refused_in_one_line(self, tmp_path, postgres, database_name):
        vitrine = Vitrine(tmp_path)
        with running_pgbouncer(postgres) as pooler:
            url = pooler.url(database_name, "vitrine_owner")
            for command in (["serve"], ["worker"], ["tenant", "list"]):
                result = vitrine(*command, DATABASE_URL=url, PORT="0")
                assert (
                    "leads to a connection pooler in transaction mode: set VITRINE_POOLER_URL" in result.error_line
                ), command
            result = vitrine("doctor", DATABASE_URL=url)
        assert result.code == 1
        assert re.search(r"^fail +database .*connection pooler in transaction mode", result.out, re.MULTILINE)

    async def test_serve_answers_through_a_pooler(self, tmp_path, postgres, database_url, database_name):
        with running_pgbouncer(postgres, default_pool_size=2) as pooler:
            vitrine = Vitrine(
                tmp_path, DATABASE_URL=database_url, VITRINE_POOLER_URL=pooler.url(database_name), PORT="0"
            )
            async with vitrine.running("serve", WEB_CONCURRENCY="2") as server:
                line = await server.wait_for_output("Vitrine is running at")
                address = re.search(r"http://127\.0\.0\.1:(\d+)", line)
                assert address is not None
                async with aiohttp.ClientSession(address[0]) as client, client.get("/health/ready") as answer:
                    assert answer.status == 200, await answer.text()
                assert await server.stop(signal.SIGTERM) == 0


@pytest.fixture
async def replica(
    sample: SampleStore, standby: Standby, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Replica]:
    """Let this process's server use the standby."""
    monkeypatch.setattr(replicas, "POLL_SECONDS", 0.1)
    await db.use_replicas([standby.url(database_name)])
    database = db._connected()
    assert database.replicas is not None
    (replica,) = database.replicas.replicas
    async with asyncio.timeout(30):
        while database.replicas.choose(sample.store.id) is None:
            await asyncio.sleep(0.01)
    try:
        yield replica
    finally:
        await standby.execute("select pg_wal_replay_resume()")
        replicas.use(None)
        notices.stop_observing(database.replicas.record_write)
        await database.replicas.close()
        database.replicas = None


async def is_read_from(replica: Replica, sample: SampleStore) -> None:
    """Wait until reads of the store run on the replica."""
    async with asyncio.timeout(30):
        while True:
            reads = replica.reads
            await sample.get(f"/api/products/{sample.mug.id}")
            if replica.reads > reads:
                return
            await asyncio.sleep(0.01)


async def test_every_family_reads_from_the_replica_what_was_written_before(replica, sample):
    query = "query ($id: ID!) { product(id: $id) { name price_cents } }"
    path = f"/api/products/{sample.mug.id}"
    for number in range(12):
        assert (await sample.put(path, {"product": f"Caneca {number}"})).status == 200
        if number % 3 == 0:
            await is_read_from(replica, sample)
        assert (await sample.get(path)).body["product"] == f"Caneca {number}"
        answer = await sample.post(
            "/graphql", {"query": query, "variables": {"id": sample.mug.id}}, by=sample.owner, auth="bearer"
        )
        assert answer.body["data"]["product"]["name"] == f"Caneca {number}"


async def test_a_replica_that_is_behind_shows_no_old_record(replica, sample, standby):
    path = f"/api/products/{sample.mug.id}"
    await is_read_from(replica, sample)
    await standby.execute("select pg_wal_replay_pause()")
    assert (await sample.put(path, {"product": "Xícara"})).status == 200
    for repetition in range(10):
        assert (await sample.get(path)).body["product"] == "Xícara", repetition
        await asyncio.sleep(0.01)


async def test_what_a_request_reads_before_it_writes_comes_from_the_primary(replica, sample):
    await is_read_from(replica, sample)
    reads = replica.reads
    for name in ("A", "B"):
        assert (await sample.put(f"/api/products/{sample.mug.id}", {"product": name})).status == 200
    assert replica.reads == reads
