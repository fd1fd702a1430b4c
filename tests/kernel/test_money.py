from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.money import MAX_CENTS, Malformed, cents_from, decimal_text


@pytest.mark.parametrize(
    "given_value,cents",
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
def test_an_amount_within_a_millionth_of_a_cent_value_is_read(given_value, cents):
    assert cents_from(given_value) == cents


@pytest.mark.parametrize("given_value", ["1.999", 1.999, "0.001", "10.0000011", "9.9999989", 0.005, "0.0050"])
def test_an_amount_finer_than_a_cent_is_refused(given_value):
    with pytest.raises(Malformed, match="at most two decimal places"):
        cents_from(given_value)


@pytest.mark.parametrize(
    "given_value",
    [
        "1e2", "1E2", "NaN", "Infinity", float("nan"), float("inf"), float("-inf"), True, False, None, [], {}, b"1",
        "", " ", " 1", "1 ", "1\n", "+1", "--1", "- 1", ".5", "5.", "1,50", "1.234,56", "R$ 1", "0x10", "1_000",
        "\u0661\u0662", "\uff11\uff12", "1" * 33, "0." + "0" * 65, Decimal("1.00"),
    ],
)  # fmt: skip
def test_what_is_not_a_plain_amount_is_refused(given_value):
    with pytest.raises(Malformed, match=r"^price is .*; expected an amount"):
        cents_from(given_value, field="price")


@pytest.mark.parametrize("given_value", ["-1", -1, -0.01, "-129.90"])
def test_a_negative_amount_is_read_only_where_it_is_allowed(given_value):
    with pytest.raises(Malformed, match="expected zero or more"):
        cents_from(given_value)
    assert cents_from(given_value, negative=True) < 0


def test_amounts_are_bounded_at_ten_to_the_fifteenth_cents_on_both_sides():
    assert cents_from("10000000000000.00") == MAX_CENTS
    assert cents_from("-10000000000000.00", negative=True) == -MAX_CENTS
    for beyond in ("10000000000000.01", 10**13 + 1, 1e300, -(10**5000), 10**5000, "9" * 32):
        with pytest.raises(Malformed, match=r"too large; expected at most 10000000000000\.00"):
            cents_from(beyond, negative=True)


def test_the_message_tells_the_field_and_what_was_given_shortened():
    with pytest.raises(Malformed) as refusal:
        cents_from("x" * 10_000, field="list_price")
    assert str(refusal.value).startswith("list_price is 'xxx")
    assert len(str(refusal.value)) < 150


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
def test_cents_are_written_with_two_decimals(cents, text):
    assert decimal_text(cents) == text


@given(st.integers(-MAX_CENTS, MAX_CENTS))
def test_what_is_written_is_read_back(cents):
    assert cents_from(decimal_text(cents), negative=True) == cents


@given(st.integers(-(10**11), 10**11))
def test_every_float_that_prints_a_whole_cent_is_that_cent(cents):
    assert cents_from(cents / 100, negative=True) == cents


@given(st.one_of(st.text(), st.floats(), st.integers(), st.none(), st.booleans()))
def test_nothing_else_than_a_whole_number_or_a_refusal_comes_out(value):
    try:
        cents = cents_from(value)
    except Malformed:
        return
    assert type(cents) is int
    assert 0 <= cents <= MAX_CENTS
