"""Build the OpenAPI metadata of the routes that a `Resource` describes."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kernel.json_schema import NULL, Schema, array, enum, map_of, named, nullable, object_schema, one_of
from kernel.text import with_article
from rest_facade.legacy.queries import MAX_CSCART_SIZE
from rest_facade.legacy.record_schemas import input_members, optional_names, record_members
from rest_facade.legacy.resource import ALREADY_EXISTS, ActionRoute, NestedList, QueryFilter, RecordField, Resource
from rest_facade.legacy.resources import RESOURCES
from rest_facade.legacy.value_schemas import WRITTEN_ID
from rest_facade.openapi import (
    INTEGER,
    STRING,
    InputRecord,
    OperationInput,
    OperationResult,
    RouteDocs,
    RouteKey,
    page_size_schema,
)

BASE = "/api"
# Up to 250; in CS-Cart's dialect more, and 0 for all.
PAGE_SIZE = {**page_size_schema(10, MAX_CSCART_SIZE), "minimum": 0}
_ECHO: Schema = named(
    "AppliedFilter",
    one_of(STRING, NULL, array(nullable(STRING))),
    "A value of a filter, or several; null for a nested one.",
)
PARAMS: Schema = named(
    "ListParams",
    # One object with both would not compile in TypeScript: an index signature covers the optional members too.
    {
        "allOf": [
            object_schema(
                "page", "items_per_page", "total_items",
                page=INTEGER, items_per_page=INTEGER, total_items=INTEGER, sort_by=STRING, sort_order=enum(("asc", "desc")),
            ),
            map_of({"anyOf": [INTEGER, _ECHO]}),
        ]
    },
    "The page, the order and the applied filters.",
)  # fmt: skip
_SEARCH: Schema = named("AppliedFilters", map_of(_ECHO), "The applied filters.")


def route_docs() -> dict[RouteKey, RouteDocs]:
    """Return the documentation of every route built from a `Resource`."""
    docs: dict[RouteKey, RouteDocs] = {}
    for resource in RESOURCES:
        for path in (resource.path, *resource.aliases):
            docs |= _routes_of(resource, path)
    return docs


def _routes_of(resource: Resource, name: str) -> dict[RouteKey, RouteDocs]:
    docs: dict[RouteKey, RouteDocs] = {}
    path = f"{BASE}/{name}"
    single, alias = f"{path}/{{id}}", name if name in resource.aliases else ""
    plural, singular = resource.name.replace("_", " "), with_article(resource.display_name)
    written = functools.partial(
        OperationResult, overrides=_WrittenIds(), exclude=(ALREADY_EXISTS,), optional=resource.cscart_answer
    )
    record = "".join(map(str.capitalize, resource.display_name.split()))
    for action in (*resource.actions, *resource.cscart_actions):
        operation = f"{resource.operations}{action.capitalize()}"
        if action == "list":
            docs["GET", path] = RouteDocs(f"List {plural}", rows_of(resource, alias), query=query_of(resource))
        elif action == "show":
            docs["GET", single] = RouteDocs(f"Retrieve {singular}", single_of(resource))
        elif action == "create":
            created, body = written(operation, name=f"Created{record}"), create_body(resource)
            docs["POST", path] = RouteDocs(f"Create {singular}", created, 201, body, other_responses={200: created})
        elif action == "update":
            updated = written(operation, name=f"Updated{record}")
            docs["PUT", single] = RouteDocs(f"Update {singular}", updated, body=update_body(resource))
        elif action == "delete":
            docs["DELETE", single] = RouteDocs(f"Delete {singular}", status=204)
        else:
            method, verb = ("PUT", "Set") if action == "set" else ("POST", "Check")
            body = _body(operation, f"{resource.operations}Body", resource.fields, resource.required)
            docs[method, path] = RouteDocs(f"{verb} {plural}", _result(operation, resource.fields), body=body)
    for action in resource.cscart_actions:
        key = {"create": ("POST", path), "update": ("PUT", single), "delete": ("DELETE", single)}[action]
        docs[key] = cscart_only(docs[key])
    for subroute in resource.subroutes:
        key = "GET" if isinstance(subroute, NestedList) else subroute.method, f"{single}/{subroute.path}"
        noun = subroute.path.partition("/")[0].replace("_", " ")
        if isinstance(subroute, NestedList):
            docs[key] = RouteDocs(
                f"List the {noun} of {singular}", _envelope(subroute.resource, nested_row_of(subroute))
            )
        else:
            verb, preposition = _VERBS[subroute.method]
            item = with_article(noun.removesuffix("s"))
            docs[key] = _action(subroute, f"{verb} {item} {preposition} {singular}")
    return docs


def cscart_only(docs: RouteDocs) -> RouteDocs:
    """Describe a route that CS-Cart's dialect alone has."""
    return replace(docs, errors={**docs.errors, 405: "Where the store has the other dialect."})


