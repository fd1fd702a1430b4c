"""Declare what of taxes can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, Where, any_of, flag, named, refers_to

_SHOPPER_SEES = "t.status = 'A'"

TAXES = Entity(
    name="tax",
    table="taxes",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=("view_payments", "view_products", "view_orders", "view_shipping"),
        app=("read_products", "read_orders"),
        vendor=_SHOPPER_SEES,
        customer=_SHOPPER_SEES,
        storefront="storefront:read",
        storefront_rows=_SHOPPER_SEES,
    ),
    filters={
        "id": EntityFilter("id", named, "any of these taxes", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "search": EntityFilter(
            "text",
            lambda text: Where("strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0", (text,)),
            "part of the name",
        ),
        "address_type": EntityFilter(
            "text", any_of("t.address_type"), "any of these address letters", many=True
        ),
        "rate_type": EntityFilter("text", any_of("t.rate_type"), "any of these rate letters", many=True),
        "regnumber": EntityFilter("text", any_of("t.regnumber"), "exact registration number", many=True),
        "price_includes_tax": EntityFilter("boolean", flag("t.price_includes_tax"), "is within the prices"),
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
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="priority",
)

# Reached only through a tax, whose rows were filtered already.
TAX_RATE_TYPES = Entity(
    name="tax rate",
    table="tax_rates",
    visible=Rows(
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


def taxed_with(table: str) -> Callable[[Any], Where]:
    """Match records on which any of the taxes named lies, as `table` tells."""
    names = refers_to("l.tax_id", "taxes")

    def build(value: Any) -> Where:
        found = names(value)
        return Where(
            f"t.id IN (SELECT l.{_OWNERS[table]} FROM {table} l WHERE l.tenant_id = {{tenant}} AND ({found.sql}))",
            found.params,
        )

    return build
