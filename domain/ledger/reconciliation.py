"""Write the ledger of orders that were changed without it: those of before the ledger, and what the version before it changes.

Triggers queue every order whose money changes (migration 0046); who writes its ledger takes it from the queue in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable

from domain.ledger.entries import write_order_entries
from kernel.scope import Scope
from models.connection.database import execute, fetch, transaction

# Orders that a transaction has locked are left to it, or to the next run.
_TAKE = """
SELECT o.id FROM ledger_queue q JOIN orders o ON o.tenant_id = q.tenant_id AND o.id = q.order_id
WHERE q.tenant_id = $1 ORDER BY q.order_id LIMIT $2 FOR NO KEY UPDATE OF o SKIP LOCKED
"""

_QUEUE = """
INSERT INTO ledger_queue (tenant_id, order_id) SELECT $1, q.id FROM unnest($2::bigint[]) AS q (id) ORDER BY q.id ON CONFLICT DO NOTHING
"""


async def queue_orders(scope: Scope, orders: Iterable[int]) -> None:
    """Leave the ledger of orders to the job, in the open transaction: their lines are written, of which no trigger knows."""
    await execute(_QUEUE, scope.store.id, sorted(set(orders)))


async def write_queued(scope: Scope, *, limit: int) -> int:
    """Write the ledger of queued orders, and return how many there were; the scope is the system's."""
    async with transaction(scope):
        orders = await fetch(_TAKE, scope.store.id, limit)
        if orders:
            await write_order_entries(scope, *(order["id"] for order in orders), is_late=True)
    return len(orders)
