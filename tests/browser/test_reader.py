"""The viewer of the OpenAPI documents shows operations with the schemas they refer to."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from server.http.playground import BUILT, add_asset_routes
from server.openapi import page as reader
from server.openapi.documents import documents
from tests.browser.chromium import Browser
from tests.browser.test_playground import needs_assets, needs_chromium

_ORDER = "#operations-orders-get_orders_by_id"


@pytest.mark.browser
@pytest.mark.slow
@needs_assets
@needs_chromium
async def test_an_operation_shows_its_resolved_schemas(browser: Browser) -> None:
    app = web.Application()
    reader.add_routes(app)
    add_asset_routes(app, BUILT)
    async with TestServer(app, host="127.0.0.1") as server:
        url = str(server.make_url("/api/docs"))
        page = await browser.open(f"{url}?urls.primaryName=Vitrine%20%C2%B7%20legacy%20layer")
        await page.wait_for("document.querySelector('.opblock-tag[data-tag=orders]') !== null", 60)
        await page.evaluate("document.querySelector('.opblock-tag[data-tag=orders]').click()")
        await page.wait_for(f"document.querySelector('{_ORDER}') !== null", 60)
        await page.evaluate(f"document.querySelector('{_ORDER} .opblock-summary-control').click()")
        await page.wait_for(
            f"document.querySelector('{_ORDER} .responses-wrapper')?.innerText.includes('status_history')", 60
        )
        text = await page.evaluate(f"document.querySelector('{_ORDER}').innerText")
        # A member of an object that the order refers to, and of one that this refers to.
        assert "chosen_shippings" in text
        assert "group_key" in text
        assert "Could not resolve" not in text
        # Of the refusals, which operations share, the first shows its body, and all what they are for.
        shared = documents()["legacy"]["components"]["responses"].values()
        descriptions = {response["description"].replace("`", "") for response in shared}
        assert {description for description in descriptions if description not in text} == set()
        examples = f"document.querySelectorAll('{_ORDER} .responses-wrapper .model-example').length"
        assert await page.evaluate(examples) == 2
        assert page.complaints == []
