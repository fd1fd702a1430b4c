"""Servers behind HAProxy are restarted one after the other, and no request is lost or repeated, POSTs included."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from bench.servers import free_port
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import open_storefront
from tests.server.command_line import RunningCommand, Vitrine
from tests.server.haproxy import needs_haproxy, running_haproxy

CLIENTS = 6
STARTED = "Vitrine is running at"


class Fleet:
    """Two `vitrine serve`, each with a port of its own."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.ports = [free_port(), free_port()]
        self._folder = folder
        self._vitrine = Vitrine(folder, DATABASE_URL=database_url, VITRINE_DRAIN_TIME="", VITRINE_IP_RATE="0")
        self._running: list[RunningCommand] = []

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        try:
            self._running = [await self._start(port) for port in self.ports]
            yield
        finally:
            for server in self._running:
                if server.process.returncode is None:
                    server.process.kill()
                    await server.process.communicate()

    async def _start(self, port: int) -> RunningCommand:
        server = await self._vitrine.start("serve", log=self._folder / f"{port}.log", PORT=str(port))
        await server.wait_for_output(STARTED)
        return server

    async def restart(self, index: int) -> None:
        assert await self._running[index].stop(signal.SIGTERM) == 0
        self._running[index] = await self._start(self.ports[index])


class Traffic:
    """Clients that create carts one after the other, without repeating a request."""

    def __init__(self, address: str, headers: dict[str, str], product: str) -> None:
        self._address = address
        self._headers = headers
        self._body = {"items": [{"product_id": product, "quantity": 1}]}
        self._stopped = asyncio.Event()
        self.created: list[str] = []
        self.failures: list[object] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with aiohttp.ClientSession(self._address, headers=self._headers) as client:
            tasks = [asyncio.create_task(self._send(client)) for _ in range(CLIENTS)]
            try:
                yield
            finally:
                self._stopped.set()
                await asyncio.gather(*tasks)

    async def _send(self, client: aiohttp.ClientSession) -> None:
        while not self._stopped.is_set():
            try:
                async with client.post("/api/v1/storefront/carts", json=self._body) as response:
                    if response.status == 201:
                        self.created.append((await response.json())["id"])
                    else:
                        self.failures.append((response.status, await response.text()))
            except (aiohttp.ClientError, OSError, ValueError) as error:
                self.failures.append(error)
            await asyncio.sleep(0.01)


@needs_haproxy
@pytest.mark.slow(seconds=6)
async def test_a_rolling_restart_loses_no_request(tmp_path: Path, database_url: str, sample: SampleStore):
    shop = await open_storefront(sample)
    headers = {"X-Tenant-ID": str(sample.store.public_id), "X-API-Key": str(shop.key), "Host": "localhost"}
    await sample.execute("UPDATE storefront_keys SET per_address = 0, rate_limit = 60000")
    known = await sample.value("SELECT coalesce(array_agg(public_id::text), '{}') FROM carts")
    fleet = Fleet(tmp_path, database_url)
    async with fleet.serving(), running_haproxy(tmp_path, fleet.ports) as haproxy:
        traffic = Traffic(haproxy.address, headers, sample.mug.id)
        async with traffic.running():
            for index in range(2):
                count = len(traffic.created)
                await fleet.restart(index)
                assert traffic.failures == [], index
                assert len(traffic.created) > count, index  # the other one served meanwhile
                await haproxy.wait_until_up(2)
    assert traffic.failures == []
    assert len(set(traffic.created)) == len(traffic.created)
    carts = await sample.value(
        "SELECT array_agg(public_id::text) FROM carts WHERE public_id::text <> ALL ($1::text[])", known
    )
    assert sorted(carts) == sorted(traffic.created)
