"""The GraphQL playground: its page, its assets, and its use in a browser."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
import strawberry
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from graphql import OperationDefinitionNode, parse
from strawberry.schema.config import StrawberryConfig

from server.http.playground import (
    ASSETS_PATH,
    BUILT,
    STORE_KEY,
    OfferedStore,
    add_asset_routes,
    built_version,
    playground,
    render_page,
)
from tests.browser.chromium import Browser, Page, find_chromium
from tests.harness.packages import CLIENTS, EXAMPLE, GENERATORS

SOURCES = BUILT.parent
Client = TestClient[web.Request, web.Application]
SCREENSHOTS = SOURCES.parents[1] / ".vitrine" / "screenshots"

needs_assets = pytest.mark.skipif(built_version() is None, reason="the playground is not built: make assets")
needs_chromium = pytest.mark.skipif(
    find_chromium() is None, reason="Chromium is not installed: apt-get install chromium"
)

# ---------------------------------------------------------------- a shop to open the playground against


@dataclass(frozen=True)
class PlaygroundStore:
    """What a browser test needs of a running server."""

    url: str
    store: str
    credentials: Mapping[str, str]
    """A valid one of each type."""
    invalid_token: str
    error_message: str
    store_name: str


@strawberry.type
class _Store:
    name: str
    currency: str


@strawberry.type
class _Query:
    @strawberry.field(description="The current store.")
    def store(self) -> _Store:
        return _Store(name="Loja de teste", currency="BRL")


STORE = "0190b2c4-0000-7000-8000-000000000001"
TOKEN = "good-token"
STOREFRONT_KEY = "sfk_good-key"
SCHEMA = strawberry.Schema(_Query, config=StrawberryConfig(auto_camel_case=False))


def _error(status: int, error: str, message: str) -> web.Response:
    return web.json_response({"error": error, "message": message, "status": status}, status=status)


async def _graphql(request: web.Request) -> web.Response:
    if request.headers.get("X-Tenant-ID") != STORE:
        return _error(404, "not_found", "tenant not found")
    bearer = request.headers.get("Authorization") == f"Bearer {TOKEN}"
    if not bearer and request.headers.get("X-API-Key") != STOREFRONT_KEY:
        return _error(401, "unauthorized", "invalid or expired token")
    body = await request.json()
    result = await SCHEMA.execute(body["query"], body.get("variables"), operation_name=body.get("operationName"))
    errors = {"errors": [error.formatted for error in result.errors]} if result.errors else {}
    return web.json_response({"data": result.data, **errors})


def _stub_app(store: str = "", built: Path = BUILT, *, needs_store: bool = False) -> web.Application:
    app = web.Application()

    async def offer_store(request: web.Request) -> OfferedStore:
        return OfferedStore(store, needs_store)

    app[STORE_KEY] = offer_store
    app.router.add_get("/graphql/playground", playground)
    app.router.add_post("/graphql", _graphql)
    add_asset_routes(app, built)
    return app


@pytest.fixture
async def playground_store() -> AsyncIterator[PlaygroundStore]:
    """Run a stub server."""
    async with TestServer(_stub_app(), host="127.0.0.1") as server:
        yield PlaygroundStore(
            url=str(server.make_url("/")).rstrip("/"),
            store=STORE,
            credentials={"token": TOKEN, "storefront key": STOREFRONT_KEY},
            invalid_token="not-a-token",
            error_message="invalid or expired token",
            store_name="Loja de teste",
        )


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Yield an HTTP client for the page's routes."""
    async with TestClient(TestServer(_stub_app())) as client:
        yield client


# ---------------------------------------------------------------- routes and files


@needs_assets
async def test_the_page_loads_only_its_own_files(client: Client) -> None:
    answer = await client.get("/graphql/playground")
    page = await answer.text()

    assert answer.status == 200
    assert answer.content_type == "text/html"
    assert "//" not in page
    loaded = re.findall(r'(?:src|href)="([^"]*)"', page)
    for address in loaded:
        assert address == "data:," or (await client.get(address)).status == 200
    assert len(loaded) == 3


