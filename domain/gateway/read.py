"""The readable entities of gateway notifications and charges: visible rows, filters and sort orders."""

from __future__ import annotations

from domain.filters import created_range, exact, ids
from domain.visibility import ORDER_OF_CUSTOMER, ORDER_OF_VENDOR, VisibleRows
from models.reading.queries import Entity, Sort

MODULE = "payment_gateway"
"""The module setting that disables the administration of notifications."""

# In the order in which the error message names them; any one is enough, for reading and reprocessing.
STAFF = ("manage_payments", "view_payments")

GATEWAY_NOTIFICATIONS = Entity(
    table="gateway_notifications",
    visible=VisibleRows(admin=STAFF, module=MODULE),
    filters={
        "id": ids("notifications"),
        **exact("boolean", processed="was processed"),
        **exact(
            "text",
            event_id="any of these events",
            event_type="any of these types",
            charge_id="first charge is any of these",
        ),
        **created_range("received"),
    },
    sorts={"created_at": Sort("t.created_at", "timestamptz", "time of receipt")},
    has_numeric_ids=True,
    default_sort="-created_at",
)

CHARGES = Entity(
    table="charges",
    visible=VisibleRows(
        admin=("view_payments", "view_orders"), app="read_orders", vendor=ORDER_OF_VENDOR, customer=ORDER_OF_CUSTOMER
    ),
)
