"""Document the routes served by `records`, for every family that mounts them."""

from __future__ import annotations

from collections.abc import Iterable

from kernel import codes
from kernel.text import with_article
from rest_facade.collections import Collection
from rest_facade.list_parameters import DIRECTIONS, ListDefinition
from rest_facade.openapi import (
    BOOLEAN,
    DATE,
    PAGE,
    STRING,
    OperationInput,
    OperationResult,
    RouteDocs,
    RouteKey,
    Schema,
    page_size_schema,
    request_body,
)

STATUS_BODY = request_body(
    "status",
    status={"type": "string", "description": f"A status code ({', '.join(codes.ORDER_STATUSES.codes)}) or its label."},
    tracking_code=STRING,
    reason=STRING,
    restock=BOOLEAN,
    carrier=STRING,
)
_DATE_FILTERS = ("created_after", "created_before")


def collection_docs(collection: Collection, prefix: str, base: str) -> dict[RouteKey, RouteDocs]:
    """Document all routes of a collection below a base path; operation names begin with the prefix."""
    path, noun = f"{base}/{collection.name}", collection.display_name
    single = f"{path}/{{id}}"
    singular, names = f"{prefix}{collection.singular}", tuple(collection.body)
    docs: dict[RouteKey, RouteDocs] = {
        ("GET", path): RouteDocs(
            f"List {collection.name.replace('-', ' ')}",
            OperationResult(f"{prefix}{collection.plural}", name=f"{collection.singular}Page"),
            query=list_query(collection.list_definition),
        ),
        ("GET", single): RouteDocs(f"Retrieve {with_article(noun)}", OperationResult(singular, first_item=True)),
    }
    if names:
        docs["POST", path] = RouteDocs(
            f"Create {with_article(noun)}",
            OperationResult(f"{singular}Create"),
            status=201,
            body=input_of(f"{singular}Create", f"New{collection.singular}", names, *collection.required),
        )
        update = RouteDocs(
            f"Update {with_article(noun)}",
            OperationResult(f"{singular}Update"),
            body=input_of(f"{singular}Update", f"{collection.singular}Changes", names),
        )
        docs["PUT", single] = docs["PATCH", single] = update
        docs["DELETE", single] = RouteDocs(f"Delete {with_article(noun)}", status=204, operation=f"{singular}Delete")
    return docs


def input_of(operation: str, name: str, members: Iterable[str], *required: str) -> OperationInput:
    """Describe a body whose members have the names of the operation's input."""
    return OperationInput(operation, name, {member: (f"input.{member}", None) for member in members}, required)


def list_query(definition: ListDefinition) -> dict[str, Schema]:
    """Describe the query parameters of a list."""
    return {
        "page": PAGE,
        definition.size_parameter: page_size_schema(definition.default_size, definition.max_size),
        "sort_by": {"type": "string", "enum": list(definition.sorts)},
        "sort_order": {"type": "string", "enum": list(DIRECTIONS)},
        **filter_query(definition),
    }


def filter_query(definition: ListDefinition) -> dict[str, Schema]:
    """Describe the query parameters that narrow a list down."""
    return {name: DATE if name in _DATE_FILTERS else STRING for name in definition.filters}
