"""Declare what of the gateway's notifications and of charges can be read."""

from __future__ import annotations

from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, any_of, compares, flag, named

MODULE = "payment_gateway"
"""The store's setting that switches the administration of notifications off."""

# In the order in which the contract's refusal names them; any is enough, for reading and for processing again.
STAFF = ("manage_payments", "view_payments")

GATEWAY_NOTIFICATIONS = Entity(
    name="gateway notification",
    table="gateway_notifications",
    visible=Rows(admin=STAFF, module=MODULE),
    filters={
        "id": EntityFilter("id", named, "any of these notifications", many=True),
        "processed": EntityFilter("boolean", flag("t.processed"), "was processed"),
        "event_id": EntityFilter("text", any_of("t.event_id"), "any of these events", many=True),
        "event_type": EntityFilter("text", any_of("t.event_type"), "any of these types", many=True),
        "charge_id": EntityFilter(
            "text", any_of("t.charge_id"), "tells first of any of these charges", many=True
        ),
        "created_from": EntityFilter("time", compares("t.created_at", ">="), "arrived then or later"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "arrived before"),
    },
    sorts={"created_at": Sort("t.created_at", "timestamptz", "time of arrival")},
    default_sort="-created_at",
)

CHARGES = Entity(
    name="charge",
    table="charges",
    visible=Rows(
        admin=("view_payments", "view_orders"),
        app="read_orders",
        vendor="EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id AND o.vendor_id = {company})",
        customer="EXISTS (SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id AND o.user_id = {user})",
    ),
)
