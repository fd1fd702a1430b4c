"""Sign, hash and compare, always over bytes, so that no header however odd can make it fail."""

from __future__ import annotations

import hashlib
import hmac


def sha256_hex(data: bytes) -> str:
    """Hash the bytes with SHA-256, in lower-case hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def hmac_sha256_hex(key: str | bytes, data: bytes) -> str:
    """Sign the bytes with HMAC-SHA256 (RFC 2104), in lower-case hexadecimal."""
    return hmac.new(_as_bytes(key), data, hashlib.sha256).hexdigest()


def constant_time_equal(given: str | bytes, expected: str | bytes) -> bool:
    """Compare two secrets in a time that does not tell how far they agree."""
    return hmac.compare_digest(_as_bytes(given), _as_bytes(expected))


def token_hash(token: str) -> bytes:
    """Give the 32 bytes of SHA-256 under which a token is stored; enough because tokens are random, unlike passwords."""
    return hashlib.sha256(_as_bytes(token)).digest()


def _as_bytes(value: str | bytes) -> bytes:
    # aiohttp decodes odd header bytes to lone surrogates; they must compare as different, not raise.
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
