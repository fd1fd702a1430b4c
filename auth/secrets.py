"""Encryption and keyed hashing with keys derived from VITRINE_SECRET_KEY (docs/reference/shared.md#secrets).

Each purpose has its own key (HKDF, RFC 5869), so that a value encrypted for one can't be decrypted for another. The secret key and its
fallbacks (VITRINE_SECRET_KEY_FALLBACKS) form a ring: the secret key writes, each key of the ring reads, as do keys that are retained
(docs/deploy.md#rotate-the-secret-key).

    version 1   01, nonce, ciphertext with tag
    version 2   02, key id, nonce, ciphertext with tag; authenticates its header too

Version 2 is written only while there are fallbacks: until a first rotation, the program's previous version can read what this one writes.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Self

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from kernel.scope import Scope
from kernel.signatures import constant_time_equal

MIN_SECRET_BYTES = 16
APP_SECRET_PURPOSE = "app-secret"
ORDER_TOKEN_PURPOSE = "order token"
_WITHOUT_KEY_ID, _WITH_KEY_ID = b"\x01", b"\x02"
_KEY_ID_BYTES = 4
_HEADER_BYTES = len(_WITH_KEY_ID) + _KEY_ID_BYTES
_NONCE_BYTES = 12  # NIST SP 800-38D


class SecretsNotConfigured(RuntimeError):
    """Report a programming error: `auth.configure` was not called before a secret was needed."""


@dataclass(frozen=True, slots=True)
class SecretKeys:
    """VITRINE_SECRET_KEY and its `fallbacks`, which only read.

    `retained_keys` are (purpose, key) of secret keys that are no longer configured (`auth/hash_keys.py`).
    """

    secret_key: bytes
    fallbacks: tuple[bytes, ...] = ()
    retained_keys: tuple[tuple[str, bytes], ...] = ()

    @classmethod
    def of(cls, secret_key: bytes, *fallbacks: bytes) -> Self:
        """Return the keys, each once; raises `ValueError` for one below 16 bytes."""
        for key in (secret_key, *fallbacks):
            if len(key) < MIN_SECRET_BYTES:
                raise ValueError(f"VITRINE_SECRET_KEY has {len(key)} bytes; expected at least {MIN_SECRET_BYTES}")
        return cls(secret_key, tuple(key for key in dict.fromkeys(fallbacks) if key != secret_key))

    @property
    def ring(self) -> tuple[bytes, ...]:
        """Return every key that reads, the one that writes first."""
        return (self.secret_key, *self.fallbacks)


_secret_keys: SecretKeys | None = None


def use_secret_keys(keys: SecretKeys) -> None:
    """Set the secret keys of this process."""
    global _secret_keys
    _secret_keys = keys


def secret_keys() -> SecretKeys:
    """Return the secret keys, or raise `SecretsNotConfigured`."""
    if _secret_keys is None:
        raise SecretsNotConfigured("call auth.configure(secret_key) at start")
    return _secret_keys


class DecryptionError(Exception):
    """Report a value that was encrypted with a key outside of the ring or for another purpose, or was corrupted."""


def key_id(secret_key: bytes) -> bytes:
    """Return the four bytes that name a secret key; they don't reveal it."""
    return derived_key(secret_key, "key id")[:_KEY_ID_BYTES]


def is_encrypted(stored: bytes) -> bool:
    """Return whether the value begins like one of `encrypt`."""
    return stored[:1] in (_WITHOUT_KEY_ID, _WITH_KEY_ID)


def encrypt(purpose: str, plain: bytes) -> bytes:
    """Encrypt the bytes with AES-256-GCM under the secret key."""
    keys = secret_keys()
    header = _WITH_KEY_ID + key_id(keys.secret_key) if keys.fallbacks else _WITHOUT_KEY_ID
    nonce = os.urandom(_NONCE_BYTES)
    cipher = AESGCM(derived_key(keys.secret_key, purpose))
    return header + nonce + cipher.encrypt(nonce, plain, _associated_data(header, purpose))


def decrypt(purpose: str, encrypted: bytes) -> bytes:
    """Decrypt what `encrypt` returned for the same purpose, under any key that reads; raise `DecryptionError` if it can't be."""
    for _, plain in _readings(purpose, encrypted):
        return plain
    raise _unreadable(purpose, encrypted)


def encrypt_params(purpose: str, params: Mapping[str, Any]) -> bytes:
    """Encrypt parameters as a whole."""
    return encrypt(purpose, orjson.dumps(params))


def decrypt_params(purpose: str, stored: bytes | None) -> dict[str, Any]:
    """Decrypt parameters; none yield an empty object."""
    params: dict[str, Any] = orjson.loads(decrypt(purpose, stored)) if stored else {}
    return params


