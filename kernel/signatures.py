"""Make and compare signatures (HMAC) and hashes of secrets as bytes, so that no malformed header raises."""

from __future__ import annotations

import hashlib
import hmac

MAX_TOKEN = 8_192
"""Longer than any token, in characters."""


def hmac_sha256_hex(key: str | bytes, data: bytes) -> str:
    """Return the HMAC-SHA256 (RFC 2104) of the bytes in lower-case hexadecimal."""
    return hmac.new(_as_bytes(key), data, hashlib.sha256).hexdigest()


def constant_time_equal(value: str | bytes, expected: str | bytes) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(_as_bytes(value), _as_bytes(expected))


def token_hash(token: str) -> bytes:
    """Return the SHA-256 digest under which a token is stored; enough because tokens, unlike passwords, are random.

    Of a text longer than any token only a part is hashed, which is no token either.
    """
    return hashlib.sha256(_as_bytes(token[: MAX_TOKEN + 1])).digest()


def _as_bytes(value: str | bytes) -> bytes:
    # aiohttp decodes invalid header bytes to lone surrogates; they must compare as different, not raise.
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
