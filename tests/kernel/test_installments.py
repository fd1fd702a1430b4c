"""Instalments: what a store's rule offers, and the interest in it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.installments import MAX_INSTALLMENTS, find_option, installment_options, parse_rules
from kernel.text import InvalidValue

RULES = parse_rules("2-3:0, 4-12:1.99:200")


def test_a_rule_offers_what_it_says():
    assert [option.number for option in installment_options(RULES, 19_999)] == [1, 2, 3]
    assert [option.number for option in installment_options(RULES, 20_000)] == list(range(1, 13))
    assert find_option(RULES, 19_999, 4) is None
    assert find_option((), 1, 2) is None


def test_no_instalment_is_of_less_than_a_cent():
    assert [option.number for option in installment_options(RULES, 2)] == [1, 2]


def test_interest_is_that_of_a_price_table():
    # 1,000.00 in 12 at 1.99 % a month: 1000 * 0.0199 / (1 - 1.0199 ** -12) = 94.5017.
    option = find_option(RULES, 100_000, 12)
    assert option is not None
    assert (option.first_cents, option.other_cents, option.total_cents) == (9_450, 9_450, 113_400)


def test_interest_is_never_negative():
    option = find_option(parse_rules("3:0.01"), 100, 3)
    assert option is not None
    assert (option.surcharge_cents, option.total_cents) == (0, 100)


@given(st.integers(1, 10**9), st.integers(1, MAX_INSTALLMENTS), st.integers(0, 9_999))
def test_instalments_add_up_and_are_worth_the_amount(cents, number, hundredths):
    rules = parse_rules(f"2-{MAX_INSTALLMENTS}:{hundredths // 100}.{hundredths % 100:02d}")
    option = find_option(rules, cents, number)
    if option is None:
        assert cents < number
        return
    assert option.first_cents + option.other_cents * (number - 1) == option.total_cents
    assert option.surcharge_cents == option.total_cents - cents >= 0
    if number == 1 or not hundredths:
        assert option.total_cents == cents
        return
    rate = 1 + Decimal(hundredths) / 10_000
    worth = sum(Decimal(option.other_cents) / rate**month for month in range(1, number + 1))
    assert abs(worth - cents) <= number


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "2",
        "2:",
        "1:0",
        "0-3:0",
        "3-2:0",
        "25:0",
        "2-99:1",
        "2:0,2:1",
        "2-4:0,3:1",
        "2:1.999",
        "2:-1",
        "2:1:x",
        "2:1:1.5",
    ],
)
def test_a_wrong_rule_is_refused(text):
    with pytest.raises(InvalidValue):
        parse_rules(text)


@pytest.mark.parametrize("text", ["", " ", ",", "2:0", "2-24:99.99:1.50", " 2:0 , 3:1 "])
def test_a_right_rule_is_read(text):
    parse_rules(text)
