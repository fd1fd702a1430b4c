"""Queryable fields of options, combinations, exceptions, attachments and boxes: visibility, filters and sort orders."""

from __future__ import annotations

from domain.catalog.listing import OPEN, of_row
from domain.filters import (
    PRODUCT_NAME,
    exact,
    exact_second,
    ids,
    linked_to,
    optional_references,
    references,
    sorts,
    statuses,
    substring,
)
from domain.visibility import VisibleRows, published
from models.reading.queries import Entity, EntityFilter, Sort, compares

_OF_PRODUCT = (
    "EXISTS (SELECT 1 FROM products p WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id"
    " AND p.deleted_at IS NULL AND "
)
_OF_OWN = _OF_PRODUCT + "p.vendor_id = {company})"
# `OFFSET 0` keeps PostgreSQL from a join, which reads all products for each row while its statistics are older than an import.
_OF_SHOWN = f"{_OF_PRODUCT}{of_row(OPEN, 'p')} OFFSET 0)"
# A vendor's own options, and the shared ones linked to its products.
_VENDORS_OPTIONS = (
    "t.vendor_id = {company} OR EXISTS (SELECT 1 FROM product_options po JOIN products p ON p.tenant_id = po.tenant_id"
    " AND p.id = po.product_id WHERE po.tenant_id = t.tenant_id AND po.option_id = t.id AND p.vendor_id = {company})"
)
_SHOWN_OPTIONS = (
    "t.status = 'A' AND EXISTS (SELECT 1 FROM product_options po JOIN products p ON p.tenant_id = po.tenant_id"
    " AND p.id = po.product_id WHERE po.tenant_id = t.tenant_id AND po.option_id = t.id AND p.deleted_at IS NULL"
    f" AND {of_row(OPEN, 'p')} OFFSET 0)"
)
_STAFF = ("view_catalog", "view_products")


OPTIONS = Entity(
    table="options",
    visible=published(_STAFF, "read_products", _SHOWN_OPTIONS, vendor=_VENDORS_OPTIONS),
    filters={
        "id": ids("options"),
        **exact("option_type", type="any of these types"),
        "status": statuses(),
        "product_id": optional_references("products", "belongs to any of these products; 0 means shared by several"),
        "offered_by": linked_to(
            "product_options", "option_id", "product_id", "products", "is offered by any of these products"
        ),
        "vendor_id": optional_references("vendors", "of any of these vendors; 0 means of none"),
        **exact("text", "name"),
        "search": substring("name", "t.name"),
        **exact("boolean", required="has to be chosen", inventory="takes part in combinations"),
        **exact("big_int", "position", internal=True),
        **exact("text", "description", internal=True),
    },
    sorts=sorts("position", "name", "id"),
)

COMBINATIONS = Entity(
    table="combinations",
    visible=published(_STAFF, "read_products", _OF_SHOWN, vendor=_OF_OWN),
    filters={
        "id": ids("combinations"),
        "product_id": references("products", "of any of these products"),
        **exact("text", "hash", sku="exact SKU"),
        "search": substring("SKU", "t.sku"),
        **exact("big_int", "stock"),
        "stock_from": EntityFilter("big_int", compares("t.stock", ">="), "at least this available stock"),
        "stock_to": EntityFilter("big_int", compares("t.stock", "<="), "at most this available stock"),
        **exact("cents", price_cents="exact price in cents"),
        **exact("text", gtin="exact GTIN of its own"),
        **exact("big_int", "position", "length_mm", "width_mm", "height_mm", internal=True),
        **exact("cents", "shipping_freight_cents", internal=True),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts={
        **sorts("position", ("sku", "SKU")),
        "stock": Sort("t.stock", "bigint", "available stock"),
        **sorts("created_at", "id"),
    },
)

OPTION_EXCEPTIONS = Entity(
    table="option_exceptions",
    visible=published(_STAFF, "read_products", _OF_SHOWN, vendor=_OF_OWN),
    filters={
        "id": ids("exceptions"),
        "product_id": references("products", "of any of these products"),
        **exact("exception_type", type="any of these types"),
        **exact("text", "hash", internal=True),
        "search": substring("product's name", PRODUCT_NAME),
    },
    sorts=sorts("id"),
)

# Reached only through their parent, whose rows are already filtered.
_WITHIN = published(("view_catalog", "view_products", "view_orders"), "read_products", "")
OPTION_VARIANTS = Entity(table="option_variants", visible=_WITHIN)
COMBINATION_CHOICES = Entity(table="combination_choices", visible=_WITHIN)
EXCEPTION_CHOICES = Entity(table="exception_choices", visible=_WITHIN)

ATTACHMENTS = Entity(
    table="attachments",
    visible=published(_STAFF, "read_products", "t.status = 'A' AND " + _OF_SHOWN, vendor=_OF_OWN),
    filters={
        "id": ids("attachments"),
        "status": statuses(),
        "product_id": references("products", "of any of these products"),
    },
    sorts=sorts("position", "id"),
)

_BOXES = VisibleRows(admin=_STAFF, app="read_products", vendor="t.status = 'A'")
BOXES = Entity(
    label="box",
    table="product_boxes",
    visible=_BOXES,
    filters={"id": ids("boxes"), "status": statuses(), **exact("text", "name")},
    sorts=sorts("position", "name", "id"),
)

_OF_BOX = (
    "EXISTS (SELECT 1 FROM product_boxes b WHERE b.tenant_id = t.tenant_id AND b.id = t.box_id"
    " AND b.deleted_at IS NULL{})"
)
BOX_DESCRIPTIONS = Entity(
    table="box_descriptions",
    base_condition=_OF_BOX.format(""),
    visible=VisibleRows(admin=_STAFF, app="read_products", vendor=_OF_BOX.format(" AND b.status = 'A'")),
    filters={
        "id": ids("descriptions"),
        "box_id": references("product_boxes", "of any of these boxes", column="t.box_id"),
        **exact("text", lang_code="in any of these languages"),
    },
    sorts=sorts("id"),
)
