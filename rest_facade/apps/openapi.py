"""Document the app integration routes."""

from __future__ import annotations

from rest_facade.apps import calls, exports, payments
from rest_facade.apps.events import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from rest_facade.apps.events import PATH as EVENTS
from rest_facade.apps.records import ADMIN, ORDERS, PRODUCTS, STOREFRONT, USERS
from rest_facade.apps.webhooks import PATH as WEBHOOKS
from rest_facade.collection_openapi import STATUS_BODY, collection_docs, filter_query, input_of, list_query
from rest_facade.media import media_docs
from rest_facade.openapi import (
    BOOLEAN,
    STRING,
    OperationResult,
    RouteDocs,
    RouteKey,
    array,
    described,
    named,
    object_schema,
    page_size_schema,
    request_body,
)
from rest_facade.webhooks_openapi import webhook_endpoint_docs


def route_docs() -> dict[RouteKey, RouteDocs]:
    """Return the documentation of every route."""
    products = collection_docs(PRODUCTS, "App", ADMIN)
    return {
        ("GET", f"{STOREFRONT}/products"): RouteDocs(
            "List products",
            OperationResult("AppProducts", name="ProductPage"),
            query=list_query(PRODUCTS.list_definition),
        ),
        ("GET", f"{STOREFRONT}/products/{{id}}"): RouteDocs(
            "Retrieve a product", OperationResult("AppProduct", first_item=True)
        ),
        ("POST", f"{ADMIN}/products"): products["POST", f"{ADMIN}/products"],
        ("PUT", f"{ADMIN}/products/{{id}}"): products["PUT", f"{ADMIN}/products/{{id}}"],
        **collection_docs(ORDERS, "App", ADMIN),
        ("PUT", f"{ADMIN}/orders/{{id}}/status"): RouteDocs(
            "Update an order's status", OperationResult("AppOrderSetStatus"), body=STATUS_BODY
        ),
        **collection_docs(USERS, "App", ADMIN),
        **{
            ("GET", exports.path_of(collection)): RouteDocs(
                f"Export {collection.name} as JSON Lines, one a line",
                STRING,
                query=filter_query(collection.list_definition),
                media=exports.CONTENT_TYPE,
                operation=exports.operation_of(collection),
            )
            for collection in exports.COLLECTIONS
        },
        **media_docs(ADMIN, "App", "limit"),
        **webhook_endpoint_docs(WEBHOOKS, "App", "limit"),
        ("POST", f"{WEBHOOKS}/rotate-secret"): RouteDocs(
            "Rotate the app's client secret",
            OperationResult("AppClientSecretRotate"),
            body=request_body("client_secret", client_secret=STRING, immediate=BOOLEAN),
        ),
        ("GET", calls.PATH): RouteDocs(
            "List the calls of the store to the app, newest first",
            OperationResult("AppCalls"),
            query=list_query(calls.CALLS.list_definition),
        ),
        ("GET", f"{calls.PATH}/{{id}}"): RouteDocs("Retrieve a call", OperationResult("AppCall")),
        ("PUT", f"{calls.PATH}/urls"): RouteDocs(
            "Change the addresses at which the app is called, in all stores",
            OperationResult("AppCallUrlsSet"),
            body=request_body(
                "client_secret",
                client_secret=STRING,
                **{kind: {"type": ["string", "null"]} for kind in calls.CALL_KINDS},
            ),
        ),
        ("POST", payments.PATH): RouteDocs(
            "Report what became of a payment that the app is the gateway of",
            OperationResult("AppPaymentReport"),
            body=input_of("AppPaymentReport", "PaymentReport", payments.FIELDS, "status"),
        ),
        ("GET", EVENTS): RouteDocs(
            "List the events after a cursor, or follow them as Server-Sent Events",
            named(
                "EventPage",
                object_schema(
                    events=array(OperationResult("AppEvents", member="edges.node", name="Event")),
                    cursor=described(STRING, "How far was read, also without events: `after` of the next request."),
                    has_more=described(BOOLEAN, "Whether there are more events already."),
                ),
            ),
            query={
                "after": described(STRING, "A cursor, `oldest` (default of pages) or `latest` (default of streams)."),
                "types": described(STRING, "Event names, separated by commas; by default all that the app may read."),
                "limit": page_size_schema(DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE),
            },
            headers={
                "Last-Event-ID": described(STRING, "The cursor after which a stream continues; in place of `after`.")
            },
            errors={
                410: "The events after the cursor are no longer kept; `oldest_cursor` is the oldest that continues."
            },
            streams="Messages with the cursor as `id`, the event's name as `event` and the event (Event) as `data`.",
        ),
    }