_VERBS = {"POST": ("Add", "to"), "PUT": ("Update", "of"), "DELETE": ("Remove", "from")}


def _action(action: ActionRoute, summary: str) -> RouteDocs:
    if action.render_result is None:
        return RouteDocs(summary, status=204)
    body = _body(action.operation, f"{action.operation}Body", action.body_fields, action.required, prefix="")
    return RouteDocs(summary, action.result_schema, action.status, body)


# --- Records -----------------------------------------------------------------------------------------------------------------


class _WrittenIds(Mapping[str, Any]):
    """Map every name to the schema of a written record's id."""

    def __getitem__(self, name: str) -> Any:
        return WRITTEN_ID

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _result(operation: str, fields: Collection[RecordField], name: str = "", **where: str) -> OperationResult:
    return OperationResult(
        operation,
        overrides=record_members(fields),
        include=tuple(field.name for field in fields),
        optional=optional_names(fields),
        name=name,
        **where,  # type: ignore[arg-type]  # `field` and `member`
    )


def row_of(resource: Resource) -> OperationResult:
    """Describe a row of a list, which has fewer fields than the single record if that has fields of its own."""
    name = f"{resource.operations}{'Row' if resource.detail_fields else ''}"
    return _result(f"{resource.operations}List", resource.fields, name, member="items")


def single_of(resource: Resource) -> OperationResult:
    """Describe a single record."""
    fields = resource.single_fields
    return _result(f"{resource.operations}Show", fields, resource.operations)


def nested_row_of(nested: NestedList) -> OperationResult:
    """Describe a row of a list below a record."""
    resource = nested.resource
    if nested.parent_filter is None:
        name = f"{nested.operation}Row"
        return _result(nested.operation, resource.fields, name, field="parent", member=resource.name)
    name = row_of(resource).name if resource.actions else resource.entity.title().replace("_", "")
    return _result(nested.operation, resource.fields, name, field="page", member="items")


def rows_of(resource: Resource, alias: str = "") -> dict[str, Any]:
    """Describe the list response of a resource; an alias in the path names the collection."""
    return _envelope(resource, row_of(resource), alias)


def _envelope(resource: Resource, row: Any, alias: str = "") -> dict[str, Any]:
    """Describe a list: an array, or an object keyed by id when filtered; some without envelope in CS-Cart's dialect."""
    name = alias or resource.name
    rows = (array(row), map_of(row))
    envelope = object_schema(name, "params", **{name: one_of(*rows)}, params=PARAMS, search=_SEARCH)
    return one_of(envelope, *rows) if resource.unwrapped else envelope


def query_of(resource: Resource) -> dict[str, Schema]:
    """Describe the query parameters of a list."""
    parameters: dict[str, Schema] = {
        "page": {"type": "integer", "minimum": 1, "default": 1},
        "items_per_page": PAGE_SIZE,
    }
    if resource.sorts:
        parameters["sort_by"] = {"type": "string", "enum": list(resource.sorts)}
        parameters["sort_order"] = {"type": "string", "enum": ["asc", "desc"]}
    for field in resource.single_fields:
        if field.filter_name is not None:
            parameters.setdefault(field.name, STRING)
    for other in (*resource.filters, *resource.cscart_filters):
        for name in (other.name,) if isinstance(other, QueryFilter) else other.parameters:
            parameters.setdefault(name, STRING)
    return parameters


def create_body(resource: Resource) -> OperationInput:
    """Describe the body of a new record."""
    return _write_body(resource, "Create", resource.required)


def update_body(resource: Resource) -> OperationInput:
    """Describe the body of a change: no member is required."""
    return _write_body(resource, "Update")


def _write_body(resource: Resource, verb: str, required: Collection[str] = ()) -> OperationInput:
    operation = f"{resource.operations}{verb}"
    fields = (*resource.single_fields, *resource.input_fields)
    body = _body(operation, f"{operation}Body", fields, required)
    parents = dict.fromkeys(field.parent_object for field in fields if field.parent_object is not None)
    objects = {parent: ("input", _parent_object(resource, parent, fields)) for parent in parents}
    return replace(body, members={**body.members, **objects})


def _parent_object(resource: Resource, parent: str, fields: Collection[RecordField]) -> InputRecord:
    """Describe the object of a body that may contain some of its fields."""
    name = f"{resource.operations}{parent.title().replace('_', '')}"
    return InputRecord(name, input_members(field for field in fields if field.parent_object == parent))


def _body(
    operation: str, name: str, fields: Collection[RecordField], required: Collection[str] = (), prefix: str = "input."
) -> OperationInput:
    return OperationInput(operation, name, input_members(fields, prefix), tuple(required))