@needs_assets
async def test_the_page_forbids_framing_and_foreign_hosts(client: Client) -> None:
    answer = await client.get("/graphql/playground")

    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert set(" ".join(policy.values()).split()) <= {"'none'", "'self'", "'unsafe-inline'", "data:"}
    assert "'unsafe-inline'" not in policy["script-src"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@needs_assets
@pytest.mark.parametrize(
    "name, content_type",
    [
        ("main.js", "text/javascript; charset=utf-8"),
        ("main.css", "text/css; charset=utf-8"),
        ("codicon.ttf", "font/ttf"),
        ("editor.worker.js", "text/javascript; charset=utf-8"),
        ("json.worker.js", "text/javascript; charset=utf-8"),
        ("graphql.worker.js", "text/javascript; charset=utf-8"),
    ],
)
async def test_an_asset_is_cached_as_immutable(client: Client, name: str, content_type: str) -> None:
    address = f"{ASSETS_PATH}/{built_version()}/{name}"
    for accepted in ("identity", "gzip"):
        answer = await client.get(address, headers={"Accept-Encoding": accepted}, auto_decompress=False)
        again = await client.get(
            address, headers={"Accept-Encoding": accepted, "If-None-Match": answer.headers["ETag"]}
        )

        assert answer.status == 200, accepted
        assert answer.headers["Content-Type"] == content_type, accepted
        assert answer.headers.get("Content-Encoding", "identity") == accepted
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable", accepted
        assert again.status == 304, accepted
    odd = await client.get(address, headers={"If-Modified-Since": "Thu, 01 Jan 99999999999999 00:00:00 GMT"})
    assert odd.status == 200


@needs_assets
@pytest.mark.parametrize("name", ["nothing.js", "main.js.gz", "../version", "..%2fversion", ".%2e/version"])
async def test_an_unknown_asset_is_not_found(client: Client, name: str) -> None:
    answer = await client.get(f"{ASSETS_PATH}/{built_version()}/{name}")

    assert answer.status == 404


async def test_without_assets_the_page_explains_how_to_build_them(tmp_path: Path) -> None:
    async with TestClient(TestServer(_stub_app(built=tmp_path))) as client:
        answer = await client.get("/graphql/playground")

        assert answer.status == 503
        assert answer.content_type == "text/plain"
        assert "make assets" in await answer.text()


async def test_a_store_value_is_escaped_in_the_configuration() -> None:
    page = render_page("0" * 16, OfferedStore("</script><script>alert(1)</script>"))

    config = re.search(r'id="config">(.*?)</script>', page)
    assert config is not None
    assert json.loads(config[1])["store"] == "</script><script>alert(1)</script>"


@needs_assets
async def test_built_files_load_nothing_from_another_host() -> None:
    folder = BUILT / str(built_version())
    styles = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.css"))
    scripts = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.js"))

    assert not re.search(r"@import", styles)
    assert not [url for url in re.findall(r"url\(\s*[\"']?([^)\"']{1,60})", styles) if "//" in url.split(",")[0]]
    loads = (
        r"(?:import|importScripts|fetch|Worker|EventSource|WebSocket|\.src=|\.open)\s*\(?\s*[\"'`](?:https?|wss?)?:?//"
    )
    assert not re.findall(loads, scripts)


@pytest.mark.parametrize(
    "folder",
    [SOURCES, GENERATORS.sources, CLIENTS.sources, EXAMPLE.sources],
    ids=["assets", "generators", "clients", "example"],
)
async def test_lock_files_contain_no_registry_url(folder: Path) -> None:
    lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
    installed = {name: package for name, package in lock["packages"].items() if name}

    assert installed
    assert all("resolved" not in package and package["integrity"] for package in installed.values())
    assert "://" not in (SOURCES.parents[1] / "requirements-node.lock").read_text(encoding="utf-8")


async def test_every_example_is_one_named_operation_with_its_own_tab() -> None:
    tabs = (SOURCES / "src" / "examples.js").read_text(encoding="utf-8")
    examples = sorted((SOURCES / "src" / "examples").glob("*.graphql"))

    assert examples
    for example in examples:
        (operation,) = parse(example.read_text(encoding="utf-8")).definitions
        assert isinstance(operation, OperationDefinitionNode), example
        assert operation.name is not None, example
        assert f"./examples/{example.name}'" in tabs


# ---------------------------------------------------------------- in a browser

RUN_BUTTON = ".graphiql-execute-button"
STORE_TAB = 'button[title="Store"]'
EDITOR = ".graphiql-query-editor .view-lines"
RESPONSE = "document.querySelector('.graphiql-response .view-lines').innerText.replaceAll('\\u00a0', ' ')"
SCHEMA_STATUS = "document.querySelector('#schema-status').innerText"
SCHEMA_READ = f"/^Schema: \\d+ types$/.test({SCHEMA_STATUS})"


async def _open_playground(browser: Browser, playground_store: PlaygroundStore) -> Page:
    page = await browser.open(f"{playground_store.url}/graphql/playground")
    await page.wait_for("document.querySelectorAll('.graphiql-query-editor .view-line').length > 3")
    return page


async def _fill(page: Page, selector: str, text: str) -> None:
    await page.click(selector)
    await page.press("a", "Control")
    await page.type(text)


@pytest.mark.browser
@pytest.mark.slow(seconds=3)
@needs_assets
@needs_chromium
@pytest.mark.parametrize("kind", ["token", "storefront key"])
async def test_an_example_runs_and_the_documentation_is_shown(
    browser: Browser, playground_store: PlaygroundStore, kind: str
) -> None:
    page = await _open_playground(browser, playground_store)
    await _fill(page, "#store", playground_store.store)
    await _fill(page, "#token", playground_store.credentials[kind])
    await page.wait_for(SCHEMA_READ)
    await page.click(STORE_TAB)
    await page.click(EDITOR)
    await page.press("Enter", "Control")
    await page.wait_for(f"{RESPONSE}.includes({json.dumps(playground_store.store_name)})")
    await page.click('button[aria-label="Show Documentation Explorer"]')
    await page.wait_for("document.querySelector('.graphiql-doc-explorer')?.innerText.includes('query')")

    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(SCREENSHOTS / f"playground-{kind.replace(' ', '-')}.png")
    assert [url for url in page.requests if not url.startswith((f"{playground_store.url}/", "data:"))] == []
    assert [url for url in page.requests if url.endswith("/graphql.worker.js")] != []
    # Introspection failed before the fields were filled; no other errors are expected.
    assert [line for line in page.complaints if not line.endswith(f"{playground_store.url}/graphql")] == []


@pytest.mark.browser
@pytest.mark.slow(seconds=3)
@needs_assets
@needs_chromium
async def test_at_a_shared_address_the_page_asks_for_a_store_and_sends_nothing_without(
    browser: Browser, playground_store: PlaygroundStore
) -> None:
    async with TestServer(_stub_app(needs_store=True), host="127.0.0.1") as server:
        shared = replace(playground_store, url=str(server.make_url("/")).rstrip("/"))
        page = await _open_playground(browser, shared)
        await page.wait_for(f"{SCHEMA_STATUS}.includes('enter the UUID of a store')")
        assert [url for url in page.requests if url.endswith("/graphql")] == []
        assert page.complaints == []

        await _fill(page, "#token", shared.credentials["token"])
        await _fill(page, "#store", shared.store)
        await page.wait_for(SCHEMA_READ)


@pytest.mark.browser
@pytest.mark.slow(seconds=3)
@needs_assets
@needs_chromium
async def test_on_a_phone_the_columns_stack(browser: Browser, playground_store: PlaygroundStore) -> None:
    page = await browser.open(f"{playground_store.url}/graphql/playground", width=390, height=844, is_phone=True)
    await page.wait_for("document.querySelectorAll('.graphiql-query-editor .view-line').length > 3")
    await _fill(page, "#store", playground_store.store)
    await _fill(page, "#token", playground_store.credentials["token"])
    await page.wait_for(SCHEMA_READ)
    await page.click(STORE_TAB)
    await page.click(RUN_BUTTON)
    await page.wait_for(f"{RESPONSE}.includes({json.dumps(playground_store.store_name)})")
    await page.click('button[aria-label="Show Documentation Explorer"]')
    await page.wait_for("document.querySelector('.graphiql-doc-explorer')?.innerText.includes('query')")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(SCREENSHOTS / "playground-phone.png", whole=True)

    boxes = await page.evaluate(
        "['.bar', '.graphiql-sidebar', '.graphiql-plugin', '.graphiql-editors', '.graphiql-response'].map(name =>"
        " document.querySelector(name).getBoundingClientRect()).map(({top, bottom, width}) => [top, bottom, width])"
    )
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    for (_, bottom, width), (top, _, _) in pairwise(boxes):
        assert bottom <= top
        assert width > 340


@pytest.mark.browser
@pytest.mark.slow(seconds=3)
@needs_assets
@needs_chromium
async def test_an_error_is_shown_and_disappears_with_a_valid_token(
    browser: Browser, playground_store: PlaygroundStore
) -> None:
    page = await _open_playground(browser, playground_store)
    await _fill(page, "#store", playground_store.store)
    await _fill(page, "#token", playground_store.invalid_token)
    await page.wait_for(f"{SCHEMA_STATUS}.includes('401')")
    await page.click(RUN_BUTTON)
    await page.wait_for(f"{RESPONSE}.includes('\"status\": 401')")
    await page.wait_for(f"{RESPONSE}.includes({json.dumps(playground_store.error_message)})")

    await _fill(page, "#token", playground_store.credentials["token"])
    await page.wait_for(SCHEMA_READ)
    await page.wait_for(f"{RESPONSE}.trim() === ''")

    # Both fields are stored.
    await page.call("Page.reload")
    await page.wait_for(f"document.querySelector('#schema-status') && {SCHEMA_READ}")


@pytest.mark.browser
@pytest.mark.slow(seconds=3)
@needs_assets
@needs_chromium
async def test_headers_of_a_tab_are_not_stored_in_the_history(
    browser: Browser, playground_store: PlaygroundStore
) -> None:
    page = await _open_playground(browser, playground_store)
    await _fill(page, "#store", playground_store.store)
    await _fill(page, "#token", playground_store.credentials["token"])
    await page.wait_for(SCHEMA_READ)
    await page.click(STORE_TAB)
    await page.evaluate(
        "__MONACO.editor.getModels().find(model => model.uri.path.endsWith('request-headers.json'))"
        """.setValue('{"X-Request-Id": "written-in-a-tab"}')"""
    )
    # GraphiQL applies an editor change after a short delay, which is not visible on the page.
    await asyncio.sleep(1)
    await page.click(RUN_BUTTON)
    await page.wait_for(f"{RESPONSE}.includes({json.dumps(playground_store.store_name)})")

    kept = await page.wait_for("localStorage['graphiql:queries']")
    assert [entry["operationName"] for entry in json.loads(kept)["queries"]] == ["Store"]
    assert "written-in-a-tab" not in await page.evaluate("JSON.stringify({...localStorage})")
