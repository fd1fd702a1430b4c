"""Define the OpenAPI metadata of routes: request and response schemas, kept next to the routes.

Each family's `openapi` module maps method and path to `RouteDocs`. Inputs and results of GraphQL operations are referenced by name
(`OperationInput`, `OperationResult`) and expanded from the GraphQL schema when the documents are built (`server.openapi`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as field_of
from typing import Any, TypeAlias

from kernel.json_schema import BOOLEAN as BOOLEAN
from kernel.json_schema import DATE as DATE
from kernel.json_schema import DATE_TIME as DATE_TIME
from kernel.json_schema import FREE_OBJECT as FREE_OBJECT
from kernel.json_schema import INTEGER as INTEGER
from kernel.json_schema import STRING as STRING
from kernel.json_schema import Schema as Schema
from kernel.json_schema import array as array
from kernel.json_schema import described as described
from kernel.json_schema import enum as enum
from kernel.json_schema import map_of as map_of
from kernel.json_schema import named as named
from kernel.json_schema import object_schema as object_schema
from kernel.json_schema import one_of as one_of

RouteKey: TypeAlias = tuple[str, str]
"""Method and path: `("GET", "/api/v1/admin/orders/{id}")`."""


@dataclass(frozen=True, slots=True)
class OperationResult:
    """Reference the result of an operation's root field: the named one, else the first.

    `member` selects an object within it, or the items of a list, by its path; `first_item` the item of a one-element list. `include`
    lists the members shown, `exclude` the hidden ones. `overrides` replaces and adds member schemas, which may contain
    `SelectedRecord`s; those that GraphQL does not return are required unless `optional`. `name` names the schema, by default the
    GraphQL type.
    """

    operation: str
    field: str | None = None
    member: str = ""
    overrides: Mapping[str, Any] = field_of(default_factory=dict)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    first_item: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class SelectedRecord:
    """Describe the object, or the items of the list, that a field of a record selects.

    `members` are schemas by name; None is GraphQL's. `name` names the schema.
    """

    name: str
    members: Mapping[str, Any]
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectedValue:
    """Reference a value that the facade moved: its path in the selection of the record, such as `feature.feature_type`."""

    path: str


InputMembers: TypeAlias = Mapping[str, tuple[str, Any]]
"""The path of each member in the GraphQL variables (`input.name`) or input object, and its schema; None is GraphQL's."""


@dataclass(frozen=True, slots=True)
class OperationInput:
    """Reference the members of a body in the variables of an operation; `name` names the schema.

    The schemas of the members may contain `InputRecord`s. A member whose GraphQL type is required is so only if it is in `required`.
    """

    operation: str
    name: str
    members: InputMembers
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InputRecord:
    """Describe the object, or the items of the list, that a member of a body sets in a GraphQL input object."""

    name: str
    members: InputMembers
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteDocs:
    """Document the request and response of a route.

    `response` None: no body. `status` is the success status; `other_responses` are further ones besides the family's errors.
    `query` are query parameters, optional unless in `required_query`. `forms`: the body may also be form-encoded, or with `upload` a
    multipart form of this schema. `operation` is executed
    where neither the response nor the body refers to one. `headers` are those of the request, `errors` describe statuses that only this
    route has. A route that `streams` sends `text/event-stream` to clients that accept it, described by this text.
    """

    summary: str
    response: Any = None
    """A schema that may contain `OperationResult`s anywhere."""
    status: int = 200
    body: Schema | OperationInput | None = None
    forms: bool = False
    upload: Schema | None = None
    query: Mapping[str, Schema] = field_of(default_factory=dict)
    required_query: tuple[str, ...] = ()
    other_responses: Mapping[int, Any] = field_of(default_factory=dict)
    media: str = "application/json"
    operation: str = ""
    headers: Mapping[str, Schema] = field_of(default_factory=dict)
    errors: Mapping[int, str] = field_of(default_factory=dict)
    streams: str = ""


PAGE: Schema = {"type": "integer", "minimum": 1, "default": 1}


def page_size_schema(default: int, maximum: int) -> Schema:
    """Describe the page size parameter."""
    return {
        "type": "integer",
        "minimum": 1,
        "default": default,
        "description": f"Values above {maximum} are treated as {maximum}.",
    }


def request_body(*required: str, **properties: Schema) -> dict[str, Any]:
    """Describe a request body; only the fields in `required` are required."""
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    return {**schema, "required": list(required)} if required else schema


def message_schema() -> dict[str, Any]:
    """Describe `{message}`."""
    return object_schema(message=STRING)
