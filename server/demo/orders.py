"""Plan the demo orders and their history: about sixty, deterministic.

Dates are relative to the creation of the demo, so that it never looks outdated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from server.demo.catalog import DemoCatalog, DemoPaymentMethod, DemoProduct, DemoShippingMethod
from server.demo.customers import DemoCustomer

SEED = 20_260_000
# Age of the oldest order in days; by then all products exist.
OLDEST_DAYS = 92
# The newest order is old enough for its history to be in the past.
_NEWEST_DAYS = 1.2
_CARRIERS = (("Correios", "BR"), ("Rodonaves", "RN"), ("Loggi", "LG"))
_NOTES = ("", "", "", "Embrulhar para presente, por favor.", "Deixar com o porteiro.", "Tocar a campainha do fundo.")


@dataclass(frozen=True, slots=True)
class DemoOrderLine:
    """A quantity of a product, named by its index in the catalog."""

    product: int
    quantity: int


@dataclass(frozen=True, slots=True)
class DemoOrderStep:
    """A step of an order's history: `kind` is `pay`, `refund`, `ship` (partially) or a status code."""

    after: timedelta
    kind: str
    reason: str = ""
    tracking_code: str = ""
    carrier: str = ""
    restock: bool = False


@dataclass(frozen=True, slots=True)
class DemoOrder:
    """An order with its history."""

    placed_at: datetime
    customer: int
    lines: tuple[DemoOrderLine, ...]
    payment: DemoPaymentMethod
    shipping: DemoShippingMethod
    notes: str
    starts_open: bool
    steps: tuple[DemoOrderStep, ...]


def plan_orders(catalog: DemoCatalog, customers: Sequence[DemoCustomer], now: datetime) -> list[DemoOrder]:
    """Return the store's orders in chronological order."""
    random = Random(SEED)  # deterministic, not for secrets
    statuses = _statuses(catalog, random)
    sellable = [index for index, product in enumerate(catalog.products) if product.sells]
    orders = []
    for index, status in enumerate(statuses):
        days_ago = OLDEST_DAYS * (len(statuses) - index) / len(statuses) - random.random()
        placed_at = (now - timedelta(days=max(days_ago, _NEWEST_DAYS))).replace(microsecond=0)
        lines = _lines(random, sellable)
        weight = sum(catalog.products[line.product].weight * line.quantity for line in lines)
        payment = random.choice(catalog.payments)
        orders.append(
            DemoOrder(
                placed_at,
                random.randrange(len(customers)),
                lines,
                payment,
                random.choice(
                    [
                        method
                        for method in catalog.shippings
                        if not method.max_weight_grams or weight < method.max_weight_grams
                    ]
                ),
                random.choice(_NOTES),
                # Card payments settle at once, except in orders that failed.
                starts_open=status in "ODF" or not payment.settles_at_once,
                steps=tuple(_steps(status, payment, index, random)),
            )
        )
    return orders


def bought_products(orders: Sequence[DemoOrder], products: Sequence[DemoProduct]) -> list[tuple[int, int, datetime]]:
    """Return product, customer and possible review date of each line of completed orders."""
    purchases = []
    for order in orders:
        completed = next((step for step in order.steps if step.kind == "C"), None)
        if completed is not None:
            at = order.placed_at + completed.after + timedelta(days=4)
            purchases += [
                (line.product, order.customer, at) for line in order.lines if products[line.product].status == "A"
            ]
    return purchases


def _statuses(catalog: DemoCatalog, random: Random) -> list[str]:
    """Return a status per order: final ones first, open ones last."""
    final = [status for status in "CDFI" for _ in range(catalog.orders.get(status, 0))]
    open_statuses = [status for status in "POB" for _ in range(catalog.orders.get(status, 0))]
    random.shuffle(final)
    random.shuffle(open_statuses)
    return final + open_statuses


def _lines(random: Random, sellable: Sequence[int]) -> tuple[DemoOrderLine, ...]:
    chosen = random.sample(sellable, k=random.choice((1, 1, 1, 2, 2, 3, 4)))
    return tuple(DemoOrderLine(product, random.choice((1, 1, 1, 2, 2, 3))) for product in chosen)


def _steps(status: str, payment: DemoPaymentMethod, index: int, random: Random) -> Iterator[DemoOrderStep]:
    """Yield the steps that lead to the order's status."""
    hours = timedelta(hours=1 + random.randrange(20))
    is_card = payment.settles_at_once
    if status == "D":
        yield DemoOrderStep(hours, "D", "pagamento recusado pelo banco emissor")
    if status == "F":
        yield DemoOrderStep(timedelta(days=3), "F", "pagamento não confirmado no prazo")
    if status == "I" and index % 2 and not is_card:  # a card has paid already
        yield DemoOrderStep(hours, "I", "desistência antes do pagamento")
        return
    if status in "PCIB" and not is_card:
        yield DemoOrderStep(hours, "pay")
        yield DemoOrderStep(hours + timedelta(minutes=2), "P", "pagamento confirmado")
    if status == "B":
        yield DemoOrderStep(hours + timedelta(hours=5), "B", "aguardando a próxima fornada")
    if status == "C":
        yield from _delivery_steps(hours, index, random)
    if status == "I":
        yield from _refund_steps(hours, index, random)


def _delivery_steps(hours: timedelta, index: int, random: Random) -> Iterator[DemoOrderStep]:
    days = timedelta(days=1 + random.randrange(3))
    carrier, prefix = _CARRIERS[index % len(_CARRIERS)]
    code = f"{prefix}{410_000_000 + index * 1_357_911:09d}BR"
    if index % 9 == 4:
        yield DemoOrderStep(hours + days, "ship", tracking_code=f"{code}-1", carrier=carrier)
        days += timedelta(days=1)
    yield DemoOrderStep(hours + days, "C", "entregue à transportadora", tracking_code=code, carrier=carrier)


def _refund_steps(hours: timedelta, index: int, random: Random) -> Iterator[DemoOrderStep]:
    """Yield the steps of a paid, sometimes delivered, order that is refunded."""
    if index % 4 == 0:
        yield from _delivery_steps(hours, index, random)
        hours += timedelta(days=9)
    yield DemoOrderStep(hours + timedelta(days=1), "refund")
    yield DemoOrderStep(hours + timedelta(days=1, minutes=1), "I", "devolução dentro de sete dias", restock=True)
