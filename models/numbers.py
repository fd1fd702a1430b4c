"""The numbers of records: legacy ids, which are the rows' ids (docs/reference/shared.md#numbers).

Each store numbers the rows of `NUMBERED_TABLES` itself, from 1 on: `number_counters` contains the highest number given out, and triggers
(migration 0017) number the rows that a statement inserts without an id. The counter is then locked until the transaction ends, so other
inserts of the store into that table wait for its commit.

What many customers insert at once must not wait. Rows of `RESERVED_TABLES` get their numbers here, in a statement that commits at once on
a connection of its own: nothing is locked afterwards, and a rollback leaves a gap. Every statement of the program that inserts into these
tables passes the ids. One without would lock the counter, and a reservation later in that transaction would wait for its own lock.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernel.scope import Scope
from models.connection.database import fetch_separately
from models.references import BY_TABLE

# In the order in which counters are locked: as earlier versions insert, which let the triggers number these tables too.
RESERVED_TABLES = ("users", "orders", "order_lines", "shipments", "discussion_posts", "call_requests")

# Besides the tables that can be referred to and whose records are deleted softly.
_FURTHER_TABLES = (
    "attachments", "box_descriptions", "discussion_threads", "feature_variants", "gateway_notifications", "language_variables",
    "manager_transactions", "option_exceptions", "option_variants", "order_limits", "payouts", "product_images", "warehouse_areas",
)  # fmt: skip
NUMBERED_TABLES = frozenset(
    {
        *RESERVED_TABLES,
        *_FURTHER_TABLES,
        *(type_.table for type_ in BY_TABLE.values() if type_.soft_deleted),
    }
)
"""The tables whose numbers clients see. In all others, ids are unique in the installation and must not be shown: they reveal its volume."""

# Not waiting for the disk is safe: the commit of the rows that use the numbers writes this one's record first.
_COMMIT_LAZILY = "(SELECT set_config('synchronous_commit', 'off', true)) AS lazily"
_TAKE = f"""
WITH raised AS (
    INSERT INTO number_counters AS c (tenant_id, entity, last)
    SELECT $1, w.entity, w.count FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS w (entity, count, position) ORDER BY position
    ON CONFLICT (tenant_id, entity) DO UPDATE SET last = c.last + excluded.last
    RETURNING entity, last
)
SELECT entity, last FROM raised, {_COMMIT_LAZILY}
"""
_RAISE = f"""
WITH raised AS (
    INSERT INTO number_counters AS c (tenant_id, entity, last)
    SELECT $1, w.entity, w.last FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS w (entity, last, position) ORDER BY position
    ON CONFLICT (tenant_id, entity) DO UPDATE SET last = excluded.last WHERE c.last < excluded.last
    RETURNING entity
)
SELECT entity FROM raised, {_COMMIT_LAZILY}
"""


async def take_number(scope: Scope, table: str) -> int:
    """Reserve the store's next number in one of `RESERVED_TABLES`."""
    return (await take_numbers(scope, {table: 1}))[table][0]


async def take_numbers(scope: Scope, counts: Mapping[str, int]) -> dict[str, range]:
    """Reserve this many numbers in each of these `RESERVED_TABLES`, in one statement. They are not given out again, used or not."""
    tables = [table for table in RESERVED_TABLES if counts.get(table)]
    if not tables:
        return dict.fromkeys(counts, range(0))
    rows = await fetch_separately(scope, _TAKE, scope.store.id, tables, [counts[table] for table in tables])
    taken = {row["entity"]: range(row["last"] - counts[row["entity"]] + 1, row["last"] + 1) for row in rows}
    return {table: taken.get(table, range(0)) for table in counts}


async def raise_numbers(scope: Scope, highest: Mapping[str, int]) -> None:
    """Let the next numbers in these tables be above the given ones: call it before inserting rows with ids that a client chose.

    Inserting them raises the counters too, but keeps them locked until the transaction ends.
    """
    tables = sorted(highest, key=lambda table: (*RESERVED_TABLES, table).index(table))
    await fetch_separately(scope, _RAISE, scope.store.id, tables, [highest[table] for table in tables])
