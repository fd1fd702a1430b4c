"""Let a subscription say what it wants to be told, as a GraphQL selection: `{ id total_cents customer { name } }`.

It is run as the app, on the subject of the event (the order, the product, the user), when the event is delivered; what it gives
becomes `data`. It is bound by the limits of what clients send.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from graphql import FieldNode, TypeInfo, TypeInfoVisitor, Visitor, get_named_type, is_object_type, visit

from domain import events
from domain.stores import find_store
from domain.webhooks.claims import Claimed
from domain.webhooks.rights import as_app
from domain.webhooks.shapes import in_order
from kernel.clock import now
from kernel.errors import DomainError, RuleViolation, TooComplex, ValidationFailed
from kernel.ids import request_id_from
from kernel.scope import SYSTEM, Scope, entered
from schema.documents import Documents, Prepared, check_cost, cost_of
from schema.execution import ExecutionContext, error_of, run
from schema.fields import ACCESS, access_of, declared_field

# How a subject is asked for, by the words of the outbox.
ROOTS = {events.ORDER: "order", events.PRODUCT: "product", events.USER: "user", events.CART: "cart"}
_SUBJECTS = {name: name.partition(".")[0] for name in events.NAMES} | {events.CHECKOUT_COMPLETED: events.CART}
_NOBODY = {"id": "00000000-0000-7000-8000-000000000000"}


def check(scope: Scope, query: str, names: Sequence[str]) -> None:
    """Refuse a query that can't be run for these events, as the app in the scope.

    Raises `MissingScope` for what the app may not see, `ValidationFailed` naming `query` for the rest.
    """
    subjects = {_SUBJECTS[name] for name in names}
    if len(subjects) > 1:
        raise _wrong(f"query fits one kind of subject; the events are about {' and '.join(sorted(subjects))}")
    try:
        prepared = _prepared(ROOTS[subjects.pop()], query)
    except TooComplex as error:
        raise _wrong(f"query: {error.message}", "query_too_complex") from error
    assert prepared.document is not None
    seen = TypeInfo(_documents().schema)
    visit(prepared.document, TypeInfoVisitor(seen, _Rights(scope, seen)))


async def selected(claimed: Claimed) -> Mapping[str, Any]:
    """Give the data of a delivery by its endpoint's query, as the app may see it now; what is gone is told as it was kept.

    Raises the refusal that the query meets.
    """
    assert claimed.query is not None
    name = ROOTS.get(claimed.subject_type)
    if name is None:
        return in_order(claimed.name, claimed.data)
    prepared = _prepared(name, claimed.query)
    platform = Scope(
        await find_store(claimed.store_number),
        SYSTEM,
        request_id_from(claimed.request_id),
        now(),
        family="graphql",
    )
    scope = as_app(platform, claimed.app, claimed.installation, claimed.scopes)
    with entered(scope):
        result = await run(
            _documents().schema, prepared, ExecutionContext(scope), {"id": str(claimed.subject_id)}
        )
    for error in result.errors or ():
        raise error_of(error) or RuleViolation(error.message)
    found: Mapping[str, Any] | None = (result.data or {}).get(name)
    return in_order(claimed.name, claimed.data) if found is None else found


class _Rights(Visitor):
    """Ask every field and type of a document whether the caller may see it, as they are asked when it is run."""

    def __init__(self, scope: Scope, seen: TypeInfo) -> None:
        super().__init__()
        self._scope = scope
        self._seen = seen

    def enter_field(self, *_: Any) -> None:
        field, type_ = self._seen.get_field_def(), get_named_type(self._seen.get_type())
        declared = declared_field(field) if field is not None else None
        if declared is not None and ACCESS in declared.metadata:
            declared.metadata[ACCESS].check(self._scope)
        if is_object_type(type_):
            access = access_of(type_)
            if access is not None:
                access.check(self._scope)


def _prepared(root: str, query: str) -> Prepared:
    """Prepare the document that asks for the subject; raises `ValidationFailed` and `TooComplex`."""
    documents = _documents()
    if documents.schema.query_type is None or root not in documents.schema.query_type.fields:
        raise _wrong(f"query: events about a {root} can't be queried")
    text = f"query ($id: ID!) {{ {root}(id: $id) {query}\n}}"
    prepared = documents.get(text, _NOBODY)
    if prepared.errors:
        raise _wrong(f"query: {prepared.errors[0].message}")
    operation = prepared.operation(None)
    # A text that closes the selection and goes on would ask for something else as well.
    if operation is None or prepared.document is None or len(prepared.document.definitions) != 1:
        raise _wrong("query is not one selection in braces")
    selections = operation.selection_set.selections
    if len(selections) != 1 or not isinstance(selections[0], FieldNode) or selections[0].name.value != root:
        raise _wrong("query is not one selection in braces")
    check_cost(cost_of(documents.schema, prepared, operation, _NOBODY))
    return prepared


@lru_cache(maxsize=1)
def _documents() -> Documents:
    from resolvers.root import public_schema

    return Documents(public_schema())


def _wrong(message: str, code: str = "query_invalid") -> DomainError:
    return ValidationFailed(message, field="query", code=code)
