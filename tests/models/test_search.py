"""Search ignores case and accents, matches prefixes of words, and uses its index under row-level security."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import asyncpg
import pytest

from domain.catalog.categories import CATEGORY_RECORDS
from kernel.ids import uuid7
from kernel.scope import Scope, active_scope
from kernel.text import fold, prefix_tsquery, search_terms
from models.connection import database as db
from models.tables.catalog import Product
from models.tables.users import User
from tests.harness.folding_sql import fold_characters_sql, fold_sql, words_sql
from tests.harness.scopes import system_scope

SAMPLES = [
    "", "Calçado", "AÇÃO", "Ação", "ﬁm", "Straße", "ÆSIR", "Łódź", "Ñandú", "ΑΘΗΝΑ", "Σίσυφος ΤΟΥΣ", "Москва ЁЖ",
    "İstanbul Iğdır", "１２３ ＡＢＣ", "Nº 1ª ²", "naïve — “quoted”", "a\tb\nc", "日本語 テスト", "🙂 emoji 👍🏽", "x" * 300,  # noqa: RUF001
]  # fmt: skip

pytestmark = pytest.mark.usefixtures("database")


@pytest.mark.parametrize("text", SAMPLES)
async def test_sql_folds_as_python_does(text):
    assert await db.fetchval("select vitrine_fold($1)", text) == fold(text)


@pytest.mark.parametrize("text", SAMPLES)
async def test_sql_splits_words_as_python_does(text):
    words = (await db.fetchval("select vitrine_words($1)", text)).split()
    assert {word[:64] for word in words} == set(search_terms(text))


@pytest.mark.parametrize("text", [*SAMPLES, None, "Botões botões", "ABC-123/x.y", "casa " * 30, "-", f"{'y' * 70}-z"])
async def test_the_lexemes_of_a_product_are_its_words_each_once_and_their_stems(text):
    words = await db.fetchval("select vitrine_product_words($1)", text)
    stems = await db.fetchval("select array_agg(vitrine_stem(word)) from unnest($1::text[]) as word", words) or []
    lexemes = await db.fetchval("select vitrine_product_lexemes($1)", text)
    assert set(lexemes) == {*words, *(f"~{stem}" for stem in stems if stem is not None)}
    assert len(set(words)) == sum(not lexeme.startswith("~") for lexeme in lexemes)


async def test_a_search_entry_follows_the_placements_of_its_product(scope):
    async def entry() -> list[int]:
        return list(await db.fetchval("select category_ids from search_entries where product_id = $1", product))

    with active_scope(scope):
        product = (await Product.create(name="Mesa", slug="mesa", price_cents=1)).id
        parent = await CATEGORY_RECORDS.create(scope, {"name": "Casa", "parent": None})
        child = await CATEGORY_RECORDS.create(scope, {"name": "Sala", "parent": parent})
        other = await CATEGORY_RECORDS.create(scope, {"name": "Loja", "parent": None})
        await db.execute(
            "insert into product_categories (public_id, product_id, category_id) values ($1, $2, $3)",
            uuid7(), product, child,
        )  # fmt: skip
        assert await entry() == [parent, child]
        await CATEGORY_RECORDS.update(scope, child, {"parent": other})
        assert await entry() == [child, other]
        await db.execute("delete from product_categories where product_id = $1", product)
        assert await entry() == []


def test_the_sql_functions_of_the_migration_match_the_kernel():
    """A change of the text folding requires a new migration."""
    sql = Path("models/migrations/sql/0031_search_entry_columns/02_words.sql").read_text(encoding="utf-8")
    assert f"RETURN {fold_characters_sql('folded')};" in sql
    assert f"RETURN {fold_sql('$1')};" in sql
    assert f"RETURN {words_sql('$1')};" in sql


async def create_products(scope: Scope, *names: str, **values) -> None:
    with active_scope(scope):
        for name in names:
            _ = await Product.create(name=name, slug=f"p-{uuid7()}", price_cents=1, **values)


async def search(scope: Scope, query: str) -> set[str]:
    with active_scope(scope):
        records = await db.fetch(
            "select name from products where tenant_id = $1"
            " and id = any(array(select search_products($2::text::tsquery)))",
            scope.store.id,
            prefix_tsquery(query),
        )
    return {record["name"] for record in records}


@pytest.mark.parametrize("query", ["calcado", "CALÇADO", "Calç", "calcado cou", "COURO calc", "cal cour mar"])
async def test_products_are_found_by_prefixes_of_words_in_any_case(scope, query):
    await create_products(scope, "Calçado de Couro Marrom", "Camiseta")
    assert await search(scope, query) == {"Calçado de Couro Marrom"}


async def test_every_word_must_match(scope):
    await create_products(scope, "Calçado de Couro")
    assert await search(scope, "calcado plastico") == set()


async def test_sku_and_descriptions_are_searched_without_their_markup(scope):
    await create_products(scope, "Caneca", sku="CAN-38/B", description="<p class='destaque'>Porcelana<br>branca</p>")
    for query in ("can-38", "38", "porcelana branca"):
        assert await search(scope, query) == {"Caneca"}, query
    assert await search(scope, "destaque") == set()


async def test_other_stores_and_deleted_products_are_not_found(scope, other_scope):
    await create_products(scope, "Caneca")
    assert await search(other_scope, "caneca") == set()
    with active_scope(scope):
        await db.execute("update products set deleted_at = now()")
    assert await search(scope, "caneca") == set()


@pytest.mark.parametrize(
    "query", ["10e5kit", "10E5", "10e5k", "peca 10e5kit", "3.5e7", "0x1f", "1e9999", "-12", "a/b", "kit.com"]
)
async def test_words_with_digits_are_found_as_they_are_written(scope, query):
    await create_products(scope, "Peça 10E5KIT 3.5e7 0x1F 1e9999 -12 a/b kit.com", "Outra 10")
    assert await search(scope, query) == {"Peça 10E5KIT 3.5e7 0x1F 1e9999 -12 a/b kit.com"}


async def test_the_lexeme_of_the_store_cannot_be_searched_for(scope):
    await create_products(scope, "Caneca")
    assert prefix_tsquery(f"#{scope.store.id}") == f"'{scope.store.id}':*"
    assert await search(scope, f"#{scope.store.id}") == set()


async def test_only_the_beginning_of_a_huge_description_is_indexed(scope):
    huge = " ".join(f"palavra{n} ﷺ" for n in range(120_000))
    await create_products(scope, "Livro", description=huge)
    assert await search(scope, "palavra999") == {"Livro"}


async def test_users_are_found_by_name_and_address(scope, other_scope):
    with active_scope(scope):
        await User.create(firstname="Zé", lastname="da Conceição", email="ze.silva@exemplo.com.br")
        for query in ("ze conceicao", "conc", "silva", "exemplo"):
            ids = await db.fetch("select search_users($1::text::tsquery)", prefix_tsquery(query))
            assert len(ids) == 1, query
    with active_scope(other_scope):
        assert await db.fetch("select search_users(to_tsquery('simple', 'conceicao'))") == []


async def test_without_a_store_nothing_is_found(scope):
    await create_products(scope, "Caneca")
    assert await db.fetch("select search_products('caneca'::tsquery)") == []


async def test_only_the_serving_role_may_search(database_url):
    connection = await asyncpg.connect(database_url)
    try:
        if connection.get_server_version().major < 16:
            await connection.execute("set role vitrine_worker")  # the owner inherits vitrine_app
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("select search_products('x'::tsquery)")
    finally:
        await connection.close()


class TestPlan:
    """Query plan of a search in a store with 3,000 products among others."""

    @pytest.fixture
    async def big_store(self, new_store, database_url):
        stores = [await new_store() for _ in range(3)]
        connection = await asyncpg.connect(database_url)
        for store in stores:
            await connection.execute("select set_config('vitrine.tenant', $1, false)", str(store.id))
            await connection.execute("""
                insert into products (public_id, name, slug, price_cents)
                select gen_random_uuid(), 'produto comum ' || md5(n::text), 'p' || n, n from generate_series(1, 3000) n""")
        await connection.execute("analyze products")
        await connection.close()
        return stores[0]

    async def plan_as_search_role(self, database_url: str, store, query: str) -> dict:
        connection = await asyncpg.connect(database_url)
        try:
            source = await connection.fetchval("select prosrc from pg_proc where proname = 'search_products'")
            await connection.execute("set role vitrine_search")
            await connection.execute("select set_config('vitrine.tenant', $1, false)", str(store.id))
            statement = re.sub(r"\bwanted\b", f"to_tsquery('simple', '{query}')", source)
            plan = await connection.fetchval(f"explain (analyze, format json) {statement}")
            return json.loads(plan)[0]["Plan"]
        finally:
            await connection.close()

    async def test_the_index_scan_is_limited_to_the_store(self, big_store, database_url):
        plan = await self.plan_as_search_role(database_url, big_store, "c4ca4238:*")  # md5 of 1: in every store
        assert "products_search_idx" in json.dumps(plan)
        assert plan["Actual Rows"] == 1
        assert plan["Rows Removed by Filter"] == 0  # rows of other stores are excluded by the index

    async def test_searching_is_fast_and_finds_one_of_thousands(self, big_store):
        scope = system_scope(big_store)
        assert len(await search(scope, "c4ca4238")) == 1
        loop = asyncio.get_running_loop()
        with active_scope(scope):
            best = 1.0
            for _ in range(5):
                start = loop.time()
                await db.fetch("select search_products($1::text::tsquery)", "'c4ca4238':*")
                best = min(best, loop.time() - start)
        assert best < 0.02  # 0.3 ms on an idle machine; without the index 15 ms and growing with the store
