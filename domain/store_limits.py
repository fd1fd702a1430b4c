"""The limits that the platform's operator sets for a store: one table for the checks, the command, GraphQL and the documentation.

A store has none by default, which costs it no statement. Limits of requests are counted by `server.http.limits`, the others by their
statement here, in the transaction that would exceed them: a lock of the store and the limit lets concurrent ones wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from kernel.errors import RuleViolation
from kernel.scope import Scope
from models.connection.database import execute, fetchval


class StoreLimit(NamedTuple):
    """A limit: what it counts, and the statement that counts it for the store `$1`; of a period, since `$2`."""

    counted: str
    used: str = ""
    begin: Mapping[str, int] | None = None
    """The members of the time that begin the period, in UTC."""


OPTION_FILE_BYTES = """
    SELECT coalesce(sum(bytes), 0)
    FROM (SELECT DISTINCT ON (file_id) bytes FROM option_files WHERE tenant_id = $1 ORDER BY file_id) f
"""
"""The bytes of shoppers' files: a content that several carts and orders have is stored once."""
_MIDNIGHT = {"hour": 0, "minute": 0, "second": 0, "microsecond": 0}

LIMITS: Mapping[str, StoreLimit] = {
    "requests_per_minute": StoreLimit("requests a minute, without notifications of payment gateways"),
    "concurrent_requests": StoreLimit("requests that run at the same time; a stream doesn't count once it is open"),
    "orders_per_month": StoreLimit(
        "orders placed in a month (UTC), without those that a file imports",
        "SELECT count(*) FROM orders WHERE tenant_id = $1 AND created_at >= $2 AND deleted_at IS NULL AND NOT imported",
        {"day": 1, **_MIDNIGHT},
    ),
    "products": StoreLimit(
        "products, without the combinations of their options",
        "SELECT count(*) FROM products WHERE tenant_id = $1 AND deleted_at IS NULL",
    ),
    "storage_bytes": StoreLimit(
        "bytes of images and files, without the smaller sizes of images, and of results of bulk operations",
        f"""
        SELECT (SELECT coalesce(sum(bytes), 0) FROM media_files
                WHERE tenant_id = $1 AND status <> 'failed' AND original_id IS NULL)::bigint
            + ({OPTION_FILE_BYTES})::bigint
            + (SELECT coalesce(sum(file_size), 0) FROM bulk_operations WHERE tenant_id = $1)::bigint
        """,
    ),
    "bulk_rows_per_day": StoreLimit(
        "lines of the results of bulk operations begun on a day (UTC)",
        "SELECT coalesce(sum(object_count), 0)::bigint FROM bulk_operations WHERE tenant_id = $1 AND created_at >= $2",
        _MIDNIGHT,
    ),
    "webhook_endpoints": StoreLimit(
        "event endpoints of all apps",
        "SELECT count(*) FROM event_endpoints WHERE tenant_id = $1 AND deleted_at IS NULL",
    ),
}
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('store limit:' || $2::text, $1::bigint))"
MOST = 2**53
"""The largest limit, which is exact in JSON."""


async def check_limit(scope: Scope, name: str, adding: int = 1) -> None:
    """Raise RuleViolation `store_limit_reached` for so much more than the store may have, in the open transaction."""
    limit = scope.store.limits.get(name)
    if limit is None or not adding:
        return
    await execute(_LOCK, scope.store.id, name)
    used = await _count(scope, name)
    if used + adding > limit:
        raise RuleViolation(
            f"the limit {name} of the store is {limit}, of which {used} are used; {adding} more don't fit",
            reason="store_limit_reached",
            details={"limit_name": name, "limit": limit, "used": used},
        )


async def find_left(scope: Scope, name: str) -> int | None:
    """Return how much of a limit is left, None without it."""
    limit = scope.store.limits.get(name)
    return None if limit is None else max(0, limit - await _count(scope, name))


async def find_limits(scope: Scope) -> list[dict[str, Any]]:
    """Return the limits of the store and what is used of each, which is None for those of requests."""
    limits = scope.store.limits
    return [
        {
            "name": name,
            "counted": each.counted,
            "limit": limits[name],
            "used": await _count(scope, name) if each.used else None,
        }
        for name, each in LIMITS.items()
        if name in limits
    ]


async def _count(scope: Scope, name: str) -> int:
    limit = LIMITS[name]
    since = () if limit.begin is None else (_begin(scope.now, limit.begin),)
    count: int = await fetchval(limit.used, scope.store.id, *since)
    return count


def _begin(at: datetime, members: Mapping[str, Any]) -> datetime:
    return at.replace(**members)
