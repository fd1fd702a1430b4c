"""The open carts of customers with the amounts of their last change: the back office reads one per customer, customers their own.

A cart by its id is read at current prices (`record`).
"""

from __future__ import annotations

from dataclasses import replace

from auth.access import Access
from domain.filters import created_range, exact, exact_second, exact_value, ids, linked_to, references, sorts, substring
from domain.visibility import OwnRows
from models.reading.queries import Condition, Entity, EntityFilter, Sort, compares

_PRIVILEGES, _SCOPE = ("view_orders",), "read_orders"

# A customer may have open carts on several devices: for the back office the one changed last counts.
LATEST_OPEN = Condition("""NOT EXISTS (
    SELECT 1 FROM carts later WHERE later.tenant_id = t.tenant_id AND later.user_id = t.user_id AND later.status = 'open'
    AND later.expires_at > now() AND (later.updated_at, later.id) > (t.updated_at, t.id))""")

_CUSTOMER = (
    "(SELECT concat_ws(' ', u.firstname, u.lastname, u.email) FROM users u"
    " WHERE u.tenant_id = t.tenant_id AND u.id = t.user_id)"
)
_EMAIL = "(SELECT u.email FROM users u WHERE u.tenant_id = t.tenant_id AND u.id = t.user_id)"

CUSTOMER_CARTS = Entity(
    label="cart",
    table="carts",
    base_condition="t.user_id IS NOT NULL AND t.status = 'open' AND t.expires_at > now()",
    visible=OwnRows(admin=_PRIVILEGES, app=_SCOPE, own="t.user_id = {user}"),
    filters={
        "id": ids("carts"),
        "customer_id": references("users", "of any of these users"),
        "search": replace(substring("customer's name or email", _CUSTOMER), internal=True),
        **exact("cents", "total_cents", internal=True),
        "updated_at": exact_second("t.updated_at", "changed within that second"),
        "product_id": linked_to("cart_items", "cart_id", "product_id", "products", "with any of these products"),
        **{name: replace(bound, internal=True) for name, bound in created_range().items()},
        "total_from": EntityFilter("cents", compares("t.total_cents", ">="), "at least this total, in cents"),
        "total_to": EntityFilter("cents", compares("t.total_cents", "<="), "at most this total, in cents"),
        "email": exact_value("text", _EMAIL, "of the customer with any of these e-mails", internal=True),
        # CS-Cart's `R` registered users, `G` guests, whose carts are not here.
        "owner": EntityFilter("text", lambda owner: Condition(str(owner != "G").lower()), "`R` or `G`", internal=True),
    },
    sorts={
        "updated_at": Sort("t.updated_at", "timestamptz", "time of the last change"),
        "total": Sort("t.total_cents", "bigint", "total"),
        **sorts("id"),
        "customer": Sort("t.user_id", "bigint", "customer", internal=True),
        "customer_name": Sort(f"coalesce({_CUSTOMER}, '')", "text", "name of the customer", internal=True),
    },
    default_sort="-updated_at",
)
# Reached only through a cart, whose rows are already filtered.
CUSTOMER_CART_ITEMS = Entity(table="cart_items", visible=OwnRows(admin=_PRIVILEGES, app=_SCOPE, own=""))
STAFF = Access(privileges=_PRIVILEGES, app_scope=_SCOPE)
"""The callers that read the carts of all customers."""
