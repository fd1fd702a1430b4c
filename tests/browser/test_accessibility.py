"""The parts of the playground, the API reader and the consent page that are ours work for everyone (axe)."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from server.http.playground import BUILT, add_asset_routes
from server.openapi import page as reader
from tests.browser import test_consent, test_playground
from tests.browser.chromium import Browser, Page
from tests.browser.shop import AXE
from tests.browser.test_consent import VISIBLE, ConsentPage
from tests.browser.test_playground import PlaygroundStore, needs_assets, needs_chromium
from tests.harness.packages import COMMAND, EXAMPLE

pytestmark = [
    pytest.mark.browser,
    needs_assets,
    needs_chromium,
    pytest.mark.skipif(not EXAMPLE.is_installed(), reason=f"{EXAMPLE.title}: not installed ({COMMAND})"),
]
playground_store = test_playground.playground_store
consent_page = test_consent.consent_page
_VIOLATIONS = """
    axe.run({exclude: %s}, {resultTypes: ['violations']}).then(results => results.violations.map(violation =>
        `${violation.id}: ${violation.nodes.map(node => node.html.slice(0, 120)).join(' | ')}`))
"""


async def violations(page: Page, *, without: str = "") -> list[str]:
    """Return what axe objects to, but for what is inside of a library's element."""
    await page.evaluate(AXE.read_text(encoding="utf-8"))
    problems: list[str] = await page.evaluate(_VIOLATIONS % ([[without]] if without else []))
    return problems


@pytest.mark.parametrize("width", [390, 1280])
async def test_the_playgrounds_own_parts(browser: Browser, playground_store: PlaygroundStore, width: int) -> None:
    page = await browser.open(f"{playground_store.url}/graphql/playground", width=width, is_phone=width == 390)
    await page.wait_for("document.querySelectorAll('.graphiql-query-editor .view-line').length > 3")
    assert await violations(page, without=".graphiql-container") == []


async def test_the_readers_own_parts(browser: Browser) -> None:
    app = web.Application()
    reader.add_routes(app)
    add_asset_routes(app, BUILT)
    async with TestServer(app, host="127.0.0.1") as server:
        page = await browser.open(str(server.make_url("/api/docs")))
        await page.wait_for("document.querySelector('.opblock-tag') !== null", 60)
        assert await violations(page, without=".swagger-ui") == []


async def test_each_step_of_the_consent_page(consent_page: ConsentPage, browser: Browser) -> None:
    page = await consent_page.open(browser)
    await page.wait_for(VISIBLE.format("#sign-in"))
    assert await violations(page) == []
    await consent_page.sign_in(page, consent_page.sample.owner, "not the password")
    await page.wait_for("document.querySelector('#problem').textContent")
    assert await violations(page) == []
    await consent_page.sign_in(page, consent_page.sample.owner)
    await page.wait_for(VISIBLE.format("#consent"))
    assert await violations(page) == []
    wrong = await consent_page.open(browser, redirect_uri="https://evil.example/")
    await wrong.wait_for("document.querySelector('.problem') !== null")
    assert await violations(wrong) == []
