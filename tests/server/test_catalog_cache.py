"""Reads of the catalogue with a storefront key: repeated from memory, 304, and never older than documented.

docs/reference/shared.md#catalogue-caching is the promise.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from types import MappingProxyType
from typing import ClassVar
from urllib.parse import urlencode

import asyncpg
import pytest
from graphql import GraphQLObjectType, get_named_type, is_required_argument

from domain.media import addresses
from domain.promotions.promotions import PROMOTION_RECORDS
from kernel import clock
from kernel.scope import Scope, active_scope
from models.connection import catalog_versions, database
from models.connection.catalog_versions import TABLES, CatalogueVersions
from models.connection.database import transaction
from resolvers import root
from resolvers.catalog_reads import is_catalogue_read
from resolvers.engine.prepare import prepare_document
from rest_facade.responses import BytesResponse
from schema.fields import entity_of
from server.embedded_postgres import EmbeddedServer
from server.http import catalog_cache
from server.http.catalog_cache import CatalogueCache
from tests.graphql.full_selections import full_selection
from tests.harness.forms import form, operation
from tests.harness.http import Client, Response
from tests.harness.records import Record
from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.harness.storefront import StorefrontClient, open_storefront

HALF = [{"bonus": "product_discount", "discount_bonus": "by_percentage", "discount_value": "50"}]
PRODUCTS = "{ product_page(sort: NAME_ASC) { items { name price_cents pricing { price_cents } stock } total } }"


@pytest.fixture
async def shop(new_sample: NewSampleStore) -> StorefrontClient:
    storefront = await open_storefront(await new_sample())
    await storefront.get("products?limit=1")  # the key's first use is noted, which is a write
    return storefront


def graphql(shop: StorefrontClient) -> Client:
    return Client(shop.sample.http, shop.sample.store, {"X-API-Key": str(shop.key)}, shop.sample.ip)


async def ask(shop: StorefrontClient, query: str = PRODUCTS, **headers: str) -> Response:
    return await graphql(shop).post("/graphql", {"query": query}, headers=headers)


# --- repeated answers ------------------------------------------------------------------------------------------------


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the statements that run from now on."""
    recorded: list[str] = []
    run = database._run

    async def record(sql: str, *args: object, **options: object) -> object:
        if "pg_notify" not in sql:  # of earlier writes
            recorded.append(sql)
        return await run(sql, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(database, "_run", record)
    return recorded


@pytest.mark.parametrize("path", ["store", "products", "categories", "search?q=caneca", "payment-methods"])
async def test_a_repeated_read_takes_no_statement(path: str, shop: StorefrontClient, statements: list[str]):
    first = await shop.get(path)
    statements.clear()
    second = await shop.get(path)
    assert statements == []
    assert (second.status, second.raw) == (first.status, first.raw)
    assert second.headers.get("Link") == first.headers.get("Link")


async def test_a_repeated_document_takes_no_statement(shop: StorefrontClient):
    first, second = await ask(shop), await ask(shop)
    assert (first.statements > 0, second.statements) == (True, 0)
    assert second.raw == first.raw
    other = await graphql(shop).post("/graphql", {"query": PRODUCTS.replace("stock", "on_hand: stock")})
    assert other.body != first.body


async def test_a_repeated_read_of_a_persisted_document_takes_no_statement(shop: StorefrontClient):
    digest = hashlib.sha256(PRODUCTS.encode()).hexdigest()
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": digest}}
    await graphql(shop).post("/graphql", {"query": PRODUCTS, "extensions": extensions})
    path = f"/graphql?{urlencode({'extensions': json.dumps(extensions)})}"
    first, second = await graphql(shop).get(path), await graphql(shop).get(path)
    assert (first.statements > 0, second.statements) == (True, 0)
    assert second.body["data"] == first.body["data"]
    revalidated = await graphql(shop).get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (revalidated.status, revalidated.raw, revalidated.statements) == (304, b"", 0)
    assert not {"Content-Length", "Content-Type"} & revalidated.headers.keys()


async def test_a_query_sent_as_a_form_is_not_the_answer_to_an_empty_body(shop: StorefrontClient):
    body, headers = form(operation(PRODUCTS, {}, {}))
    sent = await graphql(shop).post("/graphql", data=body, headers=headers)
    assert sent.body["data"] == (await ask(shop)).body["data"]
    empty = await graphql(shop).post("/graphql", data=b"", headers={"Content-Type": "application/json"})
    assert (empty.status, "data" in empty.body) == (400, False)


async def test_variables_names_and_media_types_are_distinguished(shop: StorefrontClient):
    query = "query A($n: Int!) { products(limit: $n) { id } } query B { store { name } }"
    answers = [
        (await graphql(shop).post("/graphql", {"query": query, "operationName": name, "variables": variables})).body
        for name, variables in [("A", {"n": 1}), ("A", {"n": 2}), ("B", {}), ("A", {"n": 1})]
    ]
    assert [len(answers[0]["data"]["products"]), len(answers[1]["data"]["products"])] == [1, 2]
    assert answers[2]["data"] == {"store": {"name": "Loja"}}
    assert answers[3] == answers[0]
    plain = await ask(shop, "{ store { id } }")
    negotiated = await ask(shop, "{ store { id } }", Accept="application/graphql-response+json")
    assert plain.headers["Content-Type"] != negotiated.headers["Content-Type"]


async def test_a_compressed_answer_is_repeated_in_each_coding(shop: StorefrontClient):
    for index in range(20):
        await shop.sample.add_product(name=f"Produto {index}", description="palavras " * 50)
    plain = await shop.get("products", headers={"Accept-Encoding": "identity"})
    for coding in ("gzip", "br", "gzip"):
        answer = await shop.get("products", headers={"Accept-Encoding": coding})
        assert answer.headers["Content-Encoding"] == coding
        assert answer.body == plain.body, coding  # the client decompresses


async def test_errors_and_reads_of_carts_are_not_kept(shop: StorefrontClient):
    missing = await shop.get("products/unknown-slug")
    assert missing.status == 404
    assert "ETag" not in missing.headers
    refused = await ask(shop, "{ orders { id } }")
    assert refused.body["errors"]
    assert refused.headers["Cache-Control"] == "no-store"
    partly = await ask(shop, '{ store { name } product(id: "1", slug: "2") { id } }')
    assert partly.body["errors"]
    assert "ETag" not in partly.headers
    cart = await shop.cart((shop.sample.mug, 1))
    assert (await shop.get(f"carts/{cart}")).headers["Cache-Control"] == "no-store"


async def test_shoppers_and_administrators_get_their_own_answers(shop: StorefrontClient):
    await shop.get("products")
    signed_in = await shop.as_customer(shop.sample.caio).get("products")
    assert "ETag" not in signed_in.headers
    assert signed_in.statements > 0
    owner = await shop.sample.client(shop.sample.owner)
    assert "ETag" not in (await owner.post("/graphql", {"query": PRODUCTS})).headers


async def test_keys_with_other_scopes_and_other_stores_do_not_share(shop: StorefrontClient, new_sample: NewSampleStore):
    await shop.get("products")
    limited = await open_storefront(shop.sample, scopes=["storefront:cart"])
    assert (await limited.get("products")).status == 403
    other = await open_storefront(await new_sample())
    await other.sample.execute("UPDATE products SET name = 'De outra loja'")
    names = {product["name"] for product in (await other.get("products")).body["products"]}
    assert names == {"De outra loja"}
    assert "De outra loja" not in (await shop.get("products")).raw.decode()


# --- validators ------------------------------------------------------------------------------------------------------


async def test_an_answer_of_graphql_varies_by_the_media_type_that_is_accepted(shop: StorefrontClient):
    path = f"/graphql?{urlencode({'query': PRODUCTS})}"
    for accept in ("application/json", "application/graphql-response+json", "application/json"):
        answer = await graphql(shop).get(path, headers={"Accept": accept})
        assert answer.headers["Content-Type"].startswith(accept)
        assert "Accept" in answer.headers["Vary"].split(", "), accept
        headers = {"Accept": accept, "If-None-Match": answer.headers["ETag"]}
        revalidated = await graphql(shop).get(path, headers=headers)
        assert (revalidated.status, revalidated.headers["Vary"]) == (304, answer.headers["Vary"]), accept
    assert "Accept" not in (await shop.get("products")).headers["Vary"].split(", ")


async def test_a_client_that_has_the_answer_gets_304_without_a_statement(shop: StorefrontClient, statements: list[str]):
    first = await shop.get("products")
    tag = first.headers["ETag"]
    assert tag.startswith('W/"')
    assert first.headers["Cache-Control"] == "private, no-cache"
    assert {"Authorization", "X-API-Key", "X-Tenant-ID", "Accept-Encoding"} <= set(first.headers["Vary"].split(", "))
    statements.clear()
    for known in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
        answer = await shop.get("products", headers={"If-None-Match": known})
        assert (answer.status, answer.raw, statements) == (304, b"", []), known
        assert answer.headers["ETag"] == tag, known
        assert answer.headers["Vary"] == first.headers["Vary"], known
    assert (await shop.get("products", headers={"If-None-Match": 'W/"other"'})).status == 200
    await shop.sample.execute("UPDATE products SET price_cents = price_cents + 1")
    changed = await shop.get("products", headers={"If-None-Match": tag})
    assert changed.status == 200
    assert changed.headers["ETag"] != tag


@pytest.mark.parametrize("path, status", [("products/unknown", 404), ("products?page=x", 400), ("search?q=", 400)])
async def test_an_error_is_never_hidden_by_a_304(path: str, status: int, shop: StorefrontClient):
    tag = (await shop.get("products")).headers["ETag"]
    for known in (tag, "*"):
        assert (await shop.get(path, headers={"If-None-Match": known})).status == status
        limited = await open_storefront(shop.sample, scopes=["storefront:cart"])
        assert (await limited.get("products", headers={"If-None-Match": known})).status == 403


async def test_graphql_by_get_is_revalidated_and_by_post_is_not(shop: StorefrontClient):
    first = await graphql(shop).get("/graphql", params={"query": PRODUCTS})
    again = {"If-None-Match": first.headers["ETag"]}
    assert (await graphql(shop).get("/graphql", params={"query": PRODUCTS}, headers=again)).status == 304
    assert (await ask(shop, **again)).status == 200


async def test_the_store_sets_how_long_caches_keep_an_answer(shop: StorefrontClient):
    before = (await shop.get("products")).headers["ETag"]
    owner = await shop.sample.client(shop.sample.owner)
    changed = await owner.patch("/api/v1/admin/settings", {"settings": {"catalogue_max_age": 60}})
    if changed.status == 404:
        mutation = "mutation { store_settings_update(settings: {catalogue_max_age: 60}) { id } }"
        changed = await owner.post("/graphql", {"query": mutation})
    assert changed.status == 200, changed
    answer = await shop.get("products")
    assert answer.headers["Cache-Control"] == "public, max-age=60, stale-while-revalidate=60"
    assert answer.headers["ETag"] != before


@pytest.mark.parametrize("change", ["upgrade", "address"])
async def test_an_answer_of_another_program_or_with_other_addresses_of_files_is_not_current(
    change: str, shop: StorefrontClient, monkeypatch: pytest.MonkeyPatch
):
    """The version of the catalogue stays, so that only the tag says that what the server answers is another text."""

    async def tag() -> str:
        cache, scope = CatalogueCache(100_000, CatalogueVersions()), shop.sample.as_storefront()
        with active_scope(scope):
            return (await cache.respond(_Request(), scope, "", one_byte)).headers["ETag"]  # type: ignore[arg-type]

    async def one_byte() -> BytesResponse:
        return BytesResponse(b"x")

    before = await tag()
    assert await tag() == before
    if change == "upgrade":
        monkeypatch.setattr(catalog_cache, "_VERSION", "0.0.1")
    else:
        monkeypatch.setattr(
            addresses, "_addresses", addresses.MediaAddresses("http://localhost", "https://cdn.example")
        )
    assert await tag() != before


# --- nothing older than documented -----------------------------------------------------------------------------------


async def test_a_change_is_visible_at_once_to_its_process(shop: StorefrontClient):
    owner = await shop.sample.client(shop.sample.owner)
    mug = shop.sample.mug
    for price in (1_111, 2_222, 3_333):
        assert (await owner.put(f"/api/v1/admin/products/{mug.id}", {"price_cents": price})).status == 200
        assert (await shop.get(f"products/{mug.id}")).body["price_cents"] == price
        legacy = await shop.sample.put(f"/api/products/{mug.number}", {"price": f"{price / 100 + 1:.2f}"})
        assert legacy.status == 200, price
        assert (await shop.get(f"products/{mug.id}")).body["price_cents"] == price + 100
    cart = await shop.cart((mug, 2))
    assert (await shop.check_out(cart)).status == 201
    stock = (await ask(shop, f'{{ product(id: "{mug.id}") {{ stock }} }}')).body["data"]["product"]["stock"]
    assert stock == await shop.sample.value("SELECT stock FROM products WHERE id = $1", mug.number)


@pytest.fixture
async def other_process(database: object) -> CatalogueVersions:
    """Return the versions that another process would remember."""
    versions = CatalogueVersions()
    await catalog_versions.listen(versions)
    return versions


async def test_a_change_is_visible_to_other_processes_by_a_notification(
    shop: StorefrontClient, other_process: CatalogueVersions
):
    scope = shop.sample.scope
    with active_scope(scope):
        before = await other_process.current(scope)
        await shop.sample.execute("UPDATE products SET price_cents = price_cents + 1")
        async with asyncio.timeout(10):
            while await other_process.current(scope) == before:
                await asyncio.sleep(0.01)


async def test_a_change_from_outside_is_visible_when_the_version_is_asked_again(
    shop: StorefrontClient, postgres: EmbeddedServer, database_name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(catalog_versions, "MAX_AGE_SECONDS", 0.2)
    catalog_versions.process_versions().clear()
    outside = await asyncpg.connect(postgres.superuser_url(database_name))
    try:
        assert (await shop.get(f"products/{shop.sample.mug.id}")).body["name"] != "De fora"
        await outside.execute("UPDATE products SET name = 'De fora' WHERE tenant_id = $1", shop.sample.store.id)
    finally:
        await outside.close()
    await asyncio.sleep(0.2)
    assert (await shop.get(f"products/{shop.sample.mug.id}")).body["name"] == "De fora"


async def test_a_promotion_begins_and_ends_in_answers_without_a_change(shop: StorefrontClient):
    sample = shop.sample
    await sample.execute("UPDATE promotions SET status = 'D'")
    begins = datetime.now(UTC) + timedelta(seconds=1.5)
    ends = begins + timedelta(seconds=1.5)
    with active_scope(sample.scope):
        await PROMOTION_RECORDS.create(
            sample.scope,
            {"zone": "catalog", "name": "Relâmpago", "bonuses": HALF, "from_at": begins, "to_at": ends, "status": "A"},
        )
    query = f'{{ product(id: "{sample.mug.id}") {{ price_cents pricing {{ price_cents }} }} }}'

    async def is_lowered() -> bool:
        product = (await ask(shop, query)).body["data"]["product"]
        return bool(product["pricing"]["price_cents"] < product["price_cents"])

    assert not await is_lowered()
    await asyncio.sleep((begins - datetime.now(UTC)).total_seconds() + 0.1)
    assert await is_lowered()
    await asyncio.sleep((ends - datetime.now(UTC)).total_seconds() + 0.1)
    assert not await is_lowered()


async def test_a_machine_whose_clock_is_behind_keeps_no_answer_of_before_a_promotion(
    shop: StorefrontClient, monkeypatch: pytest.MonkeyPatch
):
    """As does a request that arrived just before it began, and learned the version just after."""
    sample = shop.sample
    await sample.execute("UPDATE promotions SET status = 'D'")
    with active_scope(sample.scope):
        await PROMOTION_RECORDS.create(
            sample.scope,
            {"zone": "catalog", "name": "Agora", "bonuses": HALF, "from_at": datetime.now(UTC), "status": "A"},
        )
    query = f'{{ product(id: "{sample.mug.id}") {{ price_cents pricing {{ price_cents }} }} }}'
    with monkeypatch.context() as behind:
        behind.setattr(clock, "now", lambda: datetime.now(UTC) - timedelta(seconds=3))
        early = await ask(shop, query)
    late = await ask(shop, query)
    prices = [answer.body["data"]["product"] for answer in (early, late)]
    assert [price["pricing"]["price_cents"] < price["price_cents"] for price in prices] == [False, True]
    assert "ETag" not in early.headers
    assert early.headers["Cache-Control"] == "no-store"
    assert "ETag" in late.headers


async def test_a_product_becomes_available_in_answers_without_a_change(shop: StorefrontClient):
    sample = shop.sample
    begins = datetime.now(UTC) + timedelta(seconds=1.5)
    await sample.execute("UPDATE products SET available_since = $2 WHERE id = $1", sample.mug.number, begins)
    query = f'{{ product(id: "{sample.mug.id}") {{ is_available }} }}'
    assert (await ask(shop, query)).body["data"]["product"] == {"is_available": False}
    await asyncio.sleep((begins - datetime.now(UTC)).total_seconds() + 0.1)
    assert (await ask(shop, query)).body["data"]["product"] == {"is_available": True}


async def test_no_answer_is_older_than_a_change_that_was_answered_before(shop: StorefrontClient):
    """Readers and writers of one store, whose writes are interleaved at random: a read shows the newest answered write, or a newer one."""
    products = [await shop.sample.add_product() for _ in range(3)]
    written = {product.number: 0 for product in products}
    rng = Random(20261122)
    for product in products:
        await shop.sample.execute("UPDATE products SET weight_grams = 0 WHERE id = $1", product.number)

    async def write(product: Record) -> None:
        scope = shop.sample.scope
        for _ in range(15):
            await asyncio.sleep(rng.random() / 100)
            with active_scope(scope):
                async with transaction(scope):
                    value = await database.fetchval(
                        "UPDATE products SET weight_grams = weight_grams + 1 WHERE id = $1 RETURNING weight_grams",
                        product.number,
                    )
                    await asyncio.sleep(rng.random() / 100)
            written[product.number] = max(written[product.number], value)

    async def read(product: Record) -> None:
        for repetition in range(25):
            await asyncio.sleep(rng.random() / 200)
            expected = written[product.number]
            answer = await ask(shop, f'{{ product(id: "{product.id}") {{ weight_grams }} }}')
            assert answer.body["data"]["product"]["weight_grams"] >= expected, repetition

    await asyncio.gather(*(work(product) for product in products for work in (write, write, read, read)))
    for product in products:
        assert written[product.number] == 30
        answer = await ask(shop, f'{{ product(id: "{product.id}") {{ weight_grams }} }}')
        assert answer.body["data"]["product"]["weight_grams"] == 30, product


# --- what belongs to the catalogue -----------------------------------------------------------------------------------


async def test_every_table_of_the_catalogue_moves_the_version(new_sample: NewSampleStore):
    sample = await new_sample()
    versions = CatalogueVersions()
    scope = sample.scope
    with active_scope(scope):
        for table in TABLES:
            before = await versions.current(scope)
            count = await database.execute(f"UPDATE {table} SET tenant_id = tenant_id")
            versions.clear()
            assert (await versions.current(scope) != before) == (count > 0), table
        triggers = await database.fetch(
            "SELECT tgrelid::regclass::text AS name FROM pg_trigger WHERE tgname = 'catalogue_version' AND tgdeferrable"
        )
    assert {row["name"] for row in triggers} == set(TABLES)


async def test_a_rolled_back_change_moves_nothing_and_many_rows_move_it_once(new_sample: NewSampleStore):
    sample = await new_sample()
    scope = sample.scope

    async def total() -> int:
        return int(await sample.value("SELECT coalesce(sum(version), 0) FROM catalogue_versions"))

    before = await total()

    async def fail() -> None:
        async with transaction(scope):
            await database.execute("UPDATE products SET price_cents = 1")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert await total() == before
    async with transaction(scope):
        await database.execute("UPDATE products SET price_cents = 2")
        await database.execute("UPDATE categories SET position = 9")
    assert await total() == before + 1


async def test_reads_of_the_catalogue_name_no_other_table(sample: SampleStore, statements: list[str]):
    """The statements of everything that the cache recognizes: a table without the trigger would leave old answers."""
    tables = {row["relname"] for row in await sample.rows("SELECT relname FROM pg_class WHERE relkind = 'r'")}
    shop = await open_storefront(sample)
    documents = catalogue_documents()
    assert len(documents) > 20
    await ask(shop)
    for name, text in documents.items():
        statements.clear()
        answer = await ask(shop, text)
        assert statements or name == "store" or "errors" in answer.body, name
        used = {word for sql in statements for word in tables_in(sql)} & tables
        # Triggers on tables of the catalogue fill the search tables and the unlisted products. The id of a reviewed order never changes.
        # An image has its address at each host of the store: one that is added changes nothing about the others.
        derived = {"search_entries", "search_words", "unlisted_products"}
        assert used - {*TABLES, *derived, "catalogue_versions", "tenants", "store_hosts", "orders"} == set(), name


def test_filters_and_sorts_of_the_catalogue_name_no_other_table(sample: SampleStore):
    values = {"id": [1], "time": datetime.now(UTC), "boolean": True, "text": "x"}
    scope = sample.as_storefront()
    schema = root.public_schema()
    for type_ in schema.type_map.values():
        entity = entity_of(type_) if isinstance(type_, GraphQLObjectType) else None
        if entity is None or entity.table not in TABLES:
            continue
        texts = [sort.expression(scope).sql for sort in entity.sorts.values() if not sort.internal]
        for declared in entity.filters.values():
            if not declared.internal:
                value = values.get(declared.value_type, ["A"] if "status" in declared.value_type else 1)
                texts.append(declared.condition(scope, [value] if declared.many and value != [1] else value).sql)
        used = {word for text in texts for word in tables_in(text)}
        # A function for row-level security, which reads products.
        assert used - {*TABLES, "search_products", "unlisted_products", "unnest", "c", "pc"} == set(), (
            type_,
            (entity.table, used),
        )


def catalogue_documents() -> dict[str, str]:
    """Return a full selection of each root field that the cache takes for a read of the catalogue."""
    schema = root.public_schema()
    assert schema.query_type is not None
    documents = {}
    for name, field in schema.query_type.fields.items():
        if not isinstance(get_named_type(field.type), GraphQLObjectType):
            continue
        if any(argument.type for argument in field.args.values() if is_required_argument(argument)):
            continue
        text = f"{{ {name} {{ {full_selection(schema, name, 3)} }} }}"
        prepared = prepare_document(schema, text, limited=False)
        operation = prepared.operation(None)
        if not prepared.errors and operation is not None and is_catalogue_read(schema, prepared, operation):
            documents[name] = text
    return documents


def tables_in(sql: str) -> set[str]:
    return set(re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", sql, re.IGNORECASE))


def test_only_reads_of_the_catalogue_are_recognized():
    schema = root.public_schema()

    def recognized(text: str) -> bool:
        prepared = prepare_document(schema, text, limited=True)
        assert prepared.errors == ()
        operation = prepared.operation(None)
        assert operation is not None
        return is_catalogue_read(schema, prepared, operation)

    assert recognized(PRODUCTS)
    assert recognized("{ store { name } products { ...F } } fragment F on Product { category { name parent { id } } }")
    assert recognized("{ ... on Query { __typename categories { id } } }")
    assert not recognized("{ products { id } orders { id } }")
    assert not recognized("{ ...F } fragment F on Query { me { id } }")
    assert not recognized("{ products { id } __schema { queryType { name } } }")
    assert not recognized("{ product(id: 1) { id } usergroups { id } }")


class _Request:
    method = "POST"
    headers: Mapping[str, str] = MappingProxyType({})
    _state: ClassVar[dict[object, object]] = {}


async def respond(cache: CatalogueCache, scope: Scope, identity: str | int, size: int = 5_000) -> bool:
    """Ask for an answer of this size; return whether it had to be produced."""
    produced = False

    async def produce() -> BytesResponse:
        nonlocal produced
        produced = True
        return BytesResponse(b"x" * size)

    with active_scope(scope):
        await cache.respond(_Request(), scope, identity, produce)  # type: ignore[arg-type]
    return produced


async def test_the_memory_is_bounded(sample: SampleStore):
    cache, scope = CatalogueCache(100_000, CatalogueVersions()), sample.as_storefront()
    for number in range(50):
        assert await respond(cache, scope, number)
        assert cache.bytes <= 100_000, number
    assert not await respond(cache, scope, 49)
    assert await respond(cache, scope, 0)  # evicted
    for repetition in range(2):
        assert await respond(cache, scope, "large", 60_000), repetition  # an eighth of the memory at most


async def test_answers_of_an_earlier_version_take_no_memory(sample: SampleStore, new_sample: NewSampleStore):
    versions, other = CatalogueVersions(), await new_sample()
    cache, scope = CatalogueCache(1_000_000, versions), sample.as_storefront()
    assert await respond(cache, other.as_storefront(), 0)
    size = cache.bytes
    for number in range(3):
        assert await respond(cache, scope, number)
    await sample.add_product()
    versions.drop(scope.store.id)
    assert await respond(cache, scope, 0)
    assert (len(cache), cache.bytes) == (2, 2 * size)
    assert not await respond(cache, scope, 0)
    assert not await respond(cache, other.as_storefront(), 0)


async def test_an_answer_that_a_change_overtook_is_not_kept(sample: SampleStore):
    versions = CatalogueVersions()
    cache, scope = CatalogueCache(1_000_000, versions), sample.as_storefront()

    async def produce() -> BytesResponse:
        await sample.add_product()
        versions.drop(scope.store.id)
        assert await respond(cache, scope, "newer")
        return BytesResponse(b"{}")

    with active_scope(scope):
        await cache.respond(_Request(), scope, "older", produce)  # type: ignore[arg-type]
    assert len(cache) == 1
    assert not await respond(cache, scope, "newer")
