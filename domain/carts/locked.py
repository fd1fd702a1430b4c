"""Find and lock a cart, and load its items at current names and prices. Changes lock its row first, which serializes them.

A cart is reached by its id alone, an unguessable UUIDv4 (docs/reference/current.md#storefront). A customer's own token opens that
customer's carts and unowned ones; a storefront key opens any cart whose id is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import orjson

from domain import events
from domain.carriers.limits import current_cart
from domain.purchase.draft import DraftLine
from domain.purchase.lines import (
    OFFER_COLUMNS,
    OFFER_VENDOR,
    Offer,
    PricedLine,
    offers_of,
    price_lines,
    sell_in_advance,
)
from domain.purchase.option_selection import selection_input
from domain.purchase.totals import TotalsLine
from kernel.errors import Conflict, NotFound, RuleViolation, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import SHOPPERS, STAFF_OR_APP, ActorKind, Scope, active_scope
from models.connection.database import Plans, execute_later, fetch, fetchrow
from models.reading.related_columns import BoundColumn

OPEN, ORDERED, EXPIRED = "open", "ordered", "expired"

# In the order of `LockedCart`, with the account's columns in place of the customer.
_COLUMNS = """c.id, c.public_id, c.user_id, c.status, c.currency, c.customer_email, c.address::text, c.shipping_method_id,
    c.coupon_code, c.points_to_use,
    c.subtotal_cents, c.discount_cents, c.shipping_cents, c.total_cents, c.told_at, c.expires_at, c.updated_at,
    u.public_id AS user_public_id, coalesce(u.email, '') AS user_email,
    btrim(coalesce(u.firstname, '') || ' ' || coalesce(u.lastname, '')) AS user_name"""
_COUNT = 20
_JOINS = "FROM carts c LEFT JOIN users u ON u.tenant_id = c.tenant_id AND u.id = c.user_id"
_WHERE = "WHERE c.tenant_id = $1 AND c.public_id = $2"
_FIND = f"SELECT {_COLUMNS} {_JOINS} {_WHERE}"
_LOCK = f"{_FIND} FOR NO KEY UPDATE OF c"
# Returns no row.
_LOCK_ONLY = """
SELECT WHERE (SELECT count(*) FROM (SELECT FROM carts c WHERE c.tenant_id = $1 AND c.public_id = $2 FOR NO KEY UPDATE) AS locked) < 0
"""
# Of an item `i` and its product, followed by what is sold of the product.
_OWN_COLUMNS = """i.id AS item_id, i.public_id AS item_public_id, i.quantity, i.options::text AS options, i.product_name,
    i.price_cents AS item_price_cents, i.added_price_cents, p.deleted_at IS NULL AS is_available"""
_OWN_COUNT = 8
_ITEM_COLUMNS = f"{_OWN_COLUMNS}, {OFFER_COLUMNS}"
_ITEM_JOINS = f"cart_items i JOIN products p ON p.tenant_id = i.tenant_id AND p.id = i.product_id {OFFER_VENDOR}"
ITEM, FIRST_PARAMETER = "i", 3
"""The alias of an item in the statement of a cart with items, and the number of the first parameter of a further column."""
_ITEMS = f"SELECT {_ITEM_COLUMNS} FROM {_ITEM_JOINS} WHERE i.tenant_id = $1 AND i.cart_id = $2 ORDER BY i.id"
# The price of an item that was just added, or whose quantity was set, is the one its customer has seen.
SAVE_ITEM_PRICES = """
UPDATE cart_items i SET product_name = p.name, price_cents = p.price, added_price_cents = coalesce(i.added_price_cents, p.price)
FROM unnest($3::bigint[], $4::text[], $5::bigint[]) AS p (id, name, price)
WHERE i.tenant_id = $1 AND i.cart_id = $2 AND i.id = p.id
    AND (i.product_name, i.price_cents, i.added_price_cents IS NULL) IS DISTINCT FROM (p.name, p.price, false)
