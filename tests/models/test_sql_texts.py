"""The SQL texts that compiled reads keep are bounded: conditions nobody foresaw are written anew each time, and still answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kernel.scope import Scope, entered
from models import callers, tree_levels, tree_whole
from models.catalog import Product, ProductImage
from models.reading import Entity, Sort, ToMany, Where
from models.shapes import Branch, Leaf, Shape
from models.trees import Reader

MOST = 5
VASE = {"name": "Vaso", "images": [{"url": "https://img.example.com/vaso.jpg"}]}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (tree_levels, tree_whole):
        monkeypatch.setattr(module, "MOST_TEXTS", MOST)


class Changing:
    """An entity of which every caller sees other rows, said each time in other words."""

    def __init__(self, table: str) -> None:
        self.times = 0
        self.entity = Entity(table, table, self.visible, sorts={"name": Sort("t.name", "text", "by name")})

    def visible(self, _scope: Scope) -> Where:
        self.times += 1
        return Where(f"t.id > -{self.times}")


def _shape(entity: Entity, image: Entity) -> Shape:
    below = Branch(
        "images", ToMany("t.product_id", "t.position, t.id"), Shape(image, (Leaf("url", "t.url"),))
    )
    return Shape(entity, (Leaf("name", "t.name"), below))


def _another_caller(scope: Scope) -> Scope:
    return replace(scope, actor=replace(scope.actor))


async def _made() -> None:
    product = await Product.create(name="Vaso", slug="vaso", price_cents=1)
    await ProductImage.create(product_id=product.id, url="https://img.example.com/vaso.jpg")


async def test_a_list_keeps_no_more_texts_than_its_bound(scope: Scope) -> None:
    products, images = Changing("products"), Changing("product_images")
    reader = Reader(_shape(products.entity, images.entity), native=True)
    with entered(scope):
        await _made()
        for _ in range(4 * MOST):
            found: list[Any] = await reader.many(_another_caller(scope), (), sort=None, limit=50, offset=0)
            assert found == [VASE]
    level = reader._level
    assert len(level._kept) == MOST
    assert [len(below._kept) for _, below, _ in level.branches] == [MOST]


async def test_a_short_list_keeps_no_more_texts_than_its_bound(scope: Scope) -> None:
    products, images = Changing("products"), Changing("product_images")
    reader = Reader(_shape(products.entity, images.entity), native=False)
    with entered(scope):
        await _made()
        for number in range(4 * MOST):
            found = await reader.many(_another_caller(scope), (), sort=None, limit=10, offset=0)
            assert found == [VASE]
            dated = [Where(f"t.id > -{number}"), Where("t.name = {}", ("Vaso",))]
            nodes, keys = await reader.keyed(scope, dated, sort="name", limit=10)
            assert nodes == [VASE]
            assert len(keys) == 1
    assert reader._whole is not None
    assert len(reader._whole._kept) == MOST
    assert len(reader._whole._rights(scope).written) <= MOST


async def test_a_single_record_keeps_no_more_texts_than_its_bound(scope: Scope) -> None:
    products, images = Changing("products"), Changing("product_images")
    reader = Reader(_shape(products.entity, images.entity), native=False)
    with entered(scope):
        await _made()
        for _ in range(4 * MOST):
            found = await reader.one(_another_caller(scope), Where("t.name = {}", ("Vaso",)))
            assert found == VASE
    assert reader._whole is not None
    assert len(reader._whole._kept) == MOST


async def test_rights_are_asked_once_for_a_caller_and_anew_for_every_other(scope: Scope) -> None:
    products, images = Changing("products"), Changing("product_images")
    reader = Reader(_shape(products.entity, images.entity), native=False)
    with entered(scope):
        await _made()
        for _ in range(3):
            await reader.one(scope, Where("t.name = {}", ("Vaso",)))
        assert products.times == 1
        await reader.one(_another_caller(scope), Where("t.name = {}", ("Vaso",)))
        await reader.one(replace(scope, store=replace(scope.store)), Where("t.name = {}", ("Vaso",)))
    assert products.times == 3


async def test_only_the_latest_callers_are_remembered(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "MOST_CALLERS", 4)
    made: list[Scope] = []
    remember = callers.PerCaller(lambda at: made.append(at))
    scopes = [_another_caller(scope) for _ in range(6)]
    for each in (*scopes, *scopes[2:]):
        remember(each)
    assert made == scopes  # the last four were known
    remember(scopes[0])
    assert len(made) == 7


async def test_all_statements_together_remember_no_more_than_their_budget(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "_budget", callers._Budget())
    monkeypatch.setattr(callers, "MOST_KEPT", 10)
    several = [callers.PerCaller(lambda at: at) for _ in range(4)]
    for number in range(40):
        several[number % 4](_another_caller(scope))
        assert sum(len(each._kept) for each in several) <= 10
    del several
    assert callers._budget.spent == 0


async def test_callers_of_equal_rights_share_their_statements(scope: Scope) -> None:
    products = Entity("products", "products", lambda _scope: Where("t.id > 0"))
    reader = Reader(_shape(products, products), native=False)
    assert reader._whole is not None
    one, other = (reader._whole._rights(_another_caller(scope)) for _ in range(2))
    assert one is other
