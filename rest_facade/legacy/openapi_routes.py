"""Document the legacy routes that no `Resource` describes: sign-in, vendor app, inbox, combinations of a product, boxes, quotes."""

from __future__ import annotations

from typing import Any

from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resource_openapi import (
    PAGE_SIZE,
    PARAMS,
    WRITTEN_ID,
    body_of,
    query_of,
    row_of,
    rows_of,
    single_of,
)
from rest_facade.legacy.resources.discussions import DISCUSSIONS
from rest_facade.legacy.resources.options import OPTIONS
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.resources.stores import STORES
from rest_facade.legacy.resources.users import USERS
from rest_facade.legacy.vendor_app.routes import VENDOR_CATEGORIES
from rest_facade.openapi import (
    ANY,
    INTEGER,
    PAGE,
    STRING,
    RouteDocs,
    RouteKey,
    array,
    object_schema,
    request_body,
)

_STRING_MAP: dict[str, Any] = {"type": "object", "additionalProperties": STRING}
_NUMERIC = {"oneOf": [STRING, INTEGER]}


def _strings(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, STRING)


def route_docs() -> dict[RouteKey, RouteDocs]:
    """Return the documentation of the hand-written routes."""
    return {**_SIGN_IN, **_vendor_app(), **_COMBINATIONS, **_BOXES, **_QUOTES, **_nested_records()}


def _nested_records() -> dict[RouteKey, RouteDocs]:
    feature, membership = "/api/products/{id}/features/{feature_id}", "/api/users/{id}/usergroups/{group_id}"
    order = RouteDocs(
        "Place an order at a vendor",
        object_schema(order_id=WRITTEN_ID),
        status=201,
        body=body_of(ORDERS, ORDERS.required),
        forms=True,
    )
    return {
        ("POST", "/api/stores/{vendor_id}/orders"): order,
        ("POST", "/api/vendors/{vendor_id}/orders"): order,
        ("GET", "/api/categories/{id}/products/{product_id}"): RouteDocs(
            "Retrieve a product of a category", single_of(PRODUCTS)
        ),
        ("GET", "/api/products/{id}/discussions/{post_id}"): RouteDocs(
            "Retrieve a post about a product", single_of(DISCUSSIONS)
        ),
        ("GET", feature): RouteDocs("Retrieve a product's value of a feature", {"type": "object"}),
        ("PUT", feature): RouteDocs(
            "Set a product's value of a feature",
            object_schema(feature_id=WRITTEN_ID),
            body=request_body(value=ANY, variant=ANY, variant_id=ANY, variants=ANY),
            forms=True,
        ),
        ("DELETE", feature): RouteDocs("Delete a product's value of a feature", status=204),
        ("GET", membership): RouteDocs("Retrieve a membership", object_schema(usergroup_id=STRING, status=STRING)),
        ("DELETE", membership): RouteDocs("Give up a membership", status=204),
    }


_SIGN_IN: dict[RouteKey, RouteDocs] = {
    ("POST", "/api/auth_tokens"): RouteDocs(
        "Create a legacy API token",
        object_schema(token=STRING, ttl={"type": "integer", "description": "Lifetime in seconds."}),
        status=201,
        body=request_body("password", email=STRING, CNPJ=STRING, password=STRING, code=STRING),
        forms=True,
    ),
    ("POST", "/api/auth"): RouteDocs(
        "Create a one-time sign-in of a user",
        object_schema(key=STRING, link=STRING),
        status=201,
        body=request_body("email", email=STRING),
        forms=True,
    ),
    ("POST", "/api/vendor_login"): RouteDocs(
        "Sign in to the vendor app",
        object_schema(token=STRING, ttl=INTEGER, user_id=STRING, company_id=STRING, expires_at=STRING),
        body=request_body("email", "password", email=STRING, password=STRING, code=STRING),
        forms=True,
    ),
    ("PUT", "/api/vendor_login"): RouteDocs(
        "Request (`email`) or complete (`token`, `password`) a vendor's password reset",
        object_schema(result={"type": "string", "enum": ["sent", "changed"]}),
        body=request_body(email=STRING, token=STRING, password=STRING),
        forms=True,
    ),
    ("POST", "/api/vendor_signup"): RouteDocs(
        "Register as a vendor",
        object_schema(company_id=STRING, user_id=STRING, status=STRING),
        status=201,
        body=request_body(
            "company", "email", "password",
            company=STRING, email=STRING, password=STRING, phone=STRING, CNPJ=STRING, firstname=STRING, lastname=STRING,
        ),
        forms=True,
    ),
    ("GET", "/api/notifications"): RouteDocs(
        "List a user's notifications",
        object_schema(
            notifications=array(
                object_schema(
                    notification_id=STRING, user_id=STRING, type=STRING, title=STRING, message=STRING, status=STRING, timestamp=INTEGER
                )
            ),
            search=object_schema(page=INTEGER, items_per_page=INTEGER, total_items=INTEGER),
        ),
        query={"user_id": STRING, "page": PAGE, "items_per_page": PAGE_SIZE},
        required_query=("user_id",),
    ),
}  # fmt: skip


