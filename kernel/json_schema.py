"""Build JSON Schemas (2020-12) for the OpenAPI documents.

A schema with a `title` is a named one: the documents hold it once, under that name, and refer to it everywhere else
(`server.openapi.components`). A `$ref` that holds such a schema refers to it with a description of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
NULL: Schema = {"type": "null"}
DATE: Schema = {"type": "string", "format": "date"}
DATE_TIME: Schema = {"type": "string", "format": "date-time"}
FREE_OBJECT: Schema = {"type": "object", "additionalProperties": True}
"""An object whose members are the caller's own."""


def named(name: str, schema: Schema, description: str = "") -> dict[str, Any]:
    """Name a schema: a document contains it once, under this name."""
    return {**schema, "title": name, **({"description": description} if description else {})}


def described(schema: Schema, description: str) -> dict[str, Any]:
    """Describe a use of a schema."""
    if not description:
        return dict(schema)
    return {**({"$ref": schema} if "title" in schema else schema), "description": description}


def object_schema(*required: str, **properties: Any) -> dict[str, Any]:
    """Describe an object; without `required`, all properties are required."""
    return {"type": "object", "properties": dict(properties), "required": list(required or properties)}


def optional_members(**properties: Any) -> dict[str, Any]:
    """Describe an object none of whose properties is required."""
    return {"type": "object", "properties": dict(properties)}


def array(of: Any) -> dict[str, Any]:
    """Describe an array."""
    return {"type": "array", "items": of}


def map_of(of: Any) -> dict[str, Any]:
    """Describe an object with any keys."""
    return {"type": "object", "additionalProperties": of}


def one_of(*schemas: Any) -> dict[str, Any]:
    """Describe a value that matches exactly one of the schemas."""
    return {"oneOf": list(schemas)}


def enum(values: Iterable[str]) -> dict[str, Any]:
    """Describe a closed set of texts."""
    return {"type": "string", "enum": list(values)}


def nullable(schema: Schema) -> dict[str, Any]:
    """Return the schema that also allows null."""
    if isinstance(schema.get("type"), str) and not {"enum", "title", "properties"} & set(schema):
        return {**schema, "type": [schema["type"], "null"]}
    if "$ref" in schema and "description" in schema:
        return {"anyOf": [schema["$ref"], NULL], "description": schema["description"]}
    return {"anyOf": [schema, NULL]}


def non_null(schema: Schema) -> dict[str, Any]:
    """Remove null from a schema."""
    if "anyOf" in schema:
        return dict(schema["anyOf"][0])
    types = schema.get("type")
    if isinstance(types, list):
        return {**schema, "type": types[0]}
    return dict(schema)
