"""A browser for the tests of a module: to start one takes a second of CPU. Each test has tabs with storage of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.browser.chromium import Browser, chromium


@pytest.fixture(scope="module")
async def running_browser() -> AsyncIterator[Browser]:
    async with chromium() as running:
        yield running


@pytest.fixture
async def browser(running_browser: Browser) -> AsyncIterator[Browser]:
    """Return the browser without tabs, and close those that the test opens."""
    yield running_browser
    await running_browser.close_pages()
