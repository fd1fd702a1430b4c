"""The SQL texts that compiled reads keep are bounded: conditions nobody foresaw are written anew each time, and still answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kernel.scope import Scope, entered
from models import tree_levels, tree_whole
from models.callers import MOST_CALLERS
from models.catalog import Product, ProductImage
from models.reading import Entity, ToMany, Where
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
        self.entity = Entity(table, table, self.visible)

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
            found: list[Any] = await reader.many(_another_caller(scope), (), sort=None, limit=10, offset=0)
            assert found == [VASE]
    level = reader._level
    assert len(level._kept) == MOST
    assert [len(below._kept) for _, below, _ in level.branches] == [MOST]


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


async def test_only_the_latest_callers_are_remembered(scope: Scope) -> None:
    products, images = Changing("products"), Changing("product_images")
    reader = Reader(_shape(products.entity, images.entity), native=False)
    with entered(scope):
        await _made()
        for _ in range(3 * MOST_CALLERS):
            await reader.one(_another_caller(scope), Where("t.name = {}", ("Vaso",)))
    assert reader._whole is not None
    assert len(reader._whole._rights._kept) == MOST_CALLERS
