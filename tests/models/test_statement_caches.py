"""The caches of SQL texts and callers of compiled reads are bounded; reads beyond the limits still work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kernel.scope import Scope, active_scope
from models.reading import compiled_reads, queries
from models.reading.compiled_reads import CompiledReader
from models.reading.queries import Condition, Entity, Sort, ToMany
from models.reading.response_shapes import RelationField, ResponseShape, ScalarField
from models.tables.catalog import Product, ProductImage
from schema.filters import ColumnGuards, build_conditions

LIMIT = 5
VASE = {"name": "Vaso", "images": [{"url": "https://img.example.com/vaso.jpg"}]}


@pytest.fixture(autouse=True)
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_reads, "MAX_CACHED_STATEMENTS", LIMIT)


class ChangingEntity:
    """An entity with a different visibility condition for every caller."""

    def __init__(self, table: str) -> None:
        self.calls = 0
        self.entity = Entity(table, self.visible, sorts={"name": Sort("t.name", "text", "by name")})

    def visible(self, _scope: Scope) -> Condition:
        self.calls += 1
        return Condition(f"t.id > -{self.calls}")


def _shape(entity: Entity, image: Entity) -> ResponseShape:
    images = RelationField(
        "images",
        ToMany("t.product_id", "t.position, t.id"),
        ResponseShape(image, (ScalarField("url", "t.url"),)),
    )
    return ResponseShape(entity, (ScalarField("name", "t.name"), images))


def _another_caller(scope: Scope) -> Scope:
    return replace(scope, actor=replace(scope.actor))


async def _create_product() -> None:
    product = await Product.create(name="Vaso", slug="vaso", price_cents=1)
    await ProductImage.create(product_id=product.id, url="https://img.example.com/vaso.jpg")


async def test_lists_cache_a_limited_number_of_statements(scope: Scope) -> None:
    products, images = ChangingEntity("products"), ChangingEntity("product_images")
    reader = CompiledReader(_shape(products.entity, images.entity), native=True)
    with active_scope(scope):
        await _create_product()
        for repetition in range(4 * LIMIT):
            objects: list[Any] = await reader.fetch_many(_another_caller(scope), (), sort=None, limit=50, offset=0)
            assert objects == [VASE], repetition
    level = reader._levels
    assert len(level._statements) == LIMIT
    assert [len(relation._statements) for relation, _ in level.relations] == [LIMIT]


async def test_short_lists_cache_a_limited_number_of_statements(scope: Scope) -> None:
    products, images = ChangingEntity("products"), ChangingEntity("product_images")
    reader = CompiledReader(_shape(products.entity, images.entity), native=False)
    with active_scope(scope):
        await _create_product()
        for number in range(4 * LIMIT):
            objects = await reader.fetch_many(_another_caller(scope), (), sort=None, limit=10, offset=0)
            assert objects == [VASE], number
            conditions = [Condition(f"t.id > -{number}"), Condition("t.name = {}", ("Vaso",))]
            nodes, keys = await reader.fetch_with_keys(scope, conditions, sort="name", limit=10)
            assert nodes == [VASE], number
            assert len(keys) == 1, number
    assert len(reader._single._statements) == LIMIT
    assert len(reader._single._access(scope).statements) <= LIMIT


async def test_single_records_cache_a_limited_number_of_statements(scope: Scope) -> None:
    products, images = ChangingEntity("products"), ChangingEntity("product_images")
    reader = CompiledReader(_shape(products.entity, images.entity), native=False)
    with active_scope(scope):
        await _create_product()
        for repetition in range(4 * LIMIT):
            objects = await reader.fetch_one(_another_caller(scope), Condition("t.name = {}", ("Vaso",)))
            assert objects == VASE, repetition
    assert len(reader._single._statements) == LIMIT


async def test_access_conditions_are_computed_once_per_caller(scope: Scope) -> None:
    products, images = ChangingEntity("products"), ChangingEntity("product_images")
    reader = CompiledReader(_shape(products.entity, images.entity), native=False)
    with active_scope(scope):
        await _create_product()
        for _ in range(3):
            await reader.fetch_one(scope, Condition("t.name = {}", ("Vaso",)))
        assert products.calls == 1
        await reader.fetch_one(_another_caller(scope), Condition("t.name = {}", ("Vaso",)))
        await reader.fetch_one(replace(scope, store=replace(scope.store)), Condition("t.name = {}", ("Vaso",)))
    assert products.calls == 3


async def test_the_rows_that_lists_show_are_computed_once_per_caller_and_store(scope: Scope) -> None:
    products = ChangingEntity("products")
    entity = replace(products.entity, listed=lambda _scope: Condition("t.status = 'A'"))

    def conditions(caller: Scope) -> list[Condition]:
        return build_conditions(caller, entity, ColumnGuards({}, {}), None)

    assert [conditions(scope) for _ in range(3)] == [[Condition("t.status = 'A'")]] * 3
    assert products.calls == 1
    conditions(_another_caller(scope))
    conditions(replace(scope, store=replace(scope.store)))
    assert products.calls == 3


async def test_only_the_most_recent_callers_are_cached(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MAX_CALLERS", 4)
    computed: list[Scope] = []
    cache = queries.CallerCache(lambda scope: computed.append(scope))
    scopes = [_another_caller(scope) for _ in range(6)]
    for another in (*scopes, *scopes[2:]):
        cache(another)
    assert computed == scopes  # the last four were cached
    cache(scopes[0])
    assert len(computed) == 7


async def test_all_caches_together_are_limited(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "_counter", queries._EntryCounter())
    monkeypatch.setattr(queries, "MAX_ENTRIES", 10)
    caches = [queries.CallerCache(lambda scope: scope) for _ in range(4)]
    for number in range(40):
        caches[number % 4](_another_caller(scope))
        assert sum(len(cache._entries) for cache in caches) <= 10, number
    del caches
    assert queries._counter.entries == 0


async def test_callers_with_equal_access_share_statements(scope: Scope) -> None:
    products = Entity("products", lambda _scope: Condition("t.id > 0"))
    reader = CompiledReader(_shape(products, products), native=False)
    one, other = (reader._single._access(_another_caller(scope)) for _ in range(2))
    assert one is other
