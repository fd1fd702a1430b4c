"""Describe for readers the routes that a `Resource` makes, from its description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rest_facade.legacy.resource import WAS_THERE, Action, Nested, QueryFilter, RecordField, Resource
from rest_facade.legacy.resources import RESOURCES
from rest_facade.openapi import TEXT, Key, OperationResult, RouteDocs, Schema, array, given, size

BASE = "/api"
PAGE_SIZE = size(10, 250)
# What a client may send where the record shows a text: decisions-legacy section 1, values on input.
_LOOSE: Schema = {"type": ["string", "number", "boolean", "array", "object", "null"]}
PARAMS: Schema = {
    "type": "object",
    "properties": {
        "page": {"type": "integer"},
        "items_per_page": {"type": "integer"},
        "total_items": {"type": "integer"},
    },
    "required": ["page", "items_per_page", "total_items"],
}


def told() -> dict[Key, RouteDocs]:
    """Give the description of every route of the layer that is made of a `Resource`."""
    found: dict[Key, RouteDocs] = {}
    for resource in RESOURCES:
        for path in (resource.path, *resource.aliases):
            found.update(_routes_of(resource, f"{BASE}/{path}"))
    return found


def _routes_of(resource: Resource, path: str) -> Iterator[tuple[Key, RouteDocs]]:
    single = f"{path}/{{id}}"
    things = resource.name.replace("_", " ")
    for word in resource.does:
        if word == "list":
            yield ("GET", path), RouteDocs(f"List {things}", rows_of(resource), query=query_of(resource))
        elif word == "show":
            yield ("GET", single), RouteDocs(f"Show one {resource.thing}", single_of(resource))
        elif word == "create":
            body = body_of(resource, resource.required)
            made = OperationResult(f"{resource.operations}Create", over=_Texts(), without=(WAS_THERE,))
            yield (
                ("POST", path),
                RouteDocs(
                    f"Create a {resource.thing}", made, status=201, body=body, forms=True, also={200: made}
                ),
            )
        elif word == "update":
            body = body_of(resource, {})
            changed = OperationResult(f"{resource.operations}Update", over=_Texts())
            yield (
                ("PUT", single),
                RouteDocs(f"Change what is given of a {resource.thing}", changed, body=body, forms=True),
            )
        elif word in ("set", "ask"):
            done = OperationResult(
                f"{resource.operations}{word.capitalize()}",
                over=_shown(resource.fields),
                only=_names(resource.fields),
            )
            method, what = ("PUT", "Set") if word == "set" else ("POST", "Ask for")
            body = body_of(resource, resource.required)
            yield (method, path), RouteDocs(f"{what} {things}", done, body=body, forms=True)
        elif word == "delete":
            yield ("DELETE", single), RouteDocs(f"Delete a {resource.thing}", status=204)
    for below in resource.below:
        address = f"{single}/{below.path}"
        if isinstance(below, Nested):
            yield ("GET", address), RouteDocs(f"List the {below.path} of a {resource.thing}", _nested(below))
        else:
            yield (below.method, address), _action(resource, below)


_VERBS = {"POST": "Add to", "PUT": "Set", "DELETE": "Remove from"}


def _action(resource: Resource, action: Action) -> RouteDocs:
    summary = f"{_VERBS[action.method]} the {action.path.partition('/')[0]} of a {resource.thing}"
    if action.answers is None:
        return RouteDocs(summary, status=204)
    return RouteDocs(
        summary,
        {"type": "object"},
        status=action.status,
        body=_body(action.takes, action.required),
        forms=True,
    )


# --- Records -----------------------------------------------------------------------------------------------------------------


class _Texts(Mapping[str, Any]):
    """Say that every member of an answer is shown as a text: the ids that creation and change answer with."""

    def __getitem__(self, name: str) -> Any:
        return TEXT

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _shown(fields: Iterable[RecordField]) -> dict[str, Any]:
    """Give what the layer shows otherwise than GraphQL."""
    return {each.name: each.kind.shape or {} for each in fields if each.kind.show is not None}


def _names(fields: Iterable[RecordField]) -> tuple[str, ...]:
    return tuple(each.name for each in fields)


def _remakes(resource: Resource, is_single: bool) -> bool:
    return resource.prepare is not None or (is_single and resource.complete is not None)


def row_of(resource: Resource) -> OperationResult:
    """Describe a row of a list."""
    return OperationResult(
        f"{resource.operations}List",
        inside="items",
        over=_shown(resource.fields),
        only=_names(resource.fields),
        is_remade=_remakes(resource, False),
    )


def single_of(resource: Resource) -> OperationResult:
    """Describe a single record."""
    fields = (*resource.fields, *resource.single)
    return OperationResult(
        f"{resource.operations}Show",
        over=_shown(fields),
        only=_names(fields),
        is_remade=_remakes(resource, True),
    )


def rows_of(resource: Resource) -> dict[str, Any]:
    """Describe the list of a resource."""
    return _envelope(resource, row_of(resource))


def _nested(nested: Nested) -> dict[str, Any]:
    if nested.by is not None:
        fields = nested.of.fields
        row = OperationResult(
            nested.operation,
            "page",
            "items",
            _shown(fields),
            _names(fields),
            is_remade=_remakes(nested.of, False),
        )
        return _envelope(nested.of, row)
    return _envelope(nested.of, {"type": "object"})


def _envelope(resource: Resource, row: Any) -> dict[str, Any]:
    """Describe a list: an array, or an object keyed by id when it is filtered; bare where the store has CS-Cart's lists."""
    rows = {"anyOf": [array(row), {"type": "object", "additionalProperties": row}]}
    envelope = {
        "type": "object",
        "properties": {resource.name: rows, "params": PARAMS, "search": {"type": "object"}},
        "required": [resource.name, "params"],
    }
    return {"anyOf": [envelope, rows]} if resource.bare else envelope


def query_of(resource: Resource) -> dict[str, Schema]:
    """Describe the parameters of a list."""
    found: dict[str, Schema] = {
        "page": {"type": "integer", "minimum": 1, "default": 1},
        "items_per_page": PAGE_SIZE,
    }
    if resource.sorts:
        found["sort_by"] = {"type": "string", "enum": list(resource.sorts)}
        found["sort_order"] = {"type": "string", "enum": ["asc", "desc"]}
    for each in (*resource.fields, *resource.single):
        if each.filters is not None:
            found.setdefault(each.name, TEXT)
    for other in resource.filters:
        for name in (other.name,) if isinstance(other, QueryFilter) else other.names:
            found.setdefault(name, TEXT)
    return found


def body_of(resource: Resource, required: Mapping[str, str]) -> dict[str, Any]:
    """Describe the body of a creation or a change."""
    return _body((*resource.fields, *resource.single, *resource.inputs), required)


def _body(fields: Iterable[RecordField], required: Mapping[str, str]) -> dict[str, Any]:
    taken = {each.name: _LOOSE for each in fields if each.writes is not None}
    described = given(*required, **taken)
    for name in required:
        described["properties"].setdefault(name, _LOOSE)
    return described
