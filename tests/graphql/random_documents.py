"""Generate random documents: fields, aliases, fragments, directives, filters and pages in any combination."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    is_list_type,
    is_object_type,
)

from resolvers.entity_queries import ENTITY_QUERY
from schema.fields import strawberry_field


@dataclass
class GeneratedDocument:
    """A document and its variables."""

    text: str
    variables: dict[str, Any]


_WITHOUT_STATUS_A = ("call_requests",)


@dataclass
class DocumentGenerator:
    """Generates one document; `ids` are record ids by the name of the single-record root field."""

    schema: GraphQLSchema
    ids: dict[str, str]
    rng: random.Random
    fragments: list[str] = field(default_factory=list)
    names: int = 0

    def generate(self) -> GeneratedDocument:
        assert self.schema.query_type is not None
        roots = [
            name
            for name, declared in self.schema.query_type.fields.items()
            if (matches := strawberry_field(declared)) is not None and ENTITY_QUERY in matches.metadata
        ]
        fields = " ".join(self._root(self.rng.choice(roots)) for _ in range(self.rng.randint(1, 3)))
        introspection = " __typename" if self.rng.random() < 0.2 else ""
        body = f"{{ {fields}{introspection} }} " + " ".join(self.fragments)
        known = {"$yes": "$yes: Boolean = true", "$no": "$no: Boolean!", "$n": "$n: Int = 3"}
        used = [declared for name, declared in known.items() if re.search(rf"\{name}\b", body)]
        variables = {"no": False, "n": self.rng.randint(0, 5)}
        return GeneratedDocument(
            f"query Q({', '.join(used)}) {body}" if used else f"query Q {body}",
            {name: value for name, value in variables.items() if known[f"${name}"] in used},
        )

    def _root(self, name: str) -> str:
        assert self.schema.query_type is not None
        declared = self.schema.query_type.fields[name]
        self.names += 1
        return f"r{self.names}: {name}{self._arguments(name, declared)} {self._selection(declared, 3)}"

    def _arguments(self, name: str, declared: GraphQLField) -> str:
        arguments = []
        unused = self.rng.choice(["first", "last"])
        for key, argument in declared.args.items():
            if key == unused:
                continue
            target = get_named_type(argument.type)
            if key == "id":
                value = self.rng.choice([self.ids.get(name, "x"), "nonsense", "00000000-0000-7000-8000-000000000000"])
                arguments.append(f'id: "{value}"')
            elif key in ("limit", "per_page", "first", "last") and self.rng.random() < 0.8:
                arguments.append(f"{key}: {self.rng.choice(['$n', '1', '2', '7', '50'])}")
            elif key in ("offset", "page") and self.rng.random() < 0.4:
                arguments.append(f"{key}: {self.rng.randint(0, 2)}")
            elif key == "sort" and isinstance(target, GraphQLEnumType) and self.rng.random() < 0.6:
                arguments.append(f"sort: {self.rng.choice(list(target.values))}")
            elif key == "status" and self.rng.random() < 0.2:
                # Most entities have the status A; call requests have N.
                code = "A" if name not in _WITHOUT_STATUS_A else "N"
                if isinstance(target, GraphQLEnumType) and code not in target.values:
                    code = self.rng.choice(list(target.values))
                arguments.append(f'status: "{code}"')
            elif key == "filter" and isinstance(target, GraphQLInputObjectType) and self.rng.random() < 0.4:
                arguments.append(f"filter: {{{self._filter(target)}}}")
        return f"({', '.join(arguments)})" if arguments else ""

    def _relation_arguments(self, declared: GraphQLField) -> str:
        if "limit" in declared.args:
            return f"(limit: {self.rng.randint(1, 3)})"
        if "last" not in declared.args or self.rng.random() < 0.3:
            return ""
        sizes = [f"{self.rng.choice(['first', 'last'])}: {self.rng.choice(['$n', '1', '2', '7'])}"]
        if "sort" in declared.args and self.rng.random() < 0.5:
            sort = get_named_type(declared.args["sort"].type)
            assert isinstance(sort, GraphQLEnumType)
            sizes.append(f"sort: {self.rng.choice(list(sort.values))}")
        return f"({', '.join(sizes)})"

    def _image_arguments(self, declared: GraphQLField) -> str:
        values = {}
        for name, argument in declared.args.items():
            type_ = get_named_type(argument.type)
            assert isinstance(type_, GraphQLEnumType), name
            values[name] = self.rng.choice(list(type_.values))
        return ", ".join(f"{name}: {value}" for name, value in values.items())

    def _filter(self, target: GraphQLInputObjectType) -> str:
        values = {
            "search": '"a"',
            "name": '["Caneca de Ágata", "Casa"]',
            "price_from": "1000",
            "price_to": "90000",
        }
        values |= {
            "created_from": '"2020-01-01T00:00:00Z"',
            "stock_from": "0",
            "total_from": "1",
            "is_edp": "false",
        }
        usable = [key for key in values if key in target.fields]
        chosen = self.rng.sample(usable, k=min(len(usable), self.rng.randint(0, 2)))
        return ", ".join(f"{key}: {values[key]}" for key in chosen)

    def _selection(self, declared: GraphQLField, depth: int) -> str:
        target = get_named_type(declared.type)
        assert isinstance(target, GraphQLObjectType)
        parts = self._fields(target, depth)
        if self.rng.random() < 0.3:
            self.names += 1
            name = f"F{self.names}"
            self.fragments.append(f"fragment {name} on {target.name} {{ {' '.join(self._fields(target, depth))} }}")
            parts.append(f"...{name}")
        if self.rng.random() < 0.3:
            parts.append(f"... on {target.name} {{ {' '.join(self._fields(target, depth))} }}")
        return f"{{ {' '.join(parts)} }}"

    def _fields(self, target: GraphQLObjectType, depth: int) -> list[str]:
        usable = [
            name for name, each in target.fields.items() if depth > 1 or not is_object_type(get_named_type(each.type))
        ]
        # Pages and connections always select their lists.
        wanted = [name for name in ("items", "edges", "node") if name in target.fields and self._is_wrapper(target)]
        chosen = [*wanted, *self.rng.sample(usable, k=min(len(usable), self.rng.randint(1, 5)))]
        return [self._field(target, name, depth) for name in dict.fromkeys(chosen)] + (
            ["__typename"] if self.rng.random() < 0.15 else []
        )

    def _is_wrapper(self, target: GraphQLObjectType) -> bool:
        return target.name.endswith(("Page", "Connection", "Edge"))

    def _field(self, target: GraphQLObjectType, name: str, depth: int) -> str:
        declared = target.fields[name]
        below = ""
        if is_object_type(get_named_type(declared.type)):
            deeper = depth if self._is_wrapper(target) else depth - 1
            below = f"{self._relation_arguments(declared)} {self._selection(declared, deeper)}"
        elif "format" in declared.args and self.rng.random() < 0.7:
            below = f"({self._image_arguments(declared)}) {{"
        alias, directive = "", ""
        is_list = is_list_type(getattr(declared.type, "of_type", declared.type))
        if self.rng.random() < 0.2 or below:
            # Relations always have an alias, so that different selections don't conflict under one key.
            self.names += 1
            alias = f"a{self.names}: "
        if self.rng.random() < 0.1 and not is_list:
            directive = self.rng.choice(
                [" @include(if: $yes)", " @skip(if: $no)", " @skip(if: true)", " @include(if: false)"]
            )
        call, _, rest = below.partition(" {") if below.startswith("(") else ("", "", below)
        rest = f"{{{rest}" if call and rest else "" if call else rest
        return f"{alias}{name}{call}{directive} {rest}".strip()
