"""Every pair of writing operations on orders, carts, stock, promotions and limits runs concurrently: no deadlock, no 503, consistent sums.

Operations are called without the retries of `retry_conflicts`, so a deadlock fails the test. Both products of an order are named in
opposite order by every other try.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import combinations_with_replacement
from typing import Any

import pytest

from domain.carts import change, checkout
from domain.catalog.combinations import create_combination, update_combination
from domain.catalog.options import create_option
from domain.catalog.products import bulk_upsert_products, delete_product, update_product
from domain.gateway import notifications
from domain.orders import limits
from domain.orders.deletion import delete_order
from domain.orders.edit import update_order
from domain.orders.expiry import expire_orders
from domain.orders.lifecycle import change_status
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.stores import set_gateway_secret
from kernel.errors import DomainError, Unavailable
from kernel.scope import ANONYMOUS, Scope
from tests.harness.domain_store import DomainStore
from tests.harness.gateway import SECRET, charge, event, raw, signature

TRIES = 12  # of each operation
ORDERS = 6
STOCK = 40
COUPON, USES = "DEZ", 20
LIMIT_CENTS = 60_000
CEP = {"S": {"state": "SP", "city": "São Paulo", "zipcode": "01001000"}}
ADDRESS = {
    "name": "Ana",
    "street": "Rua A",
    "number": "1",
    "city": "São Paulo",
    "state": "SP",
    "zipcode": "01001-000",
}


@dataclass
class Arena:
    """A store whose customer has a limit, orders of two products and a combination, a promotion, a coupon, and a cart."""

    kit: DomainStore
    scope: Scope
    products: list[int] = field(default_factory=list)
    choices: dict[int, int] = field(default_factory=dict)
    combination: int = 0
    customer: int = 0
    vendor: int = 0
    payment: int = 0
    promotions: list[int] = field(default_factory=list)
    orders: list[int] = field(default_factory=list)
    carts: list[str] = field(default_factory=list)

    def lines(self, number: int, quantity: int = 1) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = [
            {"product": self.products[0], "quantity": quantity},
            {"product": self.products[1], "quantity": 1},
            {"product": self.products[2], "quantity": 1, "options": self.choices},
        ]
        return lines[:: -1 if number % 2 else 1]

    def order(self, number: int) -> int:
        return self.orders[number % ORDERS]

    async def place(self, number: int, **values: Any) -> int:
        draft = {"user": self.customer, "payment_method": self.payment, "addresses": CEP, **values}
        order = await self.kit.order(*self.lines(number), scope=self.scope, **draft)
        return order.id

    def shuffled(self, number: int) -> list[int]:
        return self.products[:: -1 if number % 2 else 1]


@pytest.fixture
async def arena(scope: Scope) -> Arena:
    kit = DomainStore(scope)
    await set_gateway_secret(scope, SECRET)
    arena = Arena(kit, kit.as_admin())
    arena.vendor = await kit.vendor()
    arena.products = [await kit.product(stock=STOCK, vendor=arena.vendor, sku=f"sku-{n}") for n in range(3)]
    option = await create_option(
        scope, {"name": "Tamanho", "product": arena.products[2], "variants": [{"name": "P"}, {"name": "G"}]}
    )
    variant = await kit.value("SELECT min(id) FROM option_variants WHERE tenant_id = $1")
    arena.choices = {option: variant}
    arena.combination = await create_combination(
        scope, {"product": arena.products[2], "choices": arena.choices, "stock": STOCK}
    )
    arena.customer = await kit.customer()
    arena.payment = await kit.payment(hold_minutes=30)
    for values in (
        {"bonuses": {"order_discount": "10%"}},
        {"coupon_code": COUPON, "usage_limit": USES, "bonuses": {"order_discount": "5%"}},
    ):
        arena.promotions.append(await PROMOTION_RECORDS.create(scope, {"name": "Oferta", **values}))
    await limits.set_limit(scope, {"user": arena.customer, "vendor": arena.vendor, "limit_cents": LIMIT_CENTS})
    for number in range(ORDERS):
        arena.orders.append(await arena.place(number, origin="storefront"))
    shopper = kit.as_storefront()
    for _ in range(ORDERS):
        items = [{"product": await kit.public_id("products", product), "quantity": 1} for product in arena.products[:2]]
        cart = await change.create_cart(shopper, {"items": items, "customer_email": "ana@example.com"})
        await change.set_address(shopper, cart["id"], ADDRESS)
        method = await kit.public_id("shipping_methods", await kit.delivery())
        await change.set_shipping_option(shopper, cart["id"], method)
        arena.carts.append(cart["id"])
    return arena


# --- The operations -----------------------------------------------------------------------------------------------------------


async def place(arena: Arena, number: int) -> None:
    await arena.place(number)


async def place_with_coupon(arena: Arena, number: int) -> None:
    await arena.place(number, coupon_code=COUPON)


async def edit_lines(arena: Arena, number: int) -> None:
    await update_order(arena.scope, arena.order(number), {"lines": arena.lines(number, 1 + number % 3)})


async def edit_and_cancel(arena: Arena, number: int) -> None:
    changes = {"lines": arena.lines(number, 2)[:2], "discount_cents": 5, "status": "I"}
    await update_order(arena.scope, arena.order(number), changes)


async def cancel(arena: Arena, number: int) -> None:
    await change_status(arena.scope, arena.order(number), "I")


async def fail_and_reopen(arena: Arena, number: int) -> None:
    await change_status(arena.scope, arena.order(number), "F" if number < TRIES // 2 else "O")


async def pay(arena: Arena, number: int) -> None:
    order = arena.order(number)
    body = event("charge.paid", charge(order, 1_000_000))
    visitor = replace(arena.kit.scope, actor=ANONYMOUS, family="current")
    await notifications.receive(visitor, raw(body), [signature(body)])


async def expire(arena: Arena, number: int) -> None:
    await expire_orders(replace(arena.kit.scope, now=arena.kit.scope.now + timedelta(minutes=31 + number)))


async def delete(arena: Arena, number: int) -> None:
    await delete_order(arena.scope, arena.order(number))


async def set_stock(arena: Arena, number: int) -> None:
    await update_product(arena.scope, arena.products[number % 2], {"stock": STOCK})
    await update_combination(arena.scope, arena.combination, {"stock": STOCK})


async def import_products(arena: Arena, number: int) -> None:
    rows = [
        {
            "sku": f"sku-{arena.products.index(product)}",
            "vendor": arena.vendor,
            "name": "Copo",
            "stock": STOCK,
        }
        for product in arena.shuffled(number)
    ]
    await bulk_upsert_products(arena.scope, rows)


async def remove_product(arena: Arena, number: int) -> None:
    await delete_product(arena.scope, arena.products[2 - number % 2])


async def change_promotion(arena: Arena, number: int) -> None:
    await PROMOTION_RECORDS.update(arena.scope, arena.promotions[number % 2], {"name": f"Oferta {number}"})


async def set_limit(arena: Arena, number: int) -> None:
    await limits.set_limit(arena.scope, {"user": arena.customer, "vendor": arena.vendor, "limit_cents": LIMIT_CENTS})


async def change_cart(arena: Arena, number: int) -> None:
    item = {"product": await arena.kit.public_id("products", arena.products[number % 2]), "quantity": 1}
    await change.add_item(arena.kit.as_storefront(), arena.carts[number % ORDERS], item)


async def check_out(arena: Arena, number: int) -> None:
    values = {"payment": await arena.kit.public_id("payment_methods", arena.payment)}
    await checkout.check_out(arena.kit.as_storefront(), arena.carts[number % ORDERS], values)


Operation = Callable[[Arena, int], Awaitable[None]]
OPERATIONS: Mapping[str, Operation] = {
    operation.__name__: operation
    for operation in (
        place, place_with_coupon, edit_lines, edit_and_cancel, cancel, fail_and_reopen, pay, expire, delete, set_stock,
        import_products, remove_product, change_promotion, set_limit, change_cart, check_out,
    )
}  # fmt: skip


# --- The invariants -----------------------------------------------------------------------------------------------------------

_STOCK = """
SELECT 'product', p.id, p.reserved, coalesce((SELECT sum(l.quantity) FROM order_lines l
    JOIN orders o ON o.tenant_id = l.tenant_id AND o.id = l.order_id AND o.stock_state = 'R'
    WHERE l.tenant_id = p.tenant_id AND l.product_id = p.id AND l.combination_id IS NULL AND l.tracked), 0)
