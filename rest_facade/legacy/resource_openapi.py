"""Build the OpenAPI metadata of the routes that a `Resource` describes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from rest_facade.legacy.queries import MAX_CSCART_SIZE
from rest_facade.legacy.resource import (
    ALREADY_EXISTS,
    ActionRoute,
    NestedList,
    QueryFilter,
    RecordField,
    Resource,
)
from rest_facade.legacy.resources import RESOURCES
from rest_facade.openapi import (
    INTEGER,
    STRING,
    OperationResult,
    RouteDocs,
    RouteKey,
    Schema,
    array,
    page_size_schema,
    request_body,
    with_article,
)

BASE = "/api"
# Up to 250; in CS-Cart's dialect more, and 0 for all.
PAGE_SIZE = {**page_size_schema(10, MAX_CSCART_SIZE), "minimum": 0}
WRITTEN_ID: Schema = {"oneOf": [STRING, INTEGER]}
"""The id of a written record: a string of digits, in CS-Cart's dialect an integer."""
# Types accepted where the record has a string (docs/reference/legacy.md#values).
_ANY_SCALAR: Schema = {"type": ["string", "number", "boolean", "array", "object", "null"]}
PARAMS: Schema = {
    "type": "object",
    "properties": {
        "page": {"type": "integer"},
        "items_per_page": {"type": "integer"},
        "total_items": {"type": "integer"},
    },
    "required": ["page", "items_per_page", "total_items"],
}


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
    ids, body = _WrittenIds(), body_of(resource, resource.required)
    for action in resource.actions:
        operation = f"{resource.operations}{action.capitalize()}"
        if action == "list":
            docs["GET", path] = RouteDocs(f"List {plural}", rows_of(resource, alias), query=query_of(resource))
        elif action == "show":
            docs["GET", single] = RouteDocs(f"Retrieve {singular}", single_of(resource))
        elif action == "create":
            created = OperationResult(operation, overrides=ids, exclude=(ALREADY_EXISTS,))
            docs["POST", path] = RouteDocs(
                f"Create {singular}", created, 201, body, forms=True, other_responses={200: created}
            )
        elif action == "update":
            updated = OperationResult(operation, overrides=ids)
            update = body_of(resource, ())
            docs["PUT", single] = RouteDocs(f"Update {singular}", updated, body=update, forms=True)
        elif action == "delete":
            docs["DELETE", single] = RouteDocs(f"Delete {singular}", status=204)
        else:
            method, verb = ("PUT", "Set") if action == "set" else ("POST", "Check")
            record = _result(operation, resource, resource.fields)
            docs[method, path] = RouteDocs(f"{verb} {plural}", record, body=body, forms=True)
    for subroute in resource.subroutes:
        key = "GET" if isinstance(subroute, NestedList) else subroute.method, f"{single}/{subroute.path}"
        noun = subroute.path.partition("/")[0].replace("_", " ")
        if isinstance(subroute, NestedList):
            docs[key] = RouteDocs(f"List the {noun} of {singular}", _nested_list(subroute))
        else:
            verb, preposition = _VERBS[subroute.method]
            item = with_article(noun.removesuffix("s"))
            docs[key] = _action(subroute, f"{verb} {item} {preposition} {singular}")
    return docs


_VERBS = {"POST": ("Add", "to"), "PUT": ("Update", "of"), "DELETE": ("Remove", "from")}


def _action(action: ActionRoute, summary: str) -> RouteDocs:
    if action.render_result is None:
        return RouteDocs(summary, status=204)
    body = _body(action.body_fields, action.required)
    return RouteDocs(summary, {"type": "object"}, action.status, body, forms=True)


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


def _result(
    operation: str, resource: Resource, fields: Collection[RecordField], *, single: bool = False, **where: str
) -> OperationResult:
    """Describe the records of an operation, with the schemas of fields rendered differently from GraphQL."""
    rendered = {
        field.name: _in_both_dialects(field)
        for field in fields
        if field.value_type.render is not None or field.cscart_type is not None
    }
    return OperationResult(
        operation,
        overrides=rendered,
        include=tuple(field.name for field in fields),
        is_reshaped=resource.prepare is not None or (single and resource.complete is not None),
        **where,  # type: ignore[arg-type]  # `field` and `member`
    )


def _in_both_dialects(field: RecordField) -> Schema:
    schema = field.value_type.schema or {}
    if field.cscart_type is None or field.cscart_type.schema is None:
        return schema
    return {"anyOf": [schema, field.cscart_type.schema]}


def row_of(resource: Resource) -> OperationResult:
    """Describe a row of a list."""
    return _result(f"{resource.operations}List", resource, resource.fields, member="items")


def single_of(resource: Resource) -> OperationResult:
    """Describe a single record."""
    fields = (*resource.fields, *resource.detail_fields)
    return _result(f"{resource.operations}Show", resource, fields, single=True)


def rows_of(resource: Resource, alias: str = "") -> dict[str, Any]:
    """Describe the list response of a resource; an alias in the path names the collection."""
    return _envelope(resource, row_of(resource), alias)


def _nested_list(nested: NestedList) -> dict[str, Any]:
    resource = nested.resource
    if nested.parent_filter is None:
        return _envelope(resource, {"type": "object"})
    row = _result(nested.operation, resource, resource.fields, field="page", member="items")
    return _envelope(resource, row)


def _envelope(resource: Resource, row: Any, alias: str = "") -> dict[str, Any]:
    """Describe a list: an array, or an object keyed by id when filtered; some without envelope in CS-Cart's dialect."""
    name = alias or resource.name
    rows = {"anyOf": [array(row), {"type": "object", "additionalProperties": row}]}
    envelope = {
        "type": "object",
        "properties": {name: rows, "params": PARAMS, "search": {"type": "object"}},
        "required": [name, "params"],
    }
    return {"anyOf": [envelope, rows]} if resource.unwrapped else envelope


def query_of(resource: Resource) -> dict[str, Schema]:
    """Describe the query parameters of a list."""
    parameters: dict[str, Schema] = {
        "page": {"type": "integer", "minimum": 1, "default": 1},
        "items_per_page": PAGE_SIZE,
    }
    if resource.sorts:
        parameters["sort_by"] = {"type": "string", "enum": list(resource.sorts)}
        parameters["sort_order"] = {"type": "string", "enum": ["asc", "desc"]}
    for field in (*resource.fields, *resource.detail_fields):
        if field.filter_name is not None:
            parameters.setdefault(field.name, STRING)
    for other in resource.filters:
        for name in (other.name,) if isinstance(other, QueryFilter) else other.parameters:
            parameters.setdefault(name, STRING)
    return parameters


def body_of(resource: Resource, required: Collection[str]) -> dict[str, Any]:
    """Describe the body of a create or update request."""
    return _body((*resource.fields, *resource.detail_fields, *resource.input_fields), required)


def _body(fields: Iterable[RecordField], required: Collection[str]) -> dict[str, Any]:
    writable = {field.name: _ANY_SCALAR for field in fields if field.input_path is not None}
    schema = request_body(*required, **writable)
    for name in required:
        schema["properties"].setdefault(name, _ANY_SCALAR)
    return schema
