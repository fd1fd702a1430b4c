"""The cost of a document is what the store has to show: a front page of a hundred products fits, a nested one that multiplies does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type

from auth.storefront_keys import create_storefront_key
from kernel.scope import Scope, active_scope
from models.connection import database
from models.reading.queries import ToMany
from models.reading.read_statements import size_sql
from resolvers import root
from resolvers.engine.costs import LIFETIME, StoreCost, measure_cost
from resolvers.engine.prepare import prepare_document
from schema.fields import RelationSource, entity_of, field_source
from schema.pagination import node_type
from tests.harness.http import Response
from tests.harness.sample_store import SampleStore

FRONT_PAGE = """{ products(limit: 100) { id name slug price_range { min_cents max_cents } pricing { price_cents base_cents }
    images { url alt } options { id name variants { id name } }
    combinations { id sku stock is_available pricing { price_cents } choices { option_id variant_id } } } }"""
OPTIONS, VARIANTS, COMBINATIONS, IMAGES = 2, 6, 12, 4
# One product has many more combinations than usual.
MANY = 20 * COMBINATIONS
FILL = f"""
WITH added AS (
    INSERT INTO products (tenant_id, public_id, vendor_id, name, slug, price_cents, created_at, updated_at)
    SELECT $1, gen_random_uuid(), $2, 'Camiseta ' || n, 'camiseta-' || n, 5000, now(), now() FROM generate_series(1, 120) n RETURNING id
), images AS (
    INSERT INTO product_images (tenant_id, public_id, product_id, url, position)
    SELECT $1, gen_random_uuid(), id, '/' || n || '.png', n FROM added, generate_series(0, {IMAGES - 1}) n
), offered AS (
    INSERT INTO options (tenant_id, public_id, product_id, name, inventory, created_at, updated_at)
    SELECT $1, gen_random_uuid(), id, 'Opção ' || n, true, now(), now() FROM added, generate_series(1, {OPTIONS}) n RETURNING id, product_id
), linked AS (
    INSERT INTO product_options (tenant_id, public_id, product_id, option_id)
    SELECT $1, gen_random_uuid(), product_id, id FROM offered
), variants AS (
    INSERT INTO option_variants (tenant_id, public_id, option_id, name)
    SELECT $1, gen_random_uuid(), id, 'Valor ' || n FROM offered, generate_series(1, {VARIANTS}) n RETURNING id, option_id
), combined AS (
    INSERT INTO combinations (tenant_id, public_id, product_id, hash, on_hand, position, created_at, updated_at)
    SELECT $1, gen_random_uuid(), id, id || '_' || n, 5, n, now(), now()
    FROM added, generate_series(1, CASE WHEN id = (SELECT min(id) FROM added) THEN {MANY} ELSE {COMBINATIONS} END) n
    RETURNING id, product_id
)
INSERT INTO combination_choices (tenant_id, public_id, combination_id, option_id, variant_id)
SELECT $1, gen_random_uuid(), c.id, o.id, (SELECT min(v.id) FROM variants v WHERE v.option_id = o.id)
FROM combined c JOIN offered o ON o.product_id = c.product_id
"""


@pytest.fixture
async def shop(sample: SampleStore) -> SampleStore:
    """A store of some size, asked with a storefront key."""
    await sample.execute("DELETE FROM product_images")
    await sample.execute(FILL, sample.store.id, sample.vendor.number)
    with active_scope(sample.scope):
        key = (await create_storefront_key(sample.scope, {"scopes": ["storefront:read"]})).key
    sample.key = {"X-API-Key": key}  # type: ignore[attr-defined]
    return sample


async def ask(shop: SampleStore, text: str) -> Response:
    return await replace(shop.anonymous, credentials=shop.key).post("/graphql", {"query": text})


def objects_in(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(objects_in, value))
    return 1 + sum(map(objects_in, value.values())) if isinstance(value, dict) else 0


async def test_a_front_page_of_a_hundred_products_with_variants_options_and_images_fits(shop: SampleStore) -> None:
    answer = await ask(shop, FRONT_PAGE)
    assert "errors" not in answer.body, answer.body
    products = answer.body["data"]["products"]
    assert [len(products), len(products[0]["combinations"]), len(products[0]["images"])] == [100, COMBINATIONS, IMAGES]
    assert objects_in(products) / 3 <= answer.body["extensions"]["cost"] <= 3 * objects_in(products)


@pytest.mark.parametrize(
    "text, most_expensive",
    [
        ("{ products(limit: 1000) { combinations { product { combinations { id } } } } }", "products.combinations.product.combinations"),
        (
            "{ products(limit: 100) { vendor { id } options { products(first: 100) { edges { node { options { products(first: 100)"
            " { edges { node { combinations { choices { option_id } } } } } } } } } } } }",
            "products.options.products.edges.node.options.products.edges.node.combinations.choices",
        ),
        ("{ " + " ".join(f"p{n}: products(limit: 120) {{ images {{ id }} }}" for n in range(99)) + " }", "p0.images"),
    ],
)  # fmt: skip
async def test_a_document_that_multiplies_is_refused_with_the_cost_of_its_fields(
    shop: SampleStore, text: str, most_expensive: str
) -> None:
    answer = await ask(shop, text)
    [error] = answer.body["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COMPLEX"
    details = error["extensions"]["details"]
    assert error["message"] == f"the cost of the document is {details['cost']}; at most 10000 is allowed"
    costs = [field["cost"] for field in details["fields"]]
    assert costs == sorted(costs, reverse=True)
    assert details["fields"][0]["path"] == most_expensive
    assert sum(costs) <= details["cost"]
    assert len(costs) <= 10


async def test_every_list_of_records_can_be_counted(sample: SampleStore) -> None:
    statements = set()
    for type_ in root.internal_schema().type_map.values():
        entity = entity_of(type_) if isinstance(type_, GraphQLObjectType) else None
        if entity is not None:
            statements.add(size_sql(entity))
        for field in type_.fields.values() if isinstance(type_, GraphQLObjectType) else ():
            source, target = field_source(field), get_named_type(field.type)
            if isinstance(source, RelationSource) and isinstance(source.link, ToMany):
                assert isinstance(target, GraphQLObjectType), field
                related = entity_of(target if source.own_order is None else node_type(target))
                assert related is not None, field
                statements.add(size_sql(related, source.link))
    assert len(statements) > 100
    for statement in statements:
        most, total, parents = await sample.value(statement.replace("$1", str(sample.store.id)))
        assert 0 <= most <= total, statement
        assert parents <= total, statement


async def test_the_sizes_of_a_store_take_one_statement_until_they_expire(
    shop: SampleStore, other_sample: SampleStore
) -> None:
    schema = root.public_schema()
    prepared = prepare_document(schema, "{ products(limit: 100) { images { id } } }", limited=True)
    operation = prepared.operation(None)
    assert operation is not None

    async def measured(scope: Scope) -> tuple[StoreCost, int]:
        with active_scope(scope), database.count_statements() as counted:
            return await measure_cost(scope, schema, prepared, operation, {}), counted.count

    scope = replace(shop.scope, now=shop.scope.now + timedelta(days=1))
    cost, statements = await measured(scope)
    assert (cost.cost, statements) == (100 + 100 * IMAGES, 1)
    await shop.execute("DELETE FROM product_images WHERE position > 0")
    assert await measured(scope) == (cost, 0)
    elsewhere, _ = await measured(replace(other_sample.scope, now=scope.now))
    assert elsewhere.cost < 100
    changed, statements = await measured(replace(scope, now=scope.now + LIFETIME))
    assert (changed.cost, statements) == (200, 1)


async def test_a_cached_plan_costs_what_each_store_has(shop: SampleStore, other_sample: SampleStore) -> None:
    text = "query Cached { products(limit: 100) { images { id } } }"
    costs = [
        [(await sample.post("/graphql", {"query": text}, auth="bearer")).body["extensions"]["cost"] for _ in range(3)]
        for sample in (shop, other_sample, shop)
    ]
    assert costs[0] == costs[2] == [100 + 100 * IMAGES] * 3
    assert max(costs[1]) < 100
