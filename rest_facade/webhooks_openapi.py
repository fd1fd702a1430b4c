"""Document the routes of webhook endpoints and deliveries, for both families that mount them."""

from __future__ import annotations

from rest_facade.collection_openapi import input_of, list_query
from rest_facade.list_parameters import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from rest_facade.openapi import (
    DATE_TIME,
    PAGE,
    STRING,
    OperationResult,
    RouteDocs,
    RouteKey,
    array,
    page_size_schema,
    request_body,
)
from rest_facade.webhooks import DELIVERY_LIST, DELIVERY_STATES, ENDPOINT_COLLECTION


def webhook_endpoint_docs(path: str, prefix: str, size_parameter: str, *required: str) -> dict[RouteKey, RouteDocs]:
    """Document the routes below a base path; operation names begin with the prefix, a new endpoint has the required members too."""
    single = f"{path}/{{id}}"
    deliveries = f"{single}/deliveries"
    names = tuple(ENDPOINT_COLLECTION.body)
    update = RouteDocs(
        "Update a webhook endpoint",
        OperationResult(f"{prefix}EventEndpointUpdate"),
        body=input_of(f"{prefix}EventEndpointUpdate", "EventEndpointChanges", names),
    )
    return {
        ("GET", path): RouteDocs(
            "List webhook endpoints",
            OperationResult(f"{prefix}EventEndpoints"),
            query=list_query(ENDPOINT_COLLECTION.with_listing(size_parameter=size_parameter).list_definition),
        ),
        ("POST", path): RouteDocs(
            "Create a webhook endpoint",
            OperationResult(f"{prefix}EventEndpointCreate"),
            status=201,
            body=input_of(f"{prefix}EventEndpointCreate", "NewEventEndpoint", names, "url", "events", *required),
        ),
        ("GET", single): RouteDocs("Retrieve a webhook endpoint", OperationResult(f"{prefix}EventEndpoint")),
        ("PUT", single): update,
        ("PATCH", single): update,
        ("DELETE", single): RouteDocs(
            "Delete a webhook endpoint", status=204, operation=f"{prefix}EventEndpointDelete"
        ),
        ("POST", f"{single}/ping"): RouteDocs(
            "Send a ping event to a webhook endpoint", OperationResult(f"{prefix}EventEndpointPing"), status=202
        ),
        ("POST", f"{single}/replay"): RouteDocs(
            "Redeliver the events of a period",
            OperationResult(f"{prefix}EventEndpointReplay"),
            status=202,
            body=request_body("since", since=DATE_TIME, until=DATE_TIME, events=array(STRING)),
        ),
        ("GET", deliveries): RouteDocs(
            "List the deliveries of a webhook endpoint, newest first",
            OperationResult(f"{prefix}EventDeliveries", "page"),
            query={
                "page": PAGE,
                size_parameter: page_size_schema(DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE),
                "state": {"type": "string", "enum": list(DELIVERY_STATES)},
                **{name: STRING for name in DELIVERY_LIST.filters if name != "state"},
            },
        ),
        ("GET", f"{deliveries}/{{delivery_id}}"): RouteDocs(
            "Retrieve a webhook delivery", OperationResult(f"{prefix}EventDelivery", first_item=True)
        ),
        ("POST", f"{deliveries}/{{delivery_id}}/redeliver"): RouteDocs(
            "Redeliver a webhook delivery", OperationResult(f"{prefix}EventDeliveryRedeliver"), status=202
        ),
    }
