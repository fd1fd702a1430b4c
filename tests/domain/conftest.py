"""Fixtures of the domain tests: a store of its own for every test."""

from __future__ import annotations

import pytest

from auth.configuration import configure
from kernel.scope import Scope
from tests.domain.kit import StoreKit


@pytest.fixture(autouse=True, scope="session")
def secret():
    configure(b"the secret of the tests, 32 bytes")


@pytest.fixture
def kit(scope: Scope) -> StoreKit:
    return StoreKit(scope)


@pytest.fixture
def other_kit(other_scope: Scope) -> StoreKit:
    return StoreKit(other_scope)
