"""Generate and parse identifiers: UUIDv7, legacy numbers and tokens with a checksum."""

from __future__ import annotations

import binascii
import math
import os
import re
import secrets
import threading
import time
from collections.abc import Collection
from typing import TypeAlias
from uuid import UUID

# A record is addressed by its legacy number or its public id, in every API family (docs/reference/shared.md#ids).
Reference: TypeAlias = int | UUID

MAX_NUMBER = 2**63 - 1

_NUMBER = re.compile(r"[0-9]{1,19}")
# Without a group, which would take half as long again.
_UUID = re.compile("-".join([f"[0-9a-fA-F]{{{length}}}" for length in (8, 4, 4, 4, 12)]))

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CHECKSUM_LENGTH = 6  # 62**6 is the first power above 2**32
_CHECKSUMMED = re.compile(r"[A-Za-z0-9_-]+")

_COUNTER_BITS = 42
_COUNTER_LIMIT = 1 << _COUNTER_BITS
_RANDOM_BUFFER_BYTES = 4_096


class _Uuid7Generator:
    """Generate monotonic UUIDs of version 7 within this process (RFC 9562, section 6.2, method 1).

    After the 48 bits of milliseconds come a 42-bit counter, reseeded each millisecond with its top bit clear, and 32 random bits.
    Within a millisecond, or after the clock went back, the counter increases and the time stays.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._milliseconds = -1
        self._counter = 0
        self._buffer = b""
        self._offset = 0

    def next(self, milliseconds: int) -> UUID:
        """Return the next UUID for a clock in milliseconds since 1970."""
        return UUID(int=self.next_number(milliseconds))

    def next_number(self, milliseconds: int) -> int:
        """Return the next UUID as an integer."""
        with self._lock:
            if milliseconds > self._milliseconds:
                self._reseed(milliseconds)
            else:
                self._counter += 1
                if self._counter == _COUNTER_LIMIT:
                    self._reseed(self._milliseconds + 1)
            at, counter, random = self._milliseconds, self._counter, self._random(4)
        return (
            (at & 0xFFFF_FFFF_FFFF) << 80
            | 0x7 << 76
            | (counter >> 30) << 64
            | 0b10 << 62
            | (counter & 0x3FFF_FFFF) << 32
            | random
        )

    def _reseed(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds
        self._counter = self._random(6) >> (48 - _COUNTER_BITS + 1)

    def _random(self, length: int) -> int:
        """Return random bytes as an integer from a buffer, because a system call for each is slow; no byte is used twice."""
        start, end = self._offset, self._offset + length
        if end > len(self._buffer):
            self._buffer = secrets.token_bytes(_RANDOM_BUFFER_BYTES)
            start, end = 0, length
        self._offset = end
        return int.from_bytes(self._buffer[start:end], "big")


_uuid7_generator = _Uuid7Generator()
# A forked process would reuse its parent's random bytes.
os.register_at_fork(after_in_child=_uuid7_generator.__init__)  # type: ignore[misc]


def uuid7() -> UUID:
    """Generate a UUID of version 7 greater than every one this process generated before (RFC 9562)."""
    return _uuid7_generator.next(time.time_ns() // 1_000_000)


class PublicId(str):
    """An id from an interface that names records by UUID only: `parse_reference` takes no number from it."""

    __slots__ = ()


class ShownId(str):
    """The public id of a record in the details of an error; the legacy family shows its `number` in place of it."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, public_id: UUID, number: int) -> ShownId:
        """Return the id of the record with this number."""
        shown = super().__new__(cls, public_id)
        shown.number = number
        return shown


def parse_reference(value: object) -> Reference | None:
    """Parse a legacy number (1 to 2**63-1, an integer or ASCII digits without sign) or a UUID; None for anything else."""
    if type(value) is str:
        if _UUID.fullmatch(value):
            return UUID(value)
        if not _NUMBER.fullmatch(value):
            return None
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 1 <= value <= MAX_NUMBER else None
    return parse_uuid(value)


def split_reference(value: object) -> tuple[int | None, UUID | None]:
    """Parse a legacy number or a UUID into a pair of both, of which the other is None; both are None for anything else."""
    reference = parse_reference(value)
    return (reference, None) if isinstance(reference, int) else (None, reference)


def split_references(references: Collection[Reference]) -> tuple[list[int], list[UUID]]:
    """Return the numbers and the UUIDs among references."""
    numbers = [reference for reference in references if isinstance(reference, int)]
    return numbers, [reference for reference in references if not isinstance(reference, int)]


def parse_uuid(value: object) -> UUID | None:
    """Parse a UUID in its canonical form, with hyphens and in either case; None for anything else."""
    if isinstance(value, UUID):
        return value
    if isinstance(value, str) and _UUID.fullmatch(value):
        return UUID(value)
    return None


def random_token(bits: int = 256) -> str:
    """Generate an unguessable URL-safe token of at least that many bits."""
    return secrets.token_urlsafe(math.ceil(bits / 8))


def checksummed_token(prefix: str, bits: int = 256, secret: int | None = None) -> str:
    """Generate an unguessable token that a secret scanner can recognise (docs/reference/shared.md#secrets).

    `prefix` (such as `vat_live_` or `sfk_`), the secret of so many bits (by default random) in base62, and six base62 characters of the
    CRC32 of both.
    """
    length = math.ceil(bits / math.log2(62))
    body = prefix + _base62(secrets.randbits(bits) if secret is None else secret, length)
    return body + _checksum(body)


def has_valid_checksum(token: str) -> bool:
    """Return whether the token ends with the checksum of what precedes it; this doesn't authenticate it."""
    if not _CHECKSUMMED.fullmatch(token):
        return False
    body, checksum = token[:-_CHECKSUM_LENGTH], token[-_CHECKSUM_LENGTH:]
    return bool(body) and _checksum(body) == checksum


def _checksum(body: str) -> str:
    return _base62(binascii.crc32(body.encode("ascii")), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    """Encode the number in base 62, zero-padded to the length."""
    digits = []
    while number:
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return "".join(reversed(digits)).rjust(length, "0")
