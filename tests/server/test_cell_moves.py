"""A store moves between cells while it sells: no order is lost or placed twice, and no other store answers."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from uuid import uuid4

import aiohttp
import asyncpg
import pytest

from bench.servers import free_port
from server.operations.store_transfer import connect_owner
from tests.harness.programs import ROOT
from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.server.command_line import SECRET, RunningCommand, Vitrine
from tests.server.haproxy import needs_haproxy, running_haproxy
from tests.server.test_store_move import superuser
from tests.system.haproxy import HAProxy

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow(seconds=60), needs_haproxy]

_SECONDS = 30.0
# How often `make cluster-test` moves the store, there and back in turn.
_MOVES = int(os.environ.get("VITRINE_TEST_MOVES", "1"))  # odd
_MAY_WRITE_WITHOUT_TRIGGERS = "GRANT SET ON PARAMETER session_replication_role TO vitrine_owner"
_ORDERS = "select o.notes from orders o join tenants t on t.id = o.tenant_id where t.public_id = $1"
_FAMILIES = ("/graphql?query={store{name}}", "/api/v1/admin/orders", "/api/v1/storefront/products", "/api/admin/orders",
             "/api/storefront/products", "/api/products", "/api/v1.0/products", "/api/2.0/products", "/api/2/products")  # fmt: skip


@dataclass
class Platform:
    """Two deployments, HAProxy in front of them, and the follower of its map."""

    folder: Path
    urls: dict[str, str]
    ports: dict[str, int] = field(default_factory=dict)
    haproxy: HAProxy = field(init=False)

    def vitrine(self, cell: str, **settings: str) -> Vitrine:
        folder = self.folder / cell
        folder.mkdir(exist_ok=True)
        shared = {
            "VITRINE_SECRET_KEY": SECRET,
            "VITRINE_IP_RATE": "0",
            "VITRINE_CELLS_FILE": str(self.folder / "cells.conf"),
        }
        own = {"DATABASE_URL": self.urls[cell], "VITRINE_STORAGE_URL": self.storage(cell)}
        return Vitrine(folder, ROOT, **shared, **own, **settings)

    def storage(self, cell: str) -> str:
        return (self.folder / cell / "files").as_uri()

    async def start(self, stack: AsyncExitStack) -> None:
        """Start both, and HAProxy with a map of both."""
        lines = [f"{cell} {url}\n" for cell, url in self.urls.items()]
        (self.folder / "cells.conf").write_text("".join(lines), encoding="utf-8")
        self.vitrine("one")("cells", "sync")
        for cell in self.urls:
            port = self.ports[cell] = free_port()
            log = self.folder / f"{cell}.log"
            await stack.enter_async_context(self.vitrine(cell, PORT=str(port)).running("serve", log))
        assert self.vitrine("one")("cells", "map", "--to", str(self.map_file)).code == 0
        ports = {cell: [port] for cell, port in self.ports.items()}
        self.haproxy = await stack.enter_async_context(running_haproxy(self.folder, ports))
        await self.haproxy.wait_until_up()

    @property
    def map_file(self) -> Path:
        return self.folder / "cells.map"

    @asynccontextmanager
    async def following(self) -> AsyncIterator[RunningCommand]:
        to = ("--to", str(self.map_file), "--socket", str(self.haproxy.socket), "--follow")
        follower = await self.vitrine("one").start("cells", "map", *to, log=self.folder / "follower.log")
        try:
            yield follower
        finally:
            if follower.process.returncode is None:
                await follower.stop()

    async def move(self, sample: SampleStore, *options: str) -> None:
        """Move a store from the first cell to the second, or back."""
        moving = self.vitrine("one", VITRINE_MOVE_TO_URL=self.urls["two"])
        words = ("tenant", "move", str(sample.store.public_id), "--to-storage", self.storage("two"), *options)
        done = await asyncio.to_thread(moving, *words)
        assert done.code == 0, done.err


@pytest.fixture
async def platform(tmp_path: Path, database_url: str, migrated_database_url: str) -> AsyncIterator[Platform]:
    connection = await asyncpg.connect(superuser(migrated_database_url))
    await connection.execute(_MAY_WRITE_WITHOUT_TRIGGERS)
    await connection.execute("alter table tenants alter id restart with 1000000")  # stores have other ids there
    await connection.close()
    async with AsyncExitStack() as stack:
        result = Platform(tmp_path, {"one": database_url, "two": migrated_database_url})
        await result.start(stack)
        yield result


def addresses(sample: SampleStore) -> list[dict[str, str]]:
    """Return the headers by which a store is named: of its own host, and at a shared one."""
    return [{"Host": sample.host}, {"X-Tenant-ID": str(sample.store.public_id)}]


class Traffic:
    """Clients that order from one store and read all of them, through HAProxy."""

    def __init__(self, client: aiohttp.ClientSession, selling: SampleStore, others: list[SampleStore]) -> None:
        self._client = client
        self.selling = selling
        self._read = [selling, *others]
        self._ends = asyncio.Event()
        self.placed: list[str] = []
        self.wrong: list[tuple[str, int, str]] = []
        self.refused_at: list[float] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            for headers in addresses(self.selling):
                tasks.create_task(self._order(headers))
                tasks.create_task(self._read_all())
            try:
                yield
            finally:
                self._ends.set()

    async def wait_for_orders(self) -> None:
        """Wait until the store sells."""
        done = len(self.placed)
        async with asyncio.timeout(_SECONDS):
            while len(self.placed) < done + 10:
                await asyncio.sleep(0.05)

    async def _order(self, headers: dict[str, str]) -> None:
        sample = self.selling
        while not self._ends.is_set():
            key = str(uuid4())
            body = {"user_id": sample.caio.number, "notes": key, "shipping_id": sample.sedex.number,
                    "products": [{"product_id": sample.ebook.number, "amount": 1}]}  # fmt: skip
            sent = headers | {"Authorization": sample.owner.basic, "Idempotency-Key": key}
            status = 503
            while status == 503:
                async with self._client.post("/api/orders", json=body, headers=sent) as response:
                    status = response.status
                    if status == 201:
                        self.placed.append(key)
                    elif status == 503 and response.headers.get("Retry-After") == "1":
                        self.refused_at.append(monotonic())
                        await asyncio.sleep(0.1)
                    else:
                        self.wrong.append(("order", status, await response.text()))
                        await asyncio.sleep(0.1)

    async def _read_all(self) -> None:
        while not self._ends.is_set():
            for sample in self._read:
                for headers in addresses(sample):
                    status, text = await read(self._client, sample, headers)
                    if (status, text) != (200, str(sample.store.public_id)) and not (
                        status == 503 and sample is self.selling
                    ):
                        self.wrong.append((f"{sample.host} {headers}", status, text))
            await asyncio.sleep(0.02)


async def read(client: aiohttp.ClientSession, sample: SampleStore, headers: dict[str, str]) -> tuple[int, str]:
    """Return the status and the name of a product, which is the id of its store."""
    sent = headers | {"Authorization": sample.owner.basic}
    async with client.get(f"/api/products/{sample.ebook.number}", headers=sent) as response:
        return response.status, (await response.json())["product"] if response.status == 200 else await response.text()


async def wait_until_read(client: aiohttp.ClientSession, sample: SampleStore) -> None:
    async with asyncio.timeout(_SECONDS):
        for headers in addresses(sample):
            while (await read(client, sample, headers))[0] != 200:
                await asyncio.sleep(0.05)


async def feed_cursor(client: aiohttp.ClientSession, headers: dict[str, str], after: str = "oldest") -> str:
    """Return the end of the first event after a cursor, which there is."""
    query = f'{{ events(first: 1, after: "{after}") {{ edges {{ cursor }} }} }}'
    async with client.post("/graphql", json={"query": query}, headers=headers) as response:
        answer = await response.json()
    assert "errors" not in answer, answer
    [edge] = answer["data"]["events"]["edges"]
    return str(edge["cursor"])


async def move_under_traffic(platform: Platform, traffic: Traffic, *options: str) -> None:
    """Move the store that sells while HAProxy is reloaded; the follower is killed once it sells again."""
    async with platform.following() as follower:
        await traffic.wait_for_orders()
        placed, refused = len(traffic.placed), len(traffic.refused_at)
        await asyncio.gather(platform.move(traffic.selling, *options), platform.haproxy.reload())
        await traffic.wait_for_orders()
        follower.process.kill()
        await follower.process.wait()
    times = traffic.refused_at[refused:]
    seconds = times[-1] - times[0] if times else 0.0
    print(f"{len(traffic.placed) - placed} orders during the move, refused for {seconds:.1f} s")


async def test_a_store_moves_between_cells_while_it_sells(platform: Platform, new_sample: NewSampleStore):
    moving, moved, staying = [await new_sample() for _ in range(3)]
    for sample in (moving, moved, staying):
        name = "update products set name = $2, on_hand = 1000000 where tenant_id = $1 and id = $3"
        await sample.execute(name, sample.store.id, str(sample.store.public_id), sample.ebook.number)
    bearer = {"Authorization": f"Bearer {await moving.token(moving.owner)}", "X-Tenant-ID": str(moving.store.public_id)}
    assert platform.vitrine("one")("cells", "sync").code == 0
    await platform.move(moved)
    async with aiohttp.ClientSession(platform.haproxy.address) as client:
        traffic = Traffic(client, moving, [moved, staying])
        async with platform.following():
            for sample in (moving, moved, staying):
                await wait_until_read(client, sample)
            cursor = await feed_cursor(client, bearer)
        async with traffic.running():
            for number in range(_MOVES):
                await move_under_traffic(platform, traffic, *(["--undo"] if number % 2 else []))
        assert traffic.wrong == []
        async with connect_owner(platform.urls["two"]) as connection:
            number = await connection.fetchval("select id from tenants where public_id = $1", moving.store.public_id)
            await connection.execute("select set_config('vitrine.tenant', $1, false)", str(number))
            notes = Counter(row["notes"] for row in await connection.fetch(_ORDERS, moving.store.public_id))
        assert [(key, notes[key]) for key in traffic.placed if notes[key] != 1] == []
        assert len(traffic.refused_at) > 0
        async with client.get("/api/v1/admin/orders", headers=bearer) as response:
            assert response.status == 200, "an access token of the cell that it left"

        await feed_cursor(client, bearer, cursor)

        # Without a follower requests are refused where the store was, in every family, until one runs again.
        await platform.move(moving, "--undo")
        for path in _FAMILIES:
            async with client.get(path, headers={"X-Tenant-ID": str(moving.store.public_id)}) as response:
                answer = (response.status, response.headers.get("Retry-After"), response.headers.get("Cache-Control"))
                assert answer == (503, "1", "no-store"), path
        async with platform.following():
            await wait_until_read(client, moving)
            await feed_cursor(client, bearer, cursor)