FROM products p WHERE p.tenant_id = $1
UNION ALL
SELECT 'combination', c.id, c.reserved, coalesce((SELECT sum(l.quantity) FROM order_lines l
    JOIN orders o ON o.tenant_id = l.tenant_id AND o.id = l.order_id AND o.stock_state = 'R'
    WHERE l.tenant_id = c.tenant_id AND l.combination_id = c.id AND l.tracked), 0)
FROM combinations c WHERE c.tenant_id = $1
"""
_ON_HAND = """
SELECT p.id, p.on_hand, coalesce((SELECT sum(l.quantity) FROM order_lines l
    JOIN orders o ON o.tenant_id = l.tenant_id AND o.id = l.order_id AND o.stock_state = 'D'
    WHERE l.tenant_id = p.tenant_id AND l.product_id = p.id AND l.combination_id IS NULL), 0) AS deducted
FROM products p WHERE p.tenant_id = $1 AND p.id = ANY($2::bigint[])
"""
_USES = """
SELECT p.id, p.used, p.usage_cap, (SELECT count(*) FROM promotion_uses u
    WHERE u.tenant_id = p.tenant_id AND u.promotion_id = p.id AND NOT u.given_back) AS counted,
    (SELECT count(*) FROM promotion_uses u JOIN orders o ON o.tenant_id = u.tenant_id AND o.id = u.order_id
    WHERE u.tenant_id = p.tenant_id AND u.promotion_id = p.id AND u.given_back <> (o.status IN ('D', 'F', 'I'))) AS wrong
