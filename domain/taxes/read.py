"""The readable entities of taxes: visible rows, filters and sort orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.visibility import VisibleRows
from models.queries import Condition, Entity, EntityFilter, Sort, any_of, by_ids, flag, refers_to

_PUBLIC_ROWS = "t.status = 'A'"

TAXES = Entity(
    name="tax",
    table="taxes",
    base_condition="t.deleted_at IS NULL",
    visible=VisibleRows(
        admin=("view_payments", "view_products", "view_orders", "view_shipping"),
        app=("read_products", "read_orders"),
        vendor=_PUBLIC_ROWS,
        customer=_PUBLIC_ROWS,
        storefront="storefront:read",
        storefront_rows=_PUBLIC_ROWS,
    ),
    filters={
        "id": EntityFilter("id", by_ids, "any of these taxes", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Condition("strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0", (text,)),
            "part of the name",
        ),
        "address_type": EntityFilter(
            "text", any_of("t.address_type"), "any of these address types", many=True
        ),
        "rate_type": EntityFilter("text", any_of("t.rate_type"), "any of these rate types", many=True),
        "regnumber": EntityFilter("text", any_of("t.regnumber"), "exact registration number", many=True),
        "price_includes_tax": EntityFilter("boolean", flag("t.price_includes_tax"), "is included in prices"),
        "priority": EntityFilter(
            "big_int", any_of("t.priority", "bigint"), "any of these priorities", many=True, internal=True
        ),
        "rate_value": EntityFilter(
            "big_int", any_of("t.rate_value", "bigint"), "exact rate", many=True, internal=True
        ),
    },
    sorts={
        "priority": Sort("t.priority", "bigint", "priority"),
        "name": Sort("t.name", "text", "name"),
        "id": Sort("t.id", "bigint", "creation order"),
    },
    default_sort="priority",
)

# Reached only through a tax, whose rows are filtered already.
TAX_RATE_TYPES = Entity(
    name="tax rate",
    table="tax_rates",
    visible=VisibleRows(
        admin=("view_payments", "view_products", "view_orders", "view_shipping"),
        app=("read_products", "read_orders"),
        vendor="",
        customer="",
        storefront="storefront:read",
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
