"""Mutations whose answer is the changed record: the resolver runs without the executor, and a compiled reader reads the record.

The executor remains the reference. It completes what is answered otherwise, an error for instance: it takes the outcome of the resolver,
which has run, from its context (`schema.execution.Outcome`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    OperationDefinitionNode,
    get_named_type,
    get_nullable_type,
)
from graphql.execution.values import VariableValues, get_argument_values

from models.reading.compiled_reads import CompiledReader
from resolvers.compiled_fields import CompilationValues
from schema.execution import ExecutionContext, Outcome, ReadRecord
from schema.fields import entity_of
from schema.selection import response_shape


def changed_record(schema: GraphQLSchema, operation: OperationDefinitionNode) -> GraphQLField | None:
    """Return the only root field of a mutation if it returns a record; None if the executor must run the operation."""
    selections = operation.selection_set.selections
    node = selections[0]
    if len(selections) > 1 or not isinstance(node, FieldNode) or node.directives:
        return None
    assert schema.mutation_type is not None
    field = schema.mutation_type.fields.get(node.name.value)
    type_ = get_nullable_type(field.type) if field is not None else None
    return field if isinstance(type_, GraphQLObjectType) and entity_of(type_) is not None else None


@dataclass(frozen=True, slots=True)
class MutationInfo:
    """What the resolver of a mutation, and Strawberry, read of graphql-core's `GraphQLResolveInfo`."""

    field_name: str
    field_nodes: list[FieldNode]
    return_type: GraphQLOutputType
    fragments: Mapping[str, FragmentDefinitionNode]
    operation: OperationDefinitionNode
    variable_values: VariableValues
    context: ExecutionContext


class MutationPlan:
    """A compiled mutation, independent of its arguments."""

    __slots__ = ("_field", "_fragments", "_node", "_operation", "_reader", "key")

    def __init__(
        self, schema: GraphQLSchema, operation: OperationDefinitionNode, values: CompilationValues, *, native: bool
    ) -> None:
        [node], field = operation.selection_set.selections, changed_record(schema, operation)
        assert isinstance(node, FieldNode)
        assert field is not None
        self.key = (node.alias or node.name).value
        self._operation, self._field, self._node = operation, field, node
        self._fragments = values.fragments
        shape = response_shape(values, get_named_type(field.type), [node])
        # Conversions are applied to the data of every mutation, compiled or not.
        self._reader = CompiledReader(shape, native=native)

    async def run(self, context: ExecutionContext, variables: VariableValues) -> dict[str, Any] | None:
        """Run the resolver; return the data, or None when the executor must answer, whose context then has the outcome."""
        resolve = self._field.resolve
        assert resolve is not None
        try:
            arguments = get_argument_values(self._field, self._node, variables)
        except GraphQLError:
            return None  # the executor raises it again
        node = self._node
        info = MutationInfo(
            node.name.value, [node], self._field.type, self._fragments, self._operation, variables, context
        )
        context.record_reader = self._reader
        try:
            result = await resolve(None, info, **arguments)
        except Exception as error:
            context.outcome = Outcome(error=error)
            return None
        if isinstance(result, ReadRecord):
            return {self.key: result.data}
        context.outcome = Outcome(result)
        return None
