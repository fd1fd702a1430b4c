"""Compiled reads from a streaming replica: a caller reads its own writes, and no replica causes an error (docs/scaling.md#replicas)."""

from __future__ import annotations

import asyncio
import re
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from kernel import metrics
from kernel.scope import Scope, active_scope
from models.connection import catalog_versions, replicas
from models.connection import database as db
from models.connection.pool import DatabaseSettings
from models.connection.replicas import Replica, ReplicaStatus, WritePositions
from models.tables.marketplace import Vendor
from resolvers import root
from resolvers.engine.prepare import prepare_document
from resolvers.engine.run import OperationExecutor
from server.embedded_postgres import EmbeddedServer
from tests.system.standby import Standby
from tests.webhooks.kit import emit_events

# Slow, so that they run before the standby has to copy the stores of other tests.
pytestmark = pytest.mark.slow
NAMES = "select name from vendors where tenant_id = $1 order by id"


class TestWritePositions:
    def test_nothing_is_known_at_the_start(self):
        assert WritePositions().required(1) is None

    def test_a_write_needs_the_position_that_was_asked_for_after_it(self):
        positions = WritePositions()
        positions.begin()
        positions.end(100)
        assert positions.required(1) == 100

        positions.record_write(1)
        assert (positions.required(1), positions.required(2)) == (None, 100)
        positions.begin()
        assert positions.required(1) is None
        positions.record_write(1)  # while the primary is asked
        positions.end(200)
        assert positions.required(1) is None
        positions.begin()
        positions.end(300)
        assert (positions.required(1), positions.required(2)) == (300, 100)

    def test_an_unanswered_question_leaves_positions_unknown(self):
        positions = WritePositions()
        positions.begin()
        positions.fail()
        assert positions.required(1) is None
        assert not positions.is_complete
        positions.begin()
        positions.end(100)
        assert positions.required(1) == 100
        assert positions.is_complete

    def test_lost_notices_raise_the_position_of_every_store(self):
        positions = WritePositions()
        positions.begin()
        positions.end(100)
        positions.forget()
        assert positions.required(1) is None
        positions.begin()
        positions.end(500)
        assert positions.required(1) == 500

    def test_a_required_position_never_falls(self):
        positions = WritePositions()
        positions.begin()
        positions.end(100)
        positions.set_least(1, 300)
        positions.set_least(1, 200)
        assert positions.required(1) == 300
        positions.prune(299)
        assert positions.required(1) == 300
        positions.prune(300)
        assert positions.required(1) == 100

    def test_positions_of_another_primary_are_not_compared(self):
        positions = WritePositions()
        positions.begin()
        positions.end(1_000)
        positions.record_write(1)
        positions.begin()
        positions.end(400)
        assert positions.required(1) is None
        positions.begin()
        positions.end(410)
        assert (positions.required(1), positions.required(2)) == (410, 410)


async def test_a_write_that_is_noticed_while_replicas_are_closed_does_not_keep_them_open():
    asked = asyncio.Event()

    async def ask() -> int:
        asked.set()
        return 1

    watching = replicas.Replicas([], ask, lambda: True)
    watching.start()
    watching.record_write(1)
    await asked.wait()
    await asyncio.sleep(replicas.SAMPLE_SECONDS * 3)  # it waits for the next write
    watching.record_write(1)
    async with asyncio.timeout(5):
        await watching.close()


@pytest.fixture(scope="module")
async def standby(postgres: EmbeddedServer, database_url: str) -> AsyncIterator[Standby]:
    with tempfile.TemporaryDirectory(prefix="vt-standby-") as folder:
        standby = Standby(Path(folder), postgres.socket_dir, postgres.port)
        await asyncio.to_thread(standby.create)
        await standby.start()
        try:
            yield standby
        finally:
            standby.kill()


