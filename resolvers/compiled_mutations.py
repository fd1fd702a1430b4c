"""Mutations with one root field: the resolver runs without the executor, and a compiled builder makes the answer of its result.

The executor remains the reference. It completes what the builder can't: it takes the outcome of the resolver, which has run, from its
context (`schema.execution.Outcome`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphql import (
    ExecutionResult,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLField,
    GraphQLOutputType,
    GraphQLSchema,
    OperationDefinitionNode,
    is_non_null_type,
    located_error,
)
from graphql.execution.values import VariableValues, get_argument_values

from models.reading.answer_size import AnswerTooLarge
from resolvers.compiled_fields import CompilationValues
from resolvers.result_builder import ResultBuilder
from schema.execution import ExecutionContext, Outcome, refused


def only_field(schema: GraphQLSchema, operation: OperationDefinitionNode) -> GraphQLField | None:
    """Return the only root field of a mutation; None if the executor must run the operation."""
    selections = operation.selection_set.selections
    node = selections[0]
    if len(selections) > 1 or not isinstance(node, FieldNode) or node.directives:
        return None
    assert schema.mutation_type is not None
    return schema.mutation_type.fields.get(node.name.value)


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

    __slots__ = ("_builder", "_field", "_fragments", "_key", "_node", "_operation")

    def __init__(
        self, schema: GraphQLSchema, operation: OperationDefinitionNode, values: CompilationValues, *, native: bool
    ) -> None:
        [node], field = operation.selection_set.selections, only_field(schema, operation)
        assert isinstance(node, FieldNode)
        assert field is not None
        self._key = (node.alias or node.name).value
        self._operation, self._field, self._node = operation, field, node
        self._fragments = values.fragments
        # Conversions are applied to the data of every mutation, compiled or not.
        self._builder = ResultBuilder(values, field.type, [node], native=native)

    async def run(self, context: ExecutionContext, variables: VariableValues) -> ExecutionResult | None:
        """Run the resolver; return the result, or None when the executor must complete it, whose context then has the outcome."""
        resolve, node = self._field.resolve, self._node
        assert resolve is not None
        info = MutationInfo(
            node.name.value, [node], self._field.type, self._fragments, self._operation, variables, context
        )
        context.readers = self._builder.records
        try:
            result = await resolve(None, info, **get_argument_values(self._field, node, variables))
        except AnswerTooLarge as error:
            return refused(error)
        except Exception as error:
            data = None if is_non_null_type(self._field.type) else {self._key: None}
            return ExecutionResult(data, [located_error(error, [node], [self._key])])
        try:
            return ExecutionResult({self._key: await self._builder.build(context.scope, result)}, None)
        except AnswerTooLarge as error:
            return refused(error)
        except Exception:
            # What has changed is changed: any failure to show it is the executor's to report, at its path.
            for link in context.links:
                link()
            context.outcome = Outcome(result)
            return None