"""


@dataclass(frozen=True, slots=True)
class LockedCart:
    """A cart's row; amounts in cents as of its last change, the customer as in events."""

    id: int
    public_id: UUID
    user_id: int | None
    status: str
    currency: str
    customer_email: str
    address: dict[str, str] | None
    shipping_method_id: int | None
    coupon_code: str
    points_to_use: int
    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    total_cents: int
    emitted_at: datetime | None  # column told_at
    expires_at: datetime
    updated_at: datetime
    customer: events.EventCustomer | None

    def status_at(self, now: datetime) -> str:
        """Return the status; an open cart past its expiry is expired even before the job marks it."""
        return EXPIRED if self.status == OPEN and self.expires_at <= now else self.status


@dataclass(frozen=True, slots=True)
class PricedCartItem:
    """A cart item, prices in cents; `line` is None when its product or options are gone.

    Name and price are then those last stored. `added_price_cents` is the price when the item was added or its quantity set, if known.
    """

    id: int
    public_id: UUID
    product_id: int
    product_public_id: UUID
    name: str
    quantity: int
    price_cents: int
    options: list[Any]
    line: PricedLine | None
    added_price_cents: int | None = None

    @property
    def total_cents(self) -> int:
        """Return the price of all units."""
        return self.quantity * self.price_cents

    @property
    def totals_line(self) -> TotalsLine:
        """Return the item as the totals need it."""
        return self.line.totals_line if self.line is not None else TotalsLine(self.quantity, self.price_cents)


async def find_cart(scope: Scope, cart: object) -> LockedCart:
    """Return a cart the caller may access; raises NotFound."""
    with active_scope(scope):
        return await _load(scope, _FIND, cart)


@lru_cache(maxsize=512)
def _with_items(column: str = "") -> str:
    """Return the statement of a cart with its items, and a further column of them (trusted SQL)."""
    columns = ", ".join(filter(None, (_COLUMNS, _ITEM_COLUMNS, column)))
    return (
        f"SELECT {columns} {_JOINS} LEFT JOIN ({_ITEM_JOINS}) ON i.tenant_id = c.tenant_id AND i.cart_id = c.id"
        f" {_WHERE} ORDER BY i.id"
    )


async def find_cart_with_items(
    scope: Scope, cart: object, column: BoundColumn | None = None
) -> tuple[LockedCart, list[tuple[Any, ...]]]:
    """Return a cart as `find_cart` does, and the rows of its items for `items_of`, with the `column` at their end if it is not None."""
    public_id = parse_uuid(cart)
    statement, params = (_with_items(), ()) if column is None else (_with_items(column.sql), column.params)
    with active_scope(scope):
        records = (
            await fetch(statement, scope.store.id, public_id, *params, plans=Plans.REUSED)
            if public_id is not None
            else []
        )
    accessible = _accessible(scope, records[0] if records else None)
    # A cart without items is one row without an item.
    items = [tuple(record)[_COUNT:] for record in records]
    return accessible, [item for item in items if item[0] is not None]


async def lock_open_cart_with_items(scope: Scope, cart: object) -> tuple[LockedCart, list[tuple[Any, ...]]]:
    """Lock a cart as `lock_open_cart` does, and return it as `find_cart_with_items` does, in one round trip.

    The items are those after the lock: a statement that did both would read them as they were before it waited.
    """
    public_id = parse_uuid(cart)
    if public_id is not None:
        await execute_later(_LOCK_ONLY, scope.store.id, public_id)
    locked, items = await find_cart_with_items(scope, public_id)
    reject_closed(scope, locked)
    return locked, items


async def lock_cart(scope: Scope, cart: object) -> LockedCart:
    """Lock a cart the caller may access until the transaction ends; raises NotFound."""
    return await _load(scope, _LOCK, cart)


async def lock_open_cart(scope: Scope, cart: object) -> LockedCart:
    """Lock a cart that can still be changed; raises NotFound, and what `reject_closed` does."""
    locked = await lock_cart(scope, cart)
    reject_closed(scope, locked)
    return locked


def reject_closed(scope: Scope, cart: LockedCart) -> None:
    """Reject changes of an ordered cart (`cart_already_ordered`, 409) and of an expired one (`cart_expired`, 422)."""
    status = cart.status_at(scope.now)
    if status == ORDERED:
        raise Conflict("cart_already_ordered", reason="cart_already_ordered")
    if status == EXPIRED:
        raise RuleViolation("O carrinho expirou.", reason="cart_expired")


