"""Check how a database is operated: locks, dead rows, transaction ids, its clock, disk, archive, backups, pruning, replicas.

Each function takes a connection of the owner, who sees the sessions of its own log-in and of those it is a member of.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from time import monotonic

import asyncpg

from domain.jobs import JOBS
from kernel.clock import now
from kernel.settings import Settings
from models.connection.replicas import MAX_LAG_SECONDS
from server.operations.backup import BACKUP_RUN
from server.operations.check_results import CheckResult, fail, join_names, ok, warn
from server.operations.storage_checks import check_archive, check_disk, mebibytes

MAX_CLOCK_DRIFT = timedelta(seconds=5)
MAX_WAIT = timedelta(seconds=30)
MAX_TRANSACTION = timedelta(minutes=5)
# A daily backup, and two hours for making it.
MAX_BACKUP_AGE = timedelta(hours=26)
# A table with many rows more dead than a fifth of the living, autovacuum's own limit, is left to wait that often.
DEAD_ROWS = 100_000
DEAD_RATIO = 0.5
# PostgreSQL refuses to write at about 2,100 million, and warns 40 million before.
MAX_TRANSACTION_AGE = 1_500_000_000
# The runs a job may miss before it counts as stalled.
MISSED_RUNS = 3
LONGEST_RUN = timedelta(hours=6)


async def check_operation(
    connection: asyncpg.Connection, settings: Settings, folder: Path | None = None
) -> AsyncIterator[CheckResult]:
    """Yield the results of all checks of this module; `folder` is that of an embedded PostgreSQL."""
    yield await check_clock(connection)
    yield await check_locks(connection)
    yield await check_dead_rows(connection)
    yield await check_disk(connection, folder)
    yield await check_archive(connection)
    yield await check_backup(connection, settings)
    yield await check_pruning(connection)
    for number, url in enumerate(settings.replica_urls, 1):
        yield await check_replica(connection, f"replica {number}", url)


async def check_clock(connection: asyncpg.Connection) -> CheckResult:
    """Compare this machine's clock with the database's."""
    drift = abs(await connection.fetchval("select clock_timestamp()") - now())
    if drift > MAX_CLOCK_DRIFT:
        return warn("clock", f"differs from the database's by {drift.total_seconds():.0f} seconds")
    return ok("clock", "in sync with the database")


async def check_replica(connection: asyncpg.Connection, name: str, url: str) -> CheckResult:
    """Check that a replica follows, and catches up with the primary in the time that reads allow it."""
    try:
        async with asyncio.timeout(2 * MAX_LAG_SECONDS):
            position = await connection.fetchval("select pg_current_wal_insert_lsn()::text")
            replica = await asyncpg.connect(url, timeout=MAX_LAG_SECONDS)
            try:
                return await _check_position(replica, name, position)
            finally:
                replica.terminate()
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return fail(name, f"can't be read: {str(error) or 'no answer'}")


_BEHIND = "select coalesce($1::text::pg_lsn - pg_last_wal_replay_lsn(), 1)::bigint"
_LAST_REPLAYED = "select to_char(pg_last_xact_replay_timestamp() at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')"


async def _check_position(replica: asyncpg.Connection, name: str, position: str) -> CheckResult:
    began = monotonic()
    while await replica.fetchval("select pg_is_in_recovery()"):
        behind = await replica.fetchval(_BEHIND, position)
        seconds = monotonic() - began
        if behind <= 0:
            return ok(name, f"follows the primary, less than {seconds + 0.1:.1f} s behind")
        if seconds > MAX_LAG_SECONDS:
            text = f"is {mebibytes(behind)} and more than {MAX_LAG_SECONDS:.0f} s behind the primary, and not used meanwhile"
            last = await replica.fetchval(_LAST_REPLAYED)
            return fail(name, text if last is None else f"{text}; its last change is of {last} UTC")
        await asyncio.sleep(0.1)
    return fail(name, "is not a replica: it was promoted, or VITRINE_REPLICA_URL leads to the primary")


_SESSIONS = """
    select
        (select array_agg(pid) from pg_stat_activity where datname = current_database() and xact_start < clock_timestamp() - $1::interval
            and backend_type = 'client backend' and pid <> pg_backend_pid()) as long,
        (select max(clock_timestamp() - xact_start) from pg_stat_activity where datname = current_database()
            and backend_type = 'client backend' and pid <> pg_backend_pid()) as longest,
        (select array_agg(distinct blocker) from pg_stat_activity a cross join unnest(pg_blocking_pids(a.pid)) as blocker
            where a.datname = current_database() and a.wait_event_type = 'Lock' and a.query_start < clock_timestamp() - $2::interval)
            as blockers,
        (select count(*) from pg_prepared_xacts where database = current_database() and prepared < clock_timestamp() - $1::interval)
            as prepared
