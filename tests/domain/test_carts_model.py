"""Random carts, coupons, checkouts, payments, refunds, cancellations and expiries, compared with a counting model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from domain.carts import change, checkout, lines
from domain.carts.record import load_cart_record
from domain.gateway import notifications
from domain.orders.expiry import expire_orders
from domain.orders.lifecycle import change_status
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.stores import set_gateway_secret
from kernel.errors import Conflict, NotFound, RuleViolation
from tests.harness.domain_store import DomainStore
from tests.harness.gateway import SECRET, charge, event, raw, signature
from tests.harness.scopes import system_scope

PRICES = (1_000, 333)
STOCK = 5
SHIPPING = 700
COUPON_USES = 2
PERCENT = 10

products = st.integers(0, len(PRICES) - 1)
quantities = st.integers(1, 4)
places = st.integers(0, 5)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("create"), products, quantities),
        st.tuples(st.just("add"), places, products, quantities),
        st.tuples(st.just("set"), places, products, quantities),
        st.tuples(st.just("remove"), places, products),
        st.tuples(st.just("coupon"), places, st.booleans()),
        st.tuples(st.just("check out"), places),
        st.tuples(st.just("check out"), places),
        st.tuples(st.just("pay"), places),
        st.tuples(st.just("refund"), places),
        st.tuples(st.just("cancel"), places),
        st.tuples(st.just("expire")),
    ),
    min_size=4,
    max_size=24,
)


@dataclass
class Cart:
    id: object
    units: Counter = field(default_factory=Counter)
    coupon: bool = False
    ordered: bool = False

    def total(self, coupon_is_good):
        subtotal = sum(PRICES[product] * count for product, count in self.units.items())
        off = (subtotal * PERCENT * 2 + 100) // 200 if self.coupon and coupon_is_good else 0
        return subtotal - off + (SHIPPING if self.units else 0)


@dataclass
class Order:
    id: int
    public_id: object
    units: Counter
    total: int
    coupon: bool
    status: str = "O"
    paid: int = 0
    refunded: int = 0

    @property
    def holds(self):
        return {"O": "R", "P": "D"}.get(self.status, "N")


@dataclass
class Model:
    """Count stock on hand, stock reserved or deducted by orders, and coupon uses."""

    on_hand: Counter = field(default_factory=lambda: Counter(dict.fromkeys(range(len(PRICES)), STOCK)))
    carts: list = field(default_factory=list)
    orders: list = field(default_factory=list)

    def reserved(self, product):
        return sum(order.units[product] for order in self.orders if order.holds == "R")

    def has(self, units):
        return all(self.on_hand[product] - self.reserved(product) >= count for product, count in units.items())

    @property
    def coupons_used(self):
        return sum(order.coupon for order in self.orders if order.holds != "N")

    @property
    def coupon_is_good(self):
        return self.coupons_used < COUPON_USES

    def go(self, order, status):
        """Change an order's status if allowed; return False when it is out of stock."""
        before, after = order.holds, {"O": "R", "P": "D"}.get(status, "N")
        if before == "N" and after != "N" and not self.has(order.units):
            return False
        if before == "D" and after != "D":
            self.on_hand += order.units
        if before != "D" and after == "D":
            self.on_hand.subtract(order.units)
        order.status = status
        return True


