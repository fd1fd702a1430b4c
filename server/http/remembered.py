"""Remember what bytes of requests mean, by a hash of them, once they come the second time."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from hashlib import blake2b
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class Remembered(Generic[_Value]):
    """Values by a hash of bytes, the most recently used ones; a client whose bytes never repeat doesn't evict those of others."""

    def __init__(self, size: int) -> None:
        self._size = size
        # Not even a hash of a credential that someone could guess from it.
        self._hash_key = secrets.token_bytes(16)
        self._values: OrderedDict[bytes, _Value] = OrderedDict()
        self._once: dict[bytes, None] = {}

    def find(self, data: bytes) -> _Value | None:
        """Return the value of the bytes."""
        digest = self._digest(data)
        value = self._values.get(digest)
        if value is not None:
            self._values.move_to_end(digest)
        return value

    def is_repeated(self, data: bytes) -> bool:
        """Return whether the bytes were asked about before; `add` follows if they were."""
        digest = self._digest(data)
        if digest in self._values or digest in self._once:
            self._once.pop(digest, None)
            return True
        self._once[digest] = None
        if len(self._once) > self._size:
            del self._once[next(iter(self._once))]
        return False

    def add(self, data: bytes, value: _Value) -> None:
        """Remember a value in place of the one used least recently."""
        self._values[self._digest(data)] = value
        if len(self._values) > self._size:
            self._values.popitem(last=False)

    def _digest(self, data: bytes) -> bytes:
        return blake2b(data, digest_size=16, key=self._hash_key).digest()

    def __len__(self) -> int:
        return len(self._values)
