"""Erase a person's data everywhere in a store, besides what the law keeps (docs/security.md#erasure; LGPD, articles 16 and 18).

In one transaction. Invoice data of orders stay for the period `invoices` of VITRINE_RETENTION, then `domain.retention` erases them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from domain import idempotency
from domain.people.personal_data import PLACES, Person
from kernel.scope import Scope
from models.connection.database import execute, fetch, fetchval

_LOCK_ORDERS = "SELECT id FROM orders WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR UPDATE"
_LOCK_CARTS = """
SELECT id FROM carts WHERE tenant_id = $1 AND (user_id = ANY($2::bigint[]) OR customer_email = ANY($3::text[])) ORDER BY id FOR UPDATE
"""
_HOLD = """
INSERT INTO invoice_holds (tenant_id, public_id, order_id, placed_at, created_at)
SELECT o.tenant_id, gen_random_uuid(), o.id, o.created_at, $3 FROM orders o
WHERE o.tenant_id = $1 AND o.id = ANY($2::bigint[]) ON CONFLICT DO NOTHING
"""
_NEWEST_KEPT = "SELECT max(created_at) FROM orders WHERE tenant_id = $1 AND id = ANY($2::bigint[])"
# Results may contain the person: the job that deletes expired files does so in its next run.
_EXPIRE_RESULTS = """
UPDATE bulk_operations SET expires_at = $2 WHERE tenant_id = $1 AND due_at IS NULL AND expires_at > $2 AND file_size > 0
"""


@dataclass(frozen=True, slots=True)
class Erasure:
    """The rows that an erasure deleted or changed, and the orders whose invoice data it left, the newest placed at `kept_from`."""

    rows: int = 0
    kept_orders: int = 0
    kept_from: datetime | None = None


async def lock_purchases(scope: Scope, person: Person) -> None:
    """Lock the carts and orders of a person, before accounts: in the order in which a checkout locks them."""
    await fetch(_LOCK_CARTS, scope.store.id, person.users, person.emails)
    await fetch(_LOCK_ORDERS, scope.store.id, person.orders)


async def erase(scope: Scope, person: Person) -> Erasure:
    """Erase a person whose purchases are locked, in the current transaction.

    When there was anything to erase, the results of the store's bulk operations expire: nothing says whom they contain.
    """
    await execute(_HOLD, scope.store.id, person.kept, scope.now)
    rows = 0
    for place in PLACES:
        if place.change is None or place.change:
            statement, parameters = place.erasure(scope, person)
            rows += await execute(statement, *parameters)
    # A response that shows a name or an address shows the e-mail or the id of its record too.
    ids = [str(public_id) for public_id in (*person.public_ids, *person.order_ids)]
    rows += await idempotency.erase_responses(scope, [*person.emails, *ids])
    if rows:
        await execute(_EXPIRE_RESULTS, scope.store.id, scope.now)
    kept_from = await fetchval(_NEWEST_KEPT, scope.store.id, person.kept)
    return Erasure(rows, len(person.kept), kept_from)