FROM promotions p WHERE p.tenant_id = $1
"""
_TOTALS = """
SELECT count(*) FROM orders o WHERE o.tenant_id = $1 AND (
    o.total_cents <> o.subtotal_cents - o.discount_cents + o.shipping_cents + o.surcharge_cents + o.tax_cents
    OR o.subtotal_cents <> (SELECT coalesce(sum(l.quantity * l.price_cents), 0) FROM order_lines l
        WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id)
    OR o.paid_cents <> (SELECT coalesce(sum(p.amount_cents), 0) FROM payments p WHERE p.tenant_id = o.tenant_id AND p.order_id = o.id))
"""
_LIMITS = f"SELECT t.limit_cents, {limits.USED_SQL} AS used FROM order_limits t WHERE t.tenant_id = $1"
_CARTS = """
SELECT count(*) FROM carts c WHERE c.tenant_id = $1 AND (c.status = 'ordered') <> (c.order_id IS NOT NULL)
"""


async def assert_consistent(arena: Arena, names: tuple[str, str]) -> None:
    kit = arena.kit
    for kind, number, reserved, expected in await kit.rows(_STOCK):
        assert reserved == expected, f"{kind} {number}"
    if not {"set_stock", "import_products"} & set(names):
        for row in await kit.rows(_ON_HAND, arena.products[:2]):
            assert row["on_hand"] == STOCK - row["deducted"]
    for row in await kit.rows(_USES):
        assert (row["used"], row["wrong"]) == (row["counted"], 0)
        assert not row["usage_cap"] or row["used"] <= row["usage_cap"]
    assert await kit.value(_TOTALS) == 0
    # A late payment is never rejected, whatever the limit.
    if "pay" not in names:
        [limit] = await kit.rows(_LIMITS)
        assert limit["used"] <= limit["limit_cents"]
    assert await kit.value(_CARTS) == 0
    assert await kit.value("SELECT count(*) FROM gateway_notifications WHERE tenant_id = $1 AND NOT processed") == 0


@pytest.mark.slow
@pytest.mark.parametrize("names", list(combinations_with_replacement(OPERATIONS, 2)), ids="-".join)
async def test_concurrent_writes_do_not_conflict(arena: Arena, names: tuple[str, str]) -> None:
    first, second = (OPERATIONS[name] for name in names)
    tries = [operation(arena, number) for number in range(TRIES) for operation in (first, second)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    for error in results:
        if isinstance(error, BaseException) and (not isinstance(error, DomainError) or isinstance(error, Unavailable)):
            raise error
    assert None in results  # some succeeded
    await assert_consistent(arena, names)


@pytest.mark.parametrize("round_", range(3))
async def test_cancellations_and_orders_of_a_sold_out_product_do_not_deadlock(scope: Scope, round_: int) -> None:
    kit = DomainStore(scope)
    await kit.delivery()
    for _ in range(8):
        product = await kit.product(stock=10)
        orders = [await kit.order((product, 1)) for _ in range(10)]
        results = await asyncio.gather(
            *(change_status(scope, order.id, "I") for order in orders),
            *(kit.order((product, 1)) for _ in range(6)),
            return_exceptions=True,
        )
        errors = [result for result in results if isinstance(result, BaseException)]
        assert {getattr(error, "reason", repr(error)) for error in errors} <= {"out_of_stock"}
        assert await kit.figures(product) == (10, 6 - len(errors))
