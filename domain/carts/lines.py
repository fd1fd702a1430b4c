"""Add, change and remove lines of a cart, any number in one transaction: all of them or none, in a constant number of statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import orjson

from domain.carts.change import check_caller, complete, complete_change, insert_items
from domain.carts.locked import lock_open_cart
from domain.carts.requested_items import (
    MAX_ITEMS,
    RequestedItem,
    checked_quantity,
    parse_items,
    prefixed_errors,
    read_items,
    read_quantity,
    sum_items,
    too_many_items_error,
)
from domain.purchase.draft import MAX_UNITS
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import InputField, InputValues, integer, read_fields
from kernel.ids import parse_uuid
from kernel.scope import Scope
from models.connection.database import Plans, execute, fetch, transaction

_CHANGED_QUANTITY: Mapping[str, InputField] = {
    "quantity": InputField("quantity", integer(0, MAX_UNITS), code="quantity_invalid")
}

_LINES = """
SELECT i.id, i.public_id, i.product_id, p.public_id AS product_public_id, i.quantity, i.options::text AS options, i.options_key
FROM cart_items i JOIN products p ON p.tenant_id = i.tenant_id AND p.id = i.product_id
WHERE i.tenant_id = $1 AND i.cart_id = $2 ORDER BY i.id
"""
_DELETE = (
    "DELETE FROM cart_items WHERE tenant_id = $1 AND cart_id = $2 AND public_id = ANY($3::uuid[]) RETURNING public_id"
)
# Two lines that exchange their choices would for a moment have the same one.
_FREE_CHOICES = (
    "UPDATE cart_items SET options_key = 'line ' || id WHERE tenant_id = $1 AND cart_id = $2 AND id = ANY($3::bigint[])"
)
# The customer has seen the price of each line that a request names.
_UPDATE = """
UPDATE cart_items i SET quantity = w.quantity, options = w.options::jsonb, options_key = w.options_key, added_price_cents = NULL
FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[]) AS w (id, quantity, options, options_key)
WHERE i.tenant_id = $1 AND i.cart_id = $2 AND i.id = w.id
"""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as it is stored; `options` is JSON."""

    id: int
    public_id: UUID
    product_id: int
    product_public_id: UUID
    quantity: int
    options: str
    options_key: str


async def add_item(scope: Scope, cart: object, values: InputValues) -> dict[str, Any]:
    """Add units of a product or combination to a cart; the quantity of an identical line increases."""
    check_caller(scope)
    return await _add(scope, cart, await parse_items(scope, [values], cart=cart))


async def add_items(scope: Scope, cart: object, values: Sequence[InputValues]) -> dict[str, Any]:
    """Add lines to a cart as `add_item` does; errors name the place of the line."""
    check_caller(scope)
    return await _add(scope, cart, sum_items(await read_items(scope, values, _fields(values), cart=cart), "items"))


async def update_item(scope: Scope, cart: object, item: object, values: InputValues) -> dict[str, Any]:
    """Set the quantity of a line, 1 or more."""
    check_caller(scope)
    return await update_items(scope, cart, [{"id": item, "quantity": read_quantity(values)}])


async def update_items(scope: Scope, cart: object, values: Sequence[InputValues]) -> dict[str, Any]:
    """Change lines `[{id, quantity?, combination_id?, options?}]`: a quantity of 0 removes, a combination or options replace the choice.

    Lines that become equal are one afterwards, the one added first, with the sum of their quantities. Raises what `read_items` does, and
    NotFound for a line that the cart doesn't have.
    """
    check_caller(scope)
    quantities = _read_quantities(values)
    async with transaction(scope, Plans.REUSED):
        locked = await lock_open_cart(scope, cart)
        before = [_Line(*row) for row in await fetch(_LINES, scope.store.id, locked.id)]
        lines: dict[UUID | None, _Line] = {line.public_id: line for line in before}
        if not lines.keys() >= quantities.keys():
            raise NotFound("item")
        for number, quantity in quantities.items():
            lines[number] = replace(lines[number], quantity=lines[number].quantity if quantity is None else quantity)
        lines |= await _with_choices(scope, locked.public_id, lines, values)
        changed = await _save(scope, locked.id, before, _merged(lines.values()), quantities)
        return await complete(scope, locked, changed=changed)


