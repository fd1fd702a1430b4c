"""What each store uses, by the hour, for 90 days: counted in the processes (`kernel.store_usage`), measured for what it stores.

Adding, listing and sums are the platform's, across stores; measuring is a job in the store's scope.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import orjson

from domain.store_limits import OPTION_FILE_BYTES
from kernel.scope import Scope
from kernel.store_usage import COUNTED, MEASURES, STORED, Usage
from models.connection.database import cross_store_connection, execute, fetch, fetchrow, fetchval, transaction

KEPT = timedelta(days=90)
HOUR = timedelta(hours=1)
MOST_HOURS = KEPT // HOUR

# Below it, a store without requests, webhooks and mails gets no row: hourly jobs ask each store whether it has old rows.
_LEAST_SECONDS = 0.1
_ADD = f"""
INSERT INTO store_usage AS u (tenant_id, hour, {", ".join(COUNTED)})
SELECT added.store, date_trunc('hour', now(), 'UTC'), {", ".join(f"added.{name}" for name in COUNTED)}
FROM unnest($1::bigint[], $2::bigint[], $3::float8[], $4::bigint[], $5::float8[], $6::bigint[], $7::bigint[], $8::bigint[])
    AS added (store, {", ".join(COUNTED)})
WHERE added.store IN (SELECT id FROM tenants) ORDER BY added.store
ON CONFLICT (tenant_id, hour) DO UPDATE SET {", ".join(f"{name} = u.{name} + excluded.{name}" for name in COUNTED)}
"""
_SUMS = f"""
SELECT t.public_id, t.name, {", ".join(f"coalesce(u.{name}, 0) AS {name}" for name in COUNTED)},
    {", ".join(f"m.{name}" for name in STORED)}, m.hour AS measured_at
FROM tenants t
LEFT JOIN LATERAL (
    SELECT {", ".join(f"sum({name}) AS {name}" for name in COUNTED)} FROM store_usage s WHERE s.tenant_id = t.id AND s.hour >= $1
) u ON true
LEFT JOIN LATERAL (
    SELECT * FROM store_usage s WHERE s.tenant_id = t.id AND s.hour >= now() - interval '2 days' AND s.stored_rows IS NOT NULL
    ORDER BY s.hour DESC LIMIT 1
) m ON true
ORDER BY {{}} DESC NULLS LAST, t.id LIMIT $2
"""
_HOURS = f"""
SELECT hour, {", ".join(MEASURES)} FROM store_usage WHERE tenant_id = $1 AND hour >= $2 ORDER BY hour DESC
"""
STORES_TO_MEASURE = """
    select t.* from tenants t cross join lateral (
        select bool_or(u.requests > 0 and u.hour >= $1::timestamptz - interval '2 hours') as is_used,
            bool_or(u.stored_rows is not null) as is_measured
        from store_usage u where u.tenant_id = t.id and u.hour > $1::timestamptz - interval '1 day'
    ) today where today.is_used or today.is_measured is not true order by t.id
"""
_TABLES = """
SELECT c.relname::text AS name, c.reltuples AS rows, pg_total_relation_size(c.oid) AS bytes
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.reltuples > 0
"""
_FILES = f"""
SELECT (SELECT coalesce(sum(bytes), 0) FROM media_files WHERE tenant_id = $1 AND status <> 'failed')::bigint
    + ({OPTION_FILE_BYTES})::bigint AS media_bytes,
    (SELECT coalesce(sum(file_size), 0) FROM bulk_operations WHERE tenant_id = $1)::bigint AS file_bytes
"""
_SAVE = f"""
WITH old AS (DELETE FROM store_usage WHERE tenant_id = $1 AND hour < $3)
INSERT INTO store_usage (tenant_id, hour, {", ".join(STORED)}) VALUES ($1, date_trunc('hour', $2::timestamptz, 'UTC'), $4, $5, $6, $7)
ON CONFLICT (tenant_id, hour) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in STORED)}
"""


async def add_usage(usage: Mapping[int, Usage]) -> None:
    """Add counts by store to those of this hour, in one statement; unknown stores are left out."""
    counted = sorted((store, each) for store, each in usage.items() if _is_worth_a_row(each))
    if counted:
        columns = [[getattr(each, name) for _, each in counted] for name in COUNTED]
        async with cross_store_connection() as platform:
            await platform.execute(_ADD, [store for store, _ in counted], *columns)


def _is_worth_a_row(usage: Usage) -> bool:
    seconds = usage.cpu_seconds + usage.statement_seconds
    return bool(usage.requests or usage.webhooks or usage.mails) or seconds >= _LEAST_SECONDS


async def sum_usage(since: datetime, *, sort: str, top: int) -> list[dict[str, Any]]:
    """Return the stores that used most of a measure since a time, with all measures; NULL for what has not been measured yet."""
    assert sort in MEASURES
    async with cross_store_connection() as platform:
        return [dict(row) for row in await platform.fetch(_SUMS.format(sort), since, top)]


async def list_hours(scope: Scope, since: datetime) -> list[dict[str, Any]]:
    """Return what the store used in each hour that began after a time, the last one first; hours without use have no row."""
    return [dict(row) for row in await fetch(_HOURS, scope.store.id, since)]


async def measure_stored(scope: Scope) -> None:
    """Store what the store stores in this hour's row, and delete rows that are older than 90 days.

    Rows and bytes of tables are PostgreSQL's estimate: counting them would read every row each hour.
    """
    async with transaction(scope):
        await execute(
            "SELECT set_config('max_parallel_workers_per_gather', '0', true)"
        )  # else rows are those of a worker
        tables = await fetch(_TABLES)
        rows = await _estimate_rows([table["name"] for table in tables])
        shares = [(rows.get(table["name"], 0), table["bytes"] / table["rows"]) for table in tables]
        files = await fetchrow(_FILES, scope.store.id)
        assert files is not None  # a row without FROM
        await execute(
            _SAVE, scope.store.id, scope.now, scope.now - KEPT,
            sum(count for count, _ in shares), round(sum(count * size for count, size in shares)), *files,
        )  # fmt: skip


async def _estimate_rows(tables: list[str]) -> dict[str, int]:
    """Return how many rows of each table the planner expects of the store in scope.

    Row-level security is the only condition: a second one on the same column would be taken for an independent one.
    """
    if not tables:
        return {}
    reads = " UNION ALL ".join(f'SELECT FROM "{name}"' for name in tables)
    (explained,) = orjson.loads(await fetchval(f"EXPLAIN (FORMAT JSON) {reads}"))
    estimates: dict[str, int] = {}
    plans = [explained["Plan"]]
    while plans:
        plan = plans.pop()
        plans += plan.get("Plans", ())
        if (name := plan.get("Relation Name")) is not None:
            estimates[name] = max(estimates.get(name, 0), plan["Plan Rows"])
    return estimates
