"""Read what a new payment depends on in one statement: its order, who pays, the payments that there are, and the store's methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from domain.orders.locked import COLUMNS, LockedOrder, lock_matching
from domain.payments.gateways import NEW_METHODS_OF_ORDER, GatewayMethod, usable_methods
from domain.payments.requests import ORDER_COLUMNS
from kernel.errors import NotFound
from kernel.scope import Scope
from models.connection.database import fetchrow
from models.reading.queries import Condition
from models.rows import from_row

_RECENT = timedelta(hours=1)
_READ = f"""
SELECT {COLUMNS}, {ORDER_COLUMNS},
    (SELECT p.public_id FROM payments p WHERE p.tenant_id = t.tenant_id AND p.creation_hash = $2) AS created,
    (SELECT p.public_id FROM payments p
        WHERE p.tenant_id = t.tenant_id AND p.order_id = t.id AND p.status IN ('PENDING', 'AUTHORIZED') LIMIT 1) AS pending,
    (SELECT count(*) FROM payments p
        WHERE p.tenant_id = t.tenant_id AND p.order_id = t.id AND p.gateway <> '' AND p.created_at > $3::timestamptz) AS recent,
    ({NEW_METHODS_OF_ORDER}) AS methods
FROM orders t LEFT JOIN users u ON u.tenant_id = t.tenant_id AND u.id = t.user_id
WHERE t.tenant_id = $1 AND t.deleted_at IS NULL AND {{condition}}
"""


@dataclass(frozen=True, slots=True)
class PaymentFacts:
    """A locked order with what its payment depends on.

    `charged` has what the gateway is asked for (`domain.payments.requests.ORDER_COLUMNS`); `created` is the payment that an earlier
    request with the same Idempotency-Key made, `pending` the one that can still be paid. `recent` is how many were begun in an hour.
    """

    order: LockedOrder
    charged: Mapping[str, Any]
    methods: Sequence[GatewayMethod]
    created: UUID | None
    pending: UUID | None
    recent: int


async def lock_facts(system: Scope, condition: Condition, creation_hash: bytes | None) -> PaymentFacts:
    """Lock the order of a condition and return the facts; raises NotFound."""
    await lock_matching(system, condition.sql.format("$2", "$3"), *condition.params)
    row = await fetchrow(
        _READ.format(condition=condition.sql.format("$4", "$5")),
        system.store.id,
        creation_hash,
        system.now - _RECENT,
        *condition.params,
    )
    if row is None:
        raise NotFound("order")
    order = from_row(LockedOrder, row, has_lines_of_caller=False)
    methods = usable_methods(system, row["methods"])
    return PaymentFacts(order, row, methods, row["created"], row["pending"], row["recent"])
