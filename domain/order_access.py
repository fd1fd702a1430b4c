"""Which orders storefront customers see, the ones that their own token or the order's token authorizes, and which amounts vendors see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auth.secrets import is_order_token
from domain.visibility import SHIPMENT_OF_VENDOR, VisibleRows
from kernel.ids import parse_uuid
from kernel.scope import STAFF_OR_APP, ActorKind, Scope
from models.reading.queries import Condition, Entity

CHECKOUT = "storefront:checkout"

PLACED = VisibleRows(admin=("view_orders",), app="read_orders", customer="", storefront=CHECKOUT, storefront_rows="")
# Reached only through `order_filter`, which authorizes access to the one order, and through its checkout.
PLACED_ORDERS = Entity(table="orders", visible=PLACED)


def own_part(expression: str, shared: str) -> Callable[[Scope], Condition]:
    """Build the expression of what belongs to an order as a whole: of a multi-vendor order a vendor, `{company}`, sees `shared` instead."""

    def build(scope: Scope) -> Condition:
        if scope.actor.kind is not ActorKind.VENDOR:
            return Condition(expression)
        sql = f"(CASE WHEN t.vendor_id = {{company}} THEN {expression} ELSE {shared} END)"
        return Condition(sql.replace("{company}", "{}::bigint"), (scope.actor.vendor_id,) * sql.count("{company}"))

    return build


def vendor_amount(column: str, sum_of: str) -> Callable[[Scope], Condition]:
    """Build the expression of an order amount: of a multi-vendor order a vendor sees the sum of its own lines."""
    return own_part(
        f"t.{column}",
        f"(SELECT coalesce(sum({sum_of}), 0)::bigint FROM order_lines ol"
        " WHERE ol.tenant_id = t.tenant_id AND ol.order_id = t.id AND ol.vendor_id = {company})",
    )


TRACKING_CODE = own_part(
    "t.tracking_code",
    f"""(SELECT s.tracking_number FROM shipments s WHERE s.tenant_id = t.tenant_id AND s.order_id = t.id AND s.tracking_number <> ''
    AND {SHIPMENT_OF_VENDOR.replace("t.", "s.")} ORDER BY s.id DESC LIMIT 1)""",
)
"""The tracking code of an order: a vendor sees that of the latest shipment with lines of its own."""
AMOUNTS = {
    name: vendor_amount(name, sum_of)
    for name, sum_of in {
        "subtotal_cents": "ol.quantity * ol.price_cents",
        "shipping_cents": "ol.shipping_cents",
        "total_cents": "ol.quantity * ol.price_cents + ol.shipping_cents",
        # Of the whole order, without a share of single lines.
        "discount_cents": "0",
        "surcharge_cents": "0",
        "tax_cents": "0",
        "refunded_cents": "0",
        "points_spent": "0",
        "points_cents": "0",
        "points_earned": "0",
    }.items()
}
"""The amounts of an order as a caller sees, filters and sorts by them."""


def order_filter(scope: Scope, order: object, token: str | None) -> Condition | None:
    """Return the condition matching the order if the caller may see it: any with the right token, else one of the customer's own.

    None when no order can match.
    """
    public_id = parse_uuid(order)
    if public_id is None:
        return None
    # Mails about orders of any origin contain the token.
    if token is not None and is_order_token(scope, public_id, token):
        return Condition("t.public_id = {}::uuid", (public_id,))
    user_id = scope.actor.user_id
    if scope.actor.kind in STAFF_OR_APP or user_id is None:
        return None
    return Condition(
        "t.public_id = {}::uuid AND t.origin = 'storefront' AND t.user_id = {}::bigint", (public_id, user_id)
    )


def own_data(expression: str) -> Callable[[Scope], Condition]:
    """Build the expression of a personal field: an account's data only for its own customer, a guest's for the token holder."""

    def build(scope: Scope) -> Condition:
        if scope.actor.kind in STAFF_OR_APP:
            return Condition(expression)
        user_id: Any = scope.actor.user_id
        return Condition(
            f"CASE WHEN t.user_id IS NULL OR t.user_id = {{}}::bigint THEN {expression} ELSE '' END",
            (user_id,),
        )

    return build
