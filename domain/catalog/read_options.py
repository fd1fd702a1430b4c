"""Declare what of options, combinations, exceptions, attachments and boxes can be read, by whom, filtered and sorted how."""

from __future__ import annotations

from domain.catalog.read import SHOPPER, in_second, refers_to_or_none
from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, Where, any_of, compares, flag, named, refers_to

_OF_PRODUCT = (
    "EXISTS (SELECT 1 FROM products p WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id"
    " AND p.deleted_at IS NULL AND "
)
_OF_OWN = _OF_PRODUCT + "p.vendor_id = {company})"
_OF_SHOWN = _OF_PRODUCT + "p.status = 'A')"
# A vendor's own, and the shared ones that its products offer.
_VENDORS_OPTIONS = (
    "t.vendor_id = {company} OR EXISTS (SELECT 1 FROM product_options po JOIN products p ON p.tenant_id = po.tenant_id"
    " AND p.id = po.product_id WHERE po.tenant_id = t.tenant_id AND po.option_id = t.id AND p.vendor_id = {company})"
)
_SHOWN_OPTIONS = (
    "t.status = 'A' AND EXISTS (SELECT 1 FROM product_options po JOIN products p ON p.tenant_id = po.tenant_id"
    " AND p.id = po.product_id WHERE po.tenant_id = t.tenant_id AND po.option_id = t.id AND p.deleted_at IS NULL AND p.status = 'A')"
)
_STAFF = ("view_catalog", "view_products")


def _offered_by(value: object) -> Where:
    found = refers_to("po.product_id", "products")(value)
    return Where(
        "t.id IN (SELECT po.option_id FROM product_options po WHERE po.tenant_id = {tenant} AND ("
        f"{found.sql}))",
        found.params,
    )


