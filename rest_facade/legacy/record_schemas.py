"""Derive the schemas of records, and of objects within records and bodies, from their fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernel.json_schema import STRING, array, one_of
from rest_facade.legacy.reshape import record_renderer
from rest_facade.legacy.resource import RecordField
from rest_facade.legacy.value_types import Parse, ValueType
from rest_facade.openapi import InputMembers, InputRecord, SelectedRecord


def selected_record(name: str, fields: Iterable[RecordField], **others: Any) -> SelectedRecord:
    """Describe the objects that a field of a record selects; `others` are the schemas of members that are no fields."""
    described = tuple(fields)
    return SelectedRecord(name, {**record_members(described), **others}, optional_names(described))


def record_members(fields: Iterable[RecordField]) -> Mapping[str, Any]:
    """Return the schema of each field in records, of both dialects; None is GraphQL's."""
    return {field.name: _schema_of(field) for field in fields}


def optional_names(fields: Iterable[RecordField]) -> tuple[str, ...]:
    """Return the fields that not every caller sees, or that some records don't have."""
    return tuple(
        field.name for field in fields if field.permission is not None or field.cscart_absent or field.contract_single
    )


def _schema_of(field: RecordField) -> Any:
    schema, cscart = field.value_type.schema, field.cscart_type.schema if field.cscart_type is not None else None
    if schema is None and field.value_type.render is not None:
        raise TypeError(f"the value type of {field.name} has a renderer and no schema")
    if cscart is None:
        return schema
    schema = schema or STRING
    if cscart == schema:
        return schema
    if schema.get("type") == cscart.get("type") == "array":
        return array(one_of(schema["items"], cscart["items"]))
    return one_of(schema, cscart)


def input_record(name: str, fields: Iterable[RecordField], *required: str) -> InputRecord:
    """Describe the objects that a member of a body holds."""
    return InputRecord(name, input_members(fields), required)


def input_members(fields: Iterable[RecordField], prefix: str = "") -> InputMembers:
    """Return the members that the writable fields add to a body."""
    return {
        field.name: (f"{prefix}{field.input_path}", field.value_type.body_schema)
        for field in fields
        if field.input_path is not None
    }


def rows_type(
    name: str, fields: Iterable[RecordField], parse: Parse | None = None, *, body_schema: Any = None
) -> ValueType:
    """Describe a list of objects within a record, which have these fields; `name` is that of their schema."""
    described = tuple(fields)
    render = record_renderer(described)
    return ValueType(
        render=lambda rows: [render(row) for row in rows],
        parse=parse,
        schema=array(selected_record(name, described)),
        body_schema=body_schema,
    )
