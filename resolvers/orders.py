"""Resolve orders."""

from __future__ import annotations

from typing import Any

from strawberry import Info

from auth.access import Access
from domain.marketplace import sales
from domain.orders import deletion, fiscal, lifecycle
from domain.purchase import edit, placement
from domain.purchase.preview import preview_order
from kernel.scope import Scope
from models.reading import row_reads
from models.reading.queries import Row, by_id
from resolvers.engine.complete import load_record
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import (
    LINE_FIELD_NAMES,
    delete_field,
    rename_error_fields,
    rename_fields,
    rename_line_fields,
    unless_changed,
)
from resolvers.results import linked
from schema.declaration import declare
from schema.enums import SalesPeriod
from schema.fields import COST, root_field
from schema.inputs import provided_fields
from schema.scalars import ID, OrderStatus
from schema.selection import requested_shape
from schema.types.order_preview import OrderPreviewObject
from schema.types.orders import READ_SALES, FiscalDataInput, OrderInput, OrderObject, SalesSummaryObject

_WRITE = Access(privileges=("manage_orders",), app_scope="write_orders")
_PREVIEW = Access(privileges=("view_orders",), app_scope="read_orders")
_WRITE_OR_VENDOR = Access(
    privileges=("manage_orders",),
    app_scope="write_orders",
    vendor=True,
    note="Vendors can update only orders consisting of their own lines, with the allowed status transitions.",
)

_FIELD_NAMES = {
    "customer_id": "user",
    "payment_method_id": "payment_method",
    "shipping_method_id": "shipping_method",
    "vendor_id": "vendor",
}
_ALL_FIELD_NAMES = {**_FIELD_NAMES, **LINE_FIELD_NAMES, "items": "lines"}


def _to_domain_fields(input: OrderInput) -> dict[str, Any]:
    fields = rename_fields(input, _FIELD_NAMES)
    if "items" in fields:
        fields["lines"] = [rename_line_fields(line) for line in fields.pop("items") or []]
    addresses = {
        kind: fields.pop(name)
        for kind, name in (("B", "billing_address"), ("S", "shipping_address"))
        if fields.get(name) is not None
    }
    if addresses:
        fields["addresses"] = addresses
    return fields


def _origin(scope: Scope) -> str:
    return {"legacy": "legacy", "apps": "app", "storefront": "storefront"}.get(
        scope.family, "app" if scope.actor.app_id is not None else "admin"
    )


@declare
class OrderPreviewQueries:
    """The trial of an order."""

    @root_field(_PREVIEW, metadata={COST: 50})
    async def order_preview(self, info: Info, input: OrderInput) -> OrderPreviewObject:
        """Return what an order would cost now, with the promotions that apply. Nothing is written but the answers of carriers, which are
        kept for later requests. Customer and shipping method may be left out; stock and limits of orders aren't looked at. Otherwise it is
        refused as by `order_create`.
        """
        with rename_error_fields(_ALL_FIELD_NAMES):
            preview = await preview_order(info.context.scope, _to_domain_fields(input))
        lines, discounts = linked(info, preview["lines"], "lines"), linked(info, preview["discounts"], "discounts")
        return Row({**preview, "lines": lines, "discounts": discounts})  # type: ignore[return-value]


@declare
class OrderMutations:
    """Mutations of orders."""

    @root_field(_WRITE)
    async def order_create(self, info: Info, input: OrderInput) -> OrderObject | None:
        """Place an order: reserves stock, calculates totals, emits `order.created`."""
        scope = info.context.scope
        with rename_error_fields(_ALL_FIELD_NAMES):
            placed = await placement.place_order(scope, {**_to_domain_fields(input), "origin": _origin(scope)})
        return await load_record(info, placed.id)

    @root_field(_WRITE_OR_VENDOR)
    @unless_changed(OrderObject)
    async def order_update(self, info: Info, id: ID, input: OrderInput) -> OrderObject | None:
        """Update an order; omitted fields stay unchanged. `items` replace all lines while the status is `O` or `B`; totals are
        recalculated.
        """
        scope = info.context.scope
        with rename_error_fields(_ALL_FIELD_NAMES):
            fields = _to_domain_fields(input)
            restock = bool(fields.pop("restock", False))
            order = await edit.update_order(scope, id, fields, force=scope.family == "legacy", restock=restock)
        return await load_record(info, order.id)

    @root_field(_WRITE_OR_VENDOR)
    async def order_set_status(
        self,
        info: Info,
        id: ID,
        status: OrderStatus,
        reason: str = "",
        restock: bool = False,
        tracking_code: str | None = None,
        carrier: str | None = None,
    ) -> OrderObject | None:
        """Update the status of an order. `restock` returns the stock of a completed order when it is cancelled. A `tracking_code` with
        status `C` (shipped) also records a shipment.
        """
        scope = info.context.scope
        order = await lifecycle.change_status(
            scope,
            id,
            status,
            force=scope.family == "legacy",
            reason=reason,
            restock=restock,
            tracking_code=tracking_code,
            carrier=carrier,
        )
        return await load_record(info, order.id)

    order_delete = delete_field(
        _WRITE_OR_VENDOR,
        "Cancel an order with payments, also one that may still be paid, or shipments; delete one without. Its reserved stock is released.",
        deletion.delete_order,
    )

    @root_field(_WRITE)
    async def order_set_fiscal_data(self, info: Info, id: ID, input: FiscalDataInput) -> OrderObject | None:
        """Set the invoice data (nota fiscal) of an order. An invalid check digit of the access key is flagged, not rejected."""
        order = await fiscal.set_fiscal_data(info.context.scope, id, provided_fields(input))
        return await load_record(info, order)


@declare
class SalesQueries:
    """Sums of orders."""

    @root_field(READ_SALES)
    async def sales_summary(self, info: Info, period: SalesPeriod) -> SalesSummaryObject:
        """Return the sales of a period up to now, in the store's time zone."""
        return await sales.load_sales_summary(info.context.scope, period)  # type: ignore[return-value]


@declare
class OrderSubscriptions:
    """What happens to the orders of a customer."""

    @root_field(
        Access(customer=True, admin=False, note="Its own orders."),
        "Sends an own order when it changes, for customers, over Server-Sent Events or WebSockets"
        " (docs/reference/graphql.md#subscriptions).",
    )
    async def order_updated(self, info: Info) -> OrderObject | None:
        """Return the order that the event of one execution, its root value, is about."""
        scope, event = info.context.scope, info.root_value
        return await row_reads.fetch_first(scope, requested_shape(info), by_id(event.subject_id))  # type: ignore[return-value]


QUERIES = (build_entity_queries(OrderObject), SalesQueries, OrderPreviewQueries)
SUBSCRIPTIONS = (OrderSubscriptions,)
MUTATIONS = (OrderMutations,)
