"""The readable entities of taxes: visible rows, filters and sort orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.filters import exact, ids, sorts, statuses, substring
from domain.visibility import published
from models.queries import Condition, Entity, refers_to

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

_OWNERS = {
    "product_taxes": "product_id",
    "shipping_method_taxes": "shipping_method_id",
    "payment_method_taxes": "payment_method_id",
}


def has_tax(table: str) -> Callable[[Any], Condition]:
    """Match records with any of these taxes, linked through `table`."""
    names = refers_to("l.tax_id", "taxes")

    def build(value: Any) -> Condition:
        condition = names(value)
        return Condition(
            f"t.id IN (SELECT l.{_OWNERS[table]} FROM {table} l WHERE l.tenant_id = {{tenant}} AND ({condition.sql}))",
            condition.params,
        )

    return build
