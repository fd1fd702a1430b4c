"""The Pix codes and boletos of the sandbox, against examples of Banco Central and FEBRABAN, and a reader of our own."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.payments.sandbox.boleto_code import barcode, due_factor, typed_line
from domain.payments.sandbox.pix_code import br_code, crc16
from kernel.check_digits import luhn_digit

# Banco Central, Manual do BR Code, annex I.
_STATIC = (
    "00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA"
    "62070503***6304"
)
# The example of many banks' manuals.
_FREE, _LINE = "0500940144816060680935031", "00190500954014481606906809350314337370000000100"


def fields_of(code: str) -> dict[str, str]:
    """Read a code as a bank's program does: two digits of the field, two of its length, its value."""
    fields = {}
    while code:
        length = int(code[2:4])
        fields[code[:2]] = code[4 : 4 + length]
        code = code[4 + length :]
    return fields


def test_the_checksum_is_that_of_the_manual():
    assert f"{crc16(_STATIC.encode()):04X}" == "1D3D"


@given(st.text(max_size=60), st.integers(1, 10**12))
def test_a_pix_code_reads_as_it_was_written(name, cents):
    code = br_code("pix.sandbox.invalid/v2/" + "a" * 32, name=name, city="BRASILIA", amount_cents=cents)
    fields = fields_of(code)
    assert list(fields) == ["00", "01", "26", "52", "53", "54", "58", "59", "60", "62", "63"]
    assert fields["63"] == f"{crc16(code[:-4].encode()):04X}"
    assert (fields["01"], fields["53"], fields["58"]) == ("12", "986", "BR")
    assert round(float(fields["54"]) * 100) == cents or cents > 10**13
    assert 1 <= len(fields["59"]) <= 25
    assert code.isascii()
    account = fields_of(fields["26"])
    assert account == {"00": "br.gov.bcb.pix", "25": "pix.sandbox.invalid/v2/" + "a" * 32}
    assert fields_of(fields["62"]) == {"05": "***"}


def test_a_boleto_is_that_of_the_manual():
    due = date(1997, 10, 7) + timedelta(days=3737)
    code = barcode("001", due, 100, _FREE)
    assert code == "00193373700000001000500940144816060680935031"
    assert typed_line(code) == _LINE


@pytest.mark.parametrize(
    "due, factor",
    [(date(2000, 7, 3), 1000), (date(2025, 2, 21), 9999), (date(2025, 2, 22), 1000), (date(2049, 10, 13), 9999)],
)
def test_the_due_date_begins_again_at_1000(due, factor):
    assert due_factor(due) == factor


@given(st.dates(date(2026, 1, 1), date(2049, 1, 1)), st.integers(1, 10**10 - 1), st.integers(0, 10**25 - 1))
def test_every_boleto_has_right_check_digits(due, cents, free):
    code = barcode("999", due, cents, f"{free:025d}")
    line = typed_line(code)
    assert (len(code), len(line)) == (44, 47)
    for field in (line[:10], line[10:21], line[21:32]):
        assert luhn_digit(field[:-1]) == int(field[-1])
    # The line is the barcode in another order.
    assert line[:4] + line[32] + line[33:] + line[4:9] + line[10:20] + line[21:31] == code
    rest = code[:4] + code[5:]
    weights = [2 + place % 8 for place in range(43)]
    total = sum(int(digit) * weight for digit, weight in zip(reversed(rest), weights, strict=True))
    expected = 11 - total % 11
    assert int(code[4]) == (expected if 1 < expected < 10 else 1)
