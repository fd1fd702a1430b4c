"""Describe the routes of event endpoints and their deliveries, for both families that mount them."""

from __future__ import annotations

from rest_facade.list_parameters import DEFAULT_SIZE, MOST
from rest_facade.openapi import MOMENT, PAGE, TEXT, Key, OperationResult, RouteDocs, Takes, array, given, size
from rest_facade.shop_described import listing_query
from rest_facade.webhooks import DELIVERIES, ENDPOINTS, STATES


def endpoint_routes(path: str, prefix: str, size_name: str) -> dict[Key, RouteDocs]:
    """Describe the routes below an address; the operations' names begin with the prefix."""
    single = f"{path}/{{id}}"
    deliveries = f"{single}/deliveries"
    names = tuple(ENDPOINTS.body)
    changed = RouteDocs(
        "Change what is given of an event endpoint",
        OperationResult(f"{prefix}EventEndpointUpdate"),
        body=Takes(f"{prefix}EventEndpointUpdate", names),
    )
    return {
        ("GET", path): RouteDocs(
            "List event endpoints",
            OperationResult(f"{prefix}EventEndpoints"),
            query=listing_query(ENDPOINTS.listed(size=size_name).listing),
        ),
        ("POST", path): RouteDocs(
            "Subscribe an address to events",
            OperationResult(f"{prefix}EventEndpointCreate"),
            status=201,
            body=Takes(f"{prefix}EventEndpointCreate", names, required=("url", "events")),
        ),
        ("GET", single): RouteDocs("Show one event endpoint", OperationResult(f"{prefix}EventEndpoint")),
        ("PUT", single): changed,
        ("PATCH", single): changed,
        ("DELETE", single): RouteDocs("Delete an event endpoint", status=204),
        ("POST", f"{single}/ping"): RouteDocs(
            "Send an event endpoint a ping", OperationResult(f"{prefix}EventEndpointPing"), status=202
        ),
        ("POST", f"{single}/replay"): RouteDocs(
            "Send the events of a span of time again",
            OperationResult(f"{prefix}EventEndpointReplay"),
            status=202,
            body=given("since", since=MOMENT, until=MOMENT, events=array(TEXT)),
        ),
        ("GET", deliveries): RouteDocs(
            "List the deliveries to an event endpoint, newest first",
            OperationResult(f"{prefix}EventDeliveries", "page"),
            query={
                "page": PAGE,
                size_name: size(DEFAULT_SIZE, MOST),
                "state": {"type": "string", "enum": list(STATES)},
                **{name: TEXT for name in DELIVERIES.filters if name != "state"},
            },
        ),
        ("GET", f"{deliveries}/{{delivery_id}}"): RouteDocs(
            "Show one delivery", OperationResult(f"{prefix}EventDelivery", first=True)
        ),
        ("POST", f"{deliveries}/{{delivery_id}}/redeliver"): RouteDocs(
            "Send one delivery again", OperationResult(f"{prefix}EventDeliveryRedeliver"), status=202
        ),
    }
