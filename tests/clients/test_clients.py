"""The usual GraphQL and OAuth clients work against the server, and the usual generators with its schema.

`make test` installs them (tests/harness/packages.py); `gql` is a development dependency. The scripts in packages/ and ariadne/ fail where
a client doesn't get what it expects.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from domain.apps.trusted_documents import read_manifest
from domain.storage import Storage
from server.assets.build import ROOT
from tests.docs.storefront_guide import configuration, read_guide
from tests.harness.http import bearer
from tests.harness.oauth import INSTALL, REDIRECT, SCOPES, register_app
from tests.harness.packages import ARIADNE, CLIENTS, run, run_node
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient
from tests.media.conftest import base_url, media_folder, renderer
from tests.media.pictures import encoded, picture

__all__ = ["base_url", "media_folder", "renderer"]  # fixtures
pytestmark = pytest.mark.slow

SCHEMA = ROOT / "schema" / "public.graphql"
REFERENCE = ROOT / "docs" / "reference" / "graphql.md"
TSC = "node_modules/typescript/bin/tsc"
GUIDE_SERVER = "http://localhost:8000"


@dataclass(frozen=True)
class Shop:
    """The address of the server, the headers of a storefront key, and the products in the order of their names."""

    base: str
    headers: dict[str, str]
    products: list[dict[str, Any]]

    def parameters(self, **more: Any) -> str:
        """Return the argument of a client's script."""
        names = [product["name"] for product in self.products]
        return json.dumps({"base": self.base, "headers": self.headers, "names": names} | more)


