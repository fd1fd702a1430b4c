"""Run jobs for the stores of one test: the database holds thousands of other tests' stores, which take seconds."""

from __future__ import annotations

from typing import Any

import pytest

from domain import jobs
from kernel.scope import Store


def limit_jobs_to(monkeypatch: pytest.MonkeyPatch, *stores: Store) -> None:
    """Let jobs find all stores that need them, as always, but work in these only."""
    ids = {store.id for store in stores}
    in_store = jobs._in_store

    async def in_these(store: Store, *work: Any) -> Exception | None:
        return await in_store(store, *work) if store.id in ids else None

    monkeypatch.setattr(jobs, "_in_store", in_these)