class Play:
    """Run steps against a store and the model, and compare the results."""

    def __init__(self, kit):
        self.kit, self.model = kit, Model()

    async def prepare(self):
        kit = self.kit
        await set_gateway_secret(kit.scope, SECRET)
        self.products = [await kit.product(stock=STOCK, price_cents=price) for price in PRICES]
        self.ids = [await kit.public_id("products", product) for product in self.products]
        self.way = await kit.public_id("shipping_methods", await kit.shipping(base_cents=SHIPPING))
        self.payment = await kit.public_id("payment_methods", await kit.payment(hold_minutes=30))
        self.coupon = await PROMOTION_RECORDS.create(
            kit.scope,
            {
                "name": "Dez",
                "coupon_code": "DEZ",
                "usage_limit": COUPON_USES,
                "bonuses": {"order_discount": f"{PERCENT}%"},
            },
        )

    @property
    def front(self):
        return self.kit.as_storefront()

    async def take(self, step):
        kind, *rest = step
        await getattr(self, kind.replace(" ", "_"))(*rest)

    def _cart(self, place):
        return self.model.carts[place % len(self.model.carts)] if self.model.carts else None

    def _order(self, place):
        return self.model.orders[place % len(self.model.orders)] if self.model.orders else None

    async def _item(self, cart, product):
        shown = await load_cart_record(self.front, cart.id)
        return next((item["id"] for item in shown["items"] if item["product_id"] == self.ids[product]), None)

    # --- carts ---

    async def create(self, product, quantity):
        created = await change.create_cart(
            self.front, {"items": [{"product": self.ids[product], "quantity": quantity}]}
        )
        await change.set_address(
            self.front, created["id"], {"name": "Ana", "city": "São Paulo", "zipcode": "01001-000"}
        )
        await change.set_shipping_option(self.front, created["id"], self.way)
        self.model.carts.append(Cart(created["id"], Counter({product: quantity})))

    async def _changed(self, cart, work):
        """Change a cart unless it was ordered; return whether it changed."""
        if cart.ordered:
            with pytest.raises(Conflict) as error:
                await work
            assert error.value.reason == "cart_already_ordered"
            return False
        await work
        return True

    async def add(self, place, product, quantity):
        cart = self._cart(place)
        if cart is not None:
            item = {"product": self.ids[product], "quantity": quantity}
            if await self._changed(cart, lines.add_item(self.front, cart.id, item)):
                cart.units[product] += quantity

    async def set(self, place, product, quantity):
        cart = self._cart(place)
        item = await self._item(cart, product) if cart is not None else None
        if item is not None:
            work = lines.update_item(self.front, cart.id, item, {"quantity": quantity})
            if await self._changed(cart, work):
                cart.units[product] = quantity

    async def remove(self, place, product):
        cart = self._cart(place)
        if cart is None:
            return
        item = await self._item(cart, product)
        if item is None:
            if not cart.ordered:
                with pytest.raises(NotFound):
                    await lines.remove_items(self.front, cart.id, [self.ids[product]])
        elif await self._changed(cart, lines.remove_items(self.front, cart.id, [item])):
            del cart.units[product]

    async def coupon_(self, cart, on):
        await change.apply_coupon(self.front, cart.id, "DEZ" if on else "")

    async def check_out(self, place):
        cart = self._cart(place)
        if cart is None:
            return
        values = {"customer_email": "ana@example.com", "payment_id": self.payment}
        expected = self._refusal(cart)
        if expected is not None:
            with pytest.raises((RuleViolation, Conflict)) as error:
                await checkout.check_out(self.front, cart.id, values)
            assert error.value.reason == expected
            return
        created = await checkout.check_out(self.front, cart.id, values)
        total = cart.total(self.model.coupon_is_good)
        self.model.orders.append(Order(created.id, created.public_id, +cart.units, total, cart.coupon))
        cart.ordered = True

    def _refusal(self, cart):
        if cart.ordered:
            return "cart_already_ordered"
        if not +cart.units:
            return "cart_empty"
        if cart.coupon and not self.model.coupon_is_good:
            return "coupon_unavailable"
        return None if self.model.has(cart.units) else "out_of_stock"

    # --- orders ---

    async def _notify(self, kind, order, **more):
        body = raw(event(kind, charge(order.public_id, order.total, id=f"ch_{order.id}", **more)))
        assert await notifications.receive(self.kit.scope, body, [signature(body)]) == "received"

    async def pay(self, place):
        order = self._order(place)
        if order is None or order.paid:
            return
        await self._notify("charge.paid", order)
        order.paid = order.total
        if order.status in "OF":
            self.model.go(order, "P")

    async def refund(self, place):
        order = self._order(place)
        if order is None or not order.paid or order.refunded:
            return
        await self._notify("charge.refunded", order, canceled_amount=order.total)
        order.refunded = order.total
        if order.status != "I":
            self.model.go(order, "I")

    async def cancel(self, place):
        order = self._order(place)
        if order is not None:
            await change_status(self.kit.as_admin(), order.id, "I")
            if order.status != "I":
                self.model.go(order, "I")

    async def expire(self):
        late = replace(self.kit.scope, now=self.kit.scope.now + timedelta(minutes=31))
        due = [order for order in self.model.orders if order.status == "O" and not order.paid]
        assert await expire_orders(late) == len(due)
        for order in due:
            self.model.go(order, "F")

    # --- invariants ---

    async def compare(self, step):
        kit, model = self.kit, self.model
        for place, product in enumerate(self.products):
            assert await kit.figures(product) == (model.on_hand[place], model.reserved(place)), step
        used = await kit.value("SELECT used FROM promotions WHERE tenant_id = $1 AND id = $2", self.coupon)
        assert used == model.coupons_used, step
        for order in model.orders:
            record = await kit.record("orders", order.id)
            assert (record["status"], record["total_cents"]) == (order.status, order.total), (step, order)
            assert (record["paid_cents"], record["refunded_cents"]) == (order.paid, order.refunded), (step, order)
            parts = record["subtotal_cents"] - record["discount_cents"] + record["shipping_cents"]
            assert parts == record["total_cents"], (step, order)
            stored = await kit.lines(order.id)
            assert sum(line["quantity"] * line["price_cents"] for line in stored) == record["subtotal_cents"], (
                step,
                order,
            )
        for cart in model.carts:
            shown = await load_cart_record(self.front, cart.id)
            units = Counter({item["product_id"]: item["quantity"] for item in shown["items"]})
            assert units == Counter({self.ids[product]: count for product, count in (+cart.units).items()}), (
                step,
                cart,
            )
            assert shown["status"] == ("ordered" if cart.ordered else "open"), (step, cart)
            assert sum(item["total_cents"] for item in shown["items"]) == shown["subtotal_cents"], (step, cart)
            known = shown["subtotal_cents"] - shown["discount_cents"] + shown["shipping_cents"]
            assert known == shown["total_cents"], (step, cart)
            if not cart.ordered:
                assert shown["total_cents"] == cart.total(model.coupon_is_good), (step, cart)
        ordered = await kit.rows("SELECT order_id, total_cents FROM carts WHERE tenant_id = $1 AND status = 'ordered'")
        assert sorted((row["order_id"], row["total_cents"]) for row in ordered) == sorted(
            (order.id, order.total) for order in model.orders
        ), step