@pytest.fixture
async def shop(storefront: StorefrontClient) -> Shop:
    sample = storefront.sample
    for name in ("Açucareiro", "Bule", "Concha"):
        await sample.add_product(name=name)
    headers = {"X-Tenant-ID": str(sample.store.public_id), "X-API-Key": storefront.key or ""}
    query = "{ products(limit: 100, sort: NAME_ASC) { id name slug price_cents } }"
    answer = await sample.post("/graphql", {"query": query}, auth=None, headers=headers)
    products = answer.body["data"]["products"]
    assert len(products) > 3
    return Shop(str(sample.http.make_url("")).rstrip("/"), headers, products)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the scripts of the npm packages."""
    return CLIENTS.open(tmp_path)


@pytest.mark.parametrize("client", ["apollo", "urql", "graphql_request"])
async def test_a_client_queries_a_store(folder: Path, shop: Shop, client: str) -> None:
    await asyncio.to_thread(run_node, f"{client}.mjs", shop.parameters(), cwd=folder)


async def test_the_normalized_caches_of_the_guide_read_pages_again_and_see_changes(folder: Path, shop: Shop) -> None:
    for name, first_line in (
        ("apollo_cache.mjs", "import { InMemoryCache"),
        ("graphcache.mjs", "import { cacheExchange"),
    ):
        (folder / name).write_text(configuration(first_line, language="js"), encoding="utf-8")
    operations = {block.name: block.text for block in read_guide() if block.language == "graphql"}
    slug = shop.products[0]["slug"]
    await asyncio.to_thread(run_node, "guide_caches.mjs", shop.parameters(operations=operations, slug=slug), cwd=folder)


async def test_apollo_and_urql_upload_pictures(
    folder: Path, sample: SampleStore, media_folder: Storage, base_url: str
) -> None:
    owner = await sample.client(sample.owner)
    headers = {"X-Tenant-ID": str(sample.store.public_id), **bearer(owner.token)}
    pictures = [b64encode(encoded(".png", picture(width, 10))).decode() for width in (20, 30, 40)]
    parameters = json.dumps({"base": base_url, "headers": headers, "pictures": pictures})
    await asyncio.to_thread(run_node, "uploads.mjs", parameters, cwd=folder)


async def test_graphql_sse_and_graphql_ws_follow_events(folder: Path, sample: SampleStore) -> None:
    owner = await sample.client(sample.owner)
    headers = {"X-Tenant-ID": str(sample.store.public_id), **bearer(owner.token)}
    base = str(sample.http.make_url("")).rstrip("/")
    parameters = json.dumps({"base": base, "headers": headers, "product": sample.mug.id})
    await asyncio.to_thread(run_node, "subscriptions.mjs", parameters, cwd=folder)


async def test_openid_client_discovers_the_routes_and_exchanges_a_code_with_pkce(
    folder: Path, sample: SampleStore
) -> None:
    owner = await sample.client(sample.owner)
    app = await register_app(owner)
    headers = {"X-Tenant-ID": str(sample.store.public_id), **bearer(owner.token)}
    approval = {"redirect_uri": REDIRECT, "scope": " ".join(SCOPES), "approve": INSTALL}
    base = str(sample.http.make_url("")).rstrip("/")
    parameters = json.dumps({"base": base, "headers": headers, **app.credentials, **approval})
    await asyncio.to_thread(run_node, "oauth.mjs", parameters, cwd=folder)


async def audits(folder: Path, shop: Shop, *hidden: str) -> dict[str, dict[str, Any]]:
    """Run the audits of graphql-http, without some headers; return their results by name."""
    headers = {name: value for name, value in shop.headers.items() if name not in hidden}
    printed = await asyncio.to_thread(run_node, "audits.mjs", shop.parameters(headers=headers), cwd=folder)
    results: dict[str, dict[str, Any]] = json.loads(printed)
    assert len(results) > 50
    return results


async def test_every_audit_of_graphql_over_http_passes(folder: Path, shop: Shop) -> None:
    results = await audits(folder, shop)
    assert {name: result for name, result in results.items() if result["status"] != "ok"} == {}


async def test_without_a_credential_an_audit_passes_or_is_refused(folder: Path, shop: Shop) -> None:
    results = await audits(folder, shop, "X-API-Key")
    failed = {name: result for name, result in results.items() if result["status"] != "ok"}
    # All are sent at once: documents of one address wait for each other, and more than a few are 429.
    assert {name: result for name, result in failed.items() if result["http"] not in (401, 429)} == {}
    # What is malformed is 400 for every caller; what would execute is not.
    assert {name for name in failed if " on JSON parsing failure" in name or " on missing {query}" in name} == set()
    assert any(" MUST accept application/json POST requests" in name for name in failed)


def documented_scalars() -> dict[str, str]:
    """Return the scalars of the reference's configuration for the GraphQL Code Generator."""
    block = re.search(
        r"```yaml\nconfig:\n  strictScalars: true\n  scalars:\n(.*?)```", REFERENCE.read_text("utf-8"), re.S
    )
    assert block is not None
    lines = (line.strip().partition(": ") for line in block[1].splitlines())
    return {name: type_.strip('"') for name, _, type_ in lines}


def test_the_documented_scalars_are_complete_for_the_code_generator(folder: Path) -> None:
    shutil.copyfile(SCHEMA, folder / SCHEMA.name)
    config = {"strictScalars": True, "scalars": documented_scalars()}
    run_node("codegen.mjs", json.dumps(config), cwd=folder)
    run_node(TSC, "--project", folder, cwd=folder)


async def test_the_code_generator_types_the_guides_operations_with_the_guides_configuration(
    folder: Path, shop: Shop
) -> None:
    config = configuration("schema:")
    assert GUIDE_SERVER in config
    (folder / "codegen.yml").write_text(config.replace(GUIDE_SERVER, shop.base), encoding="utf-8")
    operations = [block for block in read_guide() if block.language == "graphql"]
    sources = "\n".join(f"export const {block.name} = graphql(/* GraphQL */ `{block.text}`);" for block in operations)
    guide = folder / "src"
    guide.mkdir()
    (guide / "operations.ts").write_text(f'import {{ graphql }} from "./gql";\n{sources}\n', encoding="utf-8")
    shutil.copyfile(folder / "guide_usage.ts", guide / "usage.ts")
    cli = "node_modules/@graphql-codegen/cli/cjs/bin.js"
    await asyncio.to_thread(run_node, cli, "--config", "codegen.yml", cwd=folder)
    manifest = json.loads((folder / "src" / "gql" / "persisted-documents.json").read_text("utf-8"))
    assert len(read_manifest(manifest)) == len(operations)
    project = json.loads((folder / "tsconfig.json").read_text("utf-8")) | {"files": ["src/usage.ts"]}
    (folder / "tsconfig.guide.json").write_text(json.dumps(project), encoding="utf-8")
    await asyncio.to_thread(run_node, TSC, "--project", "tsconfig.guide.json", cwd=folder)


