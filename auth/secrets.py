"""Encryption and keyed hashing with keys derived from VITRINE_SECRET_KEY (docs/reference/shared.md#secrets).

Each purpose has its own key (HKDF, RFC 5869), so that a value encrypted for one can't be decrypted for another. The first byte of
a ciphertext is its version, so that a new scheme can be added without touching stored values.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from auth.configuration import configured

APP_SECRET_PURPOSE = "app-secret"
ENCRYPTED = b"\x01"
"""The first byte of an encrypted value: the version of the scheme."""
_NONCE_BYTES = 12  # NIST SP 800-38D


class DecryptionError(Exception):
    """Report a value that was encrypted with another secret or for another purpose, or was corrupted."""


def encrypt(purpose: str, plain: bytes) -> bytes:
    """Encrypt the bytes with AES-256-GCM: version, nonce, ciphertext with tag."""
    nonce = os.urandom(_NONCE_BYTES)
    return ENCRYPTED + nonce + AESGCM(_key(purpose)).encrypt(nonce, plain, purpose.encode())


def decrypt(purpose: str, encrypted: bytes) -> bytes:
    """Decrypt what `encrypt` returned for the same purpose; raise `DecryptionError` if it can't be."""
    version, nonce, body = encrypted[:1], encrypted[1 : 1 + _NONCE_BYTES], encrypted[1 + _NONCE_BYTES :]
    if version != ENCRYPTED:
        raise DecryptionError(f"encrypted with version {version.hex() or 'none'}; expected {ENCRYPTED.hex()}")
    try:
        return AESGCM(_key(purpose)).decrypt(nonce, body, purpose.encode())
    except (InvalidTag, ValueError) as error:
        raise DecryptionError(f"a value for {purpose} can't be read: was VITRINE_SECRET_KEY changed?") from error


def encrypt_deterministic(purpose: str, plain: bytes) -> bytes:
    """Encrypt the bytes with AES-128-SIV (RFC 5297): equal bytes give equal ciphertexts, for texts that clients may compare."""
    return AESSIV(_key(purpose)).encrypt(plain, None)


def decrypt_deterministic(purpose: str, encrypted: bytes) -> bytes:
    """Decrypt what `encrypt_deterministic` returned for the same purpose; raise `DecryptionError` if it can't be."""
    try:
        return AESSIV(_key(purpose)).decrypt(encrypted, None)
    except (InvalidTag, ValueError) as error:
        raise DecryptionError(f"a value for {purpose} can't be read") from error


def keyed_hash(purpose: str, text: str) -> str:
    """Return the HMAC-SHA-256 of a guessable text in hexadecimal, so that only the secret's owner can look it up."""
    return hmac.new(_key(purpose), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _key(purpose: str) -> bytes:
    return _derived(configured().secret_key, purpose)


@lru_cache(maxsize=64)
def _derived(secret_key: bytes, purpose: str) -> bytes:
    return HKDF(hashes.SHA256(), length=32, salt=None, info=b"vitrine/1/" + purpose.encode()).derive(secret_key)
