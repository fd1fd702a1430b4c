"""Bulk queries: a query without pages, whose lists and connections are read to their end (docs/reference/bulk.md#bulk-queries).

`compile_query` checks a document when the operation is created, and again when a worker executes it, `run` writes its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from time import monotonic
from typing import Any

from graphql import (
    FieldNode,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    NameNode,
    OperationDefinitionNode,
    OperationType,
    get_named_type,
)
from graphql.execution.values import VariableValues, get_argument_values

from domain.bulk import operations
from domain.bulk.files import ResultFile
from domain.bulk.operations import BulkProgress, ClaimedOperation
from kernel.errors import DomainError, RateLimited, RuleViolation, TooComplex, ValidationFailed
from kernel.scope import Scope
from models.reading.bulk_reads import BulkReader, deeper_connections, has_public_id, is_connection
from models.reading.response_shapes import NotCompiled, RelationField, ResponseShape
from models.reading.snapshots import snapshot
from resolvers.engine.compiled_fields import CompilationValues
from resolvers.engine.costs import calculate_cost
from resolvers.engine.limits import check_cost
from resolvers.engine.prepare import DocumentCache, PreparedDocument
from resolvers.entity_queries import ENTITY_QUERY, EntityQuery
from schema.connections import PageRequest, RelatedConnection
from schema.fields import strawberry_field
from schema.filters import sort_name
from schema.pagination import DEFAULT_PAGE_SIZE
from schema.selection import collect_fields, response_shape, wrapped_records

REPORT_SECONDS = 2.0
MAX_ROOT_FIELDS = 5
_LIST, _CONNECTION = "list", "connection"
_PAGE_ARGUMENTS = ("limit", "offset", "first", "last", "after", "before")
_NO_VARIABLES = VariableValues({}, {})
_WHOLE = PageRequest(DEFAULT_PAGE_SIZE, False, None, None)


@dataclass(frozen=True, slots=True)
class BulkField:
    """A root field of a bulk query."""

    query: EntityQuery
    arguments: Mapping[str, Any]
    reader: BulkReader

    def check(self, scope: Scope) -> None:
        """Raise the `DomainError` of what the caller may not read, or of an argument."""
        self.query.access.check(scope)
        if self.query.kind == _CONNECTION:
            is_paged = self.query.evaluate_connection(scope, self.arguments).page != _WHOLE
        else:
            request = self.query.evaluate(scope, self.arguments)
            is_paged = (request.limit, request.offset) != (DEFAULT_PAGE_SIZE, 0)
        if is_paged:
            raise query_error("a bulk query reads all records; leave out limit, offset, first, last, after and before")
        try:
            self.reader.check(scope)
        except NotCompiled as error:
            raise _cause(error) from error

    def read(self, scope: Scope) -> Any:
        """Yield the `Lines` of all records, in the open transaction."""
        sort = sort_name(scope, self.query.guards, self.arguments.get("sort"))
        return self.reader.read(scope, self._conditions(scope), sort)

    def _conditions(self, scope: Scope) -> Any:
        evaluate = self.query.evaluate_connection if self.query.kind == _CONNECTION else self.query.evaluate
        return evaluate(scope, self.arguments).conditions


def query_error(message: str, code: str = "query_invalid", *, field: str = "query") -> ValidationFailed:
    """Return the error of a document that can't be executed in bulk; `field` is the argument with the document."""
    return ValidationFailed(f"{field}: {message}", field=field, code=code)


# --- Compiling --------------------------------------------------------------------------------------------------------


async def compile_query(scope: Scope, text: str) -> list[BulkField]:
    """Return the root fields of a bulk query that the caller may read.

    Raise `ValidationFailed` for the field `query`, and the error of what the caller may not read.
    """
    prepared, operation = await prepare_operation(text, OperationType.QUERY)
    if operation.variable_definitions:
        raise query_error("a bulk query has no variables; write their values into the document")
    values = CompilationValues(prepared.fragments, _NO_VARIABLES, {})
    root = documents().schema.query_type
    assert root is not None
    root_node = FieldNode(name=NameNode(value=""), selection_set=operation.selection_set)
    groups = collect_fields(values, root, [root_node])
    if not 1 <= len(groups) <= MAX_ROOT_FIELDS:
        raise query_error(f"a bulk query has 1 to {MAX_ROOT_FIELDS} root fields, not {len(groups)}")
    try:
        fields = [_compile_field(values, root, nodes) for nodes in groups.values()]
        for field in fields:
            field.check(scope)
    except ValidationFailed as error:
        if error.field in _PAGE_ARGUMENTS:
            raise query_error(error.message) from error
        raise
    return fields


