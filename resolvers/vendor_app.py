"""Assemble what vendors ask and do from their app."""

from __future__ import annotations

from datetime import datetime

import strawberry
from strawberry import Info

from auth import vendor_tokens
from auth.access import Access
from domain.catalog import products
from domain.marketplace import app, dashboard, signup
from domain.orders import vendor_update
from domain.orders.read import ORDERS
from kernel.clock import unix_text
from kernel.errors import ValidationFailed
from models.reading import Row
from resolvers.changes import shown
from schema.fields import root
from schema.inputs.given import provided
from schema.inputs.vendor_app import VendorSignupInput
from schema.scalars import Ident, OrderStatus, Time
from schema.types.orders import OrderObject
from schema.types.sessions import ANYBODY
from schema.types.vendor_app import (
    VENDORS_ONLY,
    BulkDeletionObject,
    VendorAppStartObject,
    VendorDashboardObject,
    VendorSignedUpObject,
    VendorTokenObject,
)

_DELETE_PRODUCTS = Access(
    privileges=("manage_products",),
    app_scope="write_products",
    vendor=True,
    note="A vendor deletes its own products only.",
)


def _unix(moment: datetime) -> int:
    return int(unix_text(moment))


@strawberry.type
class VendorAppQueries:
    """What a vendor's app asks."""

    @root(VENDORS_ONLY, "What a vendor's app needs to begin.")
    async def vendor_app_start(self, info: Info) -> VendorAppStartObject:
        """Begin."""
        return await app.begin(info.context.scope)  # type: ignore[return-value]

    @root(VENDORS_ONLY, "How the calling vendor's business goes, over the orders placed in a span of time.")
    async def vendor_dashboard(
        self, info: Info, created_from: Time | None = None, created_before: Time | None = None
    ) -> VendorDashboardObject:
        """Sum up."""
        found = await dashboard.dashboard(info.context.scope, created_from, created_before)
        days = [
            Row(date=day.date, date_unix=_unix(day.date), total_cents=day.total_cents, orders=day.orders)
            for day in found.days
        ]
        return Row(  # type: ignore[return-value]
            sales_cents=found.sales_cents,
            order_count=found.order_count,
            average_ticket_cents=found.average_ticket_cents,
            balance_cents=found.balance_cents,
            products=found.products,
            orders_by_status=found.orders_by_status,
            days=days,
        )


@strawberry.type
class VendorAppMutations:
    """What a vendor's app does."""

    @root(ANYBODY, "Sign in to the vendor app; every attempt counts.", internal=True, secret=True)
    async def vendor_sign_in(
        self, info: Info, email: str | None = None, password: str | None = None, code: str | None = None
    ) -> VendorTokenObject:
        """Sign in."""
        made = await vendor_tokens.issue_vendor_token(info.context.scope, email, password, code)
        return Row(  # type: ignore[return-value]
            token=made.token,
            ttl=made.ttl,
            user_number=made.user_id,
            vendor_number=made.company_id,
            expires_unix=_unix(made.expires_at),
        )

    @root(ANYBODY, "Apply for a place in the marketplace. Fires `user.registered`.", internal=True)
    async def vendor_sign_up(self, info: Info, input: VendorSignupInput) -> VendorSignedUpObject:
        """Apply."""
        made = await signup.sign_up(info.context.scope, provided(input))
        return Row(vendor_number=made.vendor_id, user_number=made.user_id, status=made.status)  # type: ignore[return-value]

    @root(
        VENDORS_ONLY,
        "Move an order wholly the vendor's own along the table of transitions; with a `tracking_number` record a parcel of the"
        " vendor's lines that were not sent yet, of any order.",
    )
    async def vendor_order_update(
        self,
        info: Info,
        id: Ident,
        status: OrderStatus | None = None,
        tracking_number: str | None = None,
        carrier: str | None = None,
    ) -> OrderObject | None:
        """Work on an order."""
        scope = info.context.scope
        moved = await vendor_update.update_as_vendor(
            scope, id, status=status, tracking_number=tracking_number, carrier=carrier
        )
        return await shown(info, ORDERS, moved.id)

    @root(
        _DELETE_PRODUCTS,
        "Delete up to 500 products in one transaction, and tell which there were not. Fires `product.deleted` for each.",
    )
    async def product_bulk_delete(self, info: Info, ids: list[Ident]) -> BulkDeletionObject:
        """Delete many products."""
        if not ids:
            raise ValidationFailed("ids is required", field="ids", code="required")
        if len(ids) > products.MAX_ROWS:
            raise ValidationFailed(
                f"ids has {len(ids)} entries; expected at most {products.MAX_ROWS}",
                field="ids",
                code="too_many",
            )
        deleted, missing = await products.delete_products(info.context.scope, ids)
        return Row(  # type: ignore[return-value]
            deleted=list(deleted),
            deleted_numbers=list(dict.fromkeys(deleted.values())),
            not_found=missing,
        )


QUERIES = (VendorAppQueries,)
MUTATIONS = (VendorAppMutations,)
