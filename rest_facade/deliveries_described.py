"""Describe the routes of event endpoints and their deliveries, for both families that mount them."""

from __future__ import annotations

from rest_facade.deliveries import DELIVERIES, ENDPOINTS, STATES
from rest_facade.described import MOMENT, PAGE, TEXT, Answer, Key, Takes, Told, array, given, size
from rest_facade.lists import DEFAULT_SIZE, MOST
from rest_facade.shop_described import listing_query


def endpoint_routes(path: str, prefix: str, size_name: str) -> dict[Key, Told]:
    """Describe the routes below an address; the operations' names begin with the prefix."""
    single = f"{path}/{{id}}"
    deliveries = f"{single}/deliveries"
    names = tuple(ENDPOINTS.body)
    changed = Told(
        "Change what is given of an event endpoint",
        Answer(f"{prefix}EventEndpointUpdate"),
        body=Takes(f"{prefix}EventEndpointUpdate", names),
    )
    return {
        ("GET", path): Told(
            "List event endpoints",
            Answer(f"{prefix}EventEndpoints"),
            query=listing_query(ENDPOINTS.listed(size=size_name).listing),
        ),
        ("POST", path): Told(
            "Subscribe an address to events",
            Answer(f"{prefix}EventEndpointCreate"),
            status=201,
            body=Takes(f"{prefix}EventEndpointCreate", names, required=("url", "events")),
        ),
        ("GET", single): Told("Show one event endpoint", Answer(f"{prefix}EventEndpoint")),
        ("PUT", single): changed,
        ("PATCH", single): changed,
        ("DELETE", single): Told("Delete an event endpoint", status=204),
        ("POST", f"{single}/ping"): Told(
            "Send an event endpoint a ping", Answer(f"{prefix}EventEndpointPing"), status=202
        ),
        ("POST", f"{single}/replay"): Told(
            "Send the events of a span of time again",
            Answer(f"{prefix}EventEndpointReplay"),
            status=202,
            body=given("since", since=MOMENT, until=MOMENT, events=array(TEXT)),
        ),
        ("GET", deliveries): Told(
            "List the deliveries to an event endpoint, newest first",
            Answer(f"{prefix}EventDeliveries", "page"),
            query={
                "page": PAGE,
                size_name: size(DEFAULT_SIZE, MOST),
                "state": {"type": "string", "enum": list(STATES)},
                **{name: TEXT for name in DELIVERIES.filters if name != "state"},
            },
        ),
        ("GET", f"{deliveries}/{{delivery_id}}"): Told(
            "Show one delivery", Answer(f"{prefix}EventDelivery", first=True)
        ),
        ("POST", f"{deliveries}/{{delivery_id}}/redeliver"): Told(
            "Send one delivery again", Answer(f"{prefix}EventDeliveryRedeliver"), status=202
        ),
    }
