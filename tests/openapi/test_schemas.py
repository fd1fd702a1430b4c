"""The schemas of the OpenAPI documents say what the code knows: types, items, required members, shared names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from server.openapi.documents import FAMILIES, documents

NAMES = [family.name for family in FAMILIES]
MAX_UNTYPED = 0.02
_REFERENCE = re.compile(r"#/components/(schemas|responses|parameters|headers)/([\w-]+)")


def parts(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object of a document with its path."""
    if isinstance(value, dict):
        yield path, value
        for name, member in value.items():
            yield from parts(member, f"{path}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from parts(item, f"{path}/{index}")


def schemas_of(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema of a document, nested ones included."""
    for name, schema in document["components"]["schemas"].items():
        yield from nested(schema, name)
    for path, part in parts({**document, "components": {**document["components"], "schemas": {}}}):
        if "schema" in part:
            yield from nested(part["schema"], path)


def nested(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a schema and those within it."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for name in ("items", "additionalProperties"):
        yield from nested(schema.get(name), f"{path}/{name}")
    for name in ("oneOf", "anyOf", "allOf"):
        for index, part in enumerate(schema.get(name, ())):
            yield from nested(part, f"{path}/{name}/{index}")
    for name, member in schema.get("properties", {}).items():
        yield from nested(member, f"{path}/{name}")


def properties_of(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schema of every property of an object."""
    for path, schema in schemas_of(document):
        for name, member in schema.get("properties", {}).items():
            yield f"{path}/{name}", member


def is_untyped(schema: Any) -> bool:
    """Return whether a client learns nothing of the value; so of an object with any members."""
    if not isinstance(schema, dict):
        return True
    if {"$ref", "enum", "const", "properties"} & schema.keys():
        return False
    alternatives = schema.get("oneOf") or schema.get("anyOf")
    if alternatives:
        return any(is_untyped(alternative) for alternative in alternatives)
    if "allOf" in schema:
        return all(is_untyped(part) for part in schema["allOf"])
    types = schema.get("type")
    types = {types} if isinstance(types, str) else set(types or ())
    if "object" in types:
        return is_untyped(schema.get("additionalProperties"))
    if "array" in types:
        return is_untyped(schema.get("items"))
    return not types


@pytest.mark.parametrize("name", NAMES)
def test_less_than_two_percent_of_the_properties_are_untyped(name):
    properties = list(properties_of(documents()[name]))
    untyped = [path for path, schema in properties if is_untyped(schema)]
    assert len(untyped) < MAX_UNTYPED * len(properties), "\n".join(untyped)


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_has_a_type(name):
    untyped = [
        path
        for path, schema in schemas_of(documents()[name])
        if not {"$ref", "type", "oneOf", "anyOf", "allOf"} & schema.keys()
    ]
    assert untyped == []


@pytest.mark.parametrize("name", NAMES)
def test_every_array_has_items(name):
    arrays = [(path, schema) for path, schema in schemas_of(documents()[name]) if "array" in str(schema.get("type"))]
    assert arrays
    assert [path for path, schema in arrays if not schema.get("items")] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_array_has_items_of_null_alone(name):
    """The OpenAPI Generator writes no Python client of a document with one."""
    arrays = [(path, schema) for path, schema in schemas_of(documents()[name]) if "array" in str(schema.get("type"))]
    assert [path for path, schema in arrays if schema["items"].get("type") == "null"] == []


@pytest.mark.parametrize("name", NAMES)
def test_required_members_are_described(name):
    for path, schema in schemas_of(documents()[name]):
        missing = set(schema.get("required", ())) - schema.get("properties", {}).keys()
        assert missing == set(), path


@pytest.mark.parametrize("name", NAMES)
def test_every_reference_has_its_target(name):
    document = documents()[name]
    for path, part in parts(document):
        reference = part.get("$ref")
        if isinstance(reference, str):
            kind, target = _REFERENCE.fullmatch(reference).groups()
            assert target in document["components"][kind], path


@pytest.mark.parametrize("name", NAMES)
def test_every_component_is_used(name):
    document = documents()[name]
    used = {part["$ref"] for _, part in parts(document) if isinstance(part.get("$ref"), str)}
    defined = {
        f"#/components/{kind}/{target}"
        for kind in ("schemas", "responses", "parameters", "headers")
        for target in document["components"].get(kind, ())
    }
    assert defined == used


@pytest.mark.parametrize("name", NAMES)
def test_a_body_with_required_members_is_required(name):
    document = documents()[name]
    for path, methods in document["paths"].items():
        for operation in methods.values():
            body = operation.get("requestBody")
            if body is None:
                continue
            for media in body["content"].values():
                schema = media["schema"]
                target = document["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], schema)
                assert body["required"] == bool(target.get("required")), path
                assert "properties" in target or path.endswith("/webhooks/gateway"), path


@pytest.mark.parametrize("name", NAMES)
def test_no_two_components_describe_the_same_record(name):
    schemas = documents()[name]["components"]["schemas"]
    is_record = re.compile(r"(?!.*(Body|Form)$)")
    records = [key for key in schemas if is_record.match(key) and len(schemas[key].get("properties", ())) > 5]
    assert [(a, b) for a in records for b in records if a < b and schemas[a] == schemas[b]] == []