@pytest.fixture
def relay(folder: Path) -> Path:
    """Return the artifacts that relay-compiler makes with the configuration of the guide."""
    project = folder / "relay"
    shutil.copyfile(SCHEMA, project / SCHEMA.name)
    (project / "relay.config.js").write_text(configuration("// relay.config.js", language="js"), encoding="utf-8")
    (project / "package.json").write_text("{}", encoding="utf-8")  # a CommonJS package, in one of modules
    run_node(folder / "node_modules" / "relay-compiler" / "cli.js", "relay.config.js", cwd=project)
    return project / "src" / "__generated__"


def _text_of(artifact: Path) -> str:
    text = re.search(r'"text": "(.*?)"\n', artifact.read_text("utf-8"))
    assert text is not None, artifact
    return text[1]


def test_relay_compiler_adds_the_fields_of_a_connection_by_their_configured_names(relay: Path) -> None:
    text = _text_of(relay / "ProductsPaginationQuery.graphql.ts")
    assert re.search(r"\bcursor\\n", text)
    assert re.search(r"page_info \{\\n +end_cursor\\n +has_next_page\\n", text)


async def test_relay_reads_the_pages_of_a_category_by_node(
    relay: Path, shop: Shop, storefront: StorefrontClient
) -> None:
    text = json.loads(f'"{_text_of(relay / "NestedCategoryQuery.graphql.ts")}"')
    assert " node(id: $id)" in text
    body = {"query": text, "variables": {"id": storefront.sample.home.id, "count": 1, "cursor": None}}
    answer = await storefront.sample.post("/graphql", body, auth=None, headers=shop.headers)
    assert "errors" not in answer.body, answer.body
    assert answer.body["data"]["node"]["__typename"] == "Category"


async def test_gql_validates_with_the_introspected_schema_and_executes(shop: Shop) -> None:
    gql = pytest.importorskip("gql")
    aiohttp = pytest.importorskip("gql.transport.aiohttp")
    exceptions = pytest.importorskip("gql.transport.exceptions")
    transport = aiohttp.AIOHTTPTransport(url=f"{shop.base}/graphql", headers=shop.headers)
    query = gql.gql("query ($n: Int!) { products(limit: $n, sort: NAME_ASC) { id name slug price_cents } }")
    query.variable_values = {"n": 2}
    async with gql.Client(transport=transport, fetch_schema_from_transport=True) as session:
        assert session.client.schema is not None
        assert await session.execute(query) == {"products": shop.products[:2]}
        with pytest.raises(exceptions.TransportQueryError, match="limit") as refused:
            await session.execute(gql.GraphQLRequest(query, variable_values={"n": -1}))
        assert refused.value.errors[0]["extensions"]["code"] == "VALIDATION_FAILED"


async def test_the_client_that_ariadne_codegen_generates_queries_a_store(tmp_path: Path, shop: Shop) -> None:
    ARIADNE.open(tmp_path)
    shutil.copyfile(SCHEMA, tmp_path / SCHEMA.name)
    await asyncio.to_thread(run, ARIADNE.python, "-m", "ariadne_codegen", cwd=tmp_path)
    parameters = shop.parameters(search=shop.products[0]["name"])
    printed = await asyncio.to_thread(run, ARIADNE.python, "use_client.py", parameters, cwd=tmp_path)
    expected = shop.products[0]
    assert json.loads(printed) == [[expected["id"], expected["name"], expected["price_cents"]]]
