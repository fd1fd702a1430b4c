"""Connections: keyset pagination in both directions, of root lists and of relations (docs/reference/graphql.md#pagination)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.reading.queries import Condition, Entity, Row, Sort
from schema.cursors import KeysetOrder
from schema.filters import build_conditions, column_guards
from schema.pagination import DEFAULT_PAGE_SIZE, check_page_bounds

Layout: TypeAlias = list[tuple[str, str, "Layout | None"]]
"""The fields of an object around records in the order of the response: response key, name, and the fields of a nested object."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The evaluated arguments of a connection: `limit` records, counted from the end if it `is_backward`."""

    limit: int
    is_backward: bool
    after: str | None
    before: str | None

    @classmethod
    def of(cls, arguments: Mapping[str, Any], maximum: int) -> PageRequest:
        """Read `first`, `after`, `last` and `before`; raise `ValidationFailed` for sizes outside 0 to `maximum`, and two sizes."""
        first, last = arguments.get("first"), arguments.get("last")
        if first is not None and last is not None:
            raise ValidationFailed("expected first or last, not both", field="last")
        size, name = (last, "last") if last is not None else (first, "first")
        limit: int = DEFAULT_PAGE_SIZE if size is None else size
        check_page_bounds(limit, 0, maximum, name)
        return cls(limit, last is not None, arguments.get("after"), arguments.get("before"))

    def conditions(self, scope: Scope, order: KeysetOrder) -> list[Condition]:
        """Return the conditions for the rows between the cursors."""
        cursors = (("after", self.after), ("before", self.before))
        return [order.beyond(scope, argument, cursor) for argument, cursor in cursors if cursor is not None]

    def sort_name(self, order: KeysetOrder) -> str:
        """Return the name of the order in which the rows are read: the first ones of the page come first."""
        return order.reversed_name() if self.is_backward else order.name

    def connection(
        self,
        order: KeysetOrder,
        rows: Sequence[tuple[Any, tuple[Any, int]]],
        *,
        with_cursors: bool = True,
        total_count: int | None = None,
    ) -> Row:
        """Build the connection from the rows with their sort key and id, in the order they were read: one more than `limit` at most.

        Without cursors, which are encrypted one by one, only the page has its first and last.
        """
        has_more = len(rows) > self.limit
        page = list(rows[: self.limit])
        if self.is_backward:
            page.reverse()
        edges = [Row(cursor=order.encode(*key) if with_cursors else None, node=row) for row, key in page]
        return Row(
            edges=edges,
            total_count=total_count,
            page_info=Row(
                has_next_page=self.before is not None if self.is_backward else has_more,
                has_previous_page=has_more if self.is_backward else self.after is not None,
                start_cursor=order.encode(*page[0][1]) if page else None,
                end_cursor=order.encode(*page[-1][1]) if page else None,
            ),
        )


@dataclass(frozen=True)
class RelatedConnection:
    """A connection of related rows (`models.reading.response_shapes.RelatedPage`).

    `narrow` are the conditions that the caller's arguments set; `layout` is the form of the result in a response, None for the executor's.
    """

    request: PageRequest
    order: KeysetOrder
    narrow: Callable[[Scope], list[Condition]]
    layout: Layout | None = None

    def condition(self, scope: Scope) -> Condition | None:
        """Return the condition for the rows that the arguments select."""
        conditions = [*self.narrow(scope), *self.request.conditions(scope, self.order)]
        if not conditions:
            return None
        params = tuple(value for condition in conditions for value in condition.params)
        return Condition(" AND ".join([f"({condition.sql})" for condition in conditions]), params)

    def key(self, scope: Scope) -> Condition:
        """Return the expression of the sort key."""
        return self.order.sort.expression(scope)

    def order_by(self, scope: Scope) -> Condition:
        """Return the order in which the rows are read."""
        direction = " DESC" if self.request.sort_name(self.order).startswith("-") else ""
        expression = self.key(scope)
        return Condition(f"{expression.sql}{direction}, t.id{direction}", expression.params)

    def build(self, rows: Sequence[tuple[Any, tuple[Any, int]]]) -> Any:
        """Build the connection of one parent."""
        if self.layout is None:
            return self.request.connection(self.order, rows)
        connection = self.request.connection(self.order, rows, with_cursors=has_cursors(self.layout))
        return arrange(self.layout, connection)


def related_connection(
    node: type, entity: Entity, own_order: tuple[str, Sort], request: PageRequest, arguments: Mapping[str, Any]
) -> RelatedConnection:
    """Return the connection that a field's arguments request; `node` is the class of its records, `own_order` its default order."""
    guards = column_guards(node, entity)
    sort = arguments.get("sort")
    name: str | None = getattr(sort, "value", sort)
    order = KeysetOrder(entity.table, *own_order) if name is None else KeysetOrder.of(entity, name)

    def narrow(scope: Scope) -> list[Condition]:
        guards.check_sort(scope, name)
        return build_conditions(scope, entity, guards, arguments.get("filter"))

    return RelatedConnection(request, order, narrow)


def has_cursors(layout: Layout) -> bool:
    """Return whether the layout of a connection has a cursor for each record."""
    return any(source == "cursor" for _, name, nested in layout if name == "edges" for _, source, _ in nested or ())


def arrange(layout: Layout, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object with the values in the order of the response."""
    data: dict[str, Any] = {}
    for key, name, nested in layout:
        if nested is None:
            data[key] = values[name] if name[0] != "=" else name[1:]
        elif isinstance(value := values[name], list):
            if all(inner is None and source[0] != "=" for _, source, inner in nested):
                data[key] = [{shown: item[source] for shown, source, _ in nested} for item in value]
            else:
                data[key] = [arrange(nested, item) for item in value]
        else:
            data[key] = arrange(nested, value)
    return data
