"""Keep the stock figures of products true under any interleaving of orders.

A product has so many units on hand, of which so many are reserved by open orders; what can be sold is the difference (`stock`, a
generated column). What the lines of an order hold is its stock state:

    R   reserved: set aside, still on the shelf
    D   deducted: gone from the shelf
    N   nothing

Every change of orders goes through `change`, one statement that locks the products in the order of their ids, refuses what is not
there, and changes the figures relative to what they are. CHECK constraints (`0 <= reserved <= on_hand`) are the second lock.

No two such statements can wait for each other in a circle: each takes its product rows in ascending order, and an order's own row
is always locked before any product's. The rows are locked FOR NO KEY UPDATE, because the foreign keys of order lines lock them FOR
KEY SHARE in no particular order, and only FOR UPDATE would collide with that.

Combinations of options have figures of their own, kept in the same way; a line that holds one leaves its product's alone.

Products whose stock is not kept (`tracking` `D`) never come here: their lines are marked as untracked when the order is placed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from domain.notifications import write as notifications
from domain.notifications.write import Shelf
from kernel.errors import RuleViolation
from kernel.scope import Scope
from models.database import rows

RESERVED, DEDUCTED, NOTHING = "R", "D", "N"

OUT_OF_STOCK = "out_of_stock"
# The letter of a product (`tracking`) whose stock is not kept.
NOT_KEPT = "D"


@dataclass(frozen=True, slots=True)
class Figures:
    """Change the two figures of a product by so many units."""

    on_hand: int = 0
    reserved: int = 0

    def times(self, units: int) -> Figures:
        """Give the change for so many units."""
        return Figures(self.on_hand * units, self.reserved * units)

    def plus(self, other: Figures) -> Figures:
        """Give both changes together."""
        return Figures(self.on_hand + other.on_hand, self.reserved + other.reserved)


# What one unit does to its product's figures when its order goes from one state to another.
PER_UNIT: Mapping[tuple[str, str], Figures] = {
    (NOTHING, RESERVED): Figures(reserved=+1),  # placed, or taken again after having been given back
    (NOTHING, DEDUCTED): Figures(on_hand=-1),  # placed as paid: it never was set aside
    (RESERVED, DEDUCTED): Figures(on_hand=-1, reserved=-1),  # paid: what was set aside leaves
    (RESERVED, NOTHING): Figures(reserved=-1),  # the order came to nothing
    (DEDUCTED, NOTHING): Figures(on_hand=+1),  # paid, then called off: it goes back to the shelf
    (DEDUCTED, RESERVED): Figures(on_hand=+1, reserved=+1),  # backordered: it waits on the shelf again
}


class Stocked(StrEnum):
    """Say whose figures are meant: a product's, or those of a combination of its options."""

    PRODUCT = "product"
    COMBINATION = "combination"


# The arrays stand in subqueries, where their length can't be seen: else each call would be planned anew for being short.
_CHANGE = """
WITH wanted AS (
    SELECT * FROM unnest((SELECT $2::bigint[]), (SELECT $3::bigint[]), (SELECT $4::bigint[])) AS w (product_id, on_hand, reserved)
), locked AS (
    SELECT p.id, w.on_hand, w.reserved FROM products p JOIN wanted w ON w.product_id = p.id
    WHERE p.tenant_id = $1 ORDER BY p.id FOR NO KEY UPDATE OF p
)
UPDATE products p SET on_hand = p.on_hand + k.on_hand, reserved = p.reserved + k.reserved
FROM locked k
WHERE p.tenant_id = $1 AND p.id = k.id AND p.on_hand + k.on_hand >= p.reserved + k.reserved
RETURNING p.id, p.name, p.vendor_id, p.stock AS after, p.stock - k.on_hand + k.reserved AS before
"""

_CHANGE_COMBINATIONS = """
WITH wanted AS (
    SELECT * FROM unnest((SELECT $2::bigint[]), (SELECT $3::bigint[]), (SELECT $4::bigint[])) AS w (combination_id, on_hand, reserved)
), locked AS (
    SELECT c.id, w.on_hand, w.reserved FROM combinations c JOIN wanted w ON w.combination_id = c.id
    WHERE c.tenant_id = $1 ORDER BY c.id FOR NO KEY UPDATE OF c
)
UPDATE combinations c SET on_hand = c.on_hand + k.on_hand, reserved = c.reserved + k.reserved
FROM locked k, products p
WHERE c.tenant_id = $1 AND c.id = k.id AND c.on_hand + k.on_hand >= c.reserved + k.reserved
    AND p.tenant_id = $1 AND p.id = c.product_id
RETURNING c.id, p.name || ' (' || c.sku || ')' AS name, p.vendor_id, c.stock AS after, c.stock - k.on_hand + k.reserved AS before
"""

