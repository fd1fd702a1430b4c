"""The readable entities of taxes: visible rows, filters and sort orders."""

from __future__ import annotations

from domain.filters import exact, ids, linked_to, sorts, statuses, substring
from domain.visibility import published
from models.reading.queries import Entity, EntityFilter

TAXES = Entity(
    table="taxes",
    visible=published(
        ("view_payments", "view_products", "view_orders", "view_shipping"), ("read_products", "read_orders")
    ),
    filters={
        "id": ids("taxes"),
        "status": statuses(),
        **exact("tax_address_type", address_type="any of these address types"),
        **exact("tax_rate_type", rate_type="any of these rate types"),
        "search": substring("name", "t.name"),
        **exact("text", "name", regnumber="exact registration number"),
        **exact("boolean", price_includes_tax="is included in prices"),
        **exact("big_int", "priority", "rate_value", internal=True),
    },
    sorts=sorts("priority", "name", "id"),
)

# Reached only through a tax, whose rows are filtered already.
TAX_RATE_TYPES = Entity(
    table="tax_rates",
    visible=published(
        ("view_payments", "view_products", "view_orders", "view_shipping"), ("read_products", "read_orders"), ""
    ),
)


def has_tax(table: str, description: str) -> EntityFilter:
    """Return a filter of records with any of these taxes, linked through `table`."""
    return linked_to(table, f"{table.removesuffix('taxes')}id", "tax_id", "taxes", description)
