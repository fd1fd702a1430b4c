"""Make an example of each request body from its schema and the names of its members, by `examples.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel.json_schema import Schema

_ID = "0198f0de-0000-7000-8000-00000000cafe"
_VALUES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_BY_NAME, _BY_TAG = _VALUES["names"], _VALUES["tags"]
PLACEHOLDER = "kq3N0m1aVb9pT2xY"
_BY_TYPE: Mapping[str, Any] = {"string": PLACEHOLDER, "integer": 1, "boolean": True}


@dataclass(frozen=True, slots=True)
class Examples:
    """The examples of the bodies of a tag's operations; `schemas` are the named ones that theirs may refer to."""

    schemas: Mapping[str, Schema]
    tag: str

    @property
    def _known(self) -> Mapping[str, Any]:
        return {**_BY_NAME, **_BY_TAG.get(self.tag, {})}

    def of(self, schema: Schema, name: str = "") -> Any:
        """Return an example of a body, or of a member of this name."""
        if "$ref" in schema:
            schema = {**self.schemas[schema["$ref"].rpartition("/")[2]], **schema}
        known = self._known.get(name)
        for key in ("examples", "enum"):
            if key in schema:
                return known if known in schema[key] else schema[key][0]
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.of(schema[key][0], name)
        types = schema.get("type", "string")
        type_ = types[0] if isinstance(types, list) else types
        if type_ == "object":
            return self._object(schema)
        if type_ == "array":
            return [self.of(schema["items"], name)]
        if type(known) is type(_BY_TYPE[type_]):
            return known
        if name.endswith("_id"):
            return _ID
        return _BY_TYPE[type_]

    def _object(self, schema: Schema) -> dict[str, Any]:
        """Return the required members, and those that are known by name or have members themselves."""
        members: Mapping[str, Schema] = schema.get("properties", {})
        of_others = schema.get("additionalProperties")
        if not members and isinstance(of_others, Mapping):
            return {_ID: self.of(of_others, "variant_id")}
        required = schema.get("required", ())
        shown = [
            name for name, member in members.items() if name in required or name in self._known or "items" in member
        ]
        return {name: self.of(members[name], name) for name in shown or members}
