"""The facades' only entry point: execute an operation of the internal schema.

A facade loads its operations at startup (`load_operations`), calls `authorize` before it reads a body, then `execute`. Domain errors
raised by resolvers propagate unchanged, so that each family formats them in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from graphql import FieldNode, GraphQLError, GraphQLSchema, GraphQLSyntaxError, OperationType, parse
from graphql.language import DefinitionNode, FragmentDefinitionNode, OperationDefinitionNode

from auth.access import Access
from kernel.payload_fields import PayloadField
from kernel.product_fields import PRODUCT_RECORD
from kernel.record_conversion import Conversions
from kernel.scope import Scope
from resolvers import variable_errors
from resolvers.engine.executor import error_of
from resolvers.engine.prepare import PreparedDocument
from resolvers.engine.run import OperationExecutor
from resolvers.operation_variables import with_variables
from schema.fields import ACCESS, strawberry_field


@dataclass(frozen=True)
class FacadeOperation:
    """An operation of a facade; `fields` are the response keys of its root fields."""

    name: str
    prepared: PreparedDocument
    definition: OperationDefinitionNode
    access: tuple[Access, ...]
    fields: tuple[str, ...]
    is_mutation: bool


class InvalidOperation(RuntimeError):
    """Programming error: a facade's document is invalid."""


def load_operations(
    *folders: Path, documents: Callable[[GraphQLSchema], Mapping[str, str]] | None = None
) -> dict[str, FacadeOperation]:
    """Load the operations of all `.graphql` files in the folders and of `documents`, which share their fragments and `ProductRecord`.

    An operation that declares no variables has the arguments of its root fields (`resolvers.operation_variables`). `documents` generates
    further documents, by the name for errors. Raises `InvalidOperation` for a syntax error, a duplicate name or an unknown root field.
    Tests validate the rest (`tests/graphql/test_facade_operations.py`), which would take a fifth of the time of a start.
    """
    from resolvers.root import internal_schema

    schema = internal_schema()
    paths = (path for folder in folders for path in sorted(folder.glob("*.graphql")))
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in paths]
    if documents is not None:
        texts += documents(schema).items()
    fragments = {"ProductRecord": _fragment("ProductRecord", "Product", PRODUCT_RECORD)}
    operations: dict[str, OperationDefinitionNode] = {}
    sources: dict[str, str] = {}
    for source, text in texts:
        try:
            nodes = _parse(text)
        except GraphQLSyntaxError as error:
            raise InvalidOperation(f"{source}: {error.message}") from error
        for node in nodes:
            if isinstance(node, FragmentDefinitionNode):
                _add(fragments, node.name.value, node, source)
            elif isinstance(node, OperationDefinitionNode):
                if node.name is None:
                    raise InvalidOperation(f"{source}: an operation without a name")
                _add(operations, node.name.value, node, source)
                sources[node.name.value] = source
    return {name: _prepare_operation(schema, node, fragments, sources[name]) for name, node in operations.items()}


@cache
def _parse(text: str) -> Sequence[DefinitionNode]:
    """Parse a document of a facade, once for all applications of the process."""
    return parse(text, no_location=True).definitions


def with_conversions(operation: FacadeOperation, conversions: Conversions) -> FacadeOperation:
    """Return the operation with its records converted; `conversions` are by the path of the record, or list of records, in the data."""
    prepared = replace(operation.prepared, conversions=conversions, reusable_plans={}, plans_by_variables={})
    return replace(operation, prepared=prepared)


def _fragment(name: str, type_name: str, fields: Sequence[PayloadField]) -> FragmentDefinitionNode:
    """Build the fragment that selects a record's fields."""
    [definition] = _parse(f"fragment {name} on {type_name} {_selection(fields)}")
    assert isinstance(definition, FragmentDefinitionNode)
    return definition


def _selection(fields: Sequence[PayloadField]) -> str:
    names = (f"{field.name} {_selection(field.fields)}" if field.fields else field.name for field in fields)
    return f"{{ {' '.join(names)} }}"


def _add(definitions: dict[str, Any], name: str, node: Any, file: str) -> None:
    if name in definitions:
        raise InvalidOperation(f"{file}: {name} is defined twice")
    definitions[name] = node


def _prepare_operation(
    schema: GraphQLSchema, node: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode], source: str
) -> FacadeOperation:
    from graphql import DocumentNode

    needed: dict[str, FragmentDefinitionNode] = {}
    _collect_fragments(node.selection_set, fragments, needed)
    name = node.name.value if node.name else ""
    is_mutation = node.operation is OperationType.MUTATION
    root = schema.mutation_type if is_mutation else schema.query_type
    assert root is not None
    node = with_variables(node, root)
    document = DocumentNode(definitions=(node, *needed.values()))
    fields = [selection for selection in node.selection_set.selections if isinstance(selection, FieldNode)]
    access = []
    for selection in fields:
        if selection.name.value not in root.fields:
            raise InvalidOperation(f"{source}: {name}: the root field {selection.name.value} does not exist")
        declared = strawberry_field(root.fields[selection.name.value])
        if declared is not None and ACCESS in declared.metadata:
            access.append(declared.metadata[ACCESS])
    if is_mutation and len(fields) != 1:
        raise InvalidOperation(f"{source}: {name}: one request is one root mutation field is one transaction")
    return FacadeOperation(
        name,
        PreparedDocument(document, (), {name: node}),
        node,
        tuple(access),
        tuple((selection.alias or selection.name).value for selection in fields),
        is_mutation,
    )


def _collect_fragments(
    selection_set: Any, fragments: Mapping[str, FragmentDefinitionNode], needed: dict[str, FragmentDefinitionNode]
) -> None:
    for node in selection_set.selections:
        if node.kind == "fragment_spread":
            name = node.name.value
            if name not in needed:
                if name not in fragments:
                    raise InvalidOperation(f"the fragment {name} is not defined")
                needed[name] = fragments[name]
                _collect_fragments(fragments[name].selection_set, fragments, needed)
        elif node.selection_set is not None:
            _collect_fragments(node.selection_set, fragments, needed)


def authorize(scope: Scope, operation: FacadeOperation) -> Scope:
    """Return the scope of a caller who may execute the operation: checks the rules of its root fields, before the request is read."""
    for access in operation.access:
        access.check(scope)
    return scope


async def execute(
    scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Execute the operation and return its data.

    Raises the domain error of the first GraphQL error; an invalid variable raises `ValidationFailed`.
    """
    result = await _executor().execute(scope, operation.prepared, operation.definition, variables)
    if result.errors:
        raise _error_to_raise(result.errors)
    return result.data or {}


async def execute_field(scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any] | None = None) -> Any:
    """Execute the operation and return its first field; raises what `execute` does."""
    return (await execute(scope, operation, variables))[operation.fields[0]]


def _error_to_raise(errors: list[GraphQLError]) -> BaseException:
    for error in errors:
        domain_error = error_of(error)
        if domain_error is not None:
            return domain_error
    first = errors[0]
    if first.original_error is not None and not isinstance(first.original_error, GraphQLError):
        return first.original_error
    return variable_errors.to_validation_error(error.message for error in errors)


@lru_cache(maxsize=1)
def _executor() -> OperationExecutor:
    from resolvers.root import internal_schema

    return OperationExecutor(internal_schema(), public=False)
