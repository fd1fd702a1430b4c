"""Describe the routes that `records` serves, for every family that mounts them."""

from __future__ import annotations

from kernel import codes
from rest_facade.collections import Collection
from rest_facade.list_parameters import DEFAULT_SIZE, DIRECTIONS, MOST, Listing
from rest_facade.openapi import (
    DAY,
    PAGE,
    TEXT,
    YES_NO,
    Key,
    OperationResult,
    RouteDocs,
    Schema,
    Takes,
    given,
    size,
)

STATUS_BODY = given(
    "status",
    status={
        "type": "string",
        "description": f"A letter ({', '.join(codes.ORDER_STATUSES.codes)}) or a long label.",
    },
    tracking_code=TEXT,
    reason=TEXT,
    restock=YES_NO,
    carrier=TEXT,
)
_DAYS = ("created_after", "created_before")
_NEEDED = {"products": ("name", "price_cents"), "categories": ("name",)}


def collection_routes(collection: Collection, prefix: str, base: str) -> dict[Key, RouteDocs]:
    """Describe all routes a collection may have below an address; the operations' names begin with the prefix."""
    address, thing = f"{base}/{collection.name}", collection.thing
    single = f"{address}/{{id}}"
    one, names = f"{prefix}{collection.singular}", tuple(collection.body)
    found: dict[Key, RouteDocs] = {
        ("GET", address): RouteDocs(
            f"List {collection.name}",
            OperationResult(f"{prefix}{collection.plural}"),
            query=listing_query(collection.listing),
        ),
        ("GET", single): RouteDocs(f"Show one {thing}", OperationResult(one, first=True)),
    }
    if names:
        found["POST", address] = RouteDocs(
            f"Create a {thing}",
            OperationResult(f"{one}Create"),
            status=201,
            body=Takes(f"{one}Create", names, required=_NEEDED.get(collection.name, ())),
        )
        changed = RouteDocs(
            f"Change what is given of a {thing}",
            OperationResult(f"{one}Update"),
            body=Takes(f"{one}Update", names),
        )
        found["PUT", single] = found["PATCH", single] = changed
        found["DELETE", single] = RouteDocs(f"Delete a {thing}", status=204)
    return found


def listing_query(listing: Listing) -> dict[str, Schema]:
    """Describe the parameters of a list."""
    return {
        "page": PAGE,
        listing.size: size(DEFAULT_SIZE, MOST),
        "sort_by": {"type": "string", "enum": list(listing.sorts)},
        "sort_order": {"type": "string", "enum": list(DIRECTIONS)},
        **{name: DAY if name in _DAYS else TEXT for name in listing.filters},
    }
