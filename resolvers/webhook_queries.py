"""Webhook queries: a GraphQL selection of a webhook endpoint, such as `{ id total_cents customer { name } }`.

The query is executed as the app on the event's subject (`domain.event_types`) at delivery; its result becomes the event's `data`.
The limits of client documents apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from graphql import (
    FieldNode,
    OperationDefinitionNode,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    get_named_type,
    is_object_type,
    visit,
)

from domain import event_types
from domain.event_types import EVENT_TYPES, order_keys
from domain.stores import find_store
from domain.webhooks.claims import ClaimedDelivery
from domain.webhooks.event_scopes import as_app
from kernel.clock import now
from kernel.errors import DomainError, RuleViolation, TooComplex, ValidationFailed
from kernel.logging import request_id_from
from kernel.scope import SYSTEM, Scope, active_scope
from models.reading.answer_size import AnswerLimits, limited_answer
from models.reading.response_shapes import RelationField, ResponseField, row_fields
from resolvers.engine.compiled_fields import CompilationValues
from resolvers.engine.costs import calculate_cost
from resolvers.engine.executor import ExecutionContext, error_of, execute_document
from resolvers.engine.limits import check_cost
from resolvers.engine.prepare import DocumentCache, PreparedDocument, coerced_variables
from schema.fields import ACCESS, access_of, strawberry_field
from schema.selection import record_shape

# The root field of a subject of the outbox, if it isn't the one with its name.
SUBJECT_FIELDS = {event_types.STOCK: "product", event_types.CUSTOMER: "user"}
# A payload: an answer of a fraction of the limits of `/graphql`, which the worker sends at each attempt.
_LIMITS = AnswerLimits(max_objects=5_000, max_bytes=1024 * 1024)
_SAMPLE_VARIABLES = {"id": "00000000-0000-7000-8000-000000000000"}


def check_query(scope: Scope, query: str, names: Sequence[str]) -> None:
    """Validate a query for these events and the app in the scope.

    Raises `MissingScope` for fields the app may not read, otherwise `ValidationFailed` for the field `query`.
    """
    subjects = {_root_of(EVENT_TYPES[name].subject) for name in names}
    if len(subjects) > 1:
        raise _query_error(f"query fits one kind of subject; the events are about {' and '.join(sorted(subjects))}")
    try:
        prepared, operation = _prepare_query(subjects.pop(), query)
    except TooComplex as error:
        raise _query_error(f"query: {error.message}", "query_too_complex") from error
    assert prepared.document is not None
    type_info = TypeInfo(_documents().schema)
    visit(prepared.document, TypeInfoVisitor(type_info, _AccessVisitor(scope, type_info)))
    try:
        _check_relations(scope, _selected_fields(prepared, operation))
    except ValidationFailed as error:
        raise _query_error(f"query: {error.message}") from error


async def run_query(claimed: ClaimedDelivery) -> Mapping[str, Any]:
    """Return the data of a delivery by its endpoint's query, with the app's current access; a missing subject gets the stored event data.

    Raises the domain error of the query.
    """
    assert claimed.query is not None
    name = _root_of(claimed.subject_type)
    if not _is_root(name):
        return order_keys(claimed.name, claimed.data)
    prepared, _ = _prepare_query(name, claimed.query)
    platform = Scope(
        await find_store(claimed.store_id), SYSTEM, request_id_from(claimed.request_id), now(), family="graphql"
    )
    scope = as_app(platform, claimed.app_id, claimed.installation_id, claimed.scopes)
    with active_scope(scope), limited_answer(_LIMITS):
        result = await execute_document(
            _documents().schema, prepared, ExecutionContext(scope), {"id": str(claimed.subject_id)}
        )
    for error in result.errors or ():
        raise error_of(error) or RuleViolation(error.message)
    data: Mapping[str, Any] | None = (result.data or {}).get(name)
    return order_keys(claimed.name, claimed.data) if data is None else data


class _AccessVisitor(Visitor):
    """Check the access rules of all fields and types of a document, as at execution."""

    def __init__(self, scope: Scope, type_info: TypeInfo) -> None:
        super().__init__()
        self._scope = scope
        self._type_info = type_info

    def enter_field(self, *_: Any) -> None:
        field, type_ = self._type_info.get_field_def(), get_named_type(self._type_info.get_type())
        declared = strawberry_field(field) if field is not None else None
        if declared is not None and ACCESS in declared.metadata:
            declared.metadata[ACCESS].check(self._scope)
        if is_object_type(type_):
            access = access_of(type_)
            if access is not None:
                access.check(self._scope)


def _selected_fields(prepared: PreparedDocument, operation: OperationDefinitionNode) -> tuple[ResponseField, ...]:
    schema = _documents().schema
    [node] = operation.selection_set.selections
    variables = coerced_variables(schema, prepared, operation, _SAMPLE_VARIABLES)
    assert isinstance(node, FieldNode)
    assert schema.query_type is not None
    assert variables is not None
    type_ = get_named_type(schema.query_type.fields[node.name.value].type)
    return record_shape(CompilationValues(prepared.fragments, variables, {}), type_, [node]).fields


def _check_relations(scope: Scope, fields: tuple[ResponseField, ...]) -> None:
    """Raise the `DomainError` of a relation's size, filter, sort or cursor with which each delivery would fail."""
    for field in row_fields(fields):
        if isinstance(field, RelationField):
            if field.guard is not None:
                field.guard.check(scope)
            if field.page is not None:
                field.page.condition(scope)
            _check_relations(scope, field.shape.fields)


def _root_of(subject_type: str) -> str:
    return SUBJECT_FIELDS.get(subject_type, subject_type)


def _is_root(name: str) -> bool:
    query = _documents().schema.query_type
    return query is not None and name in query.fields


def _prepare_query(root: str, query: str) -> tuple[PreparedDocument, OperationDefinitionNode]:
    """Prepare the document that selects the query on the subject. Raises `ValidationFailed` and `TooComplex`."""
    documents = _documents()
    if not _is_root(root):
        raise _query_error(f"query: events about a {root} can't be queried")
    text = f"query ($id: ID!) {{ {root}(id: $id) {query}\n}}"
    prepared = documents.prepare_now(text)
    if prepared.errors:
        raise _query_error(f"query: {prepared.errors[0].message}")
    operation = prepared.operation(None)
    # A text that closes the selection early could add other fields or operations.
    if operation is None or prepared.document is None or len(prepared.document.definitions) != 1:
        raise _query_error("query is not one selection in braces")
    [selection, *others] = operation.selection_set.selections
    if others or not isinstance(selection, FieldNode) or selection.name.value != root or selection.directives:
        raise _query_error("query is not one selection in braces")
    check_cost(calculate_cost(documents.schema, prepared, operation, _SAMPLE_VARIABLES).fields)
    return prepared, operation


@lru_cache(maxsize=1)
def _documents() -> DocumentCache:
    from resolvers.root import public_schema

    return DocumentCache(public_schema())


def _query_error(message: str, code: str = "query_invalid") -> DomainError:
    return ValidationFailed(message, field="query", code=code)