async def _coupon(play, place, on):
    cart = play._cart(place)
    if cart is None or (not on and not cart.ordered and not cart.coupon):
        return
    work = play.coupon_(cart, on)
    is_refused = on and not cart.ordered and not (play.model.coupon_is_good and +cart.units)
    if is_refused:
        with pytest.raises(RuleViolation) as error:
            await work
        assert error.value.reason == "coupon_unavailable"
    elif await play._changed(cart, work):
        cart.coupon = on


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
@example(
    [
        ("create", 0, 3), ("create", 0, 3), ("check out", 0), ("check out", 1), ("expire",), ("check out", 1),
        ("pay", 0), ("pay", 1), ("refund", 0), ("refund", 1), ("cancel", 0),
    ]
)  # fmt: skip
@example(
    [
        ("create", 0, 1), ("create", 1, 1), ("create", 1, 2), ("coupon", 0, True), ("coupon", 1, True), ("coupon", 2, True),
        ("check out", 0), ("check out", 1), ("check out", 2), ("cancel", 0), ("check out", 2), ("expire",), ("pay", 1),
    ]
)  # fmt: skip
async def test_payments_stock_and_coupon_uses_match_the_model(new_store, taken):
    play = Play(DomainStore(system_scope(await new_store())))
    await play.prepare()
    for step in taken:
        if step[0] == "coupon":
            await _coupon(play, *step[1:])
        else:
            await play.take(step)
        await play.compare(step)
    for subject in {recorded["subject_id"] for recorded in await play.kit.events()}:
        numbers = [recorded["sequence"] for recorded in await play.kit.events(subject)]
        assert numbers == list(range(1, len(numbers) + 1)), subject
