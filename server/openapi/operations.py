"""Expand references to GraphQL operations, in the metadata of routes, to JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from auth.access import Access
from kernel.json_schema import Schema, named, non_null
from resolvers.execute import FacadeOperation
from resolvers.json_schemas import response_schema, variable_schemas
from rest_facade.openapi import (
    InputMembers,
    InputRecord,
    OperationInput,
    OperationResult,
    RouteDocs,
    SelectedRecord,
    SelectedValue,
)


class UntypedMember(RuntimeError):
    """Programming error: a member has no schema of its own, and none in GraphQL."""


class OperationSchemas:
    """Expand the references to the operations of a family."""

    def __init__(self, operations: Mapping[str, FacadeOperation]) -> None:
        self._operations = operations
        self._variables = cache(lambda name: variable_schemas(operations[name]))

    def expand(self, value: Any) -> Any:
        """Replace each reference in the value by its schema; raises UntypedMember."""
        if isinstance(value, OperationResult):
            return self._result(value)
        if isinstance(value, OperationInput):
            return self._body(value)
        return _map(value, self.expand)

    def access_of(self, route_docs: RouteDocs) -> Iterator[Access]:
        """Yield the access rules of the operations that a route's documentation refers to."""
        used = _operations_in((route_docs.response, route_docs.body))
        for name in sorted({route_docs.operation, *used} - {""}):
            yield from self._operations[name].access

    def _result(self, result: OperationResult) -> Schema:
        schema: Schema = non_null(response_schema(self._operations[result.operation], result.field))
        if result.member:
            for name in result.member.split("."):
                schema = _row(non_null(schema["properties"][name]))
        elif result.first_item:
            schema = _row(schema)
        selected: Mapping[str, Any] | None = schema.get("properties")
        if selected is None:
            return schema
        added = (name for name in result.overrides if name not in selected)
        names = result.include or (*(name for name in selected if name not in result.exclude), *added)
        properties = {name: _member(name, result.overrides.get(name), schema) for name in names}
        optional = {*result.optional, *(selected.keys() - set(schema["required"]))}
        return named(result.name or schema["title"], _object(properties, names, optional))

    def _body(self, body: OperationInput) -> Schema:
        variables = {"properties": self._variables(body.operation)}
        return named(body.name, _input_object(body.members, variables, body.required))


def _member(name: str, schema: Any, record: Schema) -> Any:
    """Return the schema of a member of a record: its own, else GraphQL's."""
    selected = record.get("properties", {}).get(name)
    if schema is None:
        if selected is None:
            raise UntypedMember(f"{record.get('title')}: {name}")
        return selected
    return _within(schema, selected, record)


def _within(schema: Any, selected: Schema | None, record: Schema) -> Any:
    """Expand the references of a member, whose GraphQL schema is `selected`."""
    if isinstance(schema, SelectedValue):
        return _at(record, schema.path)
    if isinstance(schema, SelectedRecord):
        row = _row(non_null(selected)) if selected is not None else {}
        properties = {name: _member(name, member, row) for name, member in schema.members.items()}
        return named(schema.name, _object(properties, properties, schema.optional))
    return _map(schema, lambda part: _within(part, selected, record))


def _input_object(members: InputMembers, parent: Schema, required: tuple[str, ...]) -> Schema:
    properties = {
        name: _at(parent, path) if schema is None else _input_within(schema, path, parent)
        for name, (path, schema) in members.items()
    }
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _input_within(schema: Any, path: str, parent: Schema) -> Any:
    if isinstance(schema, InputRecord):
        return named(schema.name, _input_object(schema.members, _row(non_null(_at(parent, path))), schema.required))
    return _map(schema, lambda part: _input_within(part, path, parent))


def _at(schema: Schema, path: str) -> Any:
    """Return the schema at a path of members; lists are entered."""
    for name in path.split("."):
        properties = _row(non_null(schema)).get("properties", {})
        if name not in properties:
            raise UntypedMember(path)
        schema = properties[name]
    return schema


def _row(schema: Schema) -> Schema:
    """Return the schema of a list's items, or of the object itself."""
    target = schema["$ref"] if isinstance(schema.get("$ref"), Mapping) else schema
    return non_null(target["items"]) if target.get("type") == "array" else target


def _object(properties: Schema, names: Any, optional: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": [name for name in names if name not in optional]}


def _operations_in(value: Any) -> Iterator[str]:
    if isinstance(value, OperationResult | OperationInput):
        yield value.operation
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _operations_in(part)


def _map(value: Any, convert: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: convert(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [convert(member) for member in value]
    return value
