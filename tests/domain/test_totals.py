"""The arithmetic of an order, in whole cents."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.orders.totals import Goods, Rate, Surcharge, add_up, shipping_cents
from kernel.errors import ValidationFailed
from kernel.money import MAX_CENTS, rounded

amounts = st.integers(0, 10**7)
goods = st.lists(
    st.builds(
        Goods,
        quantity=st.integers(1, 100),
        price_cents=amounts,
        weight_grams=st.integers(0, 50_000),
        is_shipped=st.booleans(),
        ships_free=st.booleans(),
    ),
    min_size=1,
    max_size=8,
)
rates = st.builds(
    Rate,
    base_cents=amounts,
    per_kg_cents=amounts,
    per_item_cents=amounts,
    free_from_cents=st.none() | amounts,
)
surcharges = st.builds(Surcharge, cents=amounts, percent=st.integers(0, 10_000))


@given(goods, st.none() | rates, st.none() | surcharges)
def test_the_total_is_the_sum_of_its_parts(some, rate, surcharge):
    totals = add_up(some, rate=rate, surcharge=surcharge)
    assert totals.subtotal_cents == sum(one.quantity * one.price_cents for one in some)
    assert totals.total_cents == (
        totals.subtotal_cents + totals.shipping_cents + totals.surcharge_cents + totals.tax_cents
    )
    assert min(totals.shipping_cents, totals.surcharge_cents) >= 0


@given(st.integers(0, 10**12), st.integers(1, 10**6))
def test_fractions_of_a_cent_are_rounded_half_up(numerator, denominator):
    exact = Fraction(numerator, denominator)
    assert rounded(numerator, denominator) == int(exact + Fraction(1, 2))


def test_shipping_is_base_weight_and_items():
    rate = Rate(base_cents=1_000, per_kg_cents=333, per_item_cents=50)
    some = [Goods(2, 100, weight_grams=750), Goods(1, 100, weight_grams=0)]
    assert shipping_cents(rate, some, 300) == 1_000 + 500 + 150  # 333 × 1.5 kg is 499.5


def test_goods_that_ship_free_or_not_at_all_pay_nothing():
    rate = Rate(base_cents=1_000, per_kg_cents=100, per_item_cents=10)
    free = Goods(3, 100, weight_grams=1_000, ships_free=True)
    download = Goods(1, 100, weight_grams=1_000, is_shipped=False)
    assert shipping_cents(rate, [free, download], 400) == 0
    assert shipping_cents(rate, [free, download, Goods(1, 100, weight_grams=1_000)], 500) == 1_110


@pytest.mark.parametrize("subtotal, price", [(999, 500), (1_000, 0), (1_001, 0)])
def test_shipping_is_free_from_a_subtotal_on(subtotal, price):
    rate = Rate(base_cents=500, free_from_cents=1_000)
    assert shipping_cents(rate, [Goods(1, subtotal)], subtotal) == price


def test_a_discount_lowers_what_the_surcharge_is_taken_of():
    totals = add_up([Goods(1, 10_000)], surcharge=Surcharge(cents=100, percent=1_000), discount_cents=2_000)
    assert (totals.surcharge_cents, totals.total_cents) == (900, 8_900)


def test_without_a_rate_shipping_costs_what_is_known():
    assert add_up([Goods(1, 100)], known_shipping_cents=50).total_cents == 150


@pytest.mark.parametrize("price", [MAX_CENTS // 2 + 1, MAX_CENTS])
def test_more_than_fits_is_refused(price):
    with pytest.raises(ValidationFailed):
        add_up([Goods(2, price)])


def test_a_discount_above_the_subtotal_is_refused():
    with pytest.raises(ValidationFailed):
        add_up([Goods(1, 100)], discount_cents=101)