def _vendor_app() -> dict[RouteKey, RouteDocs]:
    return {
        ("GET", "/api/vendor_start"): RouteDocs(
            "Retrieve the vendor app's configuration",
            object_schema(
                app=_STRING_MAP, store=_STRING_MAP, languages=array(_STRING_MAP), currencies=array(_STRING_MAP),
                statuses=object_schema(orders=array(_STRING_MAP), products=array(_STRING_MAP)),
                menus=array(_STRING_MAP), permissions=ANY, support=_STRING_MAP,
            ),
        ),
        ("GET", "/api/vendor_dashboard"): RouteDocs(
            "Retrieve the vendor's sales dashboard",
            object_schema(
                sales=STRING, orders_count=STRING, average_ticket=STRING, balance=STRING,
                products=object_schema(total=STRING, active=STRING, out_of_stock=STRING),
                orders_by_status=_STRING_MAP, graph=array(object_schema(date=STRING, total=STRING, orders=STRING)),
            ),
            query={"period": STRING, "time_from": STRING, "time_to": STRING},
        ),
        ("GET", "/api/vendor_company"): RouteDocs("Retrieve the vendor's company", single_of(STORES)),
        ("PUT", "/api/vendor_company"): RouteDocs(
            "Update the vendor's company", object_schema(company_id=STRING), body=body_of(STORES, ()), forms=True
        ),
        ("GET", "/api/vendor_profile"): RouteDocs("Retrieve the signed-in user", {"type": "object"}),
        ("PUT", "/api/vendor_profile"): RouteDocs(
            "Update the signed-in user", object_schema(user_id=STRING), body=body_of(USERS, ()), forms=True
        ),
        ("GET", "/api/vendor_categories"): _list("List categories", VENDOR_CATEGORIES),
        ("GET", "/api/vendor_products"): _list("List the vendor's products", PRODUCTS),
        ("POST", "/api/vendor_products"): RouteDocs(
            "Delete several of the vendor's products atomically",
            object_schema(deleted=array(ANY), not_found=array(ANY)),
            body=request_body("product_ids", product_ids=ANY),
            forms=True,
        ),
        ("POST", "/api/vendor_product"): RouteDocs(
            "Create a vendor product",
            object_schema(product_id=WRITTEN_ID),
            status=201,
            body=body_of(PRODUCTS, PRODUCTS.required),
            forms=True,
        ),
        ("GET", "/api/vendor_product/{id}"): RouteDocs("Retrieve a vendor product", single_of(PRODUCTS)),
        ("PUT", "/api/vendor_product/{id}"): RouteDocs(
            "Update a vendor product",
            object_schema(product_id=WRITTEN_ID),
            body=body_of(PRODUCTS, ()),
            forms=True,
        ),
        ("GET", "/api/vendor_product_options"): RouteDocs(
            "List the options of a vendor product",
            object_schema(options={"type": "object", "additionalProperties": single_of(OPTIONS)}),
            query={"product_id": STRING},
            required_query=("product_id",),
        ),
        ("GET", "/api/vendor_product_attachments"): RouteDocs(
            "List the attachments of a vendor product",
            object_schema(
                attachments=array(
                    object_schema(attachment_id=STRING, description=STRING, filename=STRING, url=STRING, filesize=STRING)
                )
            ),
            query={"product_id": STRING},
            required_query=("product_id",),
        ),
        ("GET", "/api/vendor_required_products"): RouteDocs(
            "List the required products of a vendor product",
            object_schema(required_products=array(row_of(PRODUCTS))),
            query={"product_id": STRING},
            required_query=("product_id",),
        ),
        ("GET", "/api/vendor_orders"): _list("List the vendor's orders", ORDERS),
        ("GET", "/api/vendor_order/{id}"): RouteDocs("Retrieve a vendor order", single_of(ORDERS)),
        ("PUT", "/api/vendor_order/{id}"): RouteDocs(
            "Update an order's status or tracking number",
            object_schema(order_id=STRING),
            body=request_body(status=STRING, tracking_number=STRING, carrier=STRING),
            forms=True,
        ),
    }  # fmt: skip


