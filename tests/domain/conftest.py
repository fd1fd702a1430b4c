"""Give every test of the domain a shop of its own."""

from __future__ import annotations

import pytest

from auth.configuration import configure
from kernel.scope import Scope
from tests.domain.kit import Shop


@pytest.fixture(autouse=True, scope="session")
def secret():
    configure(b"the secret of the tests, 32 bytes")


@pytest.fixture
def shop(scope: Scope) -> Shop:
    return Shop(scope)


@pytest.fixture
def other_shop(other_scope: Scope) -> Shop:
    return Shop(other_scope)
