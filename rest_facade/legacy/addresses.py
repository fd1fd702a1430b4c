"""List the addresses of the legacy layer: those of every resource, and `auth_tokens`.

Each is declared once, below `/api`; `server.mounting` adds the other bases (`/api/v1.0`, `/api/2.0`, `/api/2`), the slash behind,
HEAD, and answers 405 for what is not declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from resolvers.execute import load
from rest_facade.legacy import auth_tokens, engine
from rest_facade.legacy.engine import Lists, Operations
from rest_facade.legacy.resource import Action, Nested, Resource
from rest_facade.legacy.resources import RESOURCES
from rest_facade.routing import Handler, Needs, Route

BASE = "/api"
OPERATIONS = Path(__file__).parent / "operations"

_Make = Callable[[Resource, Operations], Handler]

# What each word of `Resource.does` means: a method, whether it names one record, and its handler.
_DOES: dict[str, tuple[str, bool, _Make]] = {
    "list": ("GET", False, lambda it, known: Lists(it, known[f"{it.operations}List"], it).handler()),
    "show": ("GET", True, lambda it, known: engine.show_handler(it, known[f"{it.operations}Show"])),
    "create": (
        "POST",
        False,
        lambda it, known: engine.change_handler(it, known[f"{it.operations}Create"], creates=True),
    ),
    "update": (
        "PUT",
        True,
        lambda it, known: engine.change_handler(it, known[f"{it.operations}Update"], creates=False),
    ),
    "delete": ("DELETE", True, lambda it, known: engine.delete_handler(it, known[f"{it.operations}Delete"])),
}


def all_routes() -> list[Route]:
    """Load the operations and list every route; raises UnknownOperation for one that doesn't fit the schema."""
    operations = load(OPERATIONS)
    found = [auth_tokens.route(operations)]
    for resource in RESOURCES:
        found += _routes_of(resource, operations)
    return found


def _routes_of(resource: Resource, operations: Operations) -> Iterator[Route]:
    everything, single = f"{BASE}/{resource.path}", f"{BASE}/{resource.path}/{{id}}"
    for word in resource.does:
        method, names_one, make = _DOES[word]
        yield Route(
            method, single if names_one else everything, make(resource, operations), Needs.LEGACY_ADMIN
        )
    for below in resource.below:
        path = f"{single}/{below.path}"
        operation = operations[below.operation]
        match below:
            case Nested():
                handler = Lists(below.of, operation, resource, below).handler()
                yield Route("GET", path, handler, Needs.LEGACY_ADMIN)
            case Action():
                handler = engine.action_handler(resource, below, operation)
                yield Route(below.method, path, handler, Needs.LEGACY_ADMIN)
