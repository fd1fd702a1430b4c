"""The tree of categories stays a tree."""

from __future__ import annotations

import asyncio

import pytest

from domain.catalog.categories import create_category, delete_category, update_category
from domain.catalog.products import delete_product
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from tests.domain.kit import unknown


async def make(shop, name="c", **given):
    return await create_category(shop.scope, {"name": name, **given})


async def path(shop, category):
    return (await shop.record("categories", category))["id_path"]


async def test_a_category_knows_its_way_from_the_root(shop):
    root = await make(shop)
    child = await make(shop, parent=root)
    grandchild = await make(shop, parent=await shop.public_id("categories", child))
    assert await path(shop, root) == f"{root}"
    assert await path(shop, grandchild) == f"{root}/{child}/{grandchild}"


async def test_moving_a_category_moves_what_stands_below(shop):
    one, other = await make(shop), await make(shop)
    child = await make(shop, parent=one)
    grandchild = await make(shop, parent=child)
    await update_category(shop.scope, child, {"parent": other})
    assert await path(shop, grandchild) == f"{other}/{child}/{grandchild}"
    await update_category(shop.scope, child, {"parent": None})
    assert await path(shop, grandchild) == f"{child}/{grandchild}"
    assert (await shop.record("categories", child))["parent_id"] is None


async def test_a_path_is_not_mistaken_for_one_that_begins_alike(shop):
    made = [await make(shop) for _ in range(12)]
    # Find two ids of which one begins with the other's digits, such as 3 and 31.
    pairs = [(a, b) for a in made for b in made if a != b and str(b).startswith(str(a))]
    for short, long in pairs[:1]:
        child = await make(shop, parent=long)
        await update_category(
            shop.scope, short, {"parent": made[-1] if made[-1] not in (short, long) else made[-2]}
        )
        assert await path(shop, child) == f"{long}/{child}"


async def test_a_category_never_stands_below_itself(shop):
    root = await make(shop)
    child = await make(shop, parent=root)
    grandchild = await make(shop, parent=child)
    for parent in (root, child, grandchild):
        with pytest.raises(ValidationFailed) as refusal:
            await update_category(shop.scope, root, {"parent": parent})
        assert refusal.value.fields == {"parent": "parent_invalid"}


async def test_two_moves_at_once_make_no_circle(shop):
    one, other = await make(shop), await make(shop)
    results = await asyncio.gather(
        update_category(shop.scope, one, {"parent": other}),
        update_category(shop.scope, other, {"parent": one}),
        return_exceptions=True,
    )
    assert sum(isinstance(result, ValidationFailed) for result in results) == 1


async def test_a_tree_too_deep_for_its_path_is_refused(shop):
    async def go_deeper():
        parent = None
        for _ in range(300):
            parent = await make(shop, parent=parent)

    with pytest.raises(ValidationFailed) as refusal:
        await go_deeper()
    assert refusal.value.fields == {"parent": "parent_invalid"}


async def test_a_partial_update_leaves_the_rest(shop):
    root = await make(shop)
    child = await make(shop, parent=root, position=3, status="H", description="d")
    await update_category(shop.scope, child, {"name": "changed"})
    record = await shop.record("categories", child)
    assert (record["name"], record["parent_id"], record["position"], record["status"]) == (
        "changed",
        root,
        3,
        "H",
    )


@pytest.mark.parametrize(
    "given, fields",
    [
        ({"name": ""}, {"name": "name_required"}),
        ({"status": "P"}, {"status": "status_invalid"}),
        ({"position": -1}, {"position": "position_invalid"}),
        ({"parent": 10**12}, {"parent": "not_found"}),
        ({"vendor": 10**12}, {"vendor": "not_found"}),
    ],
)
async def test_what_is_wrong_is_named(shop, given, fields):
    with pytest.raises(ValidationFailed) as refusal:
        await create_category(shop.scope, {"name": "c", **given})
    assert refusal.value.fields == fields


async def test_a_category_with_children_or_products_stays(shop):
    root = await make(shop)
    child = await make(shop, parent=root)
    product = await shop.product(categories=[await make(shop), child])
    with pytest.raises(RuleViolation, match="children"):
        await delete_category(shop.scope, root)
    with pytest.raises(RuleViolation, match="products"):
        await delete_category(shop.scope, child)
    await delete_product(shop.scope, product)
    await delete_category(shop.scope, child)
    await delete_category(shop.scope, root)
    with pytest.raises(NotFound):
        await delete_category(shop.scope, root)
    with pytest.raises(ValidationFailed):
        await make(shop, parent=root)


async def test_another_stores_category_is_not_found(shop, other_shop):
    foreign = await make(other_shop)
    for reference in (foreign, await other_shop.public_id("categories", foreign), unknown()):
        with pytest.raises(NotFound):
            await update_category(shop.scope, reference, {"name": "x"})
        with pytest.raises(NotFound):
            await delete_category(shop.scope, reference)
        with pytest.raises(ValidationFailed):
            await make(shop, parent=reference)
