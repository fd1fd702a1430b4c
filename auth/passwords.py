"""Hash and verify passwords with Argon2id, off the event loop (decisions section 3: 19 MiB, t=2, p=1; 8–128 characters)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar
from weakref import WeakKeyDictionary

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from kernel.errors import ValidationFailed
from kernel.text import has_forbidden_characters, nfc

MIN_LENGTH = 8
MAX_LENGTH = 128

_T = TypeVar("_T")

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
# Argon2 releases the GIL, so threads hash in parallel; more of them than cores would only multiply the memory.
_WORKERS = max(2, min(4, os.cpu_count() or 2))
_gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def problem_of(password: str) -> str | None:
    """Say what is wrong with a new password: shorter than 8 or longer than 128 characters, or one no client could send again."""
    length = len(nfc(password))
    if has_forbidden_characters(password):
        return "holds characters that can't be stored"
    if not MIN_LENGTH <= length <= MAX_LENGTH:
        return f"has {length} characters; expected {MIN_LENGTH} to {MAX_LENGTH}"
    return None


def check_new_password(password: str) -> None:
    """Refuse a new password with a problem, as `ValidationFailed` with the code `password_invalid`."""
    problem = problem_of(password)
    if problem is not None:
        raise ValidationFailed(f"password {problem}", field="password", code="password_invalid")


async def hash_password(password: str) -> str:
    """Hash a password in the PHC string form, parameters and salt included."""
    return await _apart(lambda: _hasher.hash(_canonical(password)))


async def verify_password(password_hash: str | None, password: str) -> bool:
    """Say whether the password is the one that was hashed, in the same time when there is no account or no password.

    A hash that can't be read counts as wrong.
    """
    return await _apart(lambda: _verify(password_hash, password))


def needs_rehash(password_hash: str) -> bool:
    """Say whether the hash was made with other parameters than today's, so that a sign-in should replace it."""
    return _hasher.check_needs_rehash(password_hash)


def _verify(password_hash: str | None, password: str) -> bool:
    canonical = _canonical(password)
    try:
        matches = _hasher.verify(password_hash or _dummy_hash(), canonical)
    except InvalidHashError:
        _spend(canonical)
        return False
    except VerificationError:
        return False
    return matches and password_hash is not None


def _spend(canonical: bytes) -> None:
    """Take the time a real verification takes, so that an unreadable hash can't be told from a wrong password."""
    try:
        _hasher.verify(_dummy_hash(), canonical)
    except VerificationError:
        return


@cache
def _dummy_hash() -> str:
    return _hasher.hash(os.urandom(32).hex())


def _canonical(password: str) -> bytes:
    # RFC 8265 (OpaqueString): NFC, so that an é typed on two keyboards is the same letter. What is far too long is cut where it
    # can equal no password that was accepted (NFC makes at most one character of four) and costs no more than one.
    return nfc(password[: 4 * MAX_LENGTH + 1]).encode("utf-8", "surrogatepass")


async def _apart(work: Callable[[], _T]) -> _T:
    """Run the work in the pool. The semaphore keeps waiting requests on the loop, where they can still be cancelled."""
    loop = asyncio.get_running_loop()
    gate = _gates.get(loop)
    if gate is None:
        gate = _gates[loop] = asyncio.Semaphore(_WORKERS)
    async with gate:
        return await loop.run_in_executor(_pool(), work)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_WORKERS, thread_name_prefix="argon2")
