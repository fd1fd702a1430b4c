"""The example storefront is served where it should be, with a key of its store; the shared address says what is where."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from auth.storefront_keys import revoke_storefront_key
from domain.content.redirects import SEGMENTS
from kernel.ids import uuid7
from kernel.scope import Store, active_scope
from kernel.settings import Settings
from models.connection import database
from server import example_storefront
from server.demo import DEMO_STORE_ID
from server.domain_settings import shows_example_storefront
from server.http.playground import built_version
from tests.harness.http import HttpClient, ServeApplication
from tests.harness.sample_store import SampleStore

needs_assets = pytest.mark.skipif(built_version() is None, reason="the example storefront is not built: make assets")
SECRET = "x" * 32


async def get(
    client: HttpClient, host: str, path: str = "/", *, method: str = "GET", headers: Mapping[str, str] | None = None
) -> tuple[int, Mapping[str, str], str]:
    async with client.request(method, path, headers={"Host": host, **(headers or {})}) as response:
        return response.status, response.headers, await response.text()


def config_of(page: str) -> dict[str, Any]:
    match = re.search(r'id="config">(.*?)</script>', page)
    assert match is not None, page
    config: dict[str, Any] = json.loads(match[1])
    return config


@pytest.fixture(scope="session")
async def everywhere(serve_application: ServeApplication) -> HttpClient:
    """Serve the example storefront for all stores."""
    return await serve_application(Settings(ip_rate=0, example_storefront=True))


@needs_assets
async def test_the_key_in_the_page_reads_its_own_store_only(
    everywhere: HttpClient, sample: SampleStore, other_sample: SampleStore
) -> None:
    status, headers, page = await get(everywhere, sample.host)
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    config = config_of(page)
    assert config["endpoint"] == "/graphql"

    async def read(host: str) -> int:
        request = {"Host": host, "X-API-Key": config["key"]}
        async with everywhere.post("/graphql", json={"query": "{ store { id } }"}, headers=request) as response:
            if response.status == 200:
                assert (await response.json())["data"]["store"]["id"] == str(sample.store.public_id)
            return response.status

    assert await read(sample.host) == 200
    assert await read(other_sample.host) == 401
    _, _, other_page = await get(everywhere, other_sample.host)
    assert config_of(other_page)["key"] != config["key"]


@needs_assets
async def test_all_requests_share_one_key_that_is_not_stored(everywhere: HttpClient, sample: SampleStore) -> None:
    answers = await asyncio.gather(*(get(everywhere, sample.host, path) for path in ("/", "/carrinho", "/conta") * 3))
    (key,) = {config_of(page)["key"] for _, _, page in answers}
    rows = await sample.rows("select server_side, hint from storefront_keys where name = 'example storefront'")
    assert [tuple(row) for row in rows] == [(False, key[-4:])]


@needs_assets
async def test_a_revoked_key_is_followed_by_another(everywhere: HttpClient, sample: SampleStore) -> None:
    _, _, page = await get(everywhere, sample.host)
    key_id = await sample.value("select public_id from storefront_keys where name = 'example storefront'")
    scope = sample.scope
    with active_scope(scope):
        await revoke_storefront_key(scope, key_id)
    _, _, next_page = await get(everywhere, sample.host)
    assert config_of(next_page)["key"] != config_of(page)["key"]
    assert config_of((await get(everywhere, sample.host))[2]) == config_of(next_page)


@needs_assets
async def test_every_path_is_the_same_page_for_get_and_head_and_304_for_who_has_it(
    everywhere: HttpClient, sample: SampleStore
) -> None:
    _, headers, page = await get(everywhere, sample.host)
    for path in example_storefront.PATHS:
        assert (await get(everywhere, sample.host, path.replace("{slug:.+}", "a-b/c.html")))[2] == page
    status, head, body = await get(everywhere, sample.host, method="HEAD")
    assert (status, head["ETag"], body) == (200, headers["ETag"], "")
    status, _, body = await get(everywhere, sample.host, headers={"If-None-Match": headers["ETag"]})
    assert (status, body) == (304, "")


@needs_assets
async def test_an_unknown_path_of_a_store_is_the_shops_page_with_404(
    everywhere: HttpClient, sample: SampleStore
) -> None:
    _, _, page = await get(everywhere, sample.host)
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for path in ("/nao-existe", "/conta/a/b", "/carrinho/", "/caf%C3%A9", "/apis"):
        status, _, body = await get(everywhere, sample.host, path, headers=browser)
        assert (status, body) == (404, page), path
        status, _, body = await get(everywhere, sample.host, path, method="HEAD", headers=browser)
        assert (status, body) == (404, ""), path
        assert (await get(everywhere, sample.host, path, method="POST", headers=browser))[0] == 404, path
        status, _, body = await get(everywhere, sample.host, path)
        assert (status, json.loads(body)) == (404, {"error": "route not found"}), path


@needs_assets
async def test_the_page_of_a_record_that_shoppers_cannot_open_is_the_shops_page_with_404(
    everywhere: HttpClient, sample: SampleStore
) -> None:
    _, _, page = await get(everywhere, sample.host)
    create = 'mutation { collection_create(input: {name: "Verão", slug: "verao"}) { id } }'
    await sample.post("/graphql", {"query": create}, auth="bearer")
    for table, segment in SEGMENTS.items():
        slug = await sample.value(
            f"select slug from {table} where status = 'A' and deleted_at is null order by id limit 1"
        )
        assert (await get(everywhere, sample.host, f"/{segment}/{slug}"))[0] == 200, table
        await sample.execute(f"update {table} set status = 'D' where slug = $1", slug)
        for path in (f"/{segment}/{slug}", f"/{segment}/nada", f"/{segment}/a{'%CC%81' * 40}"):
            for method, shown in (("GET", page), ("HEAD", "")):
                status, _, body = await get(everywhere, sample.host, path, method=method)
                assert (status, body) == (404, shown), (path, method)
        await sample.execute(f"update {table} set status = 'A' where slug = $1", slug)


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/api/nothing", 404),
        ("GET", "/api/v1/auth/login", 405),
        ("GET", "/graphql/nothing", 404),
        ("GET", "/media/nothing", 404),
        ("GET", "/favicon.ico", 404),
        ("GET", "/assets", 404),
        ("POST", "/carrinho", 405),
    ],
)
async def test_interfaces_and_files_keep_their_answers_to_unknown_paths(
    everywhere: HttpClient, sample: SampleStore, method: str, path: str, status: int
) -> None:
    answer, headers, _ = await get(everywhere, sample.host, path, method=method)
    assert (answer, "text/html" in headers.get("Content-Type", "")) == (status, False)


@needs_assets
async def test_the_page_runs_only_the_servers_scripts(everywhere: HttpClient, sample: SampleStore) -> None:
    _, headers, page = await get(everywhere, sample.host)
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    for address in re.findall(r'(?:src|href)="(/[^"]*)"', page):
        status, asset, _ = await get(everywhere, sample.host, address)
        assert (status, asset["Cache-Control"]) == (200, "public, max-age=31536000, immutable"), address
        assert asset["Content-Encoding"] == "gzip", address


async def test_a_name_cannot_leave_its_place_in_the_page(tmp_path: Path) -> None:
    version = "0" * 16
    (tmp_path / version).mkdir()
    (tmp_path / version / "shop.js").write_text(
        'import{a}from"./shop-chunk-A1.js";import"./shop-chunk-B2.js";import("./shop-order.js")'
    )
    page = example_storefront.render_shop(version, Store(1, uuid7(), "</script><b>x"), "sfk_", tmp_path)
    assert re.findall(r'modulepreload" href=".*/(.*)"', page) == ["shop-chunk-A1.js", "shop-chunk-B2.js"]
    assert "<b>" not in page
    assert config_of(page)["name"] == "</script><b>x"


@needs_assets
async def test_the_playground_has_the_key_of_a_store_that_shows_the_example(
    everywhere: HttpClient, sample: SampleStore
) -> None:
    shop = config_of((await get(everywhere, sample.host))[2])
    playground = config_of((await get(everywhere, sample.host, "/graphql/playground"))[2])
    assert (playground["token"], playground["store"], playground["needsStore"]) == (shop["key"], "", False)
    assert config_of((await get(sample.http, sample.host, "/graphql/playground"))[2])["token"] == ""


async def test_stores_other_than_the_demo_store_show_nothing_unless_asked(sample: SampleStore) -> None:
    for path in ("/", "/carrinho", "/produto/x"):
        status, _, body = await get(sample.http, sample.host, path)
        assert (status, json.loads(body)["error"]) == (404, "route not found"), path


@pytest.mark.parametrize(
    "settings,store_id,is_served",
    [
        (Settings(), DEMO_STORE_ID, True),
        (Settings(example_storefront=False), DEMO_STORE_ID, False),
        (Settings(), "01900000-0000-7000-8000-000000000009", False),
        (Settings(example_storefront=True), "01900000-0000-7000-8000-000000000009", True),
        (Settings(env="production", secret_key=SECRET), DEMO_STORE_ID, False),
        (Settings(env="production", secret_key=SECRET, example_storefront=True), DEMO_STORE_ID, True),
    ],
)
def test_which_stores_show_the_example(settings: Settings, store_id: str, is_served: bool) -> None:
    store = Store(1, UUID(store_id), "Loja")
    assert shows_example_storefront(settings, store) is is_served


async def test_the_shared_address_says_what_is_where(everywhere: HttpClient) -> None:
    status, headers, page = await get(everywhere, "localhost")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "<script" not in page
    links = re.findall(r'href="([^"]+)"', page)
    assert {"/graphql/playground", "/dev/payments"} <= {*links}
    for link in links:
        if link.startswith("/"):
            assert (await get(everywhere, "localhost", link))[0] in (200, 503), link
    assert (await get(everywhere, "localhost", "/carrinho"))[0] == 404
    assert (await get(everywhere, "unknown.test"))[0] == 404


async def test_a_store_in_maintenance_shows_its_message(everywhere: HttpClient, sample: SampleStore) -> None:
    async with database.cross_store_connection() as platform:
        change = "update tenants set status = 'M', maintenance_message = 'Voltamos <já>.' where id = $1"
        await platform.execute(change, sample.store.id)
    status, headers, page = await get(everywhere, sample.host)
    assert (status, headers["Content-Type"]) == (503, "text/html; charset=utf-8")
    assert "Voltamos &lt;já&gt;." in page


@needs_assets
async def test_the_former_address_of_a_collection_is_redirected(everywhere: HttpClient, sample: SampleStore) -> None:
    query = 'mutation { collection_create(input: {name: "Verão", slug: "verao"}) { id } }'
    made = (await sample.post("/graphql", {"query": query}, auth="bearer")).body["data"]["collection_create"]
    assert (await get(everywhere, sample.host, "/colecao/verao"))[0] == 200
    query = f'mutation {{ collection_update(id: "{made["id"]}", input: {{slug: "verao-2027"}}) {{ slug }} }}'
    await sample.post("/graphql", {"query": query}, auth="bearer")
    async with everywhere.get("/colecao/verao", headers={"Host": sample.host}, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (301, "/colecao/verao-2027")


@needs_assets
async def test_a_former_address_is_redirected_to_the_present_one(everywhere: HttpClient, sample: SampleStore) -> None:
    product = await sample.add_product()
    await sample.execute("update products set slug = 'caneca-nova' where id = $1", product.number)
    await sample.execute(
        "insert into redirects (tenant_id, public_id, path, product_id) values ($1, vitrine_uuid7(), '/moda/caneca', $2)",
        sample.store.id,
        product.number,
    )
    slug = await sample.value("select path from redirects where path like '/produto/%'")
    for path in (slug, "/moda/caneca", "/moda/caneca.html", "/Moda/Caneca.html/", "/moda//caneca/"):
        for method in ("GET", "HEAD"):
            async with everywhere.request(
                method, f"{path}?utm=a", headers={"Host": sample.host}, allow_redirects=False
            ) as response:
                shown = (response.status, response.headers.get("Location"))
                assert shown == (301, "/produto/caneca-nova?utm=a"), (path, method)
    assert (await get(everywhere, sample.host, "/produto/caneca-nova"))[0] == 200
    await sample.execute("update products set status = 'D' where id = $1", product.number)
    assert (await get(everywhere, sample.host, "/moda/caneca"))[0] == 404, "a disabled product is not shown"
