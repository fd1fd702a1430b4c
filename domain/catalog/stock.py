"""Stock of products and combinations, safe against oversell under concurrent orders (docs/reference/shared.md#stock).

A product has units on hand, of which some are reservations of open orders; the difference is the available stock (`stock`, a generated
column). The stock state of an order's lines is:

    R   reserved: allocated, still on hand
    D   deducted: no longer on hand
    N   neither; but what a completed order didn't return stays deducted (`unreturned`)

Every change of orders goes through `adjust_stock`, one statement that locks the products in ascending id order, rejects what is not
available, and changes the figures relatively. CHECK constraints (`0 <= reserved <= on_hand`) are the second safeguard.

Rows are locked FOR NO KEY UPDATE, because foreign keys of order lines take FOR KEY SHARE locks in no particular order, which only
FOR UPDATE would conflict with. `domain.orders.locked` documents the order in which changes of orders lock rows.

Units come from warehouses where the stock is divided among them, and return to the same ones (`order_allocations`): the functions know the
order, so that none of it takes a statement of its own.

Combinations have their own stock, handled the same way; a line with a combination doesn't change its product's stock. Untracked products
(`tracking` `D`) never get here: their lines are marked as untracked when the order is placed. So are lines beyond the stock of a product
that is sold in advance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from domain import event_types, record_events
from domain.catalog.listing import IN_ADVANCE, of_row
from domain.notifications import write as notifications
from domain.notifications.write import LowStock
from domain.store_settings import setting
from kernel.errors import RuleViolation, TransactionConflict
from kernel.ids import ShownId
from kernel.scope import Scope
from models.connection.database import execute, execute_later, fetch, transaction

RESERVED, DEDUCTED, UNRESERVED = "R", "D", "N"

OUT_OF_STOCK = "out_of_stock"
# The `tracking` code of products without stock tracking.
UNTRACKED = "D"


@dataclass(frozen=True, slots=True)
class StockChange:
    """A relative change of a product's on-hand and reserved units."""

    on_hand: int = 0
    reserved: int = 0

    def times(self, units: int) -> StockChange:
        """Return the change for a number of units."""
        return StockChange(self.on_hand * units, self.reserved * units)


# The change per unit when the stock state of an order changes.
CHANGE_PER_UNIT: Mapping[tuple[str, str], StockChange] = {
    (UNRESERVED, RESERVED): StockChange(reserved=+1),  # placed, or reopened after its stock was released
    (UNRESERVED, DEDUCTED): StockChange(on_hand=-1),  # placed as paid, so never reserved
    (RESERVED, DEDUCTED): StockChange(on_hand=-1, reserved=-1),  # paid
    (RESERVED, UNRESERVED): StockChange(reserved=-1),  # cancelled or failed before payment
    (DEDUCTED, UNRESERVED): StockChange(on_hand=+1),  # cancelled after payment: restocked
    (DEDUCTED, RESERVED): StockChange(on_hand=+1, reserved=+1),  # backordered: reserved again
}


class StockOwner(StrEnum):
    """Whose stock is meant: a product's, or that of a combination of its options."""

    PRODUCT = "product"
    COMBINATION = "combination"


# Functions (models/migrations/sql: 0014_stock_functions, 0085_warehouse_dispatch) that lock the rows in id order, then change those with
# enough stock.
_ADJUST = "SELECT * FROM vitrine_adjust_product_stock($1, $2, $3, $4, $5)"
_ADJUST_COMBINATIONS = "SELECT * FROM vitrine_adjust_combination_stock($1, $2, $3, $4, $5)"
_LOCK_PRODUCTS = "SELECT id FROM products WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR NO KEY UPDATE"
_LOCK_COMBINATIONS = (
    "SELECT id FROM combinations WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR NO KEY UPDATE"
)

_NOTHING: Mapping[int, int] = MappingProxyType({})
_UNAVAILABLE = """
SELECT id, id AS owner_id, public_id, name, stock FROM products WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id
"""
_UNAVAILABLE_COMBINATIONS = """
SELECT p.id, c.id AS owner_id, p.public_id, c.stock, p.name || coalesce((SELECT ' (' || string_agg(v.name, ', ' ORDER BY k.option_id) || ')'
        FROM combination_choices k JOIN option_variants v ON v.tenant_id = k.tenant_id AND v.id = k.variant_id
        WHERE k.tenant_id = c.tenant_id AND k.combination_id = c.id), '') AS name
FROM combinations c JOIN products p ON p.tenant_id = c.tenant_id AND p.id = c.product_id
WHERE c.tenant_id = $1 AND c.id = ANY($2::bigint[]) ORDER BY c.id
"""

