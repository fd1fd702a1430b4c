"""Move the named schemas of a document into its components, and refer to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kernel.json_schema import Schema

_PREFIX = "#/components/schemas/"


class NameConflict(RuntimeError):
    """Programming error: a document has two different schemas of one name."""


def reference(name: str) -> dict[str, str]:
    """Refer to a named schema."""
    return {"$ref": f"{_PREFIX}{name}"}


class NamedSchemas:
    """Collect the named schemas of a document."""

    def __init__(self) -> None:
        self._schemas: dict[str, Any] = {}

    @property
    def named(self) -> Mapping[str, Schema]:
        """The schemas by name."""
        return self._schemas

    def sorted(self) -> dict[str, Any]:
        """Return the schemas by name, in alphabetical order."""
        return dict(sorted(self._schemas.items()))

    def extract(self, value: Any) -> Any:
        """Return the value with its named schemas replaced by references; raises NameConflict."""
        if isinstance(value, Mapping):
            return self._extract_schema(value)
        if isinstance(value, list | tuple):
            return [self.extract(item) for item in value]
        return value

    def _extract_schema(self, schema: Schema) -> Any:
        # A property may have the name `title` or `$ref`; then its value is a schema or text.
        members = {
            name: {key: self.extract(member) for key, member in value.items()}
            if name in ("properties", "patternProperties")
            else self.extract(value)
            for name, value in schema.items()
            if not (name == "title" and isinstance(value, str))
        }
        target = members.get("$ref")
        if isinstance(target, dict):
            members = {**target, **{name: value for name, value in members.items() if name != "$ref"}}
        name = schema.get("title")
        if not isinstance(name, str):
            return members
        if self._schemas.setdefault(name, members) != members:
            raise NameConflict(f"{name}: {_difference(self._schemas[name], members)}")
        return reference(name)


def _difference(first: Any, second: Any) -> str:
    names = sorted({*first, *second})
    return "; ".join(
        f"{name}: {json.dumps(first.get(name))} and {json.dumps(second.get(name))}"
        for name in names
        if first.get(name) != second.get(name)
    )
