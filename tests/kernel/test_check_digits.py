"""What looks like the number of a card is refused wherever it is; documents, telephones and ids are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.check_digits import contains_card_number, luhn_digit, reject_card_numbers
from kernel.errors import ValidationFailed

# Test numbers of the card brands.
_CARDS = (
    "4111111111111111", "5555555555554444", "378282246310005", "6011111111111117", "4222222222222", "6362970000457013",
    "4111 1111 1111 1111", "4111-1111-1111-1111", "4111.1111.1111.1111", "tok_4111111111111111", "a4111111111111111b",
    "a 3782 822463 10005 b",
)  # fmt: skip
_OTHERS = (
    "", "4111111111111112", "tok_approved", "01a20dd0-0a15-77f8-9b41-441cd16d4270", "411111111111", "41111111111111111111111",
    "00190500954014481606906809350314337370000000100", "b4111111111111111aa0000000000000", "41111111-1111-1111-a111-111111111111",
)  # fmt: skip


@pytest.mark.parametrize("text", _CARDS)
def test_a_card_number_is_recognized(text):
    assert contains_card_number(text)


@pytest.mark.parametrize("text", _OTHERS)
def test_other_texts_are_none(text):
    assert not contains_card_number(text)


@given(st.from_regex(r"\A[2-6][0-9]{11,17}\Z"))
def test_every_number_with_its_check_digit_is_recognized(digits):
    assert contains_card_number(digits + str(luhn_digit(digits)))


@pytest.mark.parametrize(
    "values, field",
    [
        ({"card": {"number": "4111111111111111"}}, "number"),
        ({"a": [{"b": ["x", "4111111111111111"]}]}, "b"),
        ({"pan": 4111111111111111}, "pan"),
        ({"document": "4111111111111111"}, "document"),
        ({"phone": "4111111111111111"}, "phone"),
    ],
)
def test_a_request_is_refused_by_the_field_that_has_it(values, field):
    with pytest.raises(ValidationFailed) as refused:
        reject_card_numbers(values)
    assert refused.value.fields == {field: "card_number"}
    assert "4111" not in refused.value.message


@pytest.mark.parametrize(
    "values",
    [
        {"document": "11.444.777/0001-61", "phone": "+55 11 99999-0000", "installments": 3, "ok": True, "none": None},
        {"document": "52998224725"},
        [],
    ],
)
def test_a_request_without_one_passes(values):
    reject_card_numbers(values)
