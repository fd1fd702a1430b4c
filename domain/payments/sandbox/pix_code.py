"""Write a dynamic BR Code, the code that a bank's program pays (Banco Central, Manual de Padrões para Iniciação do Pix; EMV QRCPS-MPM)."""

from __future__ import annotations

from binascii import crc_hqx

from kernel.text import plain_capitals

_BRL, _BRAZIL = "986", "BR"
_SINGLE_USE = "12"
_MAX_NAME, _MAX_CITY = 25, 15
# In a dynamic code the txid is what the address answers.
_NO_TXID = "***"


def br_code(location: str, *, name: str, city: str, amount_cents: int) -> str:
    """Return the code of a payment whose data are at an address without its scheme, at most 77 characters."""
    account = _field(0, "br.gov.bcb.pix") + _field(25, location)
    fields = (
        (0, "01"),
        (1, _SINGLE_USE),
        (26, account),
        (52, "0000"),
        (53, _BRL),
        (54, f"{amount_cents // 100}.{amount_cents % 100:02d}"),
        (58, _BRAZIL),
        (59, plain_capitals(name, _MAX_NAME) or "LOJA"),
        (60, plain_capitals(city, _MAX_CITY)),
        (62, _field(5, _NO_TXID)),
    )
    unchecked = "".join(_field(number, value) for number, value in fields) + "6304"
    return f"{unchecked}{crc16(unchecked.encode()):04X}"


def crc16(content: bytes) -> int:
    """Return the CRC-16/CCITT-FALSE (polynomial 0x1021, initially 0xFFFF)."""
    return crc_hqx(content, 0xFFFF)


def _field(number: int, value: str) -> str:
    return f"{number:02d}{len(value):02d}{value}"