# The product may have changed since the order released its units; what is sold in advance is so again.
_REFRESH_TRACKING = f"""
UPDATE order_lines l SET tracked = u.is_tracked AND NOT (u.is_short AND u.sells_in_advance),
    in_advance = u.sells_in_advance AND (u.is_ahead OR (u.is_tracked AND u.is_short))
FROM (
    SELECT o.id, p.tracking <> 'D' AS is_tracked, {of_row(IN_ADVANCE, "p")} AS sells_in_advance,
        coalesce(p.available_since > now(), false) AS is_ahead,
        sum(o.quantity - o.unreturned) OVER (PARTITION BY o.product_id, o.combination_id) > coalesce(c.stock, p.stock) AS is_short
    FROM order_lines o JOIN products p ON p.tenant_id = o.tenant_id AND p.id = o.product_id
    LEFT JOIN combinations c ON c.tenant_id = o.tenant_id AND c.id = o.combination_id
    WHERE o.tenant_id = $1 AND o.order_id = $2
) u
WHERE l.tenant_id = $1 AND l.order_id = $2 AND l.id = u.id
"""

_KEEP = "UPDATE order_lines SET unreturned = quantity WHERE tenant_id = $1 AND order_id = $2 AND tracked"
_HOLD_AGAIN = "UPDATE order_lines SET unreturned = 0 WHERE tenant_id = $1 AND order_id = $2 AND unreturned > 0"

# The units of an order by product and combination, with how they change the stock: by `$3` on hand and `$4` reserved for each, and by `$5`
# and `$6` for each that stayed deducted.
_MOVE_UNITS = """
WITH units AS MATERIALIZED (
    SELECT product_id, combination_id, sum((quantity - unreturned) * $3::bigint + unreturned * $5::bigint)::bigint AS on_hand,
        sum((quantity - unreturned) * $4::bigint + unreturned * $6::bigint)::bigint AS reserved
    FROM order_lines WHERE tenant_id = $1 AND order_id = $2 AND tracked AND product_id IS NOT NULL GROUP BY product_id, combination_id
), changed AS MATERIALIZED (
    SELECT c.* FROM (
        SELECT array_agg(product_id) AS ids, array_agg(on_hand) AS on_hand, array_agg(reserved) AS reserved
        FROM units WHERE combination_id IS NULL AND (on_hand, reserved) <> (0, 0)
    ) AS u CROSS JOIN LATERAL vitrine_adjust_product_stock($1, u.ids, u.on_hand, u.reserved, $2) AS c
)
SELECT u.product_id, u.combination_id, u.on_hand, u.reserved, c.id, c.name, c.vendor_id, c.stock_before, c.stock_after
FROM units u LEFT JOIN changed c ON u.combination_id IS NULL AND c.id = u.product_id
WHERE (u.on_hand, u.reserved) <> (0, 0)
"""

_FORGET_WAREHOUSES = "DELETE FROM order_allocations WHERE tenant_id = $1 AND order_id = $2"
_ADJUST_STATEMENTS = {StockOwner.PRODUCT: _ADJUST, StockOwner.COMBINATION: _ADJUST_COMBINATIONS}
_ADVANCE_STATEMENTS = {
    StockOwner.PRODUCT: f"""SELECT {of_row(IN_ADVANCE, "p")} AS sells_in_advance FROM products p
WHERE p.tenant_id = $1 AND p.id = ANY($2::bigint[])""",
    StockOwner.COMBINATION: f"""SELECT {of_row(IN_ADVANCE, "p")} AS sells_in_advance
FROM combinations c JOIN products p ON p.tenant_id = c.tenant_id AND p.id = c.product_id
WHERE c.tenant_id = $1 AND c.id = ANY($2::bigint[])""",
}
_UNAVAILABLE_STATEMENTS = {StockOwner.PRODUCT: _UNAVAILABLE, StockOwner.COMBINATION: _UNAVAILABLE_COMBINATIONS}


