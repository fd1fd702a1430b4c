"""Describe routes for readers: what each takes and answers, in JSON Schema, beside the routes themselves.

A family's `openapi` module holds a `RouteDocs` by method and path. The input and result of an operation are named (`OperationResult`,
`Takes`) and filled in from the GraphQL schema when the documents are built (`server.openapi`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as field_of
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[str, str]
"""A method and an address: `("GET", "/api/v1/admin/orders/{id}")`."""


@dataclass(frozen=True, slots=True)
class OperationResult:
    """Stand for what a root field of an operation answers: the one named, else the first.

    `inside` names the object within it, or the list whose elements are meant; `first` means the only one of a list. `over` holds
    members that the facade shows otherwise. `only` names the members that it shows, where it makes some of others, `without` those that
    it keeps for itself; `is_remade` says that it makes objects and lists anew, so that the operation says nothing of them.
    """

    operation: str
    field: str | None = None
    inside: str = ""
    over: Mapping[str, Any] = field_of(default_factory=dict)
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    first: bool = False
    is_remade: bool = False


@dataclass(frozen=True, slots=True)
class Takes:
    """Stand for those members of an operation's variable `input` (or of its variables, without one) that a body may hold."""

    operation: str
    names: tuple[str, ...]
    variable: str | None = "input"
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteDocs:
    """Say what a route takes and answers.

    `answer` null: no body. `status` is the success's; `also` holds other answers besides the family's errors. `query` are its
    parameters, none of which is required unless named in `required_query`. `forms` says that the body may be a form too.
    """

    summary: str
    answer: Any = None
    """A schema, in which `OperationResult`s may stand anywhere."""
    status: int = 200
    body: Schema | Takes | None = None
    forms: bool = False
    query: Mapping[str, Schema] = field_of(default_factory=dict)
    required_query: tuple[str, ...] = ()
    also: Mapping[int, Any] = field_of(default_factory=dict)
    media: str = "application/json"


TEXT: Schema = {"type": "string"}
UUID_TEXT: Schema = {"type": "string", "format": "uuid"}
MOMENT: Schema = {"type": "string", "format": "date-time"}
WHOLE: Schema = {"type": "integer"}
YES_NO: Schema = {"type": "boolean"}
DAY: Schema = {"type": "string", "format": "date"}
ANYTHING: Schema = {}
PAGE: Schema = {"type": "integer", "minimum": 1, "default": 1}


def size(default: int, most: int) -> Schema:
    """Describe the size of a page; above the most is the most."""
    return {"type": "integer", "minimum": 1, "default": default, "description": f"Above {most} is {most}."}


def record(*required: str, **properties: Any) -> dict[str, Any]:
    """Describe an object; without names in front, all of its members are always there."""
    return {"type": "object", "properties": dict(properties), "required": list(required or properties)}


def given(*required: str, **properties: Schema) -> dict[str, Any]:
    """Describe a body, of which only what is named in front has to be there."""
    described: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    return {**described, "required": list(required)} if required else described


def array(of: Any) -> dict[str, Any]:
    """Describe a list."""
    return {"type": "array", "items": of}


def optional(described: Schema) -> dict[str, Any]:
    """Let a value be null too."""
    return {"anyOf": [described, {"type": "null"}]}


def message() -> dict[str, Any]:
    """Describe `{message}`."""
    return record(message=TEXT)