async def _load(scope: Scope, sql: str, cart: object) -> LockedCart:
    public_id = parse_uuid(cart)
    return _accessible(scope, await fetchrow(sql, scope.store.id, public_id) if public_id is not None else None)


def _accessible(scope: Scope, record: Sequence[Any] | None) -> LockedCart:
    """Return the cart of a row with `_COLUMNS`; raises NotFound for none, and one that the caller may not access."""
    if record is None:
        raise NotFound("cart")
    *columns, customer_id, account_email, name = record[:_COUNT]
    id_, public_id, user_id, status, currency, customer_email, address, *rest = columns
    if not _may_open(scope, user_id):
        raise NotFound("cart")
    current_cart.set(public_id)
    email = customer_email or account_email
    customer = events.EventCustomer(customer_id, name, email) if customer_id or email else None
    parsed = orjson.loads(address) if address else None
    return LockedCart(*[id_, public_id, user_id, status, currency, customer_email, parsed, *rest, customer])


def _may_open(scope: Scope, owner: int | None) -> bool:
    actor = scope.actor
    if actor.kind in STAFF_OR_APP:
        return True
    if actor.kind is ActorKind.STOREFRONT and actor.user_id is None:
        return True
    return actor.kind in SHOPPERS and owner in (None, actor.user_id)


async def load_items(scope: Scope, cart_id: int, *, closed: bool = False) -> list[PricedCartItem]:
    """Load a cart's items in the order they were added; those of a `closed` cart as they were when it closed."""
    with active_scope(scope):
        records = await fetch(_ITEMS, scope.store.id, cart_id, plans=Plans.REUSED)
    return await items_of(scope, [tuple(record) for record in records], closed=closed)


async def items_of(scope: Scope, rows: Sequence[tuple[Any, ...]], *, closed: bool = False) -> list[PricedCartItem]:
    """Return the items of rows with the columns `_ITEM_COLUMNS`, as `load_items` does; options, if any, take two statements."""
    available = {} if closed else {row[_OWN_COUNT]: row[_OWN_COUNT:] for row in rows if row[_OWN_COUNT - 1]}
    with active_scope(scope):
        offers: dict[object, Offer] = {offer.id: offer for offer in await offers_of(scope, list(available.values()))}
    items = [_item(row, offers) for row in rows]
    lines = iter(sell_in_advance(order_lines(items)))
    return [item if item.line is None else replace(item, line=next(lines)) for item in items]


def order_lines(items: Sequence[PricedCartItem]) -> list[PricedLine]:
    """Return the lines of an order for the items that are still sold."""
    return [item.line for item in items if item.line is not None]


def at_prices(items: Sequence[PricedCartItem], lines: Sequence[PricedLine]) -> list[PricedCartItem]:
    """Return the items at the prices of their lines, which promotions may have lowered; `lines` may go on with gifts."""
    prices = iter(lines)
    return [
        item
        if item.line is None or (price := next(prices).price_cents) == item.price_cents
        else replace(item, price_cents=price)
        for item in items
    ]


def item_price_columns(items: Sequence[PricedCartItem]) -> tuple[list[int], list[str], list[int]]:
    """Return the ids, names and prices of items, as `SAVE_ITEM_PRICES` takes them."""
    return [item.id for item in items], [item.name for item in items], [item.price_cents for item in items]


def _item(row: tuple[Any, ...], offers: Mapping[object, Offer]) -> PricedCartItem:
    """Return an item, with its order line if its product is among the offers."""
    number, public_id, quantity, chosen, name, price_cents, added_cents, _, product, product_public_id = row[:10]
    options = orjson.loads(chosen)
    line = None
    if product in offers:
        # The selected options may no longer be valid: such an item stays visible and can't be ordered.
        with suppress(ValidationFailed, RuleViolation):
            draft = DraftLine(product, quantity, options=selection_input(options))
            [line] = price_lines([draft], offers, trusted=False)
    return PricedCartItem(
        number,
        public_id,
        product,
        product_public_id,
        line.offer.name if line is not None else name,
        quantity,
        line.price_cents if line is not None else price_cents,
        options,
        line,
        added_cents,
    )