@pytest.fixture
async def replica(
    scope: Scope, standby: Standby, database_url: str, database_name: str, pooler_url: str | None, monkeypatch
) -> AsyncIterator[Replica]:
    """Connect this process with the standby as its replica, and wait until it is used."""
    monkeypatch.setattr(db, "_database", None)
    monkeypatch.setattr(replicas, "FIRST_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(replicas, "POLL_SECONDS", 0.1)
    await db.connect(DatabaseSettings(database_url, pooler_url=pooler_url))
    try:
        await db.use_replicas([standby.url(database_name)])
        (replica,) = connected_replicas().replicas
        await is_used(replica)
        yield replica
    finally:
        standby.signal_all(signal.SIGCONT)
        await standby.execute("select pg_wal_replay_resume()")
        await db.close()


def connected_replicas() -> replicas.Replicas:
    connected = db._connected().replicas
    assert connected is not None
    return connected


async def is_used(replica: Replica) -> None:
    async with asyncio.timeout(50):
        while not replica.is_used or connected_replicas().choose(1) is None:
            await asyncio.sleep(0.01)


async def answers_reads(replica: Replica) -> None:
    """Wait until it has answered another read: when it is used again, it may still have to replay what others wrote meanwhile."""
    reads = replica.reads
    async with asyncio.timeout(50):
        while replica.reads == reads:
            await asyncio.sleep(0.01)


async def has_replayed(replica: Replica, store: int) -> None:
    """Wait until the store would be read from the replica and it has what was written."""
    positions = connected_replicas().positions
    async with asyncio.timeout(30):
        while (required := positions.required(store)) is None or replica.replayed < required:
            await asyncio.sleep(0.01)


async def names(scope: Scope) -> list[str]:
    """Read as a compiled read does."""
    with active_scope(scope), replicas.replica_read(scope.store.id):
        return [record["name"] for record in await db.fetch(NAMES, scope.store.id)]


async def create(scope: Scope, name: str) -> None:
    with active_scope(scope):
        await Vendor.create(name=name)


async def test_reads_run_on_the_replica_in_the_serving_role(replica, scope):
    await create(scope, "a")
    await has_replayed(replica, scope.store.id)
    with active_scope(scope), replicas.replica_read(scope.store.id):
        row = await db.fetchrow("select pg_is_in_recovery(), current_user, count(*) from vendors")
    assert tuple(row) == (True, "vitrine_app", 1)
    assert metrics.snapshot()["vitrine_replica_reads_total"]["1", "answered"] == replica.reads > 0


async def test_doctor_and_metrics_know_the_replica(replica, standby, database_name, database_url, scope, monkeypatch):
    from server.operations import operation_checks
    from server.operations.operation_checks import check_replica

    assert list(metrics.snapshot()["vitrine_replica_lag_seconds"]) == [("1",)]
    connection = await asyncpg.connect(database_url)
    try:
        result = await check_replica(connection, "replica 1", standby.url(database_name))
        assert re.fullmatch(r"follows the primary, less than [0-4]\.\d s behind", result.text), result
        monkeypatch.setattr(operation_checks, "MAX_LAG_SECONDS", 1.0)
        await standby.execute("select pg_wal_replay_pause()")
        await create(scope, "a")
        late = await check_replica(connection, "replica 1", standby.url(database_name))
        assert re.fullmatch(
            r"is \d+\.\d MiB and more than 1 s behind the primary, and not used meanwhile"
            r"(; its last change is of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)?",
            late.text,
        ), late
    finally:
        await standby.execute("select pg_wal_replay_resume()")
        await connection.close()
    assert (result.level, late.level) == ("ok", "fail")


async def test_only_compiled_reads_outside_of_transactions_use_it(replica, scope):
    in_recovery = "select pg_is_in_recovery()"
    with active_scope(scope):
        assert await db.fetchval(in_recovery) is False
    with replicas.replica_read(scope.store.id):
        async with db.transaction(scope):
            assert await db.fetchval(in_recovery) is False
    token = replicas.primary_only.set(True)
    with active_scope(scope), replicas.replica_read(scope.store.id):
        assert await db.fetchval(in_recovery) is False
    replicas.primary_only.reset(token)


async def test_a_caller_reads_its_own_writes(replica, scope):
    for number in range(40):
        await create(scope, f"{number:02}")
        assert len(await names(scope)) == number + 1
        if number % 4 == 0:
            await has_replayed(replica, scope.store.id)


async def test_a_replica_that_is_behind_does_not_answer_for_a_store_that_was_written_to(
    replica, scope, other_scope, standby
):
    await create(other_scope, "before")
    await has_replayed(replica, other_scope.store.id)
    await standby.execute("select pg_wal_replay_pause()")
    await create(scope, "a")
    for repetition in range(20):
        assert await names(scope) == ["a"], repetition
        await asyncio.sleep(0.01)
    reads = replica.reads
    assert await names(other_scope) == ["before"]  # it has all that this store needs
    assert replica.reads == reads + 1


async def test_a_write_of_another_process_is_read_after_its_notice(replica, scope, standby, database_url):
    await has_replayed(replica, scope.store.id)
    await standby.execute("select pg_wal_replay_pause()")
    other_process = await asyncpg.connect(database_url)
    try:
        await other_process.execute("set role vitrine_app")
        await other_process.execute(f"set vitrine.tenant = '{scope.store.id}'")
        await other_process.execute("insert into vendors (public_id, name) values (gen_random_uuid(), 'theirs')")
        await other_process.execute("select pg_notify($1, $2)", db.WRITES_CHANNEL, str(scope.store.id))
    finally:
        await other_process.close()
    async with asyncio.timeout(5):
        while await names(scope) != ["theirs"]:
            await asyncio.sleep(0.005)


async def test_without_notices_no_replica_is_used(replica, scope):
    await has_replayed(replica, scope.store.id)
    assert connected_replicas().choose(scope.store.id) is not None
    db._connected().listener._is_listening = False
    assert connected_replicas().choose(scope.store.id) is None


async def test_nothing_read_from_a_replica_is_older_than_the_version_of_the_catalogue(
    replica, scope, standby, database_url
):
    """The write of a program that sends no notices."""
    versions = catalog_versions.CatalogueVersions()
    with active_scope(scope):
        before = await versions.current(scope)
    await has_replayed(replica, scope.store.id)
    await standby.execute("select pg_wal_replay_pause()")
    other_program = await asyncpg.connect(database_url)
    try:
        await other_program.execute(f"set vitrine.tenant = '{scope.store.id}'")
        await other_program.execute("insert into vendors (public_id, name) values (gen_random_uuid(), 'new')")
    finally:
        await other_program.close()
    assert await names(scope) == []  # no one has said so yet
    versions.clear()
    with active_scope(scope):
        assert await versions.current(scope) != before
    assert await names(scope) == ["new"]


async def test_a_killed_replica_causes_no_error_and_is_used_again(replica, scope, standby):
    await create(scope, "a")
    await has_replayed(replica, scope.store.id)
    answers: list[list[str]] = []
    is_finished = asyncio.Event()

    async def read() -> None:
        while not is_finished.is_set():
            answers.append(await names(scope))

    readers = [asyncio.create_task(read()) for _ in range(4)]
    await answers_reads(replica)
    standby.kill()
    async with asyncio.timeout(10):
        while replica.is_used:
            await asyncio.sleep(0.01)
    assert replicas.replica_status() == [
        ReplicaStatus(replica.name, False, None, replica.reads, replica.fallbacks, replica.problem)
    ]
    seen = len(answers)
    async with asyncio.timeout(10):
        while len(answers) < seen + 40:
            await asyncio.sleep(0.01)
    await standby.start()
    await answers_reads(replica)
    is_finished.set()
    await asyncio.gather(*readers)
    assert all(answer == ["a"] for answer in answers)


async def test_a_hanging_replica_delays_reads_until_its_check_fails(replica, scope, standby):
    await create(scope, "a")
    await has_replayed(replica, scope.store.id)
    assert await names(scope) == ["a"]
    standby.signal_all(signal.SIGSTOP)
    async with asyncio.timeout(10):
        assert await asyncio.gather(*(names(scope) for _ in range(30))) == [["a"]] * 30
        while replica.is_used:
            await asyncio.sleep(0.01)
    standby.signal_all(signal.SIGCONT)
    await is_used(replica)


async def test_a_statement_that_fails_on_the_replica_is_repeated_on_the_primary(replica, scope):
    await has_replayed(replica, scope.store.id)
    with active_scope(scope), replicas.replica_read(scope.store.id):
        assert await db.execute("update vendors set name = 'x'") == 0  # read-only there
        assert await db.fetchval("select pg_is_in_recovery()") is False  # and so is the rest of this read
    assert replica.is_used


async def test_the_event_feed_is_read_from_the_primary_because_it_numbers_events(replica, scope):
    [event] = await emit_events(scope.store)
    await has_replayed(replica, scope.store.id)
    reads = metrics.snapshot()["vitrine_replica_reads_total"]
    prepared = prepare_document(root.public_schema(), "{ events { edges { node { id } } } }", limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    with active_scope(scope):
        result = await OperationExecutor(root.public_schema(), public=True).execute(scope, prepared, operation, {})
    assert result.data == {"events": {"edges": [{"node": {"id": f"evt_{event.hex}"}}]}}
    assert metrics.snapshot()["vitrine_replica_reads_total"] == reads


async def test_a_lagging_replica_is_not_used(replica, scope, standby, monkeypatch):
    monkeypatch.setattr(replicas, "MAX_LAG_SECONDS", 0.3)
    await standby.execute("select pg_wal_replay_pause()")
    await create(scope, "a")
    async with asyncio.timeout(20):
        while replica.is_used:
            await asyncio.sleep(0.02)
    (status,) = replicas.replica_status()
    assert status.lag_seconds is not None
    assert status.lag_seconds > 0.3
    assert status.problem is not None
    assert status.problem.endswith("behind")
    await standby.execute("select pg_wal_replay_resume()")
    await is_used(replica)


async def test_a_server_that_is_not_a_replica_is_not_used(replica, database_url):
    primary = Replica(database_url, db._connected().settings, lambda: "vitrine_app")
    watching = asyncio.create_task(primary.watch(lambda: None, lambda _: 0.0))
    async with asyncio.timeout(10):
        while primary.problem == "not checked yet":
            await asyncio.sleep(0.01)
    assert not primary.is_used
    assert primary.problem is not None
    assert primary.problem.startswith("it is not a replica")
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
