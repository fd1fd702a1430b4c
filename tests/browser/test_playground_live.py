"""The playground of the real application runs the examples."""

from __future__ import annotations

import pytest

from tests.browser.chromium import Browser
from tests.browser.test_playground import (
    EDITOR,
    RESPONSE,
    SCHEMA_READ,
    SCREENSHOTS,
    _fill,
    needs_assets,
    needs_chromium,
)
from tests.harness.sample_store import SampleStore

pytestmark = pytest.mark.slow(seconds=4)


@pytest.mark.browser
@needs_assets
@needs_chromium
async def test_an_example_runs_on_the_real_schema(browser: Browser, sample: SampleStore) -> None:
    url = str(sample.http.make_url("/")).rstrip("/")
    token = await sample.token(sample.owner)
    page = await browser.open(f"{url}/graphql/playground")
    await page.wait_for("document.querySelectorAll('.graphiql-query-editor .view-line').length > 3")
    await _fill(page, "#store", str(sample.store.public_id))
    await _fill(page, "#token", token)
    await page.wait_for(SCHEMA_READ)
    for tab, seen in (
        ("Products", "Caneca de Ágata"),
        ("ProductPage", '"total": 3'),
        ("OneOrder", '"customer"'),
        ("CreateProduct", '"sku": "CANECA-AGATA-1"'),
    ):
        await page.click(f'button[title="{tab}"]')
        await page.click(EDITOR)
        await page.press("Enter", "Control")
        await page.wait_for(f"{RESPONSE}.includes({seen!r})")
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        await page.screenshot(SCREENSHOTS / f"live-{tab}.png")
    assert [address for address in page.requests if not address.startswith((f"{url}/", "data:"))] == []
    assert await sample.value("SELECT name FROM products WHERE sku = 'CANECA-AGATA-1'") == "Caneca de ágata"
