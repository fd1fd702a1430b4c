"""Sum the accounts of vendors (docs/ledger.md#balances)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernel.scope import Scope
from models.connection.database import fetch

BALANCE_COLUMNS = """coalesce(sum(e.amount_cents) FILTER (WHERE e.available_at <= $3), 0)::bigint AS available_cents,
    coalesce(sum(e.amount_cents) FILTER (WHERE e.available_at > $3), 0)::bigint AS pending_cents"""
"""The balance of entries `e` at the time $3. Shares that the gateway pays to the vendors itself are in none: leave out `is_split`."""

_BALANCES = f"""
SELECT e.vendor_id, {BALANCE_COLUMNS}
FROM ledger_entries e WHERE e.tenant_id = $1 AND e.vendor_id = ANY($2::bigint[]) AND NOT e.is_split GROUP BY e.vendor_id
"""


@dataclass(frozen=True, slots=True)
class Balance:
    """What the store owes a vendor, in cents: what can be paid out now, and what can later; negative what the vendor owes."""

    available_cents: int = 0
    pending_cents: int = 0

    @property
    def total_cents(self) -> int:
        """Return the sum of both."""
        return self.available_cents + self.pending_cents


async def load_balances(scope: Scope, vendors: Sequence[int]) -> Mapping[int, Balance]:
    """Return the balances of vendors, by their internal ids, in one statement."""
    rows = await fetch(_BALANCES, scope.store.id, list(vendors), scope.now)
    balances = {row["vendor_id"]: Balance(row["available_cents"], row["pending_cents"]) for row in rows}
    return {vendor: balances.get(vendor, Balance()) for vendor in vendors}
