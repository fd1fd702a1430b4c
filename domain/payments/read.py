"""The readable entities of payment methods and payments: visible rows, filters and sort orders."""

from __future__ import annotations

from domain.filters import exact, ids, optional_references, references, sorts, statuses, substring
from domain.order_access import CHECKOUT
from domain.taxes.read import has_tax
from domain.visibility import ORDER_OF_CUSTOMER, ORDER_OF_VENDOR, VisibleRows, published
from models.reading.queries import Condition, Entity, EntityFilter, Sort, flag

# As `domain.purchase.references`.
ACCEPTED = Condition("t.status = 'A'")
"""The payment methods that a new order may name."""

PAYMENT_METHODS = Entity(
    table="payment_methods",
    visible=published(("view_payments", "view_orders"), "read_orders"),
    filters={
        "id": ids("methods"),
        "status": statuses(),
        "vendor_id": references("vendors", "of any of these vendors"),
        **exact("text", "name", processor="any of these processors"),
        "search": substring("name", "t.name"),
        "tax_id": has_tax("payment_method_taxes", "has any of these taxes"),
        "company_id": optional_references(
            "vendors", "of any of these vendors; 0 means without a vendor", internal=True
        ),
        **exact("text", "description", "instructions", internal=True),
        **exact("cents", "surcharge_cents", internal=True),
        **exact("big_int", "surcharge_percent", "position", internal=True),
    },
    sorts=sorts("position", "name", "id"),
)

RECEIVED = "t.status IN ('PAID', 'PARTIALLY_REFUNDED', 'REFUNDED', 'DISPUTED')"
"""The condition of payments that were received."""
# The first condition is that of the index `payments_live_key`.
IN_DOUBT = "(t.status IN ('PENDING', 'AUTHORIZED') AND t.status = 'PENDING' AND t.gateway <> '' AND t.gateway_charge_id IS NULL)"
PAID_CENTS = f"CASE WHEN {RECEIVED} THEN coalesce(t.paid_cents, t.amount_cents) ELSE 0 END"
RECEIVED_KIND = "CASE WHEN t.gateway <> '' AND t.kind = 'CARD' THEN 'credit_card' WHEN t.gateway <> '' THEN lower(t.kind) ELSE t.kind END"
"""The kind of a payment in the words of the gateway's notifications."""

PAYMENT_SCOPES = ("read_orders", "read_payments")
"""Any one of these lets an app read payments."""
_STAFF = ("view_payments", "view_orders")
# Shoppers open a payment by its id only where `domain.payments.orders` has found its order for them, as those of PLACED_ORDERS.
PAYMENTS = Entity(
    table="payments",
    visible=VisibleRows(
        admin=_STAFF,
        app=PAYMENT_SCOPES,
        vendor=ORDER_OF_VENDOR,
        customer="",
        storefront=CHECKOUT,
    ),
    listed=VisibleRows(
        admin=_STAFF,
        app=PAYMENT_SCOPES,
        vendor=ORDER_OF_VENDOR,
        customer=ORDER_OF_CUSTOMER,
        storefront=CHECKOUT,
        storefront_rows="false",
    ),
    filters={
        "id": ids("payments"),
        "order_id": references("orders", "for any of these orders"),
        **exact("text", kind="any of these kinds"),
        **exact("payment_state", status="any of these statuses"),
        "in_doubt": EntityFilter("boolean", flag(IN_DOUBT), "is in doubt: its gateway has not answered yet"),
    },
    sorts={"created_at": Sort("t.created_at", "timestamptz", "time of receipt"), **sorts("id")},
    default_sort="-created_at",
)
PAYMENT_REFUNDS = Entity(
    table="payment_refunds",
    visible=VisibleRows(admin=_STAFF, app=PAYMENT_SCOPES, vendor="", customer="", storefront=CHECKOUT),
)
"""Reached through their payment only."""
