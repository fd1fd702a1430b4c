"""Resolve the vendor app."""

from __future__ import annotations

from datetime import datetime

from strawberry import Info

from auth import vendor_tokens
from auth.access import Access
from domain.catalog import products
from domain.marketplace import app, dashboard, signup
from domain.orders import vendor_update
from kernel.clock import format_unix
from kernel.errors import ValidationFailed
from models.reading.queries import Row
from resolvers.engine.complete import load_record
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import ID, DateTime, OrderStatus
from schema.types.orders import OrderObject
from schema.types.sessions import ANYONE
from schema.types.vendor_app import (
    VENDORS_ONLY,
    BulkDeletionObject,
    VendorAppStartObject,
    VendorDashboardObject,
    VendorSignedUpObject,
    VendorSignupInput,
    VendorTokenObject,
)

_DELETE_PRODUCTS = Access(
    privileges=("manage_products",),
    app_scope="write_products",
    vendor=True,
    note="Vendors can delete only their own products.",
)


def _unix(time: datetime) -> int:
    return int(format_unix(time))


@declare
class VendorAppQueries:
    """Queries of the vendor app."""

    @root_field(VENDORS_ONLY)
    async def vendor_app_start(self, info: Info) -> VendorAppStartObject:
        """Return the initial configuration of the vendor app."""
        return await app.load_app_config(info.context.scope)  # type: ignore[return-value]

    @root_field(VENDORS_ONLY)
    async def vendor_dashboard(
        self, info: Info, created_from: DateTime | None = None, created_before: DateTime | None = None
    ) -> VendorDashboardObject:
        """Return the calling vendor's sales statistics for the orders placed in a period."""
        statistics = await dashboard.load_dashboard(info.context.scope, created_from, created_before)
        days = [
            Row(date=day.date, date_unix=_unix(day.date), total_cents=day.total_cents, orders=day.orders)
            for day in statistics.days
        ]
        return Row(  # type: ignore[return-value]
            sales_cents=statistics.sales_cents,
            order_count=statistics.order_count,
            average_ticket_cents=statistics.average_ticket_cents,
            balance_cents=statistics.balance_cents,
            product_counts=statistics.products,
            products=statistics.products,
            orders_by_status=statistics.orders_by_status,
            days=days,
        )


@declare
class VendorAppMutations:
    """Mutations of the vendor app."""

    @root_field(ANYONE, internal=True, secret=True, when_read_only=True)
    async def vendor_sign_in(
        self, info: Info, email: str | None = None, password: str | None = None, code: str | None = None
    ) -> VendorTokenObject:
        """Sign in to the vendor app; every attempt counts towards the rate limit."""
        created = await vendor_tokens.issue_vendor_token(info.context.scope, email, password, code)
        return Row(  # type: ignore[return-value]
            token=created.token,
            ttl=created.ttl,
            user_number=created.user_id,
            vendor_number=created.vendor_id,
            expires_unix=_unix(created.expires_at),
        )

    @root_field(ANYONE)
    async def vendor_sign_up(self, info: Info, input: VendorSignupInput) -> VendorSignedUpObject:
        """Register as a vendor of the marketplace, pending approval. For a registered address the response is the same; its owner is
        notified by e-mail. Emits `user.registered`.
        """
        scope = info.context.scope
        if scope.family != "legacy":  # whose contract reports a registered address
            await signup.apply(scope, provided_fields(input))
            return Row(status=signup.PENDING)  # type: ignore[return-value]
        created = await signup.sign_up(scope, provided_fields(input))
        return Row(vendor_number=created.vendor_id, user_number=created.user_id, status=created.status)  # type: ignore[return-value]

    @root_field(VENDORS_ONLY)
    async def vendor_order_update(
        self,
        info: Info,
        id: ID,
        status: OrderStatus | None = None,
        tracking_number: str | None = None,
        carrier: str | None = None,
    ) -> OrderObject | None:
        """Update the status of an order consisting of the vendor's lines; with a `tracking_number`, record a shipment of the vendor's
        unshipped lines of any order.
        """
        scope = info.context.scope
        order = await vendor_update.update_as_vendor(
            scope, id, status=status, tracking_number=tracking_number, carrier=carrier
        )
        return await load_record(info, order.id)

    @root_field(_DELETE_PRODUCTS)
    async def product_bulk_delete(self, info: Info, ids: list[ID]) -> BulkDeletionObject:
        """Delete up to 500 products in one transaction and return the IDs not found. Emits `product.deleted` for each."""
        if not ids:
            raise ValidationFailed("ids is required", field="ids", code="required")
        if len(ids) > products.MAX_ROWS:
            raise ValidationFailed(
                f"ids has {len(ids)} entries; expected at most {products.MAX_ROWS}", field="ids", code="too_many"
            )
        deleted, missing = await products.delete_products(info.context.scope, ids)
        return Row(  # type: ignore[return-value]
            deleted=list(deleted), deleted_numbers=list(dict.fromkeys(deleted.values())), not_found=missing
        )


QUERIES = (VendorAppQueries,)
MUTATIONS = (VendorAppMutations,)
