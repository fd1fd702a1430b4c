"""Show shoppers the orders they placed: by the token that the checkout gave, or by the customer's own credential.

The token is made from the order's id with a key of the program's own, so nothing is kept that could be stolen and used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auth.secrets import keyed_hash
from domain.visibility import Rows
from kernel.ids import parse_uuid
from kernel.scope import ActorKind, Scope
from kernel.signatures import constant_time_equal
from models.reading import Entity, Where

CHECKOUT = "storefront:checkout"
_PURPOSE = "order token"
_STAFF = (ActorKind.ADMIN, ActorKind.APP, ActorKind.SYSTEM)

_VISIBLE = Rows(
    admin=("view_orders",), app="read_orders", customer="", storefront=CHECKOUT, storefront_rows=""
)
# Reached only through `by_token`, which proves the right to the one order, and the checkout that made it.
PLACED_ORDERS = Entity(name="placed order", table="orders", alive="t.deleted_at IS NULL", visible=_VISIBLE)
PLACED_ORDER_LINES = Entity(name="line of a placed order", table="order_lines", visible=_VISIBLE)


def order_token(scope: Scope, order: object) -> str:
    """Give the token that opens an order, named by its public id, to whoever placed it: 256 bits."""
    return keyed_hash(_PURPOSE, f"{scope.store.public_id}:{order}")


def by_token(scope: Scope, order: object, token: str | None) -> Where | None:
    """Give the condition for the one order that the caller may see: any for the right token, else one of the customer's own.

    None where there can be none.
    """
    public_id = parse_uuid(order)
    if public_id is None:
        return None
    of_storefront = "t.public_id = {}::uuid AND t.origin = 'storefront'"
    if token is not None and constant_time_equal(token, order_token(scope, public_id)):
        return Where(of_storefront, (public_id,))
    user_id = scope.actor.user_id
    if scope.actor.kind in _STAFF or user_id is None:
        return None
    return Where(f"{of_storefront} AND t.user_id = {{}}::bigint", (public_id, user_id))


def told(expression: str) -> Callable[[Scope], Where]:
    """Give the expression for something personal: of an account only its own holder sees it, of a guest whoever holds the token."""

    def build(scope: Scope) -> Where:
        if scope.actor.kind in _STAFF:
            return Where(expression)
        known: Any = scope.actor.user_id
        return Where(
            f"CASE WHEN t.user_id IS NULL OR t.user_id = {{}}::bigint THEN {expression} ELSE '' END", (known,)
        )

    return build