OPTIONS = Entity(
    name="option",
    table="options",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=_STAFF,
        app="read_products",
        vendor=_VENDORS_OPTIONS,
        customer=_SHOWN_OPTIONS,
        storefront=SHOPPER,
        storefront_rows=_SHOWN_OPTIONS,
    ),
    filters={
        "id": EntityFilter("id", named, "any of these options", many=True),
        "type": EntityFilter("text", any_of("t.type"), "any of these types", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "product_id": EntityFilter(
            "id",
            refers_to_or_none("t.product_id", "products"),
            "belongs to any of these products; 0 means shared by several",
            many=True,
        ),
        "offered_by": EntityFilter("id", _offered_by, "is offered by any of these products", many=True),
        "vendor_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "of any of these vendors; 0 means of none",
            many=True,
        ),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
        "required": EntityFilter("boolean", flag("t.required"), "has to be chosen"),
        "inventory": EntityFilter("boolean", flag("t.inventory"), "takes part in combinations"),
        "position": EntityFilter(
            "big_int", any_of("t.position", "bigint"), "exact position", many=True, internal=True
        ),
        "description": EntityFilter(
            "text", any_of("t.description"), "exact description", many=True, internal=True
        ),
    },
    sorts={
        "position": Sort("t.position", "bigint", "position"),
        "name": Sort("t.name", "text", "name"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="position",
)

COMBINATIONS = Entity(
    name="combination",
    table="combinations",
    alive="t.deleted_at IS NULL",
    visible=Rows(
        admin=_STAFF,
        app="read_products",
        vendor=_OF_OWN,
        customer=_OF_SHOWN,
        storefront=SHOPPER,
        storefront_rows=_OF_SHOWN,
    ),
    filters={
        "id": EntityFilter("id", named, "any of these combinations", many=True),
        "product_id": EntityFilter(
            "id", refers_to("t.product_id", "products"), "of any of these products", many=True
        ),
        "hash": EntityFilter("text", any_of("t.hash"), "exact hash", many=True),
        "sku": EntityFilter("text", any_of("t.sku"), "exact SKU", many=True),
        "stock": EntityFilter("big_int", any_of("t.stock", "bigint"), "exact stock", many=True),
        "stock_from": EntityFilter("big_int", compares("t.stock", ">="), "at least so many to sell"),
        "stock_to": EntityFilter("big_int", compares("t.stock", "<="), "at most so many to sell"),
        "price_cents": EntityFilter(
            "cents", any_of("t.price_cents", "bigint"), "exact price in cents", many=True
        ),
        "position": EntityFilter(
            "big_int", any_of("t.position", "bigint"), "exact position", many=True, internal=True
        ),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "created in that second", many=True, internal=True
        ),
    },
    sorts={
        "position": Sort("t.position", "bigint", "position"),
        "sku": Sort("t.sku", "text", "SKU"),
        "stock": Sort("t.stock", "bigint", "what can be sold"),
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="position",
)

OPTION_EXCEPTIONS = Entity(
    name="option exception",
    table="option_exceptions",
    visible=Rows(
        admin=_STAFF,
        app="read_products",
        vendor=_OF_OWN,
        customer=_OF_SHOWN,
        storefront=SHOPPER,
        storefront_rows=_OF_SHOWN,
    ),
    filters={
        "id": EntityFilter("id", named, "any of these exceptions", many=True),
        "product_id": EntityFilter(
            "id", refers_to("t.product_id", "products"), "of any of these products", many=True
        ),
        "type": EntityFilter("text", any_of("t.type"), "any of these types", many=True),
        "hash": EntityFilter("text", any_of("t.hash"), "exact choices", many=True, internal=True),
    },
    sorts={"id": Sort("t.id", "bigint", "order of entry")},
    default_sort="id",
)

# Reached only through what they belong to, whose rows were filtered already.
_WITHIN = Rows(
    admin=("view_catalog", "view_products", "view_orders"),
    app="read_products",
    vendor="",
    customer="",
    storefront=SHOPPER,
)
OPTION_VARIANTS = Entity(name="option variant", table="option_variants", visible=_WITHIN)
COMBINATION_CHOICES = Entity(name="choice", table="combination_choices", visible=_WITHIN)
EXCEPTION_CHOICES = Entity(name="choice", table="exception_choices", visible=_WITHIN)

ATTACHMENTS = Entity(
    name="attachment",
    table="attachments",
    visible=Rows(
        admin=_STAFF,
        app="read_products",
        vendor=_OF_OWN,
        customer="t.status = 'A' AND " + _OF_SHOWN,
        storefront=SHOPPER,
        storefront_rows="t.status = 'A' AND " + _OF_SHOWN,
    ),
    filters={
        "id": EntityFilter("id", named, "any of these attachments", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "product_id": EntityFilter(
            "id", refers_to("t.product_id", "products"), "of any of these products", many=True
        ),
    },
    sorts={
        "position": Sort("t.position", "bigint", "position"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="position",
)

_BOXES = Rows(admin=_STAFF, app="read_products", vendor="t.status = 'A'")
BOXES = Entity(
    name="box",
    table="product_boxes",
    alive="t.deleted_at IS NULL",
    visible=_BOXES,
    filters={
        "id": EntityFilter("id", named, "any of these boxes", many=True),
        "status": EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True),
        "name": EntityFilter("text", any_of("t.name"), "exact name", many=True),
    },
    sorts={
        "position": Sort("t.position", "bigint", "position"),
        "name": Sort("t.name", "text", "name"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="position",
)

_OF_BOX = (
    "EXISTS (SELECT 1 FROM product_boxes b WHERE b.tenant_id = t.tenant_id AND b.id = t.box_id"
    " AND b.deleted_at IS NULL{})"
)
BOX_DESCRIPTIONS = Entity(
    name="box description",
    table="box_descriptions",
    alive=_OF_BOX.format(""),
    visible=Rows(admin=_STAFF, app="read_products", vendor=_OF_BOX.format(" AND b.status = 'A'")),
    filters={
        "id": EntityFilter("id", named, "any of these descriptions", many=True),
        "box_id": EntityFilter(
            "id", refers_to("t.box_id", "product_boxes"), "of any of these boxes", many=True
        ),
        "lang_code": EntityFilter("text", any_of("t.lang_code"), "in any of these languages", many=True),
    },
    sorts={"id": Sort("t.id", "bigint", "order of entry")},
    default_sort="id",
)