def sum_quantities(quantities: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Sum the units per product, because an order may contain a product in several lines."""
    units: dict[int, int] = {}
    for product_id, quantity in quantities:
        units[product_id] = units.get(product_id, 0) + quantity
    return units


async def adjust_stock(
    scope: Scope,
    changes: Mapping[int, StockChange],
    owner: StockOwner = StockOwner.PRODUCT,
    current: Mapping[int, int] = _NOTHING,
    *,
    order_id: int | None = None,
) -> None:
    """Change the stock of products (or of combinations), all or none, as part of the current transaction.

    Callers that change both change products first. `current` are the units that the changed order has already; `order_id` is the order
    that warehouses dispatch. Raises RuleViolation `out_of_stock`, naming the products without enough stock.
    """
    nonzero = [(product, change) for product, change in changes.items() if change != StockChange()]
    if not nonzero:
        return
    changed = await fetch(
        _ADJUST_STATEMENTS[owner],
        scope.store.id,
        [product for product, _ in nonzero],
        [change.on_hand for _, change in nonzero],
        [change.reserved for _, change in nonzero],
        order_id,
    )
    await check_changes(scope, dict(nonzero), changed, owner, current)


async def check_changes(
    scope: Scope,
    changes: Mapping[int, StockChange],
    changed: Sequence[Mapping[str, Any]],
    owner: StockOwner = StockOwner.PRODUCT,
    current: Mapping[int, int] = _NOTHING,
) -> None:
    """Reject a change without enough stock, and notify of low stock; `changed` are the rows of the SQL function.

    Raises RuleViolation `out_of_stock`.
    """
    changed_ids = {row["id"] for row in changed}
    unavailable = [product for product in changes if product not in changed_ids]
    if unavailable:
        await _reject_stale(scope, unavailable, owner)
        raise await out_of_stock_error(scope, unavailable, owner, current)
    low = [
        LowStock(row["name"], row["vendor_id"], row["stock_after"])
        for row in changed
        if becomes_low(scope, row["stock_before"], row["stock_after"])
    ]
    if low:
        await notifications.notify_low_stock(scope, low)


async def _reject_stale(scope: Scope, unavailable: Sequence[int], owner: StockOwner) -> None:
    """Raise TransactionConflict where another order took the stock of products that are sold in advance: repeated, none is needed."""
    rows = await fetch(_ADVANCE_STATEMENTS[owner], scope.store.id, unavailable)
    if rows and all(row["sells_in_advance"] for row in rows):
        raise TransactionConflict


def becomes_low(scope: Scope, before: int, after: int) -> bool:
    """Return whether a product's stock falls to the store's threshold (setting `low_stock_at`) or below."""
    threshold: int = setting(scope, "low_stock_at")
    return before > threshold >= after


async def lock_stock(scope: Scope, products: Iterable[int], combinations: Iterable[int] = ()) -> None:
    """Lock products, then combinations, until the transaction ends; an UPDATE of several of them must not wait for locks itself."""
    for sql, ids in ((_LOCK_PRODUCTS, list(products)), (_LOCK_COMBINATIONS, list(combinations))):
        if ids:
            await execute(sql, scope.store.id, ids)


async def out_of_stock_error(
    scope: Scope, ids: Iterable[int], owner: StockOwner = StockOwner.PRODUCT, current: Mapping[int, int] = _NOTHING
) -> RuleViolation:
    """Return the error that names the products (or combinations) and the available units of each, `current` included."""
    products = await fetch(_UNAVAILABLE_STATEMENTS[owner], scope.store.id, list(ids))
    names = ", ".join(product["name"] for product in products)
    return RuleViolation(
        f"out of stock: {names}",
        reason=OUT_OF_STOCK,
        details={
            "products": [
                {
                    "product_id": ShownId(product["public_id"], product["id"]),
                    "name": product["name"],
                    "available": product["stock"] + current.get(product["owner_id"], 0),
                }
                for product in products
            ]
        },
    )


async def change_stock_state(scope: Scope, order_id: int, from_state: str, to_state: str) -> None:
    """Move an order's units from one stock state to another; the caller has locked the order.

    Raises RuleViolation `out_of_stock` if released units are needed again and no longer available.
    """
    per_unit = CHANGE_PER_UNIT.get((from_state, to_state))
    if per_unit is None:
        return
    if from_state == UNRESERVED:
        await execute_later(_REFRESH_TRACKING, scope.store.id, order_id)
    per_kept = CHANGE_PER_UNIT.get((_of_kept(from_state), _of_kept(to_state)), StockChange())
    figures = (per_unit.on_hand, per_unit.reserved, per_kept.on_hand, per_kept.reserved)
    rows = await fetch(_MOVE_UNITS, scope.store.id, order_id, *figures)
    products, combinations = {}, {}
    for row in rows:
        change = StockChange(row["on_hand"], row["reserved"])
        if row["combination_id"] is None:
            products[row["product_id"]] = change
        else:
            combinations[row["combination_id"]] = change
    await check_changes(scope, products, [row for row in rows if row["id"] is not None])
    await adjust_stock(scope, combinations, StockOwner.COMBINATION, order_id=order_id)
    if from_state == UNRESERVED:
        await execute_later(_HOLD_AGAIN, scope.store.id, order_id)


def _of_kept(state: str) -> str:
    """Return the state of units that an order didn't give back."""
    return DEDUCTED if state == UNRESERVED else state


async def keep_taken(scope: Scope, order_id: int) -> None:
    """Give no unit of an order back: all stay deducted, and which warehouses they came from is forgotten."""
    await execute_later(_KEEP, scope.store.id, order_id)
    await execute_later(_FORGET_WAREHOUSES, scope.store.id, order_id)


_TAKE_CHANGES = """
WITH taken AS (
    DELETE FROM stock_changes WHERE tenant_id = $1 AND id IN (
        SELECT id FROM stock_changes WHERE tenant_id = $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
    ) RETURNING product_id
)
SELECT product_id, count(*) AS changes FROM taken GROUP BY product_id ORDER BY product_id
"""


async def emit_changes(scope: Scope, *, limit: int = 1_000) -> int:
    """Emit `stock.changed` once for each product whose stock was changed, with its present stock; return the number of changes."""
    async with transaction(scope):
        rows = await fetch(_TAKE_CHANGES, scope.store.id, limit)
        await record_events.emit_records(scope, event_types.STOCK_CHANGED, [row["product_id"] for row in rows])
    return sum(row["changes"] for row in rows)
