"""Set the stock of a product or its combinations by warehouse (docs/reference/shared.md#stock-by-warehouse).

Triggers (models/migrations/sql: 0084_warehouse_stock, 0089_switching_warehouses) apply what others write to `stock` to the warehouses; here
the warehouses come first. Rows are locked in the order: warehouses, products, combinations; a warehouse that is switched off locks itself
before its products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from domain import event_types, events
from domain.catalog import stock
from domain.catalog.product_options import EditableProduct, find_editable_product
from domain.catalog.product_writing import touch_rows
from domain.notifications import write as notifications
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import MAX_QUANTITY, InputField, InputValues, check_count, integer, read_fields
from kernel.scope import ActorKind, Scope
from models import audit
from models.connection.database import execute, fetch, fetchrow, fetchval, transaction
from models.references import COMBINATION, WAREHOUSE, find_ids, reject_missing, resolve_all

MAX_ROWS = 1_000
_FIELDS = {"quantity": InputField("quantity", integer(0, MAX_QUANTITY, nullable=True), code="quantity_invalid")}

# A product may be stored by its vendor and by the store; where a former vendor stores it, the store may end that.
_LOCK_WAREHOUSES = """
SELECT id FROM warehouses w WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND deleted_at IS NULL
    AND (vendor_id = $3 OR NOT $4 AND (vendor_id IS NULL OR EXISTS (
        SELECT FROM warehouse_stock s WHERE s.tenant_id = $1 AND s.product_id = $5 AND s.warehouse_id = w.id
    ))) ORDER BY id FOR SHARE
"""
_COMBINATIONS = "SELECT id FROM combinations WHERE tenant_id = $1 AND product_id = $2 AND deleted_at IS NULL"
_STOCK = "SELECT name, vendor_id, stock, tracking FROM products WHERE tenant_id = $1 AND id = $2"
_ROWS = "unnest($3::bigint[], $4::bigint[], $5::bigint[]) AS g (warehouse_id, combination_id, quantity)"
_DELETE = f"""
DELETE FROM warehouse_stock s USING {_ROWS}
WHERE s.tenant_id = $1 AND s.product_id = $2 AND s.warehouse_id = g.warehouse_id AND g.quantity IS NULL
    AND coalesce(s.combination_id, 0) = coalesce(g.combination_id, 0)
"""
_SET = f"""
INSERT INTO warehouse_stock AS s (tenant_id, product_id, warehouse_id, combination_id, quantity, is_active)
SELECT $1, $2, g.warehouse_id, g.combination_id, g.quantity, w.status = 'A'
FROM {_ROWS} JOIN warehouses w ON w.tenant_id = $1 AND w.id = g.warehouse_id WHERE g.quantity IS NOT NULL
ON CONFLICT (tenant_id, product_id, coalesce(combination_id, 0), warehouse_id) DO UPDATE SET quantity = excluded.quantity
WHERE s.quantity <> excluded.quantity
"""
# One that has no warehouse any more keeps its stock.
_SUM = """
UPDATE {table} x SET on_hand = x.reserved + u.quantity
FROM (
    SELECT {key} AS id, sum(CASE WHEN s.is_active THEN s.quantity ELSE 0 END) AS quantity FROM warehouse_stock s
    WHERE s.tenant_id = $1 AND s.product_id = $2 AND (s.combination_id IS NULL) = {is_product} GROUP BY {key}
) u
WHERE x.tenant_id = $1 AND x.id = u.id AND x.stock <> u.quantity
"""
_SUM_PRODUCT = _SUM.format(table="products", key="s.product_id", is_product="true")
_SUM_COMBINATIONS = _SUM.format(table="combinations", key="s.combination_id", is_product="false")


class _Entry(NamedTuple):
    """The units of a product (or of a combination) in a warehouse; null where it doesn't store it any more."""

    warehouse_id: int
    combination_id: int | None
    quantity: int | None