async def remove_items(scope: Scope, cart: object, items: Sequence[object]) -> dict[str, Any]:
    """Remove lines from a cart; raises NotFound for one that the cart doesn't have."""
    check_caller(scope)
    if len(items) > MAX_ITEMS:
        raise too_many_items_error()
    async with transaction(scope, Plans.REUSED):
        locked = await lock_open_cart(scope, cart)
        public_ids = {parse_uuid(item) for item in items}
        known = [public_id for public_id in public_ids if public_id is not None]
        if len(await fetch(_DELETE, scope.store.id, locked.id, known)) < len(public_ids):
            raise NotFound("item")
        return await complete(scope, locked, changed=bool(items))


async def _add(scope: Scope, cart: object, items: Sequence[RequestedItem]) -> dict[str, Any]:
    async with transaction(scope, Plans.REUSED):
        locked = await lock_open_cart(scope, cart)
        await insert_items(scope, locked.id, items)
        return await complete_change(scope, locked.public_id, emit_event=bool(items))


def _fields(values: Sequence[InputValues]) -> list[str]:
    return [f"items.{place}" for place in range(len(values))]


def _read_quantities(values: Sequence[InputValues]) -> dict[UUID | None, int | None]:
    """Return the lines that a request names, None for what is no id, with their new quantities; None for one that keeps it."""
    if len(values) > MAX_ITEMS:
        raise too_many_items_error()
    quantities: dict[UUID | None, int | None] = {}
    for item, field in zip(values, _fields(values), strict=True):
        public_id = parse_uuid(item["id"])
        if public_id in quantities:
            raise ValidationFailed(f"item {public_id} is named twice", field=f"{field}.id", code="duplicate")
        quantity = item.get("quantity")
        with prefixed_errors(field):
            known = {} if quantity is None else read_fields(_CHANGED_QUANTITY, {"quantity": quantity})
        quantities[public_id] = known.get("quantity")
    return quantities


async def _with_choices(
    scope: Scope, cart: UUID, lines: Mapping[UUID | None, _Line], values: Sequence[InputValues]
) -> dict[UUID | None, _Line]:
    """Return the lines whose choice a request replaces, with the new one."""
    chosen = [
        (line, field, item)
        for item, field in zip(values, _fields(values), strict=True)
        if (line := lines[parse_uuid(item["id"])]).quantity
        and (item.get("combination_id") is not None or item.get("options") is not None)
    ]
    requests = [{**item, "product": str(line.product_public_id), "quantity": line.quantity} for line, _, item in chosen]
    items = await read_items(scope, requests, [field for _, field, _ in chosen], cart=cart)
    return {
        line.public_id: replace(line, options=_json(item), options_key=item.options_key)
        for (line, _, _), item in zip(chosen, items, strict=True)
    }


def _json(item: RequestedItem) -> str:
    return orjson.dumps(list(item.options)).decode()


def _merged(lines: Iterable[_Line]) -> list[_Line]:
    """Return the lines without those of quantity 0; of several with one choice the first, with the units of all."""
    merged: dict[tuple[int, str], _Line] = {}
    for line in lines:
        if not line.quantity:
            continue
        first = merged.get((line.product_id, line.options_key))
        if first is not None:
            line = replace(first, quantity=checked_quantity(first.quantity + line.quantity, "items"))
        merged[line.product_id, line.options_key] = line
    return list(merged.values())


async def _save(
    scope: Scope, cart_id: int, before: Sequence[_Line], after: Sequence[_Line], named: Mapping[UUID | None, object]
) -> bool:
    """Store the lines; return whether any differs from before."""
    kept, stored = {line.public_id for line in after}, {line.public_id: line for line in before}
    ids = (scope.store.id, cart_id)
    gone = [public_id for public_id in stored if public_id not in kept]
    if gone:
        await execute(_DELETE, *ids, gone)
    different = [line for line in after if line != stored[line.public_id]]
    moved = [line.id for line in different if line.options_key != stored[line.public_id].options_key]
    if moved:
        await execute(_FREE_CHOICES, *ids, moved)
    written = [line for line in after if line.public_id in named or line in different]
    await execute(
        _UPDATE,
        *ids,
        [line.id for line in written],
        [line.quantity for line in written],
        [line.options for line in written],
        [line.options_key for line in written],
    )
    return bool(gone or different)
