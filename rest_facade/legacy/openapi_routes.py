"""Describe the routes of the legacy layer that no `Resource` makes: sign-in, the vendor app, inboxes, combinations of a product, boxes."""

from __future__ import annotations

from typing import Any

from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resource_openapi import (
    PAGE_SIZE,
    PARAMS,
    body_of,
    query_of,
    row_of,
    rows_of,
    single_of,
)
from rest_facade.legacy.resources.options import OPTIONS
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.resources.stores import STORES
from rest_facade.legacy.resources.users import USERS
from rest_facade.legacy.vendor_app.routes import VENDOR_CATEGORIES
from rest_facade.openapi import ANYTHING, PAGE, TEXT, WHOLE, Key, RouteDocs, array, given, record

_TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": TEXT}
_NUMBERS = {"oneOf": [TEXT, WHOLE]}


def told() -> dict[Key, RouteDocs]:
    """Give the description of the routes that were written by hand."""
    return {**_DOORS, **_vendor_app(), **_COMBINATIONS, **_BOXES, **_QUOTES}


_DOORS: dict[Key, RouteDocs] = {
    ("POST", "/api/auth_tokens"): RouteDocs(
        "Sign in for a token of the legacy layer",
        record(token=TEXT, ttl={"type": "integer", "description": "Seconds."}),
        status=201,
        body=given("password", email=TEXT, CNPJ=TEXT, password=TEXT, code=TEXT),
        forms=True,
    ),
    ("POST", "/api/vendor_login"): RouteDocs(
        "Sign in to the vendor app",
        record(token=TEXT, ttl=WHOLE, user_id=TEXT, company_id=TEXT, expires_at=TEXT),
        body=given("email", "password", email=TEXT, password=TEXT, code=TEXT),
        forms=True,
    ),
    ("PUT", "/api/vendor_login"): RouteDocs(
        "Begin (`email`) or finish (`token`, `password`) the reset of a vendor's password",
        record(result={"type": "string", "enum": ["sent", "changed"]}),
        body=given(email=TEXT, token=TEXT, password=TEXT),
        forms=True,
    ),
    ("POST", "/api/vendor_signup"): RouteDocs(
        "Apply to become a vendor",
        record(company_id=TEXT, user_id=TEXT, status=TEXT),
        status=201,
        body=given(
            "company", "email", "password",
            company=TEXT, email=TEXT, password=TEXT, phone=TEXT, CNPJ=TEXT, firstname=TEXT, lastname=TEXT,
        ),
        forms=True,
    ),
    ("GET", "/api/notifications"): RouteDocs(
        "List the notifications of an inbox",
        record(
            notifications=array(
                record(
                    notification_id=TEXT, user_id=TEXT, type=TEXT, title=TEXT, message=TEXT, status=TEXT, timestamp=WHOLE
                )
            ),
            search=record(page=WHOLE, items_per_page=WHOLE, total_items=WHOLE),
        ),
        query={"user_id": TEXT, "page": PAGE, "items_per_page": PAGE_SIZE},
        required_query=("user_id",),
    ),
}  # fmt: skip


def _vendor_app() -> dict[Key, RouteDocs]:
    return {
        ("GET", "/api/vendor_start"): RouteDocs(
            "Give the vendor app what it begins with",
            record(
                app=_TEXTS, store=_TEXTS, languages=array(_TEXTS), currencies=array(_TEXTS),
                statuses=record(orders=array(_TEXTS), products=array(_TEXTS)),
                menus=array(_TEXTS), permissions=ANYTHING, support=_TEXTS,
            ),
        ),
        ("GET", "/api/vendor_dashboard"): RouteDocs(
            "Sum up a vendor's sales",
            record(
                sales=TEXT, orders_count=TEXT, average_ticket=TEXT, balance=TEXT,
                products=record(total=TEXT, active=TEXT, out_of_stock=TEXT),
                orders_by_status=_TEXTS, graph=array(record(date=TEXT, total=TEXT, orders=TEXT)),
            ),
            query={"period": TEXT, "time_from": TEXT, "time_to": TEXT},
        ),
        ("GET", "/api/vendor_company"): RouteDocs("Show the vendor's company", single_of(STORES)),
        ("PUT", "/api/vendor_company"): RouteDocs(
            "Change the vendor's company", record(company_id=TEXT), body=body_of(STORES, {}), forms=True
        ),
        ("GET", "/api/vendor_profile"): RouteDocs("Show the user who is signed in", {"type": "object"}),
        ("PUT", "/api/vendor_profile"): RouteDocs(
            "Change the user who is signed in", record(user_id=TEXT), body=body_of(USERS, {}), forms=True
        ),
        ("GET", "/api/vendor_categories"): _list("List categories", VENDOR_CATEGORIES),
        ("GET", "/api/vendor_products"): _list("List the vendor's products", PRODUCTS),
        ("POST", "/api/vendor_products"): RouteDocs(
            "Delete several of the vendor's products, all or none",
            record(deleted=array(ANYTHING), not_found=array(ANYTHING)),
            body=given("product_ids", product_ids=ANYTHING),
            forms=True,
        ),
        ("POST", "/api/vendor_product"): RouteDocs(
            "Create a product of the vendor's",
            record(product_id=TEXT),
            status=201,
            body=body_of(PRODUCTS, PRODUCTS.required),
            forms=True,
        ),
        ("GET", "/api/vendor_product/{id}"): RouteDocs("Show one of the vendor's products", single_of(PRODUCTS)),
        ("PUT", "/api/vendor_product/{id}"): RouteDocs(
            "Change one of the vendor's products",
            record(product_id=TEXT),
            body=body_of(PRODUCTS, {}),
            forms=True,
        ),
        ("GET", "/api/vendor_product_options"): RouteDocs(
            "Show the options of one of the vendor's products",
            record(options={"type": "object", "additionalProperties": single_of(OPTIONS)}),
            query={"product_id": TEXT},
            required_query=("product_id",),
        ),
        ("GET", "/api/vendor_product_attachments"): RouteDocs(
            "List the files of one of the vendor's products",
            record(
                attachments=array(
                    record(attachment_id=TEXT, description=TEXT, filename=TEXT, url=TEXT, filesize=TEXT)
                )
            ),
            query={"product_id": TEXT},
            required_query=("product_id",),
        ),
        ("GET", "/api/vendor_required_products"): RouteDocs(
            "List the products that one of the vendor's is sold with",
            record(required_products=array(row_of(PRODUCTS))),
            query={"product_id": TEXT},
            required_query=("product_id",),
        ),
        ("GET", "/api/vendor_orders"): _list("List the vendor's orders", ORDERS),
        ("GET", "/api/vendor_order/{id}"): RouteDocs("Show one of the vendor's orders", single_of(ORDERS)),
        ("PUT", "/api/vendor_order/{id}"): RouteDocs(
            "Move an order, or record its shipment",
            record(order_id=TEXT),
            body=given(status=TEXT, tracking_number=TEXT, carrier=TEXT),
            forms=True,
        ),
    }  # fmt: skip


