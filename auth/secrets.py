"""Encrypt what must be read back and hash what must only be compared, with keys made from VITRINE_SECRET_KEY.

Every purpose has a key of its own (HKDF, RFC 5869), so that a value sealed for one can't be opened as another. The first byte of
a sealed value is its version: a new scheme can be added without touching what is stored.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from auth.configuration import configured

_VERSION = b"\x01"
_NONCE_BYTES = 12  # NIST SP 800-38D


class Unreadable(Exception):
    """Say that a sealed value was made with another secret, for another purpose, or was damaged."""


def encrypt(purpose: str, plain: bytes) -> bytes:
    """Seal the bytes with AES-256-GCM: version, nonce, ciphertext with tag."""
    nonce = os.urandom(_NONCE_BYTES)
    return _VERSION + nonce + AESGCM(_key(purpose)).encrypt(nonce, plain, purpose.encode())


def decrypt(purpose: str, sealed: bytes) -> bytes:
    """Open what `encrypt` sealed for the same purpose; raises `Unreadable` when it wasn't made with this secret."""
    version, nonce, body = sealed[:1], sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
    if version != _VERSION:
        raise Unreadable(f"sealed with version {version.hex() or 'none'}; expected {_VERSION.hex()}")
    try:
        return AESGCM(_key(purpose)).decrypt(nonce, body, purpose.encode())
    except (InvalidTag, ValueError) as error:
        raise Unreadable(f"a value for {purpose} can't be read: was VITRINE_SECRET_KEY changed?") from error


def keyed_hash(purpose: str, text: str) -> str:
    """Hash a text that people could guess, so that nobody without the secret can look it up (HMAC-SHA-256, hexadecimal)."""
    return hmac.new(_key(purpose), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _key(purpose: str) -> bytes:
    return _derived(configured().secret_key, purpose)


@lru_cache(maxsize=64)
def _derived(secret_key: bytes, purpose: str) -> bytes:
    return HKDF(hashes.SHA256(), length=32, salt=None, info=b"vitrine/1/" + purpose.encode()).derive(
        secret_key
    )
