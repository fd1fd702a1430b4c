"""graphql-ws in Chromium follows a customer's orders, at an address that stores share: a browser sends no headers with a WebSocket."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.browser.chromium import Browser, Page
from tests.browser.test_playground import needs_chromium
from tests.events.test_own_orders import SET_STATUS, UPDATED
from tests.harness.oauth import graphql_result
from tests.harness.packages import CLIENTS, COMMAND
from tests.harness.sample_store import SampleStore

pytestmark = [
    pytest.mark.browser,
    needs_chromium,
    pytest.mark.skipif(not CLIENTS.is_installed(), reason=f"{CLIENTS.title}: not installed ({COMMAND})"),
]
LIBRARY = CLIENTS.folder / "node_modules" / "graphql-ws" / "umd" / "graphql-ws.min.js"
# The guide's client: docs/building-a-storefront.md#orders-that-change.
FOLLOW = """
    window.shown = [];
    window.closeCode = null;
    const client = graphqlWs.createClient({
        url: %s, connectionParams: () => (%s), retryAttempts: 0, lazy: false,
        on: {connected: () => { window.isConnected = true }, closed: event => { window.closeCode = event.code }},
        onNonLazyError: () => undefined,
    });
    (async () => {
        for await (const {data, errors} of client.iterate({query: %s})) window.shown.push(errors ?? data.order_updated);
    })().catch(() => undefined);
    true
"""


async def open_client(browser: Browser, sample: SampleStore, *, path: str, params: dict[str, str]) -> Page:
    page = await browser.open(str(sample.http.make_url("/health/live")).replace("127.0.0.1", "localhost"))
    await page.evaluate(f"{LIBRARY.read_text(encoding='utf-8')}; window.graphqlWs = graphqlWs; true")
    url = str(sample.http.make_url("/graphql")).replace("http://127.0.0.1", "ws://localhost") + path
    await page.evaluate(FOLLOW % (json.dumps(url), json.dumps(params), json.dumps(UPDATED)))
    return page


@pytest.mark.parametrize("named_by", ["connectionParams", "tenant"])
async def test_graphql_ws_follows_own_orders_in_a_browser(browser: Browser, sample: SampleStore, named_by: str) -> None:
    user = await sample.add_user(user_type="C")
    ana = await sample.client(user)
    store, authorization = str(sample.store.public_id), ana.credentials["Authorization"]
    path = f"?tenant={store}" if named_by == "tenant" else ""
    params = {"Authorization": authorization} | ({} if named_by == "tenant" else {"X-Tenant-ID": store})
    drafts = ({"user": user.id}, {"email": "guest@example.com"})
    orders = [await sample.place_order((sample.mug, 1), **draft) for draft in drafts]
    page = await open_client(browser, sample, path=path, params=params)
    await page.wait_for("window.isConnected")
    await asyncio.sleep(0.2)  # the subscription follows the connection
    admin = await sample.client(sample.owner)
    for order in reversed(orders):
        await graphql_result(admin, SET_STATUS, id=order.id, status="P")
    shown = await page.wait_for("window.shown.length > 0 && window.shown.map(order => order.id + order.status)")
    assert shown == [f"{orders[0].id}P"]


@pytest.mark.parametrize("named", ["none", "wrong"])
async def test_graphql_ws_without_its_store_is_closed(browser: Browser, sample: SampleStore, named: str) -> None:
    ana = await sample.client(await sample.add_user(user_type="C"))
    path = "" if named == "none" else "?tenant=00000000-0000-0000-0000-000000000000"
    page = await open_client(browser, sample, path=path, params={"Authorization": ana.credentials["Authorization"]})
    assert await page.wait_for("window.closeCode") == 4403
