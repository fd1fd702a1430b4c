"""Fixtures of the current API's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.compared_answers import compare_answers


@pytest.fixture(autouse=True)
def _compared_answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The compiled answer of every mutation is that of the executor."""
    different = compare_answers(monkeypatch)
    yield
    assert different == []
