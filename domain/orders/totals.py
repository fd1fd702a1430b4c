"""Add up what an order costs. Pure arithmetic in whole cents; nothing here is ever taken from a client.

    subtotal   the sum of price × quantity
    shipping   base + per kilogram × weight + per item × items of the goods that are shipped and don't ship free; nothing from
               the method's `free_from` on (decisions-legacy section 3, shippings)
    surcharge  the payment method's fixed part plus its percentage of subtotal − discount + shipping
    tax        the taxes that the prices don't include (`domain.taxes.computing`)
    total      subtotal − discount + shipping + surcharge + tax

Fractions of a cent are rounded half up, once, where they arise. No total may pass 10**15 cents, so that no column overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernel.errors import ValidationFailed
from kernel.money import MAX_CENTS, rounded

_GRAMS_PER_KG = 1_000
_HUNDREDTHS_OF_A_PERCENT = 10_000


@dataclass(frozen=True, slots=True)
class Goods:
    """Describe some units of a product as far as money is concerned; weight in grams a unit."""

    quantity: int
    price_cents: int
    weight_grams: int = 0
    is_shipped: bool = True
    ships_free: bool = False

    @property
    def pays_shipping(self) -> bool:
        """Say whether these goods count toward the price of the parcel."""
        return self.is_shipped and not self.ships_free


@dataclass(frozen=True, slots=True)
class Rate:
    """Describe what a shipping method charges; `free_from_cents` null: never free."""

    base_cents: int = 0
    per_kg_cents: int = 0
    per_item_cents: int = 0
    free_from_cents: int | None = None


@dataclass(frozen=True, slots=True)
class Surcharge:
    """Describe what a payment method adds: cents, and hundredths of a percent."""

    cents: int = 0
    percent: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """Hold the amounts of an order, in cents."""

    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    surcharge_cents: int
    tax_cents: int
    total_cents: int


def add_up(
    goods: Sequence[Goods],
    *,
    rate: Rate | None = None,
    surcharge: Surcharge | None = None,
    discount_cents: int = 0,
    tax_cents: int = 0,
    known_shipping_cents: int = 0,
) -> Totals:
    """Compute all amounts of an order; without a rate its shipping costs what is known (an import).

    Raises ValidationFailed for a discount above the subtotal and for amounts past 10**15 cents.
    """
    subtotal = sum(some.quantity * some.price_cents for some in goods)
    if discount_cents > subtotal:
        raise ValidationFailed(
            f"discount_cents is {discount_cents}; expected at most the subtotal, {subtotal}",
            field="discount_cents",
            code="discount_invalid",
        )
    shipping = shipping_cents(rate, goods, subtotal) if rate else known_shipping_cents
    added = surcharge_cents(surcharge, subtotal - discount_cents + shipping) if surcharge else 0
    total = subtotal - discount_cents + shipping + added + tax_cents
    _check_size(max(subtotal, total))
    return Totals(subtotal, discount_cents, shipping, added, tax_cents, total)


def with_tax(totals: Totals, tax_cents: int) -> Totals:
    """Add the taxes that the prices don't include. Raises ValidationFailed for a total past 10**15 cents."""
    total = totals.total_cents - totals.tax_cents + tax_cents
    _check_size(total)
    return replace(totals, tax_cents=tax_cents, total_cents=total)


def _check_size(cents: int) -> None:
    if cents > MAX_CENTS:
        raise ValidationFailed(
            f"the total is {cents} cents; expected at most {MAX_CENTS}",
            field="total_cents",
            code="total_too_large",
        )


def shipping_cents(rate: Rate, goods: Sequence[Goods], subtotal_cents: int) -> int:
    """Price the parcel: nothing when no goods pay for it, or from the free amount on."""
    paying = [some for some in goods if some.pays_shipping]
    if not paying or (rate.free_from_cents is not None and subtotal_cents >= rate.free_from_cents):
        return 0
    by_weight = rounded(rate.per_kg_cents * weight_grams(paying), _GRAMS_PER_KG)
    return rate.base_cents + by_weight + rate.per_item_cents * sum(some.quantity for some in paying)


def surcharge_cents(surcharge: Surcharge, amount_cents: int) -> int:
    """Price the payment of an amount."""
    return surcharge.cents + rounded(surcharge.percent * amount_cents, _HUNDREDTHS_OF_A_PERCENT)


def weight_grams(goods: Sequence[Goods]) -> int:
    """Weigh what is shipped."""
    return sum(some.quantity * some.weight_grams for some in goods if some.is_shipped)
