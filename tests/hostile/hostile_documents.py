"""Generate documents and variables over a whole schema, valid and hostile, from a source of randomness (Hypothesis shrinks it)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    get_named_type,
    is_input_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
    type_from_ast,
)

TEXTS = (
    "", " ", "a", "Caneca", "É" * 200, "x" * 201, "y" * 5_000, "\x00", "a\x00b", "\ud800", "\udfff\ud800", "\u202e", "👩‍👩‍👧", "\x1b[31m",
    "'; DROP TABLE products; --", "%", "\\", '"', "{}", "$1", "<script>", "javascript:alert(1)", "http://127.0.0.1/", "../../etc/passwd",
    "2024-02-30", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-01-01T00:00:00+99:99", "ana@example.com", "A", "O", "-1", "1e400",
)  # fmt: skip
NUMBERS = (
    0,
    1,
    -1,
    2,
    100,
    1000,
    1001,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**53,
    2**63 - 1,
    -(2**63),
    0.5,
    -0.0,
    1e308,
    100.0,
)
IDS = (
    "1",
    "0",
    "-1",
    "nonsense",
    "",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "9" * 30,
    "x" * 3_000,
)
SHAPES: tuple[Any, ...] = (
    None,
    True,
    [],
    {},
    [[]],
    [None],
    {"a": {"b": [1]}},
    [{}],
    [[[[[[1]]]]]],
    {"": ""},
    {"__proto__": 1},
)
UNKNOWN = ("nonsense", "__typename", "__schema", "password_hash", "tenant_id", "x" * 300)
DIRECTIVES = (
    "@include(if: true)",
    "@skip(if: false)",
    "@skip(if: true)",
    "@include(if: null)",
    "@nonsense",
    "@deprecated",
    "@include",
)


@dataclass
class Variable:
    """A variable of a generated document."""

    declaration: str
    value: Any


@dataclass
class DocumentGenerator:
    """Generates one document. `ids` are of records of the caller's store and of others; `hostility` is the share of hostile parts."""

    schema: GraphQLSchema
    ids: Sequence[str]
    rng: Random
    hostility: float = 0.1
    fragments: list[str] = field(default_factory=list)
    variables: dict[str, Variable] = field(default_factory=dict)
    names: int = 0
    budget: int = 60

    def request(self) -> dict[str, Any]:
        """Return the body of a request."""
        is_mutation = self._chance(0.35)
        root = self.schema.mutation_type if is_mutation else self.schema.query_type
        assert root is not None
        count = 1 if self._chance(0.7) else self.rng.randint(2, 4)
        fields = " ".join(self._field(root, self.rng.choice(list(root.fields)), 4) for _ in range(count))
        if self._is_hostile():
            fields += " " + self.rng.choice(
                ("__typename", "__schema { types { name } }", '__type(name: "Order") { fields { name } }', "...")
            )
        declared = ", ".join(f"${name}: {variable.declaration}" for name, variable in self.variables.items())
        head = f"{'mutation' if is_mutation else 'query'} Q{f'({declared})' if declared else ''}"
        text = f"{head} {{ {fields} }} {' '.join(self.fragments)}"
        if self._is_hostile():
            text = self._broken(text)
        body = {"query": text, "variables": {name: variable.value for name, variable in self.variables.items()}}
        if self._is_hostile():
            body |= self.rng.choice(
                (
                    {"operationName": "Q"},
                    {"operationName": "R"},
                    {"variables": []},
                    {"extensions": {}},
                    {"documentId": "sha256:"},
                )
            )
        return body

    def variables_of(self, operation: OperationDefinitionNode) -> dict[str, Any]:
        """Return variables for an operation."""
        values = {}
        for node in operation.variable_definitions or ():
            type_ = type_from_ast(self.schema, node.type)
            assert is_input_type(type_), node
            if is_non_null_type(type_) or self._chance(0.6):
                values[node.variable.name.value] = self._value(type_, 3)
        return values

    def _broken(self, text: str) -> str:
        at = self.rng.randrange(len(text))
        return self.rng.choice(
            (text[:at], text[:at] + self.rng.choice("{}()[]:$@!\"\\#é\x00\ud800") + text[at:], text * 2,
             f"{text} query R {{ store {{ id }} }}",
             text.replace("{", "{ ...F99 ", 1) + " fragment F99 on Query { ...F99 }", "{" * 300 + text)
        )  # fmt: skip

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _is_hostile(self) -> bool:
        return self._chance(self.hostility)

    def _field(self, parent: GraphQLObjectType, name: str, depth: int) -> str:
        if self._chance(self.hostility / 4):
            return self.rng.choice(UNKNOWN)
        declared = parent.fields[name]
        self.names += 1
        self.budget -= 1
        alias = f"a{self.names}: " if depth == 4 or self._chance(0.3) else ""
        directive = f" {self.rng.choice(DIRECTIVES)}" if self._is_hostile() else ""
        target = get_named_type(declared.type)
        below = self._selection(target, depth - 1) if isinstance(target, GraphQLObjectType) else ""
        return f"{alias}{name}{self._arguments(declared)}{directive}{below}"

    def _selection(self, target: GraphQLObjectType, depth: int) -> str:
        names = [
            name
            for name, each in target.fields.items()
            if (depth > 0 and self.budget > 0) or not is_object_type(get_named_type(each.type))
        ]
        chosen = self.rng.sample(names, min(len(names), self.rng.randint(1, 6)))
        wrapped = [name for name in ("items", "edges", "node") if name in target.fields and name not in chosen]
        parts = [self._field(target, name, depth) for name in (*wrapped, *chosen)] or ["__typename"]
        if self._chance(0.15):
            self.names += 1
            condition = target.name if not self._is_hostile() else self.rng.choice(("Query", "Nonsense", "String"))
            self.fragments.append(f"fragment F{self.names} on {condition} {{ {' '.join(parts)} }}")
            parts = [f"...F{self.names}"]
        elif self._chance(0.1):
            parts = [f"... on {target.name} {{ {' '.join(parts)} }}"]
        return f" {{ {' '.join(parts)} }}"

    def _arguments(self, declared: GraphQLField) -> str:
        parts = []
        for name, argument in declared.args.items():
            is_required = is_non_null_type(argument.type)
            if not (self._chance(0.95) if is_required else self._chance(0.4)):
                continue
            value = self._value(argument.type, 3)
            if self._chance(0.5) or not _is_literal(value):
                self.names += 1
                self.variables[f"v{self.names}"] = Variable(str(argument.type), value)
                parts.append(f"{name}: $v{self.names}")
            else:
                parts.append(f"{name}: {_literal(value, argument.type)}")
        if self._chance(self.hostility / 4):
            parts.append("nonsense: 1")
        return f"({', '.join(parts)})" if parts else ""

    def _value(self, type_: GraphQLInputType, depth: int) -> Any:
        """Return a value of an input type, or a hostile one."""
        if self._is_hostile():
            return self.rng.choice((*SHAPES, *TEXTS, *NUMBERS, *IDS))
        if is_non_null_type(type_):
            return self._value(type_.of_type, depth)
        if self._chance(0.05):
            return None
        if is_list_type(type_):
            return [self._value(type_.of_type, depth - 1) for _ in range(self.rng.choice((0, 1, 1, 2, 3, 30)))]
        if isinstance(type_, GraphQLInputObjectType):
            return self._input_object(type_, depth)
        if isinstance(type_, GraphQLEnumType):
            return self.rng.choice(list(type_.values))
        return self._scalar(str(type_))

    def _input_object(self, type_: GraphQLInputObjectType, depth: int) -> dict[str, Any]:
        values = {
            name: self._value(each.type, depth - 1)
            for name, each in type_.fields.items()
            if (is_non_null_type(each.type) and self._chance(0.97)) or (depth > 0 and self._chance(0.3))
        }
        return values | ({"nonsense": 1} if self._chance(self.hostility / 4) else {})

    def _scalar(self, name: str) -> Any:
        if name == "ID":
            return self.rng.choice(self.ids if self._chance(0.8) else IDS)
        if name in ("Int", "BigInt"):
            return self.rng.choice(
                (0, 1, 2, 5, 20, 100, 1000, *(number for number in NUMBERS if isinstance(number, int)))
            )
        if name == "Float":
            return self.rng.choice(NUMBERS)
        if name == "Boolean":
            return self._chance(0.5)
        if name == "JSON":
            return self.rng.choice(
                (*SHAPES, {self.rng.choice(TEXTS): self.rng.choice(NUMBERS)}, self.rng.choice(TEXTS))
            )
        return self.rng.choice(TEXTS)


def _is_literal(value: Any) -> bool:
    """Return whether a value can be written in a document: names of object fields can't be any text."""
    if isinstance(value, dict):
        return all(name.isidentifier() and name.isascii() and _is_literal(item) for name, item in value.items())
    return all(map(_is_literal, value)) if isinstance(value, list) else True


def _literal(value: Any, type_: Any = None) -> str:
    """Write a value in a document."""
    named = get_named_type(type_) if type_ is not None else None
    if isinstance(value, dict):
        fields = named.fields if isinstance(named, GraphQLInputObjectType) else {}
        members = (
            f"{name}: {_literal(item, fields[name].type if name in fields else None)}" for name, item in value.items()
        )
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_literal(item, type_) for item in value) + "]"
    if isinstance(named, GraphQLEnumType) and isinstance(value, str) and value in named.values:
        return value
    return json.dumps(value)
