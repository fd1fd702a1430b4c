"""Resolve the event feed, as pages and as a subscription."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from graphql import FieldNode, GraphQLError, GraphQLSchema, NameNode, OperationDefinitionNode
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values
from strawberry import Info

from auth.access import Access
from domain import event_feed
from domain.event_feed import ACCESS, FeedEvent
from domain.orders.own_updates import OwnOrders
from domain.payments.orders import PaymentsOfOrder
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.connection import database
from models.reading.queries import Row
from models.reading.row_reads import link_rows
from resolvers.engine.compiled_fields import CompilationValues
from resolvers.engine.compiled_results import RESULT, ResultField
from resolvers.engine.prepare import MAX_ERRORS, PreparedDocument
from resolvers.engine.validation_rules import without_values
from schema.declaration import declare
from schema.fields import ACCESS as FIELD_ACCESS
from schema.fields import root_field, strawberry_field
from schema.pagination import check_page_bounds
from schema.selection import collect_fields, selected_relations
from schema.types.events import SUBJECTS, EventConnectionObject, EventObject

DEFAULT_PAGE_SIZE = 100
PAYMENT_CHANGED = "payment_changed"
"""The subscription of shoppers, to what happens to the payments of an order (`resolvers.payments`)."""
ORDER_UPDATED = "order_updated"
"""The subscription of customers, to the changes of their own orders (`resolvers.orders`)."""
ShoppersEvents: TypeAlias = PaymentsOfOrder | OwnOrders
"""What a shopper follows without the right to read the event feed: the names of the events, and which of them it sees."""
_FIND_SUBJECTS = "SELECT public_id, id FROM {table} WHERE tenant_id = $1 AND public_id = ANY($2::uuid[])"


async def _load_page(
    scope: Scope, after: str | None = None, types: list[str] | None = None, first: int = DEFAULT_PAGE_SIZE
) -> Row:
    """Return a page of the feed as the connection shows it, without the subjects of its events."""
    check_page_bounds(first, 0, event_feed.MAX_PAGE_SIZE, "first")
    names = event_feed.readable_events(scope, types)
    page = await event_feed.read_page(scope, await event_feed.start_position(scope, after), names, first)
    rows = [_row(scope, event) for event in page.events]
    end_cursor = event_feed.encode_cursor(scope.store, page.end)
    return Row(
        edges=[Row(cursor=row["cursor"], node=row) for row in rows],
        total_count=None,  # the feed has no end
        page_info=Row(
            has_next_page=page.has_more,
            has_previous_page=False,
            start_cursor=rows[0]["cursor"] if rows else end_cursor,
            end_cursor=end_cursor,
        ),
    )


def _row(scope: Scope, event: FeedEvent) -> Row:
    record = event.record(scope.store)
    del record["timestamp"]
    return Row(record, created_at=event.at)


async def _link_page(scope: Scope, page: Row, names: Collection[str]) -> None:
    await _link_subjects(scope, [edge["node"] for edge in page["edges"]], names)


async def _link_subjects(scope: Scope, rows: Sequence[Row], names: Collection[str]) -> None:
    """Set the ids of the records that events are about, under these of the names in `SUBJECTS`, with a statement for each."""
    for name, (table, types) in SUBJECTS.items():
        if name not in names:
            continue
        ids = list({row["subject_id"] for row in rows if row["subject_type"] in types})
        subjects = await database.fetch(_FIND_SUBJECTS.format(table=table), scope.store.id, ids) if ids else ()
        numbers = {str(subject["public_id"]): subject["id"] for subject in subjects}
        for row in rows:
            row[name] = numbers.get(row["subject_id"]) if row["subject_type"] in types else None


async def _load_subjects(info: Info, rows: Sequence[Row], *path: str) -> None:
    """Set the selected records that the events are about, for the executor."""
    relations = selected_relations(info, *path)
    await _link_subjects(info.context.scope, rows, {relation.key for relation in relations})
    link_rows(info.context.scope, rows, relations)


@declare
class EventQueries:
    """The event feed."""

    @root_field(ACCESS, metadata={RESULT: ResultField(ACCESS, _load_page, link=_link_page, writes=True)})
    async def events(
        self, info: Info, after: str | None = None, types: list[str] | None = None, first: int = DEFAULT_PAGE_SIZE
    ) -> EventConnectionObject:
        """Return events of the store in the order of the event feed, after a cursor. `page_info.end_cursor` is how far was read, also
        without events; it continues the feed, at once while `has_next_page` is true, and later.
        """
        page = await _load_page(info.context.scope, after, types, first)
        await _load_subjects(info, [edge["node"] for edge in page["edges"]], "edges", "node")
        return page  # type: ignore[return-value]


@declare
class EventSubscriptions:
    """The event feed, event by event."""

    @root_field(
        ACCESS,
        "Sends events of the store as they happen, in the order of the event feed: after a cursor, by default from now on. Sent over"
        " Server-Sent Events or WebSockets (docs/reference/graphql.md#subscriptions).",
    )
    async def events(self, info: Info, after: str | None = None, types: list[str] | None = None) -> EventObject:
        """Return the event of one execution, its root value: the stream chose it by the arguments (`subscribed_arguments`)."""
        row = _row(info.context.scope, info.root_value)
        await _load_subjects(info, [row])
        return row  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class StreamArguments:
    """What a subscription reads: events after a cursor, of these types, or those that a shopper follows; `access` is its field's rule."""

    access: Access
    after: str | None = None
    types: Sequence[str] | None = None
    shoppers: ShoppersEvents | None = None


def subscribed_arguments(
    schema: GraphQLSchema, prepared: PreparedDocument, operation: OperationDefinitionNode, variables: Mapping[str, Any]
) -> StreamArguments:
    """Return the arguments of a valid subscription; raises `ValidationFailed` for its variables and without a field."""
    root = schema.subscription_type
    assert root is not None
    values = get_variable_values(schema, operation.variable_definitions or (), dict(variables), MAX_ERRORS)
    if not isinstance(values, VariableValues):
        raise ValidationFailed(without_values(values[0].message))
    root_node = FieldNode(name=NameNode(value=""), selection_set=operation.selection_set)
    selected = collect_fields(CompilationValues(prepared.fragments, values, {}), root, [root_node])
    if not selected:
        raise ValidationFailed("the subscription selects no field")
    [[node, *_]] = selected.values()
    try:
        arguments = get_argument_values(root.fields[node.name.value], node, values)
    except GraphQLError as error:
        raise ValidationFailed(without_values(error.message)) from error
    declared = strawberry_field(root.fields[node.name.value])
    assert declared is not None
    access = declared.metadata[FIELD_ACCESS]
    if node.name.value == PAYMENT_CHANGED:
        return StreamArguments(access, shoppers=PaymentsOfOrder(arguments["order_id"], arguments.get("token")))
    if node.name.value == ORDER_UPDATED:
        return StreamArguments(access, shoppers=OwnOrders())
    return StreamArguments(access, arguments.get("after"), arguments.get("types"))


QUERIES = (EventQueries,)
SUBSCRIPTIONS = (EventSubscriptions,)
