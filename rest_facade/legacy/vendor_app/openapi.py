"""Document the vendor app's routes."""

from __future__ import annotations

from typing import Final

from kernel.json_schema import STRING, Schema, array, map_of, named, object_schema
from rest_facade.legacy.resource_openapi import create_body, query_of, row_of, rows_of, single_of, update_body
from rest_facade.legacy.resources.options import OPTIONS
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.resources.stores import STORES
from rest_facade.legacy.resources.users import USERS
from rest_facade.legacy.value_schemas import IDS, IDS_INPUT, INTEGER_TEXT, MONEY, SIGNED_MONEY, UNIX_TIME, WRITTEN_ID
from rest_facade.legacy.vendor_app.routes import VENDOR_CATEGORIES
from rest_facade.openapi import RouteDocs, RouteKey, request_body

_STRING_MAP: Final[Schema] = map_of(STRING)

VENDOR_APP: Final[dict[RouteKey, RouteDocs]] = {
    ("GET", "/api/vendor_start"): RouteDocs(
        "Retrieve the vendor app's configuration",
        object_schema(
            app=_STRING_MAP,
            store=_STRING_MAP,
            languages=array(_STRING_MAP),
            currencies=array(_STRING_MAP),
            statuses=object_schema(orders=array(_STRING_MAP), products=array(_STRING_MAP)),
            menus=array(_STRING_MAP),
            permissions=array(STRING),
            support=_STRING_MAP,
        ),
    ),
    ("GET", "/api/vendor_dashboard"): RouteDocs(
        "Retrieve the vendor's sales dashboard",
        object_schema(
            sales=MONEY,
            orders_count=INTEGER_TEXT,
            average_ticket=MONEY,
            balance=SIGNED_MONEY,
            products=object_schema(total=INTEGER_TEXT, active=INTEGER_TEXT, out_of_stock=INTEGER_TEXT),
            orders_by_status=map_of(INTEGER_TEXT),
            graph=array(object_schema(date=UNIX_TIME, total=MONEY, orders=INTEGER_TEXT)),
        ),
        query={"period": STRING, "time_from": STRING, "time_to": STRING},
    ),
    ("GET", "/api/vendor_company"): RouteDocs("Retrieve the vendor's company", single_of(STORES)),
    ("PUT", "/api/vendor_company"): RouteDocs(
        "Update the vendor's company", object_schema(company_id=WRITTEN_ID), body=update_body(STORES)
    ),
    ("GET", "/api/vendor_profile"): RouteDocs("Retrieve the signed-in user", row_of(USERS)),
    ("PUT", "/api/vendor_profile"): RouteDocs(
        "Update the signed-in user", object_schema(user_id=WRITTEN_ID), body=update_body(USERS)
    ),
    ("GET", "/api/vendor_categories"): RouteDocs(
        "List categories", rows_of(VENDOR_CATEGORIES), query=query_of(VENDOR_CATEGORIES)
    ),
    ("GET", "/api/vendor_products"): RouteDocs(
        "List the vendor's products", rows_of(PRODUCTS), query=query_of(PRODUCTS)
    ),
    ("POST", "/api/vendor_products"): RouteDocs(
        "Delete several of the vendor's products atomically",
        object_schema(deleted=IDS, not_found=array(STRING)),
        body=named("VendorProductIds", object_schema(product_ids=IDS_INPUT)),
    ),
    ("POST", "/api/vendor_product"): RouteDocs(
        "Create a vendor product",
        object_schema(product_id=WRITTEN_ID),
        status=201,
        body=create_body(PRODUCTS),
    ),
    ("GET", "/api/vendor_product/{id}"): RouteDocs("Retrieve a vendor product", single_of(PRODUCTS)),
    ("PUT", "/api/vendor_product/{id}"): RouteDocs(
        "Update a vendor product",
        object_schema(product_id=WRITTEN_ID),
        body=update_body(PRODUCTS),
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
    ("GET", "/api/vendor_orders"): RouteDocs("List the vendor's orders", rows_of(ORDERS), query=query_of(ORDERS)),
    ("GET", "/api/vendor_order/{id}"): RouteDocs("Retrieve a vendor order", single_of(ORDERS)),
    ("PUT", "/api/vendor_order/{id}"): RouteDocs(
        "Update an order's status or tracking number",
        object_schema(order_id=WRITTEN_ID),
        body=request_body(status=STRING, tracking_number=STRING, carrier=STRING),
    ),
}