async def set_warehouse_stock(scope: Scope, product: object, entries: Sequence[InputValues]) -> int:
    """Set the units that warehouses can still sell of a product or its combinations, and return the product's internal id.

    Keys of an entry: `warehouse`*, `combination`, `quantity`* (null: the warehouse doesn't store it any more). Others stay as they are.
    `stock` becomes the sum of the active warehouses; where none is left it stays what it was.

    Raises NotFound for the product, and ValidationFailed for a warehouse of another vendor (for a vendor also of the store), a combination
    of another product, a pair that is repeated, and a product whose combinations have the stock.
    """
    check_count(entries, MAX_ROWS, "entries", field="stock")
    quantities = [_read_quantity(entry) for entry in entries]
    async with transaction(scope):
        owner = await find_editable_product(scope, product)
        if owner is None:
            raise NotFound("product")
        rows = await _resolve(scope, owner, entries, quantities)
        await stock.lock_stock(scope, [owner.id], {row.combination_id for row in rows if row.combination_id})
        if await _write(scope, owner, rows):
            await touch_rows(scope, {owner.id})
            await audit.record_update(scope, "product", owner.public_id, ["warehouse_stock"])
            await events.emit_products_changed(scope, {owner.id: event_types.PRODUCT_UPDATED})
    return owner.id


def _read_quantity(entry: InputValues) -> int | None:
    if "quantity" not in entry:
        raise ValidationFailed(
            "quantity is required; null for a warehouse that doesn't store the product any more",
            field="quantity",
            code="required",
        )
    quantity: int | None = read_fields(_FIELDS, entry)["quantity"]
    return quantity


async def _resolve(
    scope: Scope, owner: EditableProduct, entries: Sequence[InputValues], quantities: Sequence[int | None]
) -> list[_Entry]:
    """Return the entries by internal ids, their warehouses locked against being switched off."""
    warehouses = await resolve_all(scope, WAREHOUSE, [entry.get("warehouse") for entry in entries], field="warehouse")
    is_vendor = scope.actor.kind is ActorKind.VENDOR
    ids = list(warehouses.values())
    locked = await fetch(_LOCK_WAREHOUSES, scope.store.id, ids, owner.vendor_id, is_vendor, owner.id)
    usable = {row["id"] for row in locked}
    reject_missing(WAREHOUSE, [name for name, number in warehouses.items() if number not in usable], field="warehouse")
    combinations = await _resolve_combinations(scope, owner, entries)
    rows = [
        _Entry(warehouses[entry["warehouse"]], combinations.get(entry.get("combination")), quantity)
        for entry, quantity in zip(entries, quantities, strict=True)
    ]
    if len({row[:2] for row in rows}) < len(rows):
        raise ValidationFailed("stock names a warehouse twice", field="stock", code="repeated")
    return rows


async def _resolve_combinations(
    scope: Scope, owner: EditableProduct, entries: Sequence[InputValues]
) -> Mapping[object, int]:
    named = [entry["combination"] for entry in entries if entry.get("combination") is not None]
    own = {row["id"] for row in await fetch(_COMBINATIONS, scope.store.id, owner.id)}
    if own and len(named) < len(entries):
        raise ValidationFailed(
            "combination_id is required: the stock of this product is that of its combinations",
            field="combination",
            code="required",
        )
    ids = await find_ids(scope, COMBINATION, named)
    reject_missing(COMBINATION, [name for name in named if ids.get(name) not in own], field="combination")
    return ids


async def _write(scope: Scope, owner: EditableProduct, rows: Sequence[_Entry]) -> bool:
    """Write the rows and the sums, and return whether any row has changed."""
    before = await fetchrow(_STOCK, scope.store.id, owner.id)
    columns = [[row[place] for row in rows] for place in range(3)]
    changed = [await execute(statement, scope.store.id, owner.id, *columns) for statement in (_DELETE, _SET)]
    if not any(changed):
        return False
    for statement in (_SUM_PRODUCT, _SUM_COMBINATIONS):
        await execute(statement, scope.store.id, owner.id)
    after = await fetchrow(_STOCK, scope.store.id, owner.id)
    assert before is not None
    assert after is not None
    if after["tracking"] != stock.UNTRACKED and stock.becomes_low(scope, before["stock"], after["stock"]):
        low = notifications.LowStock(after["name"], after["vendor_id"], after["stock"])
        await notifications.notify_low_stock(scope, [low])
    return True


_SWITCH = """
SELECT coalesce(sum(vitrine_switch_warehouse_stock($1, due.id, $2)), 0)::int
FROM (SELECT w.id FROM warehouses w WHERE w.tenant_id = $1 AND w.is_switching ORDER BY w.id LIMIT 1) AS due
"""


async def switch_stock(scope: Scope, *, limit: int = 500) -> int:
    """Count the stock of a warehouse whose status has changed, or don't any more, and return of how many products it was."""
    async with transaction(scope):
        return int(await fetchval(_SWITCH, scope.store.id, limit))
