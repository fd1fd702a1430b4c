"""List the addresses of the legacy layer: those of every resource, those written by hand, the vendor app's.

Each is declared once, below `/api`; `server.mounting` adds the other bases (`/api/v1.0`, `/api/2.0`, `/api/2`), the slash behind,
HEAD, and answers 405 for what is not declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from resolvers.execute import FacadeOperation, load
from rest_facade.legacy import auth_tokens, boxes, engine, notifications, product_combinations, quotes
from rest_facade.legacy.engine import Operations
from rest_facade.legacy.resource import Nested, Resource
from rest_facade.legacy.resources import RESOURCES
from rest_facade.legacy.vendor_app import routes as vendor_app
from rest_facade.routing import Handler, Needs, Route

BASE = "/api"
SINGLE = "/{id}"
OPERATIONS = Path(__file__).parent / "operations"

# What each word of `Resource.does` means: a method, what follows the resource's path, and who serves it. Its operation is named
# `<the resource's operations><Word>`.
_DOES: Mapping[str, tuple[str, str, Callable[[Resource, FacadeOperation], Handler]]] = {
    "list": ("GET", "", engine.list_handler),
    "show": ("GET", SINGLE, engine.show_handler),
    "create": ("POST", "", engine.create_handler),
    "update": ("PUT", SINGLE, engine.update_handler),
    "delete": ("DELETE", SINGLE, engine.delete_handler),
    "set": ("PUT", "", engine.answer_handler),
    "ask": ("POST", "", engine.answer_handler),
}
_BY_HAND = (auth_tokens, notifications)


def all_routes() -> list[Route]:
    """Load the operations and list every route; raises UnknownOperation for one that doesn't fit the schema."""
    operations = load(OPERATIONS)
    found = [by_hand.route(operations) for by_hand in _BY_HAND]
    for resource in RESOURCES:
        for path in (resource.path, *resource.aliases):
            found += _routes_of(resource, f"{BASE}/{path}", operations)
    return [
        *found,
        *vendor_app.routes(operations),
        *product_combinations.routes(operations),
        *boxes.routes(operations),
        *quotes.routes(operations),
    ]


def _routes_of(resource: Resource, path: str, operations: Operations) -> Iterator[Route]:
    for word in resource.does:
        method, tail, make = _DOES[word]
        handler = make(resource, operations[f"{resource.operations}{word.capitalize()}"])
        yield Route(method, f"{path}{tail}", handler, Needs.LEGACY_ADMIN, creates=word == "create")
    for below in resource.below:
        operation = operations[below.operation]
        if isinstance(below, Nested):
            method, handler = "GET", engine.nested_handler(resource, below, operation)
        else:
            method, handler = below.method, engine.action_handler(resource, below, operation)
        creates = method == "POST"
        yield Route(method, f"{path}{SINGLE}/{below.path}", handler, Needs.LEGACY_ADMIN, creates=creates)
