from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.money import MAX_CENTS, format_cents, parse_cents
from kernel.text import InvalidValue


@pytest.mark.parametrize(
    "value,cents",
    [
        ("129.90", 12990),
        ("129.9", 12990),
        ("129", 12900),
        (129, 12900),
        (129.9, 12990),
        ("30.000000", 3000),
        (19.900000000000002, 1990),
        (0.1 + 0.2, 30),
        ("0", 0),
        (0, 0),
        (-0.0, 0),
        ("-0.00", 0),
        ("007.50", 750),
        (1e2, 10000),
        (1e-7, 0),
        ("0.01", 1),
        ("10.000001", 1000),
        ("9.999999", 1000),
    ],
)
def test_an_amount_within_tolerance_of_a_cent_is_parsed(value, cents):
    assert parse_cents(value) == cents


@pytest.mark.parametrize("value", ["1.999", 1.999, "0.001", "10.0000011", "9.9999989", 0.005, "0.0050"])
def test_an_amount_finer_than_a_cent_is_rejected(value):
    with pytest.raises(InvalidValue, match="at most two decimal places"):
        parse_cents(value)


@pytest.mark.parametrize(
    "value",
    [
        "1e2", "1E2", "NaN", "Infinity", float("nan"), float("inf"), float("-inf"), True, False, None, [], {}, b"1",
        "", " ", " 1", "1 ", "1\n", "+1", "--1", "- 1", ".5", "5.", "1,50", "1.234,56", "R$ 1", "0x10", "1_000",
        "\u0661\u0662", "\uff11\uff12", "1" * 33, "0." + "0" * 65, Decimal("1.00"),
    ],
)  # fmt: skip
def test_an_invalid_amount_is_rejected(value):
    with pytest.raises(InvalidValue, match=r"^price is .*; expected an amount"):
        parse_cents(value, field="price")


@pytest.mark.parametrize("value", ["-1", -1, -0.01, "-129.90"])
def test_a_negative_amount_is_parsed_only_where_allowed(value):
    with pytest.raises(InvalidValue, match="expected zero or more"):
        parse_cents(value)
    assert parse_cents(value, negative=True) < 0


def test_amounts_are_limited_to_ten_to_the_fifteenth_cents():
    assert parse_cents("10000000000000.00") == MAX_CENTS
    assert parse_cents("-10000000000000.00", negative=True) == -MAX_CENTS
    for beyond in ("10000000000000.01", 10**13 + 1, 1e300, -(10**5000), 10**5000, "9" * 32):
        with pytest.raises(InvalidValue, match=r"too large; expected at most 10000000000000\.00"):
            parse_cents(beyond, negative=True)


def test_the_message_has_the_field_and_the_truncated_value():
    with pytest.raises(InvalidValue) as error:
        parse_cents("x" * 10_000, field="list_price")
    assert str(error.value).startswith("list_price is 'xxx")
    assert len(str(error.value)) < 150


@pytest.mark.parametrize(
    "cents,text",
    [
        (12990, "129.90"),
        (-5, "-0.05"),
        (0, "0.00"),
        (7, "0.07"),
        (-100, "-1.00"),
        (10**15, "10000000000000.00"),
    ],
)
def test_cents_are_formatted_with_two_decimals(cents, text):
    assert format_cents(cents) == text


@given(st.integers(-MAX_CENTS, MAX_CENTS))
def test_formatted_cents_round_trip(cents):
    assert parse_cents(format_cents(cents), negative=True) == cents


@given(st.integers(-(10**11), 10**11))
def test_a_float_is_parsed_as_its_shortest_repr(cents):
    assert parse_cents(cents / 100, negative=True) == cents


@given(st.one_of(st.text(), st.floats(), st.integers(), st.none(), st.booleans()))
def test_parse_cents_returns_an_integer_or_raises(value):
    try:
        cents = parse_cents(value)
    except InvalidValue:
        return
    assert type(cents) is int
    assert 0 <= cents <= MAX_CENTS