def _list(summary: str, resource: Resource) -> RouteDocs:
    return RouteDocs(summary, rows_of(resource), query=query_of(resource))


_BASE = "/api/products/{product_id}/options/combinations"
_COMBINATION = {
    "type": "object",
    "properties": {
        "combination_id": STRING, "product_id": STRING, "product_code": STRING, "combination_hash": STRING,
        "combination": {"type": "object"}, "amount": STRING, "position": INTEGER, "image_pairs": ANY,
    },
    "required": ["combination_id", "product_id", "product_code", "combination_hash", "combination", "amount", "position"],
}  # fmt: skip
_IDS = object_schema(combination_id=WRITTEN_ID, combination_hash=STRING)
_COMBINATION_BODY = request_body(
    "combination",
    combination={"type": "object", "description": "Variant id by option id."},
    product_code=STRING,
    amount=_NUMERIC,
    position=_NUMERIC,
    price=_NUMERIC,
    image_pairs=ANY,
)
_COMBINATIONS: dict[RouteKey, RouteDocs] = {
    ("GET", _BASE): RouteDocs(
        "List the combinations of a product",
        object_schema(combinations=ANY, params=PARAMS),
        query={"page": PAGE, "items_per_page": PAGE_SIZE},
    ),
    ("POST", _BASE): RouteDocs("Create a combination", _IDS, status=201, body=_COMBINATION_BODY),
    ("POST", f"{_BASE}/batch"): RouteDocs(
        "Create several combinations atomically",
        object_schema(combinations=array(_IDS)),
        status=201,
        body=request_body("combinations", combinations=array(_COMBINATION_BODY)),
    ),
    ("GET", f"{_BASE}/{{id}}"): RouteDocs("Retrieve a combination", _COMBINATION),
    ("PUT", f"{_BASE}/{{id}}"): RouteDocs("Update a combination", _IDS, body={**_COMBINATION_BODY, "required": []}),
    ("DELETE", f"{_BASE}/{{id}}"): RouteDocs("Delete a combination", status=204),
}

_BOX = object_schema(box_id=INTEGER, **_strings("name", "height", "width", "length", "weight", "max_weight", "status"))
_DESCRIPTION = object_schema(
    description_id=INTEGER,
    box_id=INTEGER,
    **_strings("lang_code", "title", "full_description", "meta_keywords", "meta_description"),
)
_BOXES: dict[RouteKey, RouteDocs] = {
    ("GET", "/api/productBoxes"): RouteDocs("List product boxes", object_schema(boxes=array(_BOX))),
    ("GET", "/api/productBoxes/{id}"): RouteDocs("Retrieve a product box", _BOX),
    ("GET", "/api/productBoxesDescriptions"): RouteDocs(
        "List the descriptions of product boxes", object_schema(descriptions=array(_DESCRIPTION))
    ),
    ("GET", "/api/productBoxesDescriptions/{id}"): RouteDocs(
        "Retrieve a product box's description", _DESCRIPTION, query={"lang_code": STRING}
    ),
}


_QUOTE = _strings("shipping_id", "shipping", "price", "delivery_time", "company_id", "warehouse_id")
_VENDOR = _strings("company_id", "company", "product_id", "price", "amount", "delivers", "delivery_time")
_QUOTES: dict[RouteKey, RouteDocs] = {
    ("GET", "/api/delivery_methods"): RouteDocs(
        "Quote shipping of a product to a postal code",
        object_schema(
            delivery_methods=array(object_schema(**_QUOTE)),
            params=object_schema(product_id=STRING, zipcode=STRING, amount=STRING),
        ),
        query={"product_id": STRING, "zipcode": STRING, "amount": STRING},
        required_query=("product_id", "zipcode"),
    ),
    ("GET", "/api/sellers_availability"): RouteDocs(
        "List the vendors of a product and whether they deliver to a postal code",
        object_schema(sellers=array(object_schema(**_VENDOR))),
        query={"product_id": STRING, "zipcode": STRING},
        required_query=("product_id", "zipcode"),
    ),
}
