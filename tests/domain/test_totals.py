"""Order totals, in whole cents."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.purchase.totals import MethodRate, PaymentSurcharge, TotalsLine, calculate_totals, shipping_cents
from kernel.errors import ValidationFailed
from kernel.money import MAX_CENTS, divide_half_up

amounts = st.integers(0, 10**7)
line_lists = st.lists(
    st.builds(
        TotalsLine,
        quantity=st.integers(1, 100),
        price_cents=amounts,
        weight_grams=st.integers(0, 50_000),
        is_shipped=st.booleans(),
        ships_free=st.booleans(),
        freight_cents=amounts,
    ),
    min_size=1,
    max_size=8,
)
rates = st.builds(
    MethodRate,
    base_cents=amounts,
    per_kg_cents=amounts,
    per_item_cents=amounts,
    free_from_cents=st.none() | amounts,
)
surcharges = st.builds(PaymentSurcharge, cents=amounts, percent=st.integers(0, 10_000))


@given(line_lists, st.none() | rates, st.none() | surcharges)
def test_the_total_is_the_sum_of_its_parts(lines, rate, surcharge):
    totals = calculate_totals(lines, rate=rate, surcharge=surcharge)
    assert totals.subtotal_cents == sum(line.quantity * line.price_cents for line in lines)
    assert totals.total_cents == (
        totals.subtotal_cents + totals.shipping_cents + totals.surcharge_cents + totals.tax_cents
    )
    assert min(totals.shipping_cents, totals.surcharge_cents) >= 0


@given(st.integers(0, 10**12), st.integers(1, 10**6))
def test_fractions_of_a_cent_are_rounded_half_up(numerator, denominator):
    exact = Fraction(numerator, denominator)
    assert divide_half_up(numerator, denominator) == int(exact + Fraction(1, 2))


def test_shipping_is_base_weight_and_items():
    rate = MethodRate(base_cents=1_000, per_kg_cents=333, per_item_cents=50)
    lines = [TotalsLine(2, 100, weight_grams=750), TotalsLine(1, 100, weight_grams=0)]
    assert shipping_cents(rate, lines, 300) == 1_000 + 500 + 150  # 333 × 1.5 kg is 499.5


def test_free_and_unshipped_lines_pay_no_shipping():
    rate = MethodRate(base_cents=1_000, per_kg_cents=100, per_item_cents=10)
    free = TotalsLine(3, 100, weight_grams=1_000, ships_free=True)
    download = TotalsLine(1, 100, weight_grams=1_000, is_shipped=False)
    assert shipping_cents(rate, [free, download], 400) == 0
    assert shipping_cents(rate, [free, download, TotalsLine(1, 100, weight_grams=1_000)], 500) == 1_110


def test_each_shipped_unit_adds_its_freight_unless_it_or_the_order_ships_free():
    rate = MethodRate(base_cents=1_000, free_from_cents=500)
    heavy = TotalsLine(3, 100, freight_cents=250)
    assert shipping_cents(rate, [heavy], 300) == 1_750
    assert shipping_cents(rate, [heavy, TotalsLine(2, 50, ships_free=True, freight_cents=90)], 400) == 1_750
    assert shipping_cents(rate, [TotalsLine(2, 50, is_shipped=False, freight_cents=90)], 100) == 0
    assert shipping_cents(rate, [heavy], 500) == 0


@pytest.mark.parametrize("subtotal, price", [(999, 500), (1_000, 0), (1_001, 0)])
def test_shipping_is_free_from_a_subtotal(subtotal, price):
    rate = MethodRate(base_cents=500, free_from_cents=1_000)
    assert shipping_cents(rate, [TotalsLine(1, subtotal)], subtotal) == price


def test_a_discount_lowers_the_surcharge_base():
    totals = calculate_totals(
        [TotalsLine(1, 10_000)], surcharge=PaymentSurcharge(cents=100, percent=1_000), discount_cents=2_000
    )
    assert (totals.surcharge_cents, totals.total_cents) == (900, 8_900)


def test_without_a_rate_shipping_is_fixed():
    assert calculate_totals([TotalsLine(1, 100)], fixed_shipping_cents=50).total_cents == 150


@pytest.mark.parametrize("price", [MAX_CENTS // 2 + 1, MAX_CENTS])
def test_an_amount_above_the_maximum_is_rejected(price):
    with pytest.raises(ValidationFailed):
        calculate_totals([TotalsLine(2, price)])


def test_a_discount_above_the_subtotal_is_rejected():
    with pytest.raises(ValidationFailed):
        calculate_totals([TotalsLine(1, 100)], discount_cents=101)
