"""Decide who bought what, when, and what became of it: sixty small stories, the same ones each time.

The plan counts days back from the moment at which the demo is made, so that a demo is never out of date.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from server.demo.assortment import DemoCatalog, DemoProduct, PaymentWay, ShippingWay
from server.demo.population import DemoCustomer

SEED = 20_260_000
# The oldest order; nothing is sold before the last product was made.
FIRST_DAY = 92
# The newest is old enough for what became of it to lie behind too.
_NEWEST_DAYS = 1.2
_CARRIERS = (("Correios", "BR"), ("Rodonaves", "RN"), ("Loggi", "LG"))
_WISHES = (
    "",
    "",
    "",
    "Embrulhar para presente, por favor.",
    "Deixar com o porteiro.",
    "Tocar a campainha do fundo.",
)


@dataclass(frozen=True, slots=True)
class Line:
    """So many units of a product, named by its place in the shop's list."""

    product: int
    quantity: int


@dataclass(frozen=True, slots=True)
class SaleStep:
    """Something that happened to an order: `kind` is `pay`, `refund`, `ship` (in part) or a status letter."""

    after: timedelta
    kind: str
    reason: str = ""
    tracking_code: str = ""
    carrier: str = ""
    restock: bool = False


@dataclass(frozen=True, slots=True)
class Sale:
    """An order on its way through life."""

    placed_at: datetime
    customer: int
    lines: tuple[Line, ...]
    payment: PaymentWay
    shipping: ShippingWay
    notes: str
    starts_open: bool
    steps: tuple[SaleStep, ...]


def plan(shop: DemoCatalog, customers: Sequence[DemoCustomer], now: datetime) -> list[Sale]:
    """Give the shop's orders in the order in which they were placed."""
    chance = Random(SEED)  # not for secrets: the same stories each time
    letters = _letters(shop, chance)
    goods = [place for place, product in enumerate(shop.products) if product.sells]
    sales = []
    for place, letter in enumerate(letters):
        days_ago = FIRST_DAY * (len(letters) - place) / len(letters) - chance.random()
        placed_at = (now - timedelta(days=max(days_ago, _NEWEST_DAYS))).replace(microsecond=0)
        lines = _lines(chance, goods)
        weight = sum(shop.products[line.product].weight * line.quantity for line in lines)
        payment = chance.choice(shop.payments)
        sales.append(
            Sale(
                placed_at,
                chance.randrange(len(customers)),
                lines,
                payment,
                chance.choice([way for way in shop.shippings if not way.heaviest or weight < way.heaviest]),
                chance.choice(_WISHES),
                # Card payments settle at once, unless the story is about one that did not.
                starts_open=letter in "ODF" or not payment.settles_at_once,
                steps=tuple(_story(letter, payment, place, chance)),
            )
        )
    return sales


def bought_products(
    sales: Sequence[Sale], products: Sequence[DemoProduct]
) -> list[tuple[int, int, datetime]]:
    """List who got what: product and customer of completed orders, and when they may say something about it."""
    got = []
    for sale in sales:
        completed = next((step for step in sale.steps if step.kind == "C"), None)
        if completed is not None:
            at = sale.placed_at + completed.after + timedelta(days=4)
            got += [
                (line.product, sale.customer, at)
                for line in sale.lines
                if products[line.product].status == "A"
            ]
    return got


def _letters(shop: DemoCatalog, chance: Random) -> list[str]:
    """Give each order its letter: what is settled lies behind, what is under way is recent."""
    settled = [letter for letter in "CDFI" for _ in range(shop.orders.get(letter, 0))]
    under_way = [letter for letter in "POB" for _ in range(shop.orders.get(letter, 0))]
    chance.shuffle(settled)
    chance.shuffle(under_way)
    return settled + under_way


def _lines(chance: Random, goods: Sequence[int]) -> tuple[Line, ...]:
    chosen = chance.sample(goods, k=chance.choice((1, 1, 1, 2, 2, 3, 4)))
    return tuple(Line(product, chance.choice((1, 1, 1, 2, 2, 3))) for product in chosen)


def _story(letter: str, payment: PaymentWay, place: int, chance: Random) -> Iterator[SaleStep]:
    """Tell what happens to an order until it has its letter."""
    hours = timedelta(hours=1 + chance.randrange(20))
    is_card = payment.settles_at_once
    if letter == "D":
        yield SaleStep(hours, "D", "pagamento recusado pelo banco emissor")
    if letter == "F":
        yield SaleStep(timedelta(days=3), "F", "pagamento não confirmado no prazo")
    if letter == "I" and place % 2:
        yield SaleStep(hours, "I", "desistência antes do pagamento")
        return
    if letter in "PCIB" and not is_card:
        yield SaleStep(hours, "pay")
        yield SaleStep(hours + timedelta(minutes=2), "P", "pagamento confirmado")
    if letter == "B":
        yield SaleStep(hours + timedelta(hours=5), "B", "aguardando a próxima fornada")
    if letter == "C":
        yield from _delivery(hours, place, chance)
    if letter == "I":
        yield from _return(hours, place, chance)


def _delivery(hours: timedelta, place: int, chance: Random) -> Iterator[SaleStep]:
    days = timedelta(days=1 + chance.randrange(3))
    carrier, prefix = _CARRIERS[place % len(_CARRIERS)]
    code = f"{prefix}{410_000_000 + place * 1_357_911:09d}BR"
    if place % 9 == 4:
        yield SaleStep(hours + days, "ship", tracking_code=f"{code}-1", carrier=carrier)
        days += timedelta(days=1)
    yield SaleStep(hours + days, "C", "entregue à transportadora", tracking_code=code, carrier=carrier)


def _return(hours: timedelta, place: int, chance: Random) -> Iterator[SaleStep]:
    """Tell of an order that was paid, in some stories delivered too, and then called off."""
    if place % 4 == 0:
        yield from _delivery(hours, place, chance)
        hours += timedelta(days=9)
    yield SaleStep(hours + timedelta(days=1), "refund")
    yield SaleStep(hours + timedelta(days=1, minutes=1), "I", "devolução dentro de sete dias", restock=True)