"""


async def check_locks(connection: asyncpg.Connection) -> CheckResult:
    """Find sessions that make others wait, and transactions that are open for long."""
    row = await connection.fetchrow(_SESSIONS, MAX_TRANSACTION, MAX_WAIT)
    assert row is not None
    if row["blockers"]:
        names = join_names([str(pid) for pid in row["blockers"]])
        return fail(
            "locks", f"sessions wait for more than {MAX_WAIT.seconds} seconds for the processes {names} of PostgreSQL"
        )
    if row["prepared"]:
        return warn("locks", f"{row['prepared']} prepared transactions were never ended: see pg_prepared_xacts")
    if row["long"]:
        names = join_names([str(pid) for pid in row["long"]])
        minutes = row["longest"] // timedelta(minutes=1)
        return warn(
            "locks", f"transactions are open for up to {minutes} minutes, which keeps dead rows: processes {names}"
        )
    return ok("locks", f"nothing waits, no transaction is open for more than {MAX_TRANSACTION.seconds // 60} minutes")


_DEAD = """
    select relname from pg_stat_user_tables
    where schemaname = current_schema() and n_dead_tup > $1 and n_dead_tup > $2 * n_live_tup order by n_dead_tup desc
"""
_AGE = "select age(datfrozenxid) from pg_database where datname = current_database()"


async def check_dead_rows(connection: asyncpg.Connection) -> CheckResult:
    """Find tables that autovacuum doesn't keep up with."""
    age = await connection.fetchval(_AGE)
    if age > MAX_TRANSACTION_AGE:
        return fail(
            "vacuum", f"the oldest transaction id is {age:,} old; PostgreSQL stops at 2,100 million: VACUUM FREEZE"
        )
    tables = [row["relname"] for row in await connection.fetch(_DEAD, DEAD_ROWS, DEAD_RATIO)]
    if tables:
        return warn(
            "vacuum", f"autovacuum doesn't keep up with {join_names(tables)}: more dead rows than half of the others"
        )
    return ok("vacuum", "no table has many dead rows")


async def check_backup(connection: asyncpg.Connection, settings: Settings) -> CheckResult:
    """Compare the age of the last backup that `vitrine backup` recorded."""
    age = await connection.fetchval("select clock_timestamp() - started_at from job_runs where name = $1", BACKUP_RUN)
    if age is None:
        text = "none recorded by vitrine backup"
        return warn("backup", f"{text}: is there another one?") if settings.is_production else ok("backup", text)
    hours = age // timedelta(hours=1)
    if age > MAX_BACKUP_AGE:
        return warn("backup", f"the last one is {hours} hours old")
    return ok("backup", f"the last one is {hours} hours old")


_JOBS = """
    select name, clock_timestamp() - started_at as age, finished_at is null as is_running, due_at > clock_timestamp() as is_claimed
    from job_runs where name = any($1::text[])
"""


async def check_pruning(connection: asyncpg.Connection) -> CheckResult:
    """Find jobs, among them those that delete what has passed its retention, that don't come to an end."""
    every = {job.name: job.every for job in JOBS}
    rows = await connection.fetch(_JOBS, list(every))
    running = [
        row["name"]
        for row in rows
        if row["is_running"] and row["is_claimed"] and (row["age"] or timedelta()) > LONGEST_RUN
    ]
    if running:
        return warn(
            "retention", f"running for more than {LONGEST_RUN // timedelta(hours=1)} hours: {join_names(running)}"
        )
    stalled = [
        row["name"]
        for row in rows
        if row["age"] is not None
        and not row["is_running"]
        and row["age"] > MISSED_RUNS * every[row["name"]] + MAX_TRANSACTION
    ]
    if stalled:
        return warn(
            "retention", f"not run for {MISSED_RUNS} times its interval: {join_names(stalled)}; run vitrine worker"
        )
    return ok("retention", "the jobs that delete old records run")
