"""Fixtures of installed apps, a webhook worker, and a receiver on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import pytest

from resolvers.webhook_queries import run_query
from server.outgoing import outgoing_client
from server.workers.webhooks import WebhookWorker
from tests.harness.http import system_trust
from tests.webhooks.receiver import Receiver

RunWorker: TypeAlias = Callable[..., AbstractAsyncContextManager[WebhookWorker]]


@pytest.fixture(autouse=True)
async def outgoing_requests() -> AsyncIterator[None]:
    """Allow requests to this machine."""
    async with outgoing_client(allows_private=True, trust=system_trust()):
        yield


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """Return a receiver that accepts everything."""
    started_receiver = Receiver()
    await started_receiver.start()
    yield started_receiver
    await started_receiver.close()


@pytest.fixture
def run_worker() -> RunWorker:
    """Return a context manager that runs webhook workers: `async with run_worker():`."""

    @asynccontextmanager
    async def run(count: int = 1, **options: Any) -> AsyncIterator[WebhookWorker]:
        workers = [WebhookWorker(run_query, **options) for _ in range(count)]
        tasks = [asyncio.create_task(worker.run()) for worker in workers]
        try:
            yield workers[0]
        finally:
            for worker in workers:
                worker.stop()
            async with asyncio.timeout(20):
                await asyncio.gather(*tasks)

    return run