def _list(summary: str, resource: Resource) -> RouteDocs:
    return RouteDocs(summary, rows_of(resource), query=query_of(resource))


_BASE = "/api/products/{product_id}/options/combinations"
_COMBINATION = {
    "type": "object",
    "properties": {
        "combination_id": TEXT, "product_id": TEXT, "product_code": TEXT, "combination_hash": TEXT,
        "combination": {"type": "object"}, "amount": TEXT, "position": WHOLE, "image_pairs": ANYTHING,
    },
    "required": ["combination_id", "product_id", "product_code", "combination_hash", "combination", "amount", "position"],
}  # fmt: skip
_IDS = record(combination_id=TEXT, combination_hash=TEXT)
_GIVEN = given(
    "combination",
    combination={"type": "object", "description": "Option id → variant id."},
    product_code=TEXT,
    amount=_NUMBERS,
    position=_NUMBERS,
    price=_NUMBERS,
    image_pairs=ANYTHING,
)
_COMBINATIONS: dict[Key, RouteDocs] = {
    ("GET", _BASE): RouteDocs(
        "List the combinations of a product",
        {
            "type": "object",
            "properties": {"combinations": ANYTHING, "params": PARAMS},
            "required": ["combinations", "params"],
        },
        query={"page": PAGE, "items_per_page": PAGE_SIZE},
    ),
    ("POST", _BASE): RouteDocs("Create a combination", _IDS, status=201, body=_GIVEN),
    ("POST", f"{_BASE}/batch"): RouteDocs(
        "Create combinations, all or none",
        record(combinations=array(_IDS)),
        status=201,
        body=given("combinations", combinations=array(_GIVEN)),
    ),
    ("GET", f"{_BASE}/{{id}}"): RouteDocs("Show one combination", _COMBINATION),
    ("PUT", f"{_BASE}/{{id}}"): RouteDocs("Change a combination", _IDS, body={**_GIVEN, "required": []}),
    ("DELETE", f"{_BASE}/{{id}}"): RouteDocs("Delete a combination", status=204),
}

_BOX = record(
    box_id=WHOLE, name=TEXT, height=TEXT, width=TEXT, length=TEXT, weight=TEXT, max_weight=TEXT, status=TEXT
)
_DESCRIPTION = record(
    description_id=WHOLE,
    box_id=WHOLE,
    lang_code=TEXT,
    title=TEXT,
    full_description=TEXT,
    meta_keywords=TEXT,
    meta_description=TEXT,
)
_BOXES: dict[Key, RouteDocs] = {
    ("GET", "/api/productBoxes"): RouteDocs("List product boxes", record(boxes=array(_BOX))),
    ("GET", "/api/productBoxes/{id}"): RouteDocs("Show one product box", _BOX),
    ("GET", "/api/productBoxesDescriptions"): RouteDocs(
        "List the descriptions of product boxes", record(descriptions=array(_DESCRIPTION))
    ),
    ("GET", "/api/productBoxesDescriptions/{id}"): RouteDocs(
        "Show the description of one box", _DESCRIPTION, query={"lang_code": TEXT}
    ),
}


_QUOTED = record(
    shipping_id=TEXT, shipping=TEXT, price=TEXT, delivery_time=TEXT, company_id=TEXT, warehouse_id=TEXT
)
_SELLER = record(
    company_id=TEXT, company=TEXT, product_id=TEXT, price=TEXT, amount=TEXT, delivers=TEXT, delivery_time=TEXT
)
_QUOTES: dict[Key, RouteDocs] = {
    ("GET", "/api/delivery_methods"): RouteDocs(
        "Quote the ways to send a product to a postal code",
        record(delivery_methods=array(_QUOTED), params=record(product_id=TEXT, zipcode=TEXT, amount=TEXT)),
        query={"product_id": TEXT, "zipcode": TEXT, "amount": TEXT},
        required_query=("product_id", "zipcode"),
    ),
    ("GET", "/api/sellers_availability"): RouteDocs(
        "List who sells a product, and whether each delivers it to a postal code",
        record(sellers=array(_SELLER)),
        query={"product_id": TEXT, "zipcode": TEXT},
        required_query=("product_id", "zipcode"),
    ),
}
