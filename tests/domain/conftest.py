"""Fixtures of the domain tests: an empty store for every test."""

from __future__ import annotations

import pytest

from kernel.scope import Scope
from tests.harness.domain_store import DomainStore


@pytest.fixture
def kit(scope: Scope) -> DomainStore:
    return DomainStore(scope)


@pytest.fixture
def other_kit(other_scope: Scope) -> DomainStore:
    return DomainStore(other_scope)
