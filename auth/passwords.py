"""Hash and verify passwords with Argon2id, off the event loop (19 MiB, t=2, p=1; docs/reference/current.md#passwords)."""

from __future__ import annotations

import os
from functools import cache

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from kernel.errors import ValidationFailed
from kernel.text import NFC_RATIO, has_forbidden_characters, nfc
from kernel.work_queues import Threads, WorkQueue

MIN_LENGTH = 8
MAX_LENGTH = 128

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
# Argon2 releases the GIL, so threads hash in parallel; more threads than cores would only use more memory.
_THREADS = Threads("passwords", max(2, min(4, os.cpu_count() or 2)))
_HASHES = WorkQueue("password hashes", most_waiting=50, threads=_THREADS)


def find_password_problem(password: str) -> str | None:
    """Return what is wrong with a new password: its length or characters that can't be stored; None if it is valid."""
    if len(password) > NFC_RATIO * MAX_LENGTH:
        return f"has {len(password)} characters; expected {MIN_LENGTH} to {MAX_LENGTH}"
    if has_forbidden_characters(password):
        return "holds characters that can't be stored"
    length = len(nfc(password))
    if not MIN_LENGTH <= length <= MAX_LENGTH:
        return f"has {length} characters; expected {MIN_LENGTH} to {MAX_LENGTH}"
    return None


def check_new_password(password: str) -> None:
    """Raise `ValidationFailed` with the code `password_invalid` for an invalid new password."""
    problem = find_password_problem(password)
    if problem is not None:
        raise ValidationFailed(f"password {problem}", field="password", code="password_invalid")


async def hash_password(password: str) -> str:
    """Return the password's hash in the PHC string format, with parameters and salt."""
    return await _HASHES.run(lambda: _hasher.hash(_canonical(password)))


async def verify_password(password_hash: str | None, password: str) -> bool:
    """Return whether the password matches the hash; without a valid hash it never does, in the same time."""
    return await _HASHES.run(lambda: _verify(password_hash, password))


def needs_rehash(password_hash: str) -> bool:
    """Return whether the hash has outdated parameters, so that a sign-in should replace it."""
    return _hasher.check_needs_rehash(password_hash)


def _verify(password_hash: str | None, password: str) -> bool:
    canonical = _canonical(password)
    try:
        matches = _hasher.verify(password_hash or _dummy_hash(), canonical)
    except InvalidHashError:
        _verify_dummy(canonical)
        return False
    except VerificationError:
        return False
    return matches and password_hash is not None


def _verify_dummy(canonical: bytes) -> None:
    """Take the time of a real verification, so that a malformed hash can't be distinguished from a wrong password."""
    try:
        _hasher.verify(_dummy_hash(), canonical)
    except VerificationError:
        return


@cache
def _dummy_hash() -> str:
    return _hasher.hash(os.urandom(32).hex())


def _canonical(password: str) -> bytes:
    # RFC 8265 (OpaqueString): NFC, so that an é is the same from every keyboard. Far too long input is truncated to limit its cost;
    # it still can't equal an accepted password, because NFC composes at most four characters into one.
    return nfc(password[: NFC_RATIO * MAX_LENGTH + 1]).encode("utf-8", "surrogatepass")
