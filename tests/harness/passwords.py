"""Cheap password hashes: hundreds of tests sign in, and real hashes take most of their time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from argon2 import PasswordHasher

from auth import passwords

_REAL = passwords._hasher
_CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture(autouse=True, scope="session")
def cheap_password_hashes() -> Iterator[None]:
    passwords._hasher = _CHEAP
    yield
    passwords._hasher = _REAL


@pytest.fixture
def real_password_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash with the parameters of the product."""
    monkeypatch.setattr(passwords, "_hasher", _REAL)
