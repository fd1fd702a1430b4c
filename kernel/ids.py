"""Make and read identifiers: UUIDs of version 7, legacy numbers, request ids and tokens that can be recognised."""

from __future__ import annotations

import binascii
import math
import os
import re
import secrets
import threading
import time
from typing import TypeAlias
from uuid import UUID

# A record is named by its legacy number or by its public id, in every family (decisions section 1, Keys).
Reference: TypeAlias = int | UUID

MAX_NUMBER = 2**63 - 1

_NUMBER = re.compile(r"[0-9]{1,19}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CHECKSUM_LENGTH = 6  # 62**6 is the first power above 2**32
_CHECKSUMMED = re.compile(r"[A-Za-z0-9_-]+")

_COUNTER_BITS = 42
_COUNTER_LIMIT = 1 << _COUNTER_BITS
_SUPPLY = 4_096


class _Uuid7Source:
    """Give UUIDs of version 7 that only grow within this process (RFC 9562, section 6.2, method 1).

    Behind the 48 bits of milliseconds stand a counter of 42 bits, seeded anew each millisecond with its top bit clear, and 32
    random bits. In the same millisecond, or after the clock has gone back, the counter goes up and the time stays.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._milliseconds = -1
        self._counter = 0
        self._supply = b""
        self._used = 0

    def next(self, milliseconds: int) -> UUID:
        """Make the next UUID, given the clock in milliseconds since 1970."""
        return UUID(int=self.next_number(milliseconds))

    def next_number(self, milliseconds: int) -> int:
        """Make the next UUID as the number that it is."""
        with self._lock:
            if milliseconds > self._milliseconds:
                self._begin(milliseconds)
            else:
                self._counter += 1
                if self._counter == _COUNTER_LIMIT:
                    self._begin(self._milliseconds + 1)
            at, counter, random = self._milliseconds, self._counter, self._random(4)
        return (
            (at & 0xFFFF_FFFF_FFFF) << 80
            | 0x7 << 76
            | (counter >> 30) << 64
            | 0b10 << 62
            | (counter & 0x3FFF_FFFF) << 32
            | random
        )

    def _begin(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds
        self._counter = self._random(6) >> (48 - _COUNTER_BITS + 1)

    def _random(self, length: int) -> int:
        """Give so many bytes from a supply: asking the system for each costs more than the rest. None is used twice."""
        begin, end = self._used, self._used + length
        if end > len(self._supply):
            self._supply = secrets.token_bytes(_SUPPLY)
            begin, end = 0, length
        self._used = end
        return int.from_bytes(self._supply[begin:end], "big")


_uuid7_source = _Uuid7Source()
# A forked process would hand out its parent's randomness.
os.register_at_fork(after_in_child=_uuid7_source.__init__)  # type: ignore[misc]


def uuid7() -> UUID:
    """Make a UUID of version 7 greater than every one this process made before (RFC 9562)."""
    return _uuid7_source.next(time.time_ns() // 1_000_000)


def parse_reference(value: object) -> Reference | None:
    """Read a legacy number (1 to 2**63-1, an integer or ASCII digits without sign) or a UUID; None for anything else."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 1 <= value <= MAX_NUMBER else None
    return parse_uuid(value)


def parse_uuid(value: object) -> UUID | None:
    """Read a UUID in its canonical form, hyphens included and in either case; None for anything else."""
    if isinstance(value, UUID):
        return value
    if isinstance(value, str) and _UUID.fullmatch(value):
        return UUID(value)
    return None


def request_id_from(inbound: str | None) -> str:
    """Keep an inbound request id of 1-128 characters `[A-Za-z0-9._-]`, else make one (decisions section 2)."""
    if inbound is not None and _REQUEST_ID.fullmatch(inbound):
        return inbound
    text = f"{_uuid7_source.next_number(time.time_ns() // 1_000_000):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def random_token(bits: int = 256) -> str:
    """Make an unguessable token of at least that many bits, safe in addresses and headers."""
    return secrets.token_urlsafe(math.ceil(bits / 8))


def checksummed_token(prefix: str, bits: int = 256) -> str:
    """Make an unguessable token that a scanner for leaked secrets can recognise (decisions section 4).

    `prefix` (such as `vat_live_` or `sfk_`), the secret in base62, and six base62 characters of the CRC32 of both.
    """
    length = math.ceil(bits / math.log2(62))
    body = prefix + _base62(secrets.randbits(bits), length)
    return body + _checksum(body)


def has_valid_checksum(token: str) -> bool:
    """Tell whether the token ends with the checksum of what precedes it; it says nothing about who made it."""
    if not _CHECKSUMMED.fullmatch(token):
        return False
    body, checksum = token[:-_CHECKSUM_LENGTH], token[-_CHECKSUM_LENGTH:]
    return bool(body) and _checksum(body) == checksum


def _checksum(body: str) -> str:
    return _base62(binascii.crc32(body.encode("ascii")), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    """Write the number in base 62, filled up with zeros to the length."""
    digits = []
    while number:
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return "".join(reversed(digits)).rjust(length, "0")
