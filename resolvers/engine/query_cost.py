"""Calculate the cost of a scanned operation: the objects that its answer may have (docs/reference/shared.md#graphql-limits)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from graphql import (
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_list_type,
    is_non_null_type,
)

from models.reading.queries import ToMany
from models.reading.read_statements import size_sql
from resolvers.engine.scanner import (
    SIZE_ARGUMENTS,
    ScannedDocument,
    ScannedField,
    ScannedInlineFragment,
    ScannedOperation,
    ScannedSelections,
    SizeArgument,
)
from schema.fields import COST, DEFAULT_LIST_SIZE, LIST_SIZE, RelationSource, entity_of, field_source, strawberry_field
from schema.pagination import DEFAULT_PAGE_SIZE, node_type

_Composite: TypeAlias = GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType


class OperationCost(NamedTuple):
    """What an operation costs: the cost of each field by its path, without the fields in it, and the SQL of lists of unknown size."""

    fields: Counter[str]
    uncounted: set[str]


class ListSize(NamedTuple):
    """The number of records that a store has in a list: of one parent at most, of one that has any on average, and in all."""

    most: int
    mean: float
    total: float

    def of(self, parents: int, limit: int | None) -> int:
        """Return the number of records of so many parents: one with the most, the others on average; each list has at most `limit`."""
        most = self.most if limit is None else min(self.most, limit)
        return math.ceil(min(most + (parents - 1) * min(self.mean, most), self.total)) if parents else 0


class _Level(NamedTuple):
    """The objects at one place of an answer: their number, how often one may be there, and the records in them, if each is a page."""

    number: int
    repeats: int
    records: _Level | None = None


class CostCalculator:
    """Calculate the cost of an operation; unknown fields and fragments cost 0 and are reported by validation.

    `variables` are those of list sizes, coerced; `sizes` what the store has, by the SQL that counts it (`size_sql`), as far as it is known.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        document: ScannedDocument,
        operation: ScannedOperation,
        variables: Mapping[str, Any],
        sizes: Mapping[str, ListSize],
    ) -> None:
        self._cost = OperationCost(Counter(), set())
        self._schema = schema
        self._fragments = document.fragments
        self._operation = operation
        self._variables = variables
        self._sizes = sizes

    def cost(self) -> OperationCost:
        """Return the cost of the operation."""
        root = {
            "query": self._schema.query_type,
            "mutation": self._schema.mutation_type,
            "subscription": self._schema.subscription_type,
        }[self._operation.kind]
        if root is not None:
            self._add_selections(root, self._operation.selections, _Level(1, 1), "")
        return self._cost

    def _add_selections(self, type_: _Composite, selections: ScannedSelections, level: _Level, path: str) -> None:
        for node in selections:
            if isinstance(node, ScannedField):
                self._add_field(type_, node, level, path)
            elif isinstance(node, ScannedInlineFragment):
                self._add_selections(self._narrow(type_, node.condition), node.selections, level, path)
            elif (fragment := self._fragments.get(node.name)) is not None:
                self._add_selections(self._narrow(type_, fragment.condition), fragment.selections, level, path)

    def _narrow(self, type_: _Composite, condition: str) -> _Composite:
        """Return the type of a fragment's fields: of an object its own, which declare more than those of its interfaces."""
        narrowed = self._schema.get_type(condition) if condition else None
        if isinstance(narrowed, GraphQLInterfaceType) and isinstance(type_, GraphQLObjectType):
            return type_
        return narrowed if isinstance(narrowed, GraphQLObjectType | GraphQLInterfaceType) else type_

    def _add_field(self, type_: _Composite, node: ScannedField, level: _Level, path: str) -> None:
        field = None if isinstance(type_, GraphQLUnionType) else type_.fields.get(node.name)
        if field is None or node.selections is None:
            return  # `__typename`, introspection, a leaf
        target = get_named_type(field.type)
        assert isinstance(target, GraphQLObjectType | GraphQLInterfaceType | GraphQLUnionType), node.name
        path = f"{path}.{node.alias or node.name}" if path else node.alias or node.name
        is_list = is_list_type(field.type.of_type if is_non_null_type(field.type) else field.type)
        if is_list:
            below = level.records or self._records(field, target, node, level)
        elif any(name in field.args for name in SIZE_ARGUMENTS):
            below = _Level(level.number, level.repeats, self._records(field, _record_type(target), node, level))
        else:
            # All rows may refer to one record; other objects are part of the row.
            is_related = isinstance(field_source(field), RelationSource)
            below = _Level(level.number, level.number if is_related else level.repeats)
        self._cost.fields[path] += below.number * _own_cost(field)
        self._add_selections(target, node.selections, below, path)

    def _records(self, field: Any, target: _Composite, node: ScannedField, level: _Level) -> _Level:
        """Return the records of a list, page or connection, at most as many as the store has."""
        source, size = field_source(field), None
        entity = entity_of(target) if isinstance(target, GraphQLObjectType) else None
        link = source.link if isinstance(source, RelationSource) and isinstance(source.link, ToMany) else None
        is_counted = source is None or (
            link is not None and isinstance(source, RelationSource) and source.wider is None
        )
        if entity is not None and is_counted:
            counted = size_sql(entity, link)
            size = self._sizes.get(counted)
            if size is None:
                self._cost.uncounted.add(counted)
        asked = self._asked(field, node)
        # A record of a parent is there as often as the parent, one that several may have at most once in each list.
        is_own = link is not None and link.key.startswith("t.")
        repeats = level.repeats if is_own else level.number
        if size is None:
            return _Level(level.number * (_usual_size(field) if asked is None else asked), repeats)
        parents = math.ceil(level.number / max(1, level.repeats))
        return _Level(level.repeats * size.of(parents, asked), repeats)

    def _asked(self, field: Any, node: ScannedField) -> int | None:
        """Return the size that a list or page is asked for, None without an argument for it; sizes of a connection exclude each other."""
        arguments = [name for name in SIZE_ARGUMENTS if name in field.args]
        for name in arguments:
            value = self._value(node.sizes.get(name))
            if value is not None:
                return max(0, value)
        if not arguments:
            return None
        default = field.args[arguments[0]].default_value
        return default if isinstance(default, int) else DEFAULT_PAGE_SIZE

    def _value(self, argument: SizeArgument | None) -> int | None:
        if argument is None or argument.variable is None:
            return argument.number if argument is not None else None
        name, default = argument.variable, self._operation.defaults.get(argument.variable)
        value: int | None = self._variables.get(name, default)
        return value


def _record_type(target: _Composite) -> _Composite:
    """Return the type of the records in a page or connection."""
    assert isinstance(target, GraphQLObjectType), target.name
    items = target.fields.get("items")
    record: _Composite = node_type(target) if items is None else get_named_type(items.type)
    return record


def _own_cost(field: Any) -> int:
    declared = strawberry_field(field)
    cost: int = 1 if declared is None else declared.metadata.get(COST, 1)
    return cost


def _usual_size(field: Any) -> int:
    declared = strawberry_field(field)
    size: int = DEFAULT_LIST_SIZE if declared is None else declared.metadata.get(LIST_SIZE, DEFAULT_LIST_SIZE)
    return size
