"""Assemble what can be asked and done about orders."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.orders import delete, edit, fiscal, lifecycle, place
from domain.orders.read import ORDERS
from kernel.scope import Scope
from resolvers.changes import DeletedRecord, deleted, renamed, shown, words
from resolvers.reads import reads
from schema.fields import root
from schema.inputs.given import provided
from schema.inputs.orders import FiscalDataInput, OrderInput
from schema.scalars import Ident, OrderStatus
from schema.types.orders import OrderObject

_WRITE = Access(privileges=("manage_orders",), app_scope="write_orders")
_WRITE_OR_VENDOR = Access(
    privileges=("manage_orders",),
    app_scope="write_orders",
    vendor=True,
    note="A vendor changes only orders wholly its own, along the table of transitions.",
)

_WORDS = {
    "customer_id": "user",
    "payment_method_id": "payment_method",
    "shipping_method_id": "shipping_method",
}
_LINE_WORDS = {"product_id": "product"}
_ALL_WORDS = {**_WORDS, **_LINE_WORDS, "items": "lines"}


def _in_domain_words(input: OrderInput) -> dict[str, Any]:
    given = renamed(input, _WORDS)
    if "items" in given:
        lines = given.pop("items") or []
        given["lines"] = [
            {_LINE_WORDS.get(name, name): value for name, value in line.items()} for line in lines
        ]
    addresses = {
        kind: given.pop(name)
        for kind, name in (("B", "billing_address"), ("S", "shipping_address"))
        if given.get(name) is not None
    }
    if addresses:
        given["addresses"] = addresses
    return given


def _origin(scope: Scope) -> str:
    return {"legacy": "legacy", "apps": "app", "storefront": "storefront"}.get(
        scope.family, "app" if scope.actor.app_id is not None else "admin"
    )


@strawberry.type
class OrderMutations:
    """What can be done with orders."""

    @root(_WRITE, "Place an order: stock is reserved, totals are computed, `order.created` is recorded.")
    async def order_create(self, info: Info, input: OrderInput) -> OrderObject | None:
        """Place an order."""
        scope = info.context.scope
        with words(_ALL_WORDS):
            placed = await place.place_order(scope, {**_in_domain_words(input), "origin": _origin(scope)})
        return await shown(info, ORDERS, placed.id)

    @root(
        _WRITE_OR_VENDOR,
        "Change an order. New `items` replace all lines, while it is `O` or `B`; totals are computed anew.",
    )
    async def order_update(self, info: Info, id: Ident, input: OrderInput) -> OrderObject | None:
        """Change an order."""
        scope = info.context.scope
        with words(_ALL_WORDS):
            changed = await edit.update_order(
                scope, id, _in_domain_words(input), force=scope.family == "legacy"
            )
        return await shown(info, ORDERS, changed.id)

    @root(
        _WRITE_OR_VENDOR,
        "Take an order to another status. `restock` brings the goods of a completed order back when it is cancelled. A"
        " `tracking_code` given with `C` (shipped) also records a shipment.",
    )
    async def order_set_status(
        self,
        info: Info,
        id: Ident,
        status: OrderStatus,
        reason: str = "",
        restock: bool = False,
        tracking_code: str | None = None,
        carrier: str | None = None,
    ) -> OrderObject | None:
        """Take an order to another status."""
        scope = info.context.scope
        moved = await lifecycle.move(
            scope,
            id,
            status,
            force=scope.family == "legacy",
            reason=reason,
            restock=restock,
            tracking_code=tracking_code,
            carrier=carrier,
        )
        return await shown(info, ORDERS, moved.id)

    @root(
        _WRITE,
        "Cancel an order that holds money or a shipment; delete one that does not. Its stock is released.",
    )
    async def order_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Cancel or delete an order."""
        await delete.delete_order(info.context.scope, id)
        return deleted(id)

    @root(
        _WRITE,
        "Keep the data of an order's fiscal note. A wrong check digit of the access key is marked, not refused.",
    )
    async def order_set_fiscal_data(
        self, info: Info, id: Ident, input: FiscalDataInput
    ) -> OrderObject | None:
        """Keep a fiscal note's data."""
        changed = await fiscal.set_fiscal_data(info.context.scope, id, provided(input))
        return await shown(info, ORDERS, changed)


QUERIES = (reads(OrderObject, ORDERS, "order", "orders", connection=True),)
MUTATIONS = (OrderMutations,)
