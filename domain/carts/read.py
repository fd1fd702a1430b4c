"""The open carts of customers as the back office reads them: one per customer, with the amounts of its last change.

Storefronts and customers read a cart by its id, at current prices (`record`).
"""

from __future__ import annotations

from domain.filters import exact, exact_second, ids, references, sorts
from domain.visibility import VisibleRows
from models.queries import Entity, Sort

_STAFF = VisibleRows(admin=("view_orders",), app="read_orders")

# A customer may have open carts on several devices: the one changed last counts.
_LATEST_OPEN = """t.user_id IS NOT NULL AND t.status = 'open' AND t.expires_at > now() AND NOT EXISTS (
    SELECT 1 FROM carts later WHERE later.tenant_id = t.tenant_id AND later.user_id = t.user_id AND later.status = 'open'
    AND later.expires_at > now() AND (later.updated_at, later.id) > (t.updated_at, t.id))"""

CUSTOMER_CARTS = Entity(
    name="cart",
    table="carts",
    base_condition=_LATEST_OPEN,
    visible=_STAFF,
    filters={
        "id": ids("carts"),
        "customer_id": references("t.user_id", "users", "of any of these users"),
        **exact("cents", "total_cents", internal=True),
        "updated_at": exact_second("t.updated_at", "changed within that second"),
    },
    sorts={
        "updated_at": Sort("t.updated_at", "timestamptz", "time of the last change"),
        "total": Sort("t.total_cents", "bigint", "total"),
        **sorts("id"),
        "customer": Sort("t.user_id", "bigint", "customer", internal=True),
    },
    default_sort="-updated_at",
)
CUSTOMER_CART_ITEMS = Entity(name="cart line", table="cart_items", visible=_STAFF)
