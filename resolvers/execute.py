"""The one door: execute an operation of the internal schema for a facade.

A facade loads its operations at start (`load`), asks `authorize` before it reads a body, and calls `execute`. Errors come out as the
refusals that were raised inside, so that each family writes them in its own form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphql import FieldNode, GraphQLError, OperationType, parse, validate
from graphql.language import FragmentDefinitionNode, OperationDefinitionNode

from auth.access import Access
from domain.idempotency import KeyClaim, current_claim, finish
from kernel.scope import Scope
from models.database import transaction
from models.shapes import NotCompiled
from resolvers import wrong_variables
from resolvers.compiled import Compiler
from schema.documents import Prepared
from schema.execution import ExecutionContext, error_of, run
from schema.fields import ACCESS, declared_field


@dataclass(frozen=True)
class FacadeOperation:
    """An operation that a facade may execute; `fields` are the aliases (or names) of its root fields."""

    name: str
    prepared: Prepared
    definition: OperationDefinitionNode
    access: tuple[Access, ...]
    fields: tuple[str, ...]
    is_mutation: bool


class UnknownOperation(RuntimeError):
    """Report a programming error: a facade's document does not fit the schema."""


def load(*folders: Path) -> dict[str, FacadeOperation]:
    """Load every operation of every `.graphql` file of the folders, fragments shared among them.

    Raises `UnknownOperation` for a document the internal schema does not validate, or two operations of one name.
    """
    from resolvers.root import internal_schema

    schema = internal_schema()
    paths = [path for folder in folders for path in sorted(folder.glob("*.graphql"))]
    fragments: dict[str, FragmentDefinitionNode] = {}
    operations: dict[str, OperationDefinitionNode] = {}
    for path in paths:
        for node in parse(path.read_text(encoding="utf-8"), no_location=True).definitions:
            if isinstance(node, FragmentDefinitionNode):
                _add(fragments, node.name.value, node, path.name)
            elif isinstance(node, OperationDefinitionNode):
                if node.name is None:
                    raise UnknownOperation(f"{path.name}: an operation without a name")
                _add(operations, node.name.value, node, path.name)
    return {name: _prepared(schema, node, fragments) for name, node in operations.items()}


def _add(kept: dict[str, Any], name: str, node: Any, file: str) -> None:
    if name in kept:
        raise UnknownOperation(f"{file}: {name} is defined twice")
    kept[name] = node


def _prepared(
    schema: Any, node: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> FacadeOperation:
    from graphql import DocumentNode

    needed: dict[str, FragmentDefinitionNode] = {}
    _collect(node.selection_set, fragments, needed)
    document = DocumentNode(definitions=(node, *needed.values()))
    name = node.name.value if node.name else ""
    problems = validate(schema, document)
    if problems:
        raise UnknownOperation(f"{name}: {problems[0].message}")
    is_mutation = node.operation is OperationType.MUTATION
    root = schema.mutation_type if is_mutation else schema.query_type
    fields = [selection for selection in node.selection_set.selections if isinstance(selection, FieldNode)]
    access = []
    for selection in fields:
        declared = declared_field(root.fields[selection.name.value])
        if declared is not None and ACCESS in declared.metadata:
            access.append(declared.metadata[ACCESS])
    if is_mutation and len(fields) != 1:
        raise UnknownOperation(f"{name}: one request is one root mutation field is one transaction")
    return FacadeOperation(
        name,
        Prepared(document, (), {name: node}),
        node,
        tuple(access),
        tuple((selection.alias or selection.name).value for selection in fields),
        is_mutation,
    )


def _collect(
    selection_set: Any,
    fragments: Mapping[str, FragmentDefinitionNode],
    needed: dict[str, FragmentDefinitionNode],
) -> None:
    for node in selection_set.selections:
        if node.kind == "fragment_spread":
            name = node.name.value
            if name not in needed:
                if name not in fragments:
                    raise UnknownOperation(f"the fragment {name} is not defined")
                needed[name] = fragments[name]
                _collect(fragments[name].selection_set, fragments, needed)
        elif node.selection_set is not None:
            _collect(node.selection_set, fragments, needed)


def authorize(scope: Scope, operation: FacadeOperation) -> None:
    """Refuse a caller the operation's root fields would refuse, before anything of the request is read."""
    for access in operation.access:
        access.check(scope)


async def execute(
    scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Execute the operation and give its data.

    Raises the refusal behind the first error; a variable of a wrong type is `ValidationFailed`.
    """
    compiled = _compiler().get(operation.prepared, operation.definition, variables)
    if compiled is not None:
        try:
            return await compiled.run(scope)
        except NotCompiled:
            pass  # the executor answers, errors and all
    claim = current_claim() if operation.is_mutation else None
    if claim is None:
        return await _executed(scope, operation, variables)
    return await _executed_once(scope, operation, variables, claim)


async def _executed_once(
    scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any] | None, claim: KeyClaim
) -> dict[str, Any]:
    """Execute a mutation that bears an Idempotency-Key: effect and key are done in one transaction, or neither."""
    if claim.result is not None:
        return dict(claim.result)
    async with transaction(scope):
        data = await _executed(scope, operation, variables)
        await finish(scope, claim, data)
    return data


async def _executed(
    scope: Scope, operation: FacadeOperation, variables: Mapping[str, Any] | None
) -> dict[str, Any]:
    call = ExecutionContext(scope, public=False)
    result = await run(_schema(), operation.prepared, call, variables)
    if result.errors:
        raise _raised(result.errors)
    return result.data or {}


def _raised(errors: list[GraphQLError]) -> BaseException:
    for error in errors:
        refusal = error_of(error)
        if refusal is not None:
            return refusal
    first = errors[0]
    if first.original_error is not None and not isinstance(first.original_error, GraphQLError):
        return first.original_error
    return wrong_variables.error_of(error.message for error in errors)


@lru_cache(maxsize=1)
def _schema() -> Any:
    from resolvers.root import internal_schema

    return internal_schema()


@lru_cache(maxsize=1)
def _compiler() -> Compiler:
    # Facades reshape the data, so it is plain: no moments, no JSON passed through.
    return Compiler(_schema(), native=False)