def valid_app_secrets(
    current: bytes, previous: bytes | None, previous_until: datetime | None, at: datetime
) -> list[str]:
    """Decrypt an app's client secrets that are valid at that time, the oldest first; raise `DecryptionError`."""
    valid = [current]
    if previous is not None and previous_until is not None and at < previous_until:
        valid.insert(0, previous)
    return [decrypt(APP_SECRET_PURPOSE, secret).decode() for secret in valid]


def reencrypt(purpose: str, encrypted: bytes) -> bytes | None:
    """Return the value encrypted under the secret key, None if it is already; raise `DecryptionError` if no key of the ring reads it."""
    for key, plain in _readings(purpose, encrypted):
        return None if key == derived_key(secret_keys().secret_key, purpose) else encrypt(purpose, plain)
    raise _unreadable(purpose, encrypted)


def encrypt_deterministic(purpose: str, plain: bytes) -> bytes:
    """Encrypt the bytes with AES-128-SIV (RFC 5297) under the secret key; equal bytes give equal ciphertexts.

    For what is never stored: it carries no key id, and `reencrypt` doesn't know it.
    """
    return AESSIV(derived_key(secret_keys().secret_key, purpose)).encrypt(plain, None)


def decrypt_deterministic(purpose: str, encrypted: bytes) -> bytes:
    """Decrypt what `encrypt_deterministic` returned, under any key that reads; raise `DecryptionError` if it can't be."""
    for key in _reading_keys(purpose):
        try:
            return AESSIV(key).decrypt(encrypted, None)
        except (InvalidTag, ValueError):
            continue
    raise DecryptionError(f"a value for {purpose} can't be read")


def keyed_hash(purpose: str, text: str) -> str:
    """Return the HMAC-SHA-256 of a guessable text in hexadecimal, so that only the secret's owner can look it up."""
    return _hash(derived_key(secret_keys().secret_key, purpose), text)


def keyed_hashes(purpose: str, text: str) -> tuple[str, ...]:
    """Return the hash under every key that may have written a stored one: the secret key first, its fallbacks, retained hash keys."""
    return tuple(_hash(key, text) for key in _reading_keys(purpose))


def order_token(scope: Scope, order: object) -> str:
    """Return the 256-bit token that authorizes access to an order (by public id) for the customer that placed it.

    Checkouts and mails contain it. It is a keyed hash of the order's id, so that no secret is stored.
    """
    return keyed_hash(ORDER_TOKEN_PURPOSE, f"{scope.store.public_id}:{order}")


def is_order_token(scope: Scope, order: object, token: str) -> bool:
    """Return whether the token authorizes access to the order (by public id)."""
    tokens = keyed_hashes(ORDER_TOKEN_PURPOSE, f"{scope.store.public_id}:{order}")
    return any(constant_time_equal(token, valid) for valid in tokens)


def _reading_keys(purpose: str) -> Iterable[bytes]:
    """Return the purpose's key of the secret key, of its fallbacks, and retained ones."""
    configured = secret_keys()
    keys = [derived_key(secret_key, purpose) for secret_key in configured.ring]
    keys += [key for retained_purpose, key in configured.retained_keys if retained_purpose == purpose]
    return dict.fromkeys(keys)


def _readings(purpose: str, encrypted: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the key for the purpose that reads the value, and the plain text."""
    version = encrypted[:1]
    header = encrypted[: _HEADER_BYTES if version == _WITH_KEY_ID else 1]
    nonce, body = encrypted[len(header) :][:_NONCE_BYTES], encrypted[len(header) + _NONCE_BYTES :]
    if version not in (_WITHOUT_KEY_ID, _WITH_KEY_ID):
        return
    for key in _reading_keys(purpose):
        try:
            yield key, AESGCM(key).decrypt(nonce, body, _associated_data(header, purpose))
        except (InvalidTag, ValueError):
            continue


def _associated_data(header: bytes, purpose: str) -> bytes:
    return purpose.encode() if header == _WITHOUT_KEY_ID else header + purpose.encode()


def _unreadable(purpose: str, encrypted: bytes) -> DecryptionError:
    if not is_encrypted(encrypted):
        return DecryptionError(f"a value for {purpose} has the unknown version {encrypted[:1].hex() or 'none'}")
    named = f" (encrypted under the key {encrypted[1:_HEADER_BYTES].hex()})" if encrypted[:1] == _WITH_KEY_ID else ""
    return DecryptionError(f"a value for {purpose} can't be read{named}: was VITRINE_SECRET_KEY changed?")


def _hash(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


@lru_cache(maxsize=256)
def derived_key(secret_key: bytes, purpose: str) -> bytes:
    """Return the key with which values for the purpose are hashed or encrypted under a secret key."""
    return HKDF(hashes.SHA256(), length=32, salt=None, info=b"vitrine/1/" + purpose.encode()).derive(secret_key)