_SHORT = """
SELECT public_id, name, stock FROM products WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id
"""
_SHORT_COMBINATIONS = """
SELECT p.public_id, c.stock, p.name || coalesce((SELECT ' (' || string_agg(v.name, ', ' ORDER BY k.option_id) || ')'
        FROM combination_choices k JOIN option_variants v ON v.tenant_id = k.tenant_id AND v.id = k.variant_id
        WHERE k.tenant_id = c.tenant_id AND k.combination_id = c.id), '') AS name
FROM combinations c JOIN products p ON p.tenant_id = c.tenant_id AND p.id = c.product_id
WHERE c.tenant_id = $1 AND c.id = ANY($2::bigint[]) ORDER BY c.id
"""

# Whether a product's stock is kept may have changed since the order let go of its units, so it is asked again.
_TRACK_AGAIN = """
UPDATE order_lines l SET tracked = p.tracking <> 'D' FROM products p
WHERE l.tenant_id = $1 AND l.order_id = $2 AND p.tenant_id = $1 AND p.id = l.product_id
"""

_UNITS = """
SELECT product_id, combination_id, sum(quantity)::bigint AS units FROM order_lines
WHERE tenant_id = $1 AND order_id = $2 AND tracked AND product_id IS NOT NULL GROUP BY product_id, combination_id
"""

_CHANGES = {Stocked.PRODUCT: _CHANGE, Stocked.COMBINATION: _CHANGE_COMBINATIONS}
_SHORTS = {Stocked.PRODUCT: _SHORT, Stocked.COMBINATION: _SHORT_COMBINATIONS}


def summed(quantities: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Add up units per product, for an order may hold a product in several lines."""
    units: Counter[int] = Counter()
    for product_id, quantity in quantities:
        units[product_id] += quantity
    return dict(units)


async def change(scope: Scope, figures: Mapping[int, Figures], stocked: Stocked = Stocked.PRODUCT) -> None:
    """Change the figures of products (or of combinations), all or none, as part of the current transaction.

    Whoever changes both changes products first, so that no two orders wait for each other in a circle.

    Raises RuleViolation `out_of_stock`, naming the products that can't be sold in that number.
    """
    wanted = [(product, figure) for product, figure in figures.items() if figure != Figures()]
    if not wanted:
        return
    changed = await rows(
        _CHANGES[stocked],
        scope.store.id,
        [product for product, _ in wanted],
        [figure.on_hand for _, figure in wanted],
        [figure.reserved for _, figure in wanted],
    )
    done = {found["id"] for found in changed}
    short = [product for product, _ in wanted if product not in done]
    if short:
        raise await out_of_stock(scope, short, stocked)
    await notifications.stock_changed(
        scope,
        [Shelf(found["name"], found["vendor_id"], found["before"], found["after"]) for found in changed],
    )


async def out_of_stock(scope: Scope, ids: Iterable[int], stocked: Stocked = Stocked.PRODUCT) -> RuleViolation:
    """Make the refusal that names the products (or combinations) and how many units of each can still be sold."""
    found = await rows(_SHORTS[stocked], scope.store.id, list(ids))
    names = ", ".join(product["name"] for product in found)
    return RuleViolation(
        f"out of stock: {names}",
        reason=OUT_OF_STOCK,
        details={
            "products": [
                {
                    "product_id": str(product["public_id"]),
                    "name": product["name"],
                    "available": product["stock"],
                }
                for product in found
            ]
        },
    )


async def shift(scope: Scope, order_id: int, from_state: str, to_state: str) -> None:
    """Take an order's units from one stock state to another; the caller has locked the order.

    Raises RuleViolation `out_of_stock` when units that had been given back are wanted again and gone.
    """
    per_unit = PER_UNIT.get((from_state, to_state))
    if per_unit is None:
        return
    if from_state == NOTHING:
        await rows(_TRACK_AGAIN, scope.store.id, order_id)
    held = await rows(_UNITS, scope.store.id, order_id)
    units = {each["product_id"]: each["units"] for each in held if each["combination_id"] is None}
    combined = {each["combination_id"]: each["units"] for each in held if each["combination_id"] is not None}
    await change(scope, {product: per_unit.times(count) for product, count in units.items()})
    await change(
        scope, {each: per_unit.times(count) for each, count in combined.items()}, Stocked.COMBINATION
    )
