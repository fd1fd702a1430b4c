"""A browser for the tests of a module: to start one takes a second of CPU. Each test has tabs with storage of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domain.media import addresses as media_addresses
from kernel.clock import now
from kernel.scope import Store
from kernel.settings import Settings
from models.connection import database
from server.demo.credentials import ensure_owner
from server.demo.seeding import seed_store
from server.demo.stores import DEMO
from tests.browser.chromium import Browser, chromium
from tests.browser.office import Clerk
from tests.browser.shop import Width
from tests.harness.database import NewStore
from tests.harness.http import HttpClient, ServeApplication


@pytest.fixture(scope="module")
async def running_browser() -> AsyncIterator[Browser]:
    async with chromium() as running:
        yield running


@pytest.fixture
async def browser(running_browser: Browser) -> AsyncIterator[Browser]:
    """Return the browser without tabs, and close those that the test opens."""
    yield running_browser
    await running_browser.close_pages()


@pytest.fixture(scope="module")
async def server(serve_application: ServeApplication) -> HttpClient:
    return await serve_application(Settings(ip_rate=0, failed_auth_rate=0))


@pytest.fixture(scope="module")
async def demo_store(new_store: NewStore, demo_pictures: Path) -> Store:
    store = await new_store(name=DEMO.name)
    await seed_store(await ensure_owner(store, DEMO.personas[0]), DEMO, now(), demo_pictures)
    return store


@pytest.fixture(scope="module")
async def address(server: HttpClient, demo_store: Store) -> AsyncIterator[str]:
    host = f"admin-{demo_store.public_id.hex}.localhost"
    async with database.cross_store_connection() as platform:
        await platform.execute("insert into store_hosts (host, store_id) values ($1, $2)", host, demo_store.id)
    port = server.make_url("/").port
    media_addresses.configure(f"http://localhost:{port}")
    yield f"http://{host}:{port}"
    media_addresses.configure("http://localhost")


@pytest.fixture
async def clerk(browser: Browser, demo_store: Store, address: str, width: Width) -> AsyncIterator[Clerk]:
    async with database.cross_store_connection() as platform:
        await platform.execute("delete from signin_counts")  # all tests sign in from the browser's address
    page = await browser.open(f"{address}/admin", width=width.width, height=width.height, is_phone=width.is_phone)
    await page.wait_for("document.querySelector('[name=identifier]') !== null")
    clerk = Clerk(page, demo_store, address, width)
    yield clerk
    assert page.complaints == []
    assert [
        url for url in page.requests if not url.startswith((f"{address}/", f"{clerk.address}/", "data:", "blob:"))
    ] == []