async def prepare_operation(text: str, kind: OperationType) -> tuple[PreparedDocument, OperationDefinitionNode]:
    """Return the valid document and its only operation. Raise `ValidationFailed` for any other, with the first error of validation."""
    field = kind.value
    try:
        prepared = await documents().prepare(text)
        if prepared.errors:
            raise query_error(prepared.errors[0].message, field=field)
        operation = prepared.operation(None)
        if operation is None:
            raise query_error(f"expected one operation, not {len(prepared.operations)}", field=field)
        if operation.operation is not kind:
            raise query_error(f"expected a {kind.value}, not a {operation.operation.value}", field=field)
        check_cost(calculate_cost(documents().schema, prepared, operation, {}).fields)
    except TooComplex as error:
        raise query_error(error.message, "query_too_complex", field=field) from error
    return prepared, operation


@lru_cache(maxsize=1)
def documents() -> DocumentCache:
    """Return the documents of bulk operations, which are those of clients."""
    from resolvers.root import public_schema

    return DocumentCache(public_schema())


def _compile_field(values: CompilationValues, root: GraphQLObjectType, nodes: list[FieldNode]) -> BulkField:
    name = nodes[0].name.value
    field = root.fields.get(name)
    declared = strawberry_field(field) if field is not None else None
    query: EntityQuery | None = declared.metadata.get(ENTITY_QUERY) if declared is not None else None
    if field is None or query is None or query.kind not in (_LIST, _CONNECTION):
        raise query_error(f"{name} is not a list or connection of records")
    try:
        shape = _shape(values, field, query, nodes)
        _check_shape(name, shape)
        arguments = get_argument_values(field, nodes[0], _NO_VARIABLES)
        return BulkField(query, arguments, BulkReader(shape))
    except GraphQLError as error:
        raise query_error(f"{error.message}") from error
    except NotCompiled as error:
        raise query_error(f"{name} has a field that can't be read in bulk, such as processor_params") from error


def _shape(values: CompilationValues, field: GraphQLField, query: EntityQuery, nodes: list[FieldNode]) -> ResponseShape:
    type_ = get_named_type(field.type)
    assert isinstance(type_, GraphQLObjectType)
    if query.kind == _LIST:
        return response_shape(values, type_, nodes)
    records, _ = wrapped_records(values, type_, nodes)
    if records is None:
        raise query_error(f"{nodes[0].name.value} selects no records; select edges {{ node {{ … }} }}")
    return response_shape(values, records.type_, records.nodes)


def _check_shape(name: str, shape: ResponseShape) -> None:
    """Raise `ValidationFailed` unless the connections are those of the records themselves, whole, and the records have ids."""
    connections = [field for field in shape.fields if isinstance(field, RelationField) and is_connection(field)]
    for key in deeper_connections(shape.fields):
        raise query_error(f"the connection {key} is nested too deep; expected it in the records of {name}")
    for field in connections:
        assert isinstance(field.page, RelatedConnection)
        if field.page.request != _WHOLE:
            raise query_error(f"a bulk query reads all records; leave out first, last, after and before of {field.key}")
        if not field.shape.fields:
            raise query_error(f"{field.key} selects no records; select edges {{ node {{ … }} }}")
    if connections and not has_public_id(shape):
        raise query_error(f"select the id of {name}, to which the lines of {connections[0].key} refer")


def _cause(error: NotCompiled) -> DomainError:
    """Return the error of a record or caller that the executor would report."""
    cause = error.__cause__
    return cause if isinstance(cause, DomainError) else RuleViolation("a record can't be read: a value is missing")


# --- Executing --------------------------------------------------------------------------------------------------------


async def run(scope: Scope, operation: ClaimedOperation, progress: BulkProgress) -> None:
    """Execute a bulk query of the caller in the scope: write its result and end it, all of it in one snapshot.

    Raise the `DomainError` that stops it, `Cancelled`, or `ClaimLost`; then there is no result.
    """
    await operations.report(scope, operation, progress)  # it begins again: what it had before doesn't count
    fields = await compile_query(scope, operation.document)
    allowance = await operations.rows_left(scope)
    file = ResultFile(scope.store.public_id, operation.public_id, operation.claim)
    try:
        async with snapshot(scope):
            await _write(scope, operation, fields, file, progress, allowance)
        await operations.with_lease(scope, operation, progress, file.complete())
        await operations.end(scope, operation, "completed", progress)
    except NotCompiled as error:
        raise _cause(error) from error
    finally:
        await file.discard()


async def _write(
    scope: Scope,
    operation: ClaimedOperation,
    fields: list[BulkField],
    file: ResultFile,
    progress: BulkProgress,
    allowance: int | None,
) -> None:
    reported_at = 0.0
    for field in fields:
        async for lines in field.read(scope):
            await file.write(lines.content)
            progress.object_count += lines.count
            progress.root_object_count += lines.count * lines.is_root
            progress.file_size = file.size
            if allowance is not None and progress.object_count > allowance:
                raise RateLimited(f"the result has more than the {allowance} rows that are left of today")
            if monotonic() - reported_at >= REPORT_SECONDS:
                await operations.report(scope, operation, progress)
                await operations.check_rights(scope, operation)
                reported_at = monotonic()
