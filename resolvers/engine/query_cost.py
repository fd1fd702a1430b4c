"""Calculate the cost of an operation from its scanned text, before it is parsed (docs/reference/shared.md#graphql-limits)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphql import GraphQLObjectType, GraphQLSchema, get_named_type, is_list_type, is_non_null_type, is_object_type

from resolvers.engine.scanner import (
    SIZE_ARGUMENTS,
    ScannedDocument,
    ScannedField,
    ScannedInlineFragment,
    ScannedOperation,
    ScannedSelections,
    SizeArgument,
)
from schema.pagination import DEFAULT_PAGE_SIZE

DEFAULT_LIST_SIZE = 10


class CostCalculator:
    """Calculate the cost of an operation; unknown fields and fragments cost 0 and are reported by validation.

    `variables` need not be coerced before a document is parsed: a value that is no integer counts as the default.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        document: ScannedDocument,
        operation: ScannedOperation,
        variables: Mapping[str, Any],
    ) -> None:
        self.schema = schema
        self.fragments = document.fragments
        self.operation = operation
        self.variables = variables
        self.fragment_costs: dict[tuple[str, str, int | None], int] = {}

    def cost(self) -> int:
        """Return the cost of the operation."""
        root = {
            "query": self.schema.query_type,
            "mutation": self.schema.mutation_type,
            "subscription": self.schema.subscription_type,
        }[self.operation.kind]
        return self._selection_cost(root, self.operation.selections, None) if root is not None else 0

    def _selection_cost(self, type_: GraphQLObjectType, selections: ScannedSelections, size: int | None) -> int:
        total = 0
        for node in selections:
            if isinstance(node, ScannedField):
                total += self._field_cost(type_, node, size)
            elif isinstance(node, ScannedInlineFragment):
                total += self._selection_cost(self._narrow(type_, node.condition), node.selections, size)
            else:
                total += self._fragment_cost(type_, node.name, size)
        return total

    def _fragment_cost(self, type_: GraphQLObjectType, name: str, size: int | None) -> int:
        key = (type_.name, name, size)
        if key not in self.fragment_costs:
            fragment = self.fragments.get(name)
            if fragment is None:
                return 0
            self.fragment_costs[key] = self._selection_cost(
                self._narrow(type_, fragment.condition), fragment.selections, size
            )
        return self.fragment_costs[key]

    def _narrow(self, type_: GraphQLObjectType, condition: str) -> GraphQLObjectType:
        narrowed = self.schema.get_type(condition) if condition else None
        return narrowed if isinstance(narrowed, GraphQLObjectType) else type_

    def _field_cost(self, type_: GraphQLObjectType, node: ScannedField, size: int | None) -> int:
        field = type_.fields.get(node.name)
        if field is None or node.selections is None:
            return 0  # `__typename`, introspection, a leaf
        target = get_named_type(field.type)
        if not is_object_type(target):
            return 1
        assert isinstance(target, GraphQLObjectType)
        bare = field.type.of_type if is_non_null_type(field.type) else field.type
        own = self._list_size(field, node)
        if not is_list_type(bare):
            # A page or connection: its size applies to the list inside.
            return 1 + self._selection_cost(target, node.selections, own)
        times = own if own is not None else size if size is not None else DEFAULT_LIST_SIZE
        return times * (1 + self._selection_cost(target, node.selections, None))

    def _list_size(self, field: Any, node: ScannedField) -> int | None:
        """Return the size of a list or page, None without an argument for it; sizes of a connection exclude each other."""
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
        value = self.variables.get(argument.variable)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return self.operation.defaults.get(argument.variable)
