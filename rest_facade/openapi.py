"""Define the OpenAPI metadata of routes: request and response schemas, kept next to the routes.

Each family's `openapi` module maps method and path to `RouteDocs`. Inputs and results of GraphQL operations are referenced by name
(`OperationInput`, `OperationResult`) and expanded from the GraphQL schema when the documents are built (`server.openapi`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as field_of
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
RouteKey: TypeAlias = tuple[str, str]
"""Method and path: `("GET", "/api/v1/admin/orders/{id}")`."""


@dataclass(frozen=True, slots=True)
class OperationResult:
    """Reference the result of an operation's root field: the named one, else the first.

    `member` selects an object within it, or the items of a list; `first_item` the item of a one-element list. `overrides` replaces
    member schemas. `include` lists the members shown, `exclude` the hidden ones. `is_reshaped`: the facade rebuilds nested objects
    and lists, so their GraphQL schema does not apply.
    """

    operation: str
    field: str | None = None
    member: str = ""
    overrides: Mapping[str, Any] = field_of(default_factory=dict)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    first_item: bool = False
    is_reshaped: bool = False


@dataclass(frozen=True, slots=True)
class OperationInput:
    """Reference the members of an operation's `input` variable (or of its variables, without one) that a body accepts."""

    operation: str
    names: tuple[str, ...]
    variable: str | None = "input"
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteDocs:
    """Document the request and response of a route.

    `response` None: no body. `status` is the success status; `other_responses` are further ones besides the family's errors.
    `query` are query parameters, optional unless in `required_query`. `forms`: the body may also be form-encoded.
    """

    summary: str
    response: Any = None
    """A schema that may contain `OperationResult`s anywhere."""
    status: int = 200
    body: Schema | OperationInput | None = None
    forms: bool = False
    query: Mapping[str, Schema] = field_of(default_factory=dict)
    required_query: tuple[str, ...] = ()
    other_responses: Mapping[int, Any] = field_of(default_factory=dict)
    media: str = "application/json"


STRING: Schema = {"type": "string"}
UUID_TEXT: Schema = {"type": "string", "format": "uuid"}
DATE_TIME: Schema = {"type": "string", "format": "date-time"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
DATE: Schema = {"type": "string", "format": "date"}
ANY: Schema = {}
PAGE: Schema = {"type": "integer", "minimum": 1, "default": 1}


def page_size_schema(default: int, maximum: int) -> Schema:
    """Describe the page size parameter."""
    return {
        "type": "integer",
        "minimum": 1,
        "default": default,
        "description": f"Values above {maximum} are treated as {maximum}.",
    }


def object_schema(*required: str, **properties: Any) -> dict[str, Any]:
    """Describe an object; without `required`, all properties are required."""
    return {"type": "object", "properties": dict(properties), "required": list(required or properties)}


def request_body(*required: str, **properties: Schema) -> dict[str, Any]:
    """Describe a request body; only the fields in `required` are required."""
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    return {**schema, "required": list(required)} if required else schema


def array(of: Any) -> dict[str, Any]:
    """Describe an array."""
    return {"type": "array", "items": of}


def optional(schema: Schema) -> dict[str, Any]:
    """Describe a nullable value."""
    return {"anyOf": [schema, {"type": "null"}]}


def with_article(noun: str) -> str:
    """Return the noun with its indefinite article; an initial `u` counts as a consonant (`a user`)."""
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


def message_schema() -> dict[str, Any]:
    """Describe `{message}`."""
    return object_schema(message=STRING)
